#include "tests/tracegen/clr_cases.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace etwpipe::tracegen {
namespace {

constexpr uint64_t kCode = 0x00007FFC30000000;  // far from all images and the code of other processes
constexpr uint64_t kSlotCode = kCode + 0x8000000;
constexpr uint64_t kIds = 0x00007FFC20000000;
constexpr uint64_t kEndSize = 64 << 10;
constexpr size_t kStoryCount = 13;

// MethodFlags, semantics.md 6.2.
constexpr uint32_t kDynamic = 0x1;
constexpr uint32_t kJitted = 0x8;
constexpr uint32_t kHelper = 0x10;
constexpr uint32_t kCold = 0x10000000;
constexpr uint32_t TierFlags(uint32_t tier) { return kJitted | tier << 7; }
constexpr uint32_t kQuickJitted = 3;
constexpr uint32_t kOptimizedTier1 = 4;
constexpr uint32_t kOptimizedTier1Osr = 5;

constexpr Expected kUnknown;
/// The place may be taken again within kCodeSlack.
constexpr Expected kByTheRules{nullptr, std::nullopt, 0};
constexpr Expected Exact(const PlannedCode& code) { return {&code, Outcome::kExact, 0}; }
constexpr Expected ExactId(const PlannedCode& code) { return {&code, Outcome::kExact, 1}; }
constexpr Expected AmbiguousId(const PlannedCode& code, uint32_t alive) { return {&code, Outcome::kAmbiguous, alive}; }
constexpr Expected Backfilled(const PlannedCode& code) { return {&code, Outcome::kBackfilled, 0}; }
constexpr Expected Stale(const PlannedCode& code) { return {&code, Outcome::kStale, 0}; }

}  // namespace

ClrCases::ClrCases(Simulation& simulation, KernelLifetimes& lifetimes)
    : sim_(simulation), lifetimes_(lifetimes), records_(simulation), next_id_(kIds) {
  main_ = {sim_.world.StartPlanned(false, 0), 9};
  first_ = {sim_.world.StartPlanned(false, 0), 3};
  second_ = {first_.process, 4};
  narrow_ = {sim_.world.StartPlanned(true, 0), 9};
  contoso_.id = kIds - 0x100000;
  contoso_.truth.il_path = "C:\\Program Files\\Contoso\\bin\\Contoso.Cases.dll";
  contoso_.truth.native_path = "C:\\Windows\\assembly\\NativeImages_v4.0.30319_64\\Contoso.Cases.ni.dll";
  contoso_.truth.pdb_guid = sim_.random.NextGuid();
  contoso_.truth.pdb_age = 1;
  contoso_.truth.pdb_path = "C:\\build\\obj\\Release\\Contoso.Cases.pdb";
  contoso_.truth.native_pdb_guid = sim_.random.NextGuid();
  contoso_.truth.native_pdb_age = 3;
  contoso_.truth.native_pdb_path = "Contoso.Cases.ni.pdb";
  plugin_.id = contoso_.id + 0x4000;
  plugin_.truth.il_path = "C:\\Program Files\\Contoso\\plugins\\Contoso.Plugin.dll";
  plugin_.truth.pdb_guid = sim_.random.NextGuid();
  plugin_.truth.pdb_age = 7;
  plugin_.truth.pdb_path = "C:\\build\\obj\\Release\\Contoso.Plugin.pdb";
}

PlannedCode& ClrCases::Make(const CodePlace& place, std::string_view name, uint64_t start, uint32_t size) {
  PlannedCode& code = codes_.emplace_back();
  code.place = place;
  code.id = next_id_;
  next_id_ += 0x18;
  code.module = contoso_.id;
  code.start = start;
  code.size = size;
  code.token = 0x06000000 + ++next_token_;
  code.type = "Contoso.Cases.Story";
  code.name = name;
  return code;
}

std::array<uint32_t, 4> ClrCases::ReferExact(const PlannedCode& code) {
  return {records_.Sample(code.place.process, code.start, Exact(code)),
          records_.Sample(code.place.process, code.start + code.size - 1, Exact(code)),
          records_.Refer(IdEvent::kMap, code.place, code.id, ExactId(code), code.rejit),
          records_.Refer(IdEvent::kDetails, code.place, code.id, ExactId(code))};
}

PlannedCode& ClrCases::LoadNew(const CodePlace& place, std::string_view name, uint64_t start, uint32_t size) {
  PlannedCode& code = Make(place, name, start, size);
  records_.Method(MethodEvent::kLoad, code);
  ReferExact(code);
  at_end_verbose_.push_back(&code);
  return code;
}

void ClrCases::Begin() {
  PlannedCode& never_named = Make(main_, "NeverNamed", kCode);
  PlannedCode& named_at_end = Make(main_, "NamedAtEnd", kCode + 0x100);
  PlannedCode& named_at_start = Make(main_, "NamedAtStart", kCode + 0x200);
  at_start_short_ = {&never_named, &named_at_end};
  at_start_verbose_ = {&named_at_start};
  at_end_short_ = {&never_named, &named_at_start};
  at_end_verbose_ = {&named_at_end};
  untold_ = &Make(main_, "KnownFromUnload", kCode + 0x300);
  for (int i = 0; i < 6; ++i) {
    PlannedCode& function =
        Make(main_, fmt::format("Profiled{}", i), kCode + 0x1000 + 0x100 * static_cast<uint64_t>(i));
    functions_.push_back(&function);
    at_start_verbose_.push_back(&function);
    at_end_verbose_.push_back(&function);
  }
  for (uint64_t i = 0; i < 3; ++i) {
    PlannedCode& helper = Make(main_, fmt::format("JIT_Helper{}", i), kCode + 0x2000 + 0x40 * i, 0x40);
    helper.id = helper.start;
    helper.module = 0;
    helper.token = 0;
    helper.flags = kHelper;
    helper.type.clear();
    helper.signature.clear();
    at_start_verbose_.push_back(&helper);
  }

  records_.set_story("rundown_start");
  records_.Mark(RundownMark::kStartInit, main_);
  records_.Runtime(main_, true);
  records_.Module(ModuleEvent::kDcStart, main_, contoso_);
  for (PlannedCode* code : at_start_short_) records_.Method(MethodEvent::kDcStart, *code, Form::kShort);
  for (PlannedCode* code : at_start_verbose_) records_.Method(MethodEvent::kDcStart, *code);
  records_.Refer(IdEvent::kDcStartMap, main_, named_at_start.id, ExactId(named_at_start));
  records_.Mark(RundownMark::kStartComplete, main_);

  for (const CodePlace& place : {first_, second_}) {
    records_.Mark(RundownMark::kStartInit, place);
    records_.Runtime(place, true);
    if (place.clr_instance == second_.clr_instance) {
      start_only_ = &Make(second_, "KnownFromStart", kCode + 0x10000);
      records_.Method(MethodEvent::kDcStart, *start_only_);
    }
    records_.Mark(RundownMark::kStartComplete, place);
  }
}

void ClrCases::Step() {
  if (next_story_ < kStoryCount) return RunNextStory();
  if (sim_.random.Chance(50)) return ReuseSlot();
  ProfiledCalls();
}

void ClrCases::RunNextStory() {
  constexpr std::array<void (ClrCases::*)(), kStoryCount> kStories = {
      &ClrCases::ShortForms,  &ClrCases::LostUnload, &ClrCases::ReusedId,        &ClrCases::Tiers,
      &ClrCases::Rejit,       &ClrCases::HotAndCold, &ClrCases::LateLoad,        &ClrCases::TwoRuntimes,
      &ClrCases::ReusedPid,   &ClrCases::Pointer32,  &ClrCases::HelpersAndStubs, &ClrCases::KnownFromRundown,
      &ClrCases::ModuleUnload};
  (this->*kStories[next_story_++])();
}

void ClrCases::ShortForms() {
  records_.set_story("short_forms");
  for (PlannedCode* code : at_start_short_) ReferExact(*code);
  const std::array<uint32_t, 4> untold = ReferExact(*untold_);
  const uint64_t base = kCode + 0x20000;
  PlannedCode& later = Make(main_, "LoadShort", base);
  records_.Method(MethodEvent::kLoad, later, Form::kShort);
  ReferExact(later);
  at_end_verbose_.push_back(&later);

  PlannedCode& both = Make(main_, "LoadAndUnloadShort", base + 0x100);
  records_.Method(MethodEvent::kLoad, both, Form::kShort, 1);
  ReferExact(both);
  records_.Method(MethodEvent::kUnload, both, Form::kShort, 1);
  records_.Sample(main_.process, both.start, kUnknown);
  records_.Refer(IdEvent::kMap, main_, both.id, Stale(both));

  PlannedCode& unload = Make(main_, "UnloadShort", base + 0x200);
  records_.Method(MethodEvent::kLoad, unload);
  ReferExact(unload);
  records_.Method(MethodEvent::kUnload, unload, Form::kShort);

  PlannedCode& named_by_unload = Make(main_, "NamedByUnload", base + 0x300);
  records_.Method(MethodEvent::kLoad, named_by_unload, Form::kShort);
  ReferExact(named_by_unload);
  records_.Method(MethodEvent::kUnload, named_by_unload);

  for (const Form form : {Form::kShort, Form::kVerbose}) {
    PlannedCode& old = Make(main_, form == Form::kShort ? "OldShort" : "OldVerbose", base + 0x400);
    records_.Method(MethodEvent::kLoad, old, form, 0);
    ReferExact(old);
    records_.Method(MethodEvent::kUnload, old, form, 0);
  }
  records_.Method(MethodEvent::kUnload, *untold_);
  for (size_t i = 0; i < untold.size(); ++i) {
    records_.SetExpected(untold[i], i < 2 ? Exact(*untold_) : ExactId(*untold_));
  }
  records_.Sample(main_.process, untold_->start, kUnknown);
}

void ClrCases::LostUnload() {
  records_.set_story("lost_unload");
  const uint64_t base = kCode + 0x30000;
  PlannedCode& first = Make(main_, "UnloadIsLost", base, 0x100);
  records_.Method(MethodEvent::kLoad, first);
  ReferExact(first);
  PlannedCode& second = Make(main_, "Overlaps", base + 0x40, 0x80);
  records_.Close(first, records_.Method(MethodEvent::kLoad, second));
  ReferExact(second);
  records_.Sample(main_.process, base, kUnknown);
  records_.Sample(main_.process, base + 0xC0, kUnknown);
  records_.Refer(IdEvent::kMap, main_, first.id, Stale(first));
  // Beyond the time that code may run before its load is told of.
  sim_.AdvanceTo(sim_.now + 2 * kCodeSlack);
  PlannedCode& neighbour = LoadNew(main_, "Neighbour", base + 0xC0, 0x40);
  records_.Sample(main_.process, base + 0xBF, Exact(second));
  records_.Sample(main_.process, base + 0xC0, Exact(neighbour));
  at_end_verbose_.push_back(&second);
}

void ClrCases::ReusedId() {
  records_.set_story("reused_id");
  PlannedCode& first = Make(main_, "FirstOwner", kCode + 0x40000);
  PlannedCode& second = Make(main_, "SecondOwner", kCode + 0x40100);
  second.id = first.id;
  records_.Method(MethodEvent::kLoad, first);
  ReferExact(first);
  records_.Method(MethodEvent::kUnload, first);
  const uint32_t between = records_.Refer(IdEvent::kMap, main_, first.id, kUnknown);
  records_.Method(MethodEvent::kLoad, second);
  records_.SetExpected(between, Backfilled(second));
  ReferExact(second);
  at_end_verbose_.push_back(&second);
}

void ClrCases::Tiers() {
  records_.set_story("tiers");
  const uint64_t base = kCode + 0x50000;
  PlannedCode& quick = Make(main_, "Climbs", base, 0x200);
  quick.flags = TierFlags(kQuickJitted);
  records_.Method(MethodEvent::kLoad, quick);
  ReferExact(quick);
  PlannedCode& optimized = codes_.emplace_back(quick);
  optimized.start = base + 0x1000;
  optimized.size = 0x100;
  optimized.flags = TierFlags(kOptimizedTier1);
  optimized.told = false;
  records_.Method(MethodEvent::kLoad, optimized);
  PlannedCode& replaced = codes_.emplace_back(optimized);
  replaced.start = base + 0x2000;
  replaced.flags = TierFlags(kOptimizedTier1Osr);
  replaced.told = false;
  records_.Refer(IdEvent::kMap, main_, quick.id, AmbiguousId(optimized, 2));
  records_.Method(MethodEvent::kLoad, replaced);
  for (PlannedCode* code : {&quick, &optimized, &replaced}) {
    records_.Sample(main_.process, code->start + 0x10, Exact(*code));
  }
  records_.Refer(IdEvent::kDetails, main_, quick.id, AmbiguousId(replaced, 3));
  records_.Method(MethodEvent::kUnload, quick);
  records_.Method(MethodEvent::kUnload, replaced, Form::kShort);
  records_.Refer(IdEvent::kMap, main_, quick.id, ExactId(optimized));
  at_end_verbose_.push_back(&optimized);
}

void ClrCases::Rejit() {
  records_.set_story("rejit");
  const uint64_t base = kCode + 0x60000;
  PlannedCode& original = Make(main_, "Rewritten", base);
  records_.Method(MethodEvent::kLoad, original);
  ReferExact(original);
  PlannedCode& rewritten = codes_.emplace_back(original);
  rewritten.start = base + 0x1000;
  rewritten.rejit = 1;
  rewritten.told = false;
  records_.Method(MethodEvent::kLoad, rewritten);
  records_.Sample(main_.process, original.start + 8, Exact(original));
  records_.Sample(main_.process, rewritten.start + 8, Exact(rewritten));
  records_.Refer(IdEvent::kMap, main_, original.id, AmbiguousId(rewritten, 2), 1);
  at_end_verbose_.push_back(&original);
  at_end_verbose_.push_back(&rewritten);
}

void ClrCases::HotAndCold() {
  records_.set_story("hot_and_cold");
  const uint64_t base = kCode + 0x70000;
  PlannedCode& hot = Make(main_, "Split", base);
  PlannedCode& cold = codes_.emplace_back(hot);
  cold.start = base + 0x8000;
  cold.flags |= kCold;
  records_.Method(MethodEvent::kLoad, hot);
  records_.Method(MethodEvent::kLoad, cold);
  records_.Sample(main_.process, hot.start + 8, Exact(hot));
  records_.Sample(main_.process, cold.start + 8, Exact(cold));
  at_end_verbose_.push_back(&hot);
  at_end_verbose_.push_back(&cold);
}

void ClrCases::LateLoad() {
  records_.set_story("late_load");
  PlannedCode& late = Make(main_, "RunsBeforeItsLoad", kCode + 0x80000);
  records_.Sample(main_.process, late.start + 4, kUnknown);
  const uint32_t early_id = records_.Refer(IdEvent::kMap, main_, late.id, kUnknown);
  sim_.AdvanceTo(sim_.now + 2 * kCodeSlack);
  const uint32_t in_slack = records_.Sample(main_.process, late.start + 4, kUnknown);
  sim_.AdvanceTo(sim_.now + kCodeSlack / 4);
  records_.Method(MethodEvent::kLoad, late);
  records_.SetExpected(early_id, Backfilled(late));
  records_.SetExpected(in_slack, Backfilled(late));
  ReferExact(late);
  at_end_verbose_.push_back(&late);
  records_.Sample(main_.process, kCode - 0x1000, kUnknown);
  records_.Refer(IdEvent::kDetails, main_, kIds - 8, kUnknown);
}

void ClrCases::KnownFromRundown() {
  const uint64_t base = kCode + 0x90000;
  records_.set_story("dc_end_only");
  PlannedCode& end_only = Make(main_, "KnownFromEnd", base);
  PlannedCode& first = Make(main_, "FirstAtThisPlace", base + 0x1000);
  PlannedCode& second = Make(main_, "SecondIsKnownFromEnd", base + 0x1000);
  records_.Method(MethodEvent::kLoad, first);
  ReferExact(first);
  const uint32_t ahead = records_.Refer(IdEvent::kDetails, main_, second.id, kUnknown);
  pending_.emplace_back(ahead, Backfilled(second));
  second.from = records_.Method(MethodEvent::kUnload, first);
  for (PlannedCode* code : {&end_only, &second}) {
    pending_.emplace_back(records_.Sample(main_.process, code->start + 4, kUnknown), Exact(*code));
    pending_.emplace_back(records_.Refer(IdEvent::kMap, main_, code->id, kUnknown), ExactId(*code));
  }
  at_end_verbose_.push_back(&end_only);
  at_end_verbose_.push_back(&second);

  records_.set_story("dc_start_only");
  ReferExact(*start_only_);
}

void ClrCases::HelpersAndStubs() {
  records_.set_story("helpers_and_stubs");
  for (PlannedCode* code : at_start_verbose_) {
    if (code->flags == kHelper) records_.Sample(main_.process, code->start + 2, Exact(*code));
  }
  PlannedCode& stub = Make(main_, "IL_STUB_PInvoke", kCode + 0xA0000);
  stub.module = 0;
  stub.token = 0;
  stub.flags = kJitted | kDynamic;
  stub.type = "dynamicClass";
  stub.signature = "int32 (native int)";
  records_.StubGenerated(stub);
  records_.Method(MethodEvent::kLoad, stub);
  ReferExact(stub);
  records_.Refer(IdEvent::kStubHit, main_, stub.id, ExactId(stub));
  records_.Method(MethodEvent::kUnload, stub);
  records_.Refer(IdEvent::kStubHit, main_, stub.id, Stale(stub));
}

void ClrCases::Pointer32() {
  records_.set_story("pointer32");
  PlannedCode& low = LoadNew(narrow_, "Low", 0x07000000);
  PlannedCode& high = Make(narrow_, "SignExtended", 0xFFFFFFFF90001000);
  records_.Method(MethodEvent::kLoad, high);
  records_.Sample(narrow_.process, 0x90001010, Exact(high));
  const std::array<std::pair<uint64_t, Expected>, 3> frames = {
      {{0x90001020, Exact(high)}, {0x07000004, Exact(low)}, {0x0A000000, kUnknown}}};
  records_.Throw(narrow_, frames);
  at_end_verbose_.push_back(&high);
}

void ClrCases::TwoRuntimes() {
  records_.set_story("two_runtimes");
  PlannedCode& in_first = Make(first_, "InFirst", kCode);
  PlannedCode& in_second = Make(second_, "InSecond", kCode + 0x1000);
  // Real runtimes take ids from addresses, so this cannot happen to them; it shows who looks at ClrInstanceID.
  in_second.id = in_first.id;
  records_.Method(MethodEvent::kLoad, in_first);
  ReferExact(in_first);
  records_.Method(MethodEvent::kLoad, in_second);
  records_.Refer(IdEvent::kMap, first_, in_first.id, ExactId(in_first));
  records_.Refer(IdEvent::kMap, second_, in_first.id, ExactId(in_second));
  records_.Refer(IdEvent::kDetails, first_, in_first.id, AmbiguousId(in_second, 2));
  const std::array<std::pair<uint64_t, Expected>, 2> frames = {
      {{in_second.start + 4, Exact(in_second)}, {in_first.start + 4, Exact(in_first)}}};
  records_.Throw(second_, frames);
  at_end_verbose_.push_back(&in_first);
  at_end_verbose_.push_back(&in_second);
}

void ClrCases::ReusedPid() {
  records_.set_story("reused_pid");
  const auto start = [this](uint32_t pid) {
    sim_.Settle();
    const uint16_t cpu = sim_.BusyCpu();
    const CodePlace place{sim_.world.StartPlanned(false, pid), 9};
    lifetimes_.Start(cpu, place.process);
    records_.Runtime(place, false);
    return place;
  };
  const CodePlace before = start(0);
  PlannedCode& old = Make(before, "BeforeItsProcessEnded", kCode);
  records_.Method(MethodEvent::kLoad, old);
  ReferExact(old);
  sim_.Settle();
  lifetimes_.End(before.process);
  ++sim_.now;

  reborn_ = start(sim_.world.processes[before.process].pid);
  PlannedCode& end_only = Make(reborn_, "AfterThatKnownFromEnd", kCode + 0x40);
  const uint32_t sampled = records_.Sample(reborn_.process, end_only.start, kUnknown);
  const uint32_t named = records_.Refer(IdEvent::kDetails, reborn_, old.id, kUnknown);
  PlannedCode& other = Make(reborn_, "SameIdAfterThat", kCode + 0x2000);
  other.id = old.id;
  records_.Method(MethodEvent::kLoad, other);
  records_.SetExpected(named, Backfilled(other));
  ReferExact(other);
  pending_.emplace_back(sampled, Exact(end_only));
  at_end_verbose_.push_back(&other);
  at_end_verbose_.push_back(&end_only);
}

void ClrCases::ModuleUnload() {
  records_.set_story("module_unload");
  records_.Module(ModuleEvent::kLoad, main_, plugin_);
  std::vector<PlannedCode*> of_plugin;
  for (uint64_t i = 0; i < 3; ++i) {
    PlannedCode& code = Make(main_, fmt::format("OfPlugin{}", i), kCode + 0xB0000 + 0x100 * i);
    code.module = plugin_.id;
    records_.Method(MethodEvent::kLoad, code, i == 1 ? Form::kShort : Form::kVerbose);
    ReferExact(code);
    of_plugin.push_back(&code);
  }
  const int64_t ticks = records_.Module(ModuleEvent::kUnload, main_, plugin_);
  for (PlannedCode* code : of_plugin) {
    records_.Close(*code, ticks);
    records_.Sample(main_.process, code->start + 4, kUnknown);
    records_.Refer(IdEvent::kMap, main_, code->id, Stale(*code));
  }
}

void ClrCases::ReuseSlot() {
  records_.set_story("dynamic_reuse");
  const size_t slot = sim_.random.Index(slots_.size());
  const uint64_t start = kSlotCode + 0x1000 * slot;
  PlannedCode fresh;
  fresh.place = main_;
  fresh.id = kIds + 0x10000000 + 0x20 * next_dynamic_;
  fresh.start = start + 0x10 * sim_.random.Below(4);
  fresh.size = 0x60 + sim_.random.Below(0x80);
  fresh.flags = kJitted | kDynamic;
  fresh.type = "dynamicClass";
  fresh.name = fmt::format("lambda_method{}", next_dynamic_++);
  const uint32_t ahead = records_.Refer(IdEvent::kMap, main_, fresh.id, kUnknown);
  const int64_t loaded = records_.Method(MethodEvent::kLoad, fresh);
  records_.SetExpected(ahead, Backfilled(fresh));
  // Who was there before and has not been unloaded is so now.
  if (slots_[slot]) records_.Close(*slots_[slot], loaded);
  const std::array<std::pair<uint64_t, Expected>, 3> frames = {{{fresh.start + fresh.size - 1, Exact(fresh)},
                                                                {functions_[1]->start + 4, Exact(*functions_[1])},
                                                                {fresh.start + fresh.size, kByTheRules}}};
  records_.Throw(main_, frames);
  records_.Sample(main_.process, fresh.start, Exact(fresh));
  slots_[slot].reset();
  if (sim_.random.Chance(30)) {
    slots_[slot] = fresh;
    return;
  }
  records_.Method(MethodEvent::kUnload, fresh);
  records_.Sample(main_.process, fresh.start, kByTheRules);
  records_.Refer(IdEvent::kDetails, main_, fresh.id, Stale(fresh));
}

void ClrCases::ProfiledCalls() {
  records_.set_story("profiled_calls");
  std::vector<const PlannedCode*> stack;
  const auto call = [this](IdEvent event, const PlannedCode& code) {
    records_.Refer(event, main_, code.id, ExactId(code));
  };
  for (uint32_t left = 4 + sim_.random.Below(12); left != 0; --left) {
    const uint32_t dice = sim_.random.Below(10);
    const PlannedCode& next = *sim_.random.Pick(functions_);
    if (stack.empty() || (dice < 5 && stack.size() < 8)) {
      stack.push_back(&next);
      call(IdEvent::kEnter, next);
    } else if (dice < 7) {
      // The frame goes, and the function it jumps to enters in its place.
      call(IdEvent::kTailcall, *stack.back());
      stack.back() = &next;
      call(IdEvent::kEnter, next);
    } else {
      call(IdEvent::kLeave, *stack.back());
      stack.pop_back();
    }
  }
  for (; !stack.empty(); stack.pop_back()) call(IdEvent::kLeave, *stack.back());
}

void ClrCases::End() {
  while (next_story_ < kStoryCount) RunNextStory();
  for (std::optional<PlannedCode>& slot : slots_) {
    if (slot) at_end_verbose_.push_back(&*slot);
  }
  records_.set_story("rundown_end");
  for (const CodePlace& place : {main_, first_, second_, narrow_, reborn_}) {
    const auto is_here = [&place](const PlannedCode* code) {
      return code->place.process == place.process && code->place.clr_instance == place.clr_instance;
    };
    records_.Mark(RundownMark::kEndInit, place);
    for (PlannedCode* code : at_end_short_) {
      if (is_here(code)) records_.Method(MethodEvent::kDcEnd, *code, Form::kShort);
    }
    for (PlannedCode* code : at_end_verbose_) {
      if (is_here(code)) records_.Method(MethodEvent::kDcEnd, *code);
    }
    // The session does not wait for this one to finish.
    if (place.clr_instance == second_.clr_instance) continue;
    if (place.process == main_.process) {
      records_.Refer(IdEvent::kDcEndMap, main_, functions_[0]->id, ExactId(*functions_[0]));
      records_.Module(ModuleEvent::kDcEnd, main_, contoso_);
    }
    records_.Runtime(place, true);
    records_.Mark(RundownMark::kEndComplete, place);
  }
  for (const auto& [reference, expected] : pending_) records_.SetExpected(reference, expected);
}

uint64_t ClrCases::end_size() const { return kEndSize; }

}  // namespace etwpipe::tracegen

// The planned cases that are told once.
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "tests/tracegen/clr_cases.h"

namespace etwpipe::tracegen {
namespace {

constexpr uint32_t TierFlags(uint32_t tier) { return kFlagJitted | tier << 7; }
constexpr uint32_t kQuickJitted = 3;
constexpr uint32_t kOptimizedTier1 = 4;
constexpr uint32_t kOptimizedTier1Osr = 5;

}  // namespace

bool ClrCases::RunNextStory() {
  constexpr std::array<void (ClrCases::*)(), 13> kStories = {
      &ClrCases::ShortForms,  &ClrCases::LostUnload, &ClrCases::ReusedId,        &ClrCases::Tiers,
      &ClrCases::Rejit,       &ClrCases::HotAndCold, &ClrCases::LateLoad,        &ClrCases::TwoRuntimes,
      &ClrCases::ReusedPid,   &ClrCases::Pointer32,  &ClrCases::HelpersAndStubs, &ClrCases::KnownFromRundown,
      &ClrCases::ModuleUnload};
  if (next_story_ == kStories.size()) return false;
  (this->*kStories[next_story_++])();
  return true;
}

void ClrCases::ShortForms() {
  records_.set_story("short_forms");
  for (PlannedCode* code : at_start_short_) ReferExact(*code);
  const std::array<uint32_t, 4> untold = ReferExact(*untold_);
  const uint64_t base = kPlannedCode + 0x20000;
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
  const uint64_t base = kPlannedCode + 0x30000;
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
  PlannedCode& first = Make(main_, "FirstOwner", kPlannedCode + 0x40000);
  PlannedCode& second = Make(main_, "SecondOwner", kPlannedCode + 0x40100);
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
  const uint64_t base = kPlannedCode + 0x50000;
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
  const uint64_t base = kPlannedCode + 0x60000;
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
  const uint64_t base = kPlannedCode + 0x70000;
  PlannedCode& hot = Make(main_, "Split", base);
  PlannedCode& cold = codes_.emplace_back(hot);
  cold.start = base + 0x8000;
  cold.flags |= kFlagCold;
  records_.Method(MethodEvent::kLoad, hot);
  records_.Method(MethodEvent::kLoad, cold);
  records_.Sample(main_.process, hot.start + 8, Exact(hot));
  records_.Sample(main_.process, cold.start + 8, Exact(cold));
  at_end_verbose_.push_back(&hot);
  at_end_verbose_.push_back(&cold);
}

void ClrCases::LateLoad() {
  records_.set_story("late_load");
  PlannedCode& late = Make(main_, "RunsBeforeItsLoad", kPlannedCode + 0x80000);
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
  records_.Sample(main_.process, kPlannedCode - 0x1000, kUnknown);
  records_.Refer(IdEvent::kDetails, main_, kPlannedIds - 8, kUnknown);
}

void ClrCases::KnownFromRundown() {
  const uint64_t base = kPlannedCode + 0x90000;
  records_.set_story("dc_end_only");
  PlannedCode& end_only = Make(main_, "KnownFromEnd", base);
  PlannedCode& end_short = Make(main_, "KnownFromEndShort", base + 0x2000);
  PlannedCode& first = Make(main_, "FirstAtThisPlace", base + 0x1000);
  PlannedCode& second = Make(main_, "SecondIsKnownFromEnd", base + 0x1000);
  records_.Method(MethodEvent::kLoad, first);
  ReferExact(first);
  const uint32_t ahead = records_.Refer(IdEvent::kDetails, main_, second.id, kUnknown);
  pending_.emplace_back(ahead, Backfilled(second));
  second.from = records_.Method(MethodEvent::kUnload, first);
  for (PlannedCode* code : {&end_only, &end_short, &second}) {
    pending_.emplace_back(records_.Sample(main_.process, code->start + 4, kUnknown), Exact(*code));
    pending_.emplace_back(records_.Refer(IdEvent::kMap, main_, code->id, kUnknown), ExactId(*code));
  }
  at_end_verbose_.push_back(&end_only);
  at_end_short_.push_back(&end_short);
  at_end_verbose_.push_back(&second);

  records_.set_story("dc_start_only");
  ReferExact(*start_only_);
}

void ClrCases::HelpersAndStubs() {
  records_.set_story("helpers_and_stubs");
  for (PlannedCode* code : at_start_verbose_) {
    if (code->flags == kFlagHelper) records_.Sample(main_.process, code->start + 2, Exact(*code));
  }
  PlannedCode& stub = Make(main_, "IL_STUB_PInvoke", kPlannedCode + 0xA0000);
  stub.module = 0;
  stub.token = 0;
  stub.flags = kFlagJitted | kFlagDynamic;
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
  PlannedCode& in_first = Make(first_, "InFirst", kPlannedCode);
  PlannedCode& in_second = Make(second_, "InSecond", kPlannedCode + 0x1000);
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
  PlannedCode& old = Make(before, "BeforeItsProcessEnded", kPlannedCode);
  records_.Method(MethodEvent::kLoad, old);
  ReferExact(old);
  sim_.Settle();
  lifetimes_.End(before.process);
  ++sim_.now;

  reborn_ = start(sim_.world.processes[before.process].pid);
  PlannedCode& end_only = Make(reborn_, "AfterThatKnownFromEnd", kPlannedCode + 0x40);
  const uint32_t sampled = records_.Sample(reborn_.process, end_only.start, kUnknown);
  const uint32_t named = records_.Refer(IdEvent::kDetails, reborn_, old.id, kUnknown);
  PlannedCode& other = Make(reborn_, "SameIdAfterThat", kPlannedCode + 0x2000);
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
    PlannedCode& code = Make(main_, fmt::format("OfPlugin{}", i), kPlannedCode + 0xB0000 + 0x100 * i);
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

}  // namespace etwpipe::tracegen

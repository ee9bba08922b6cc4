#include "tests/tracegen/clr_cases.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace etwpipe::tracegen {
namespace {

constexpr uint64_t kSlotCode = kPlannedCode + 0x8000000;
constexpr uint64_t kDynamicIds = kPlannedIds + 0x1000000;
constexpr uint64_t kEndSize = 64 << 10;

}  // namespace

ClrCases::ClrCases(Simulation& simulation, KernelLifetimes& lifetimes)
    : sim_(simulation), lifetimes_(lifetimes), records_(simulation), next_id_(kPlannedIds) {
  main_ = {sim_.world.StartPlanned(false, 0), 9};
  first_ = {sim_.world.StartPlanned(false, 0), 3};
  second_ = {first_.process, 4};
  narrow_ = {sim_.world.StartPlanned(true, 0), 9};
  contoso_.id = kPlannedIds - 0x100000;
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
  PlannedCode& never_named = Make(main_, "NeverNamed", kPlannedCode);
  PlannedCode& named_at_end = Make(main_, "NamedAtEnd", kPlannedCode + 0x100);
  PlannedCode& named_at_start = Make(main_, "NamedAtStart", kPlannedCode + 0x200);
  at_start_short_ = {&never_named, &named_at_end};
  at_start_verbose_ = {&named_at_start};
  at_end_short_ = {&never_named, &named_at_start};
  at_end_verbose_ = {&named_at_end};
  untold_ = &Make(main_, "KnownFromUnload", kPlannedCode + 0x300);
  for (int i = 0; i < 6; ++i) {
    PlannedCode& function =
        Make(main_, fmt::format("Profiled{}", i), kPlannedCode + 0x1000 + 0x100 * static_cast<uint64_t>(i));
    functions_.push_back(&function);
    at_start_verbose_.push_back(&function);
    at_end_verbose_.push_back(&function);
  }
  for (uint64_t i = 0; i < 3; ++i) {
    PlannedCode& helper = Make(main_, fmt::format("JIT_Helper{}", i), kPlannedCode + 0x2000 + 0x40 * i, 0x40);
    helper.id = helper.start;
    helper.module = 0;
    helper.token = 0;
    helper.flags = kFlagHelper;
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
      start_only_ = &Make(second_, "KnownFromStart", kPlannedCode + 0x10000);
      records_.Method(MethodEvent::kDcStart, *start_only_);
    }
    records_.Mark(RundownMark::kStartComplete, place);
  }
}

void ClrCases::Step() {
  if (RunNextStory()) return;
  if (sim_.random.Chance(50)) return ReuseSlot();
  ProfiledCalls();
}

void ClrCases::ReuseSlot() {
  records_.set_story("dynamic_reuse");
  const size_t slot = sim_.random.Index(slots_.size());
  const uint64_t start = kSlotCode + 0x1000 * slot;
  PlannedCode fresh;
  fresh.place = main_;
  fresh.id = kDynamicIds + 0x20 * next_dynamic_;
  fresh.start = start + 0x10 * sim_.random.Below(4);
  fresh.size = 0x60 + sim_.random.Below(0x80);
  fresh.flags = kFlagJitted | kFlagDynamic;
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
  while (RunNextStory()) {
  }
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

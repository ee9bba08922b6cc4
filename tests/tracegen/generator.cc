#include "tests/tracegen/generator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tests/tracegen/app_events.h"
#include "tests/tracegen/build_events.h"
#include "tests/tracegen/clr_activity.h"
#include "tests/tracegen/clr_cases.h"
#include "tests/tracegen/clr_methods.h"
#include "tests/tracegen/cpu_events.h"
#include "tests/tracegen/io_events.h"
#include "tests/tracegen/kernel_lifetimes.h"
#include "tests/tracegen/session_events.h"
#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {
namespace {

/// How often each topic has its turn, in percent.
struct Weights {
  uint32_t cpu, io, methods, clr_activity, app, lifetimes, build, cases = 0;
};

Weights WeightsOf(Scenario scenario) {
  switch (scenario) {
    case Scenario::kClr: return {20, 4, 43, 26, 2, 1, 0, 4};
    case Scenario::kBuild: return {36, 32, 2, 0, 0, 4, 26};
    case Scenario::kSwitches: return {80, 2, 0, 0, 17, 1, 0};
    case Scenario::kMixed: break;
  }
  return {24, 28, 13, 15, 16, 2, 2};
}

/// Steps between two looks at how much is written.
constexpr int kStepsPerCheck = 64;

class Generator {
 public:
  Generator(const Options& options, ByteSink& sink, Truth& truth)
      : sim_(options, sink, truth, static_cast<uint32_t>(std::clamp<uint64_t>(options.size >> 17, 6, 40))),
        session_(sim_),
        lifetimes_(sim_, topics_),
        methods_(sim_),
        cpu_(sim_, methods_),
        io_(sim_),
        clr_activity_(sim_, methods_),
        app_(sim_),
        build_(sim_) {
    const Weights weights = WeightsOf(options.scenario);
    const auto add = [this](Topic& topic, uint32_t percent) {
      topics_.push_back(&topic);
      turns_.insert(turns_.end(), percent, &topic);
    };
    add(cpu_, weights.cpu);
    add(io_, weights.io);
    add(methods_, weights.methods);
    add(clr_activity_, weights.clr_activity);
    add(app_, weights.app);
    add(lifetimes_, weights.lifetimes);
    add(build_, weights.build);
    // Only where it is wanted: its processes are there from the start.
    if (weights.cases != 0) add(cases_.emplace(sim_, lifetimes_), weights.cases);
  }

  Status Run() {
    session_.WriteHeader();
    session_.Begin();
    lifetimes_.Begin();
    for (Topic* topic : topics_) {
      if (topic != &lifetimes_) topic->Begin();
    }
    session_.EndOfRundown();
    RunSteps();
    for (Topic* topic : topics_) {
      if (topic != &lifetimes_) topic->End();
    }
    lifetimes_.End();
    session_.End();
    CompleteReferences(sim_.truth.code);
    return sim_.writer.Finish();
  }

 private:
  void RunSteps() {
    // What the rundown of the start has written is past.
    sim_.Settle();
    int64_t next_sample = sim_.now;
    while (sim_.writer.ok() && !Full()) {
      for (int i = 0; i < kStepsPerCheck; ++i) {
        sim_.AdvanceTo(sim_.now + 20 + sim_.random.Below(200));
        sim_.random.Pick(turns_)->Step();
        if (sim_.now < next_sample) continue;
        next_sample += kTicksPerMillisecond;
        cpu_.Sample();
      }
    }
  }

  bool Full() const {
    uint64_t size = sim_.writer.projected_size();
    if (size >= sim_.options.size) return true;
    for (const Topic* topic : topics_) size += topic->end_size();
    return size >= sim_.options.size;
  }

  std::vector<Topic*> topics_;
  std::vector<Topic*> turns_;
  Simulation sim_;
  SessionEvents session_;
  KernelLifetimes lifetimes_;
  ClrMethods methods_;
  CpuEvents cpu_;
  IoEvents io_;
  ClrActivity clr_activity_;
  AppEvents app_;
  BuildEvents build_;
  std::optional<ClrCases> cases_;
};

}  // namespace

Result<Truth> Generate(const Options& options, ByteSink& sink) {
  if (const Status status = CheckOptions(options); !status.ok()) return status;
  Truth truth;
  Generator generator(options, sink, truth);
  if (const Status status = generator.Run(); !status.ok()) return status;
  return truth;
}

Result<std::vector<std::byte>> GenerateToMemory(const Options& options, Truth* truth) {
  MemorySink sink;
  auto result = Generate(options, sink);
  if (!result.ok()) return result.status();
  if (truth != nullptr) *truth = std::move(*result);
  return std::move(sink.bytes());
}

Result<Truth> GenerateToFile(const Options& options, const std::string& path) {
  auto file = OutputFile::Create(path, true, OutputFile::Stdout::kSpool);
  if (!file.ok()) return file.status();
  FileSink sink(std::move(*file));
  auto truth = Generate(options, sink);
  if (!truth.ok()) return truth;
  if (const Status status = sink.file().Commit(); !status.ok()) return status;
  return truth;
}

}  // namespace etwpipe::tracegen

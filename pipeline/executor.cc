// One pass is a chain of steps over batches: Next, Fill, the stages, and the four steps of the sink. With several
// threads the chain is a oneTBB pipeline: steps that need order take batches in sequence, the others run on any thread.
// With one thread the same steps run in a loop; outputs are equal because nothing depends on who ran a step.
#include "pipeline/executor.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <exception>
#include <functional>
#include <mutex>

#include "pipeline/handover.h"
#include "pipeline/injected_tail.h"

namespace etwpipe {
namespace {

constexpr size_t kTokensPerThread = 16;
// A batch has more bytes than that, mostly, so that each thread can have a block of the sink to encode.
constexpr size_t kBatchBytes = 384 << 10;

// A batch on its way, and what the sink made of it.
struct Token {
  EventBatch batch;
  Status status;
  std::unique_ptr<SinkChunk> chunk;
  std::vector<std::unique_ptr<SinkBlock>> blocks;
  std::vector<uint64_t> entered;  // rows selected before each stage, then after the last
  uint64_t bytes_done = 0;        // of the input, when the batch was made
  size_t events_cut = 0;          // of a batch that the sink has taken and that is gone

  void Clear() {
    batch.Clear();
    status = Status();
    chunk.reset();
    blocks.clear();
    entered.clear();
    events_cut = 0;
  }
};

// One step of a pass. An ordered step sees tokens in sequence, one at a time.
struct Step {
  bool ordered;
  std::function<Status(Token&)> run;
};

// Tokens that wait for their next batch, with their memory.
class TokenPool {
 public:
  std::unique_ptr<Token> Take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Token>();
    auto token = std::move(free_.back());
    free_.pop_back();
    return token;
  }
  void Give(std::unique_ptr<Token> token) {
    token->Clear();
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(token));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Token>> free_;
};

class PassRunner {
 public:
  PassRunner(const ExecuteArgs& args, SourcePass& pass, std::vector<Step> steps,
             size_t tokens_per_thread = kTokensPerThread)
      : args_(args), pass_(pass), steps_(std::move(steps)), tokens_per_thread_(tokens_per_thread) {}

  // Runs the pass to its end. The error of the lowest sequence wins: later batches are drained without work.
  Status Run() {
    if (args_.threads <= 1) return RunInCaller();
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(args_.threads));
    tbb::task_arena arena(args_.threads);
    arena.execute([this] { RunInPipeline(); });
    TakeOver(&stop_);
    return first_error_;
  }

 private:
  using TokenPtr = Token*;

  Status RunInCaller() {
    Token token;
    while (Pull(token)) {
      for (const Step& step : steps_) RunStep(step, token);
      Retire(token);
      if (!first_error_.ok()) break;
      token.Clear();
    }
    return first_error_;
  }

  void RunInPipeline() {
    auto source = tbb::make_filter<void, TokenPtr>(tbb::filter_mode::serial_in_order, [this](tbb::flow_control& flow) {
      TakeOver(&kClosures);
      auto token = pool_.Take();
      Enter(token.get(), &sequence_);
      const bool more = !stop_.load(std::memory_order_relaxed) && Pull(*token);
      Leave(token.get(), &sequence_);
      if (more) return token.release();
      flow.stop();
      return TokenPtr{nullptr};
    });
    tbb::filter<void, TokenPtr> chain = source;
    for (size_t begin = 0; begin < steps_.size();) {
      // Steps of one kind in a row are one filter: fewer hand-overs.
      size_t end = begin + 1;
      while (end < steps_.size() && steps_[end].ordered == steps_[begin].ordered) ++end;
      const auto failed = std::make_shared<bool>(false);  // written by ordered steps only
      const auto mode = steps_[begin].ordered ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
      chain = chain & tbb::make_filter<TokenPtr, TokenPtr>(mode, [this, begin, end, failed](TokenPtr token) {
                TakeOver(&kClosures);
                const void* state = steps_[begin].ordered ? static_cast<const void*>(&steps_[begin]) : token;
                Enter(token, state);
                // What follows a failed batch must not pass a step that keeps order.
                if (steps_[begin].ordered) *failed = *failed || !token->status.ok();
                for (size_t i = begin; i < end && !*failed; ++i) RunStep(steps_[i], *token);
                if (steps_[begin].ordered) *failed = *failed || !token->status.ok();
                Leave(token, state);
                return token;
              });
      begin = end;
    }
    const auto whole = chain & tbb::make_filter<TokenPtr, void>(tbb::filter_mode::serial_in_order, [this](TokenPtr t) {
                         TakeOver(&kClosures);
                         std::unique_ptr<Token> token(t);
                         Enter(t, &first_error_);
                         Retire(*token);
                         if (!first_error_.ok()) stop_.store(true, std::memory_order_relaxed);
                         Leave(t, &first_error_);
                         pool_.Give(std::move(token));
                         HandOver(&stop_);
                       });
    HandOver(&kClosures);
    tbb::parallel_pipeline(static_cast<size_t>(args_.threads) * tokens_per_thread_, whole);
  }

  // Around the work of a filter, for ThreadSanitizer only: what had `token` before and what had `state` before (the
  // token again where the filter is not ordered) has happened.
  void Enter(const void* token, const void* state) const {
    TakeOver(token);
    TakeOver(state);
  }
  void Leave(const void* token, const void* state) const {
    HandOver(token);
    HandOver(state);
    HandOver(&stop_);
  }

  // The next batch; false at the end. An error or a cancellation travels in the token, so that it has a sequence.
  bool Pull(Token& token) {
    if (ended_) return false;
    if (args_.cancel != nullptr && args_.cancel->cancelled()) {
      token.status = Status::Cancelled();
      ended_ = true;
      return true;
    }
    const auto more = Guarded([&]() -> Result<bool> { return pass_.Next(token.batch); });
    if (!more.ok()) {
      token.status = more.status();
      ended_ = true;
      return true;
    }
    if (!*more) return false;
    token.batch.sequence = sequence_++;
    token.bytes_done = pass_.bytes_done();
    return true;
  }

  void RunStep(const Step& step, Token& token) {
    if (!token.status.ok() || stop_.load(std::memory_order_relaxed)) return;
    token.status = Guarded([&] { return step.run(token); });
  }

  // In sequence, after every step.
  void Retire(Token& token) {
    if (!first_error_.ok()) return;
    if (!token.status.ok()) {
      first_error_ = token.status;
      return;
    }
    events_done_ += token.batch.rows.size() + token.events_cut;
    if (args_.progress == nullptr) return;
    args_.progress->OnProgress({token.bytes_done, args_.source.context().info.file_size, events_done_});
  }

  // Libraries below may throw (memory, protobuf); nothing passes our interfaces.
  template <typename Call>
  static auto Guarded(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return Status::Internal("out of memory");
    } catch (const std::exception& error) {
      return Status::Internal(error.what());
    }
  }

  const ExecuteArgs& args_;
  SourcePass& pass_;
  std::vector<Step> steps_;
  const size_t tokens_per_thread_;
  TokenPool pool_;
  std::atomic<bool> stop_{false};
  bool ended_ = false;
  uint64_t sequence_ = 0;
  uint64_t events_done_ = 0;
  Status first_error_;
};

class Run {
 public:
  explicit Run(const ExecuteArgs& args) : args_(args) {}

  Result<RunSummary> Execute() {
    const TraceContext& trace = args_.source.context();
    ETWPIPE_RETURN_IF_ERROR(Survey(trace));
    for (auto& planned : args_.plan.stages) {
      ETWPIPE_RETURN_IF_ERROR(
          planned.stage->Bind({trace, args_.sink.info().stores_annotations}).WithContext(planned.label));
      states_.push_back(planned.stage->NewState());
      summary_.stages.push_back({.label = planned.label});
    }
    for (int pass = 0; pass < args_.plan.analysis_passes; ++pass) ETWPIPE_RETURN_IF_ERROR(Analyze(pass));
    ETWPIPE_RETURN_IF_ERROR(Transform());
    return std::move(summary_);
  }

 private:
  Status Survey(const TraceContext& trace) {
    const SinkInfo sink = args_.sink.info();
    const auto facts = static_cast<FactSet>(args_.plan.facts | sink.facts);
    if (facts == kNoFacts || args_.surveyors == nullptr) return {};
    surveyors_ = args_.surveyors(facts);
    if (sink.facts_at_end && args_.plan.facts == kNoFacts) return {};
    auto pass = StartPass(Order::kPerCpu);
    if (!pass.ok()) return pass.status();
    ETWPIPE_RETURN_IF_ERROR(PassRunner(args_, **pass, {FillStep(**pass), SurveyStep(trace)}).Run());
    return FinishSurvey(trace);
  }

  Step SurveyStep(const TraceContext& trace) {
    return {true, [this, &trace](Token& token) -> Status {
              for (const auto& surveyor : surveyors_) {
                ETWPIPE_RETURN_IF_ERROR(surveyor->Observe(token.batch, trace));
              }
              return {};
            }};
  }

  Status FinishSurvey(const TraceContext& trace) {
    for (const auto& surveyor : surveyors_) ETWPIPE_RETURN_IF_ERROR(surveyor->Finish(trace, args_.diagnostics));
    surveyors_.clear();
    return {};
  }

  // Analysis passes read the unfiltered input: stages see every batch as the source made it. Only the first pass over
  // the input counts diagnostics.
  Status Analyze(int pass_number) {
    auto pass = StartPass(args_.plan.order);
    if (!pass.ok()) return pass.status();
    std::vector<Step> steps = {FillStep(**pass)};
    for (size_t i = 0; i < args_.plan.stages.size(); ++i) {
      const Stage& stage = *args_.plan.stages[i].stage;
      if (stage.info().analysis_passes <= pass_number) continue;
      steps.push_back({true, [this, i, &stage, pass_number](Token& token) {
                         return stage.Analyze(ArgsFor(i, token), pass_number).WithContext(args_.plan.stages[i].label);
                       }});
    }
    return PassRunner(args_, **pass, std::move(steps)).Run();
  }

  Status Transform() {
    const Order order = std::max(args_.plan.order, args_.sink.info().order);
    const Plan& plan = args_.plan;
    // Only what the first stage drops: of what others drop, it would not be known how much reaches them. Surveyors must
    // see everything.
    std::function<bool(const EventGroup&)> skip;
    if (!plan.stages.empty() && surveyors_.empty()) {
      skip = [&stage = *plan.stages.front().stage](const EventGroup& group) { return stage.DropsAll(group); };
    }
    auto pass = StartPass(order, skip);
    if (!pass.ok()) return pass.status();
    const auto any = [&](auto holds) {
      return std::any_of(plan.stages.begin(), plan.stages.end(),
                         [&](const PlannedStage& planned) { return holds(planned.stage->info()); });
    };
    const bool injects = any([](const StageInfo& info) { return info.injects; });
    const bool rewrites = injects || any([](const StageInfo& info) { return info.rewrites; });
    // Columns of the input go on; a stage that produces one again writes it anew.
    std::vector<AnnotationInfo> annotations = plan.annotations;
    if (!args_.sink.info().stores_annotations) {
      // What a stage tells by events of its own is not lost.
      for (const PlannedStage& planned : plan.stages) {
        if (!planned.stage->info().injects) continue;
        for (const AnnotationInfo& column : planned.stage->info().produces) std::erase(annotations, column);
      }
    }
    for (const AnnotationInfo& column : args_.source.context().info.annotations) {
      const auto same = [&](const AnnotationInfo& other) { return other.name == column.name; };
      if (std::none_of(annotations.begin(), annotations.end(), same)) annotations.push_back(column);
    }
    ETWPIPE_RETURN_IF_ERROR(
        args_.sink.Begin({args_.source.context(), plan.drops, rewrites, annotations, args_.diagnostics}));
    std::vector<Step> steps = {FillStep(**pass)};
    if (!surveyors_.empty()) steps.push_back(SurveyStep(args_.source.context()));
    for (size_t i = 0; i < plan.stages.size(); ++i) {
      const Stage& stage = *plan.stages[i].stage;
      steps.push_back({stage.info().ordered, [this, i, &stage](Token& token) {
                         token.entered.push_back(token.batch.selection.size());
                         return stage.Process(ArgsFor(i, token)).WithContext(args_.plan.stages[i].label);
                       }});
    }
    next_injected_ = args_.source.context().info.next_injected;
    InjectedTail tail(order);
    steps.push_back({injects, [this, injects, &tail](Token& token) {
                       token.entered.push_back(token.batch.selection.size());
                       if (!injects) return Status();
                       tail.Settle(token.batch);
                       return NumberInjected(token.batch);
                     }});
    steps.push_back({false, [this](Token& token) {
                       auto chunk = args_.sink.Prepare(token.batch);
                       if (!chunk.ok()) return chunk.status();
                       token.chunk = std::move(*chunk);
                       return Status();
                     }});
    steps.push_back({true, [this](Token& token) {
                       Count(token);
                       const Status cut = args_.sink.Cut(std::move(token.chunk), token.blocks);
                       // Tokens wait for the blocks before them; what they were read from need not.
                       token.events_cut = token.batch.rows.size();
                       token.batch.Clear();
                       return cut;
                     }});
    steps.push_back({false, [this](Token& token) { return EncodeAll(token.blocks); }});
    steps.push_back({true, [this](Token& token) { return WriteAll(token.blocks); }});
    const size_t tokens = std::max<size_t>(kTokensPerThread, args_.sink.info().block_bytes / kBatchBytes);
    ETWPIPE_RETURN_IF_ERROR(PassRunner(args_, **pass, std::move(steps), tokens).Run());
    if (const uint64_t skipped = (*pass)->events_skipped(); skipped > 0) {
      summary_.events_in += skipped;
      summary_.stages.front().events_in += skipped;
      summary_.stages.front().events_dropped += skipped;
    }
    if (injects) ETWPIPE_RETURN_IF_ERROR(InjectAtEnd(tail));
    for (size_t i = 0; i < plan.stages.size(); ++i) {
      summary_.stages[i].counts = plan.stages[i].stage->Counts(states_[i].get());
    }

    std::vector<std::unique_ptr<SinkBlock>> blocks;
    ETWPIPE_RETURN_IF_ERROR(args_.sink.CutEnd(blocks));
    ETWPIPE_RETURN_IF_ERROR(EncodeAll(blocks));
    ETWPIPE_RETURN_IF_ERROR(WriteAll(blocks));
    if (args_.cancel != nullptr && args_.cancel->cancelled()) return Status::Cancelled();
    ETWPIPE_RETURN_IF_ERROR(FinishSurvey(args_.source.context()));
    return args_.sink.Finish();
  }

  // Ids in the order of the output: design.md section 5.
  Status NumberInjected(EventBatch& batch) {
    for (const uint16_t index : batch.selection) {
      EventHeader& row = batch.rows[index];
      if (!row.has(kInjected) || row.instance_id != 0) continue;
      row.instance_id = (kInjectedSource << kInstanceIdSourceShift) + next_injected_++;
      ++summary_.events_injected;
    }
    return {};
  }

  // What stages have to say once they have seen everything, each through the stages behind it.
  Status InjectAtEnd(InjectedTail& tail) {
    for (Token token; tail.Flush(token.batch); token.Clear()) ETWPIPE_RETURN_IF_ERROR(WriteInjected(token));
    for (size_t i = 0; i < args_.plan.stages.size(); ++i) {
      const Stage& stage = *args_.plan.stages[i].stage;
      if (!stage.info().injects) continue;
      for (bool more = true; more;) ETWPIPE_RETURN_IF_ERROR(InjectBatch(i, stage, more));
    }
    return {};
  }

  Status InjectBatch(size_t place, const Stage& stage, bool& more) {
    Token token;
    const auto again = stage.AtEnd(ArgsFor(place, token));
    if (!again.ok()) return again.status().WithContext(args_.plan.stages[place].label);
    more = *again;
    for (size_t next = place + 1; next < args_.plan.stages.size() && !token.batch.selection.empty(); ++next) {
      const PlannedStage& later = args_.plan.stages[next];
      ETWPIPE_RETURN_IF_ERROR(later.stage->Process(ArgsFor(next, token)).WithContext(later.label));
    }
    return token.batch.selection.empty() ? Status() : WriteInjected(token);
  }

  Status WriteInjected(Token& token) {
    ETWPIPE_RETURN_IF_ERROR(NumberInjected(token.batch));
    summary_.events_out += token.batch.selection.size();
    auto chunk = args_.sink.Prepare(token.batch);
    if (!chunk.ok()) return chunk.status();
    ETWPIPE_RETURN_IF_ERROR(args_.sink.Cut(std::move(*chunk), token.blocks));
    ETWPIPE_RETURN_IF_ERROR(EncodeAll(token.blocks));
    return WriteAll(token.blocks);
  }

  Result<std::unique_ptr<SourcePass>> StartPass(Order order, const std::function<bool(const EventGroup&)>& skip = {}) {
    Diagnostics* diagnostics = counted_ ? nullptr : args_.diagnostics;
    counted_ = true;
    return args_.source.StartPass({order, args_.threads, diagnostics, skip});
  }

  static Step FillStep(const SourcePass& pass) {
    return {false, [&pass](Token& token) { return pass.Fill(token.batch); }};
  }

  Stage::ProcessArgs ArgsFor(size_t stage, Token& token) {
    return {token.batch, args_.source.context(), states_[stage].get(), args_.diagnostics};
  }

  void Count(const Token& token) {
    summary_.events_in += token.entered.front();  // every row of the source is selected at first
    for (size_t i = 0; i < summary_.stages.size(); ++i) {
      summary_.stages[i].events_in += token.entered[i];
      if (token.entered[i + 1] < token.entered[i]) {
        summary_.stages[i].events_dropped += token.entered[i] - token.entered[i + 1];
      }
    }
    summary_.events_out += token.batch.selection.size();
  }

  Status EncodeAll(std::vector<std::unique_ptr<SinkBlock>>& blocks) const {
    for (auto& block : blocks) ETWPIPE_RETURN_IF_ERROR(args_.sink.Encode(*block));
    return {};
  }

  Status WriteAll(std::vector<std::unique_ptr<SinkBlock>>& blocks) const {
    for (auto& block : blocks) ETWPIPE_RETURN_IF_ERROR(args_.sink.Write(*block));
    blocks.clear();
    return {};
  }

  const ExecuteArgs& args_;
  std::vector<std::unique_ptr<StageState>> states_;
  std::vector<std::unique_ptr<Surveyor>> surveyors_;  // that have not finished
  RunSummary summary_;
  uint64_t next_injected_ = 1;
  bool counted_ = false;
};

}  // namespace

Result<RunSummary> Execute(const ExecuteArgs& args) { return Run(args).Execute(); }

Result<RunSummary> Execute(Source& source, Sink& sink, int threads, Diagnostics* diagnostics,
                           const CancelToken* cancel) {
  Plan plan;
  return Execute({source, plan, sink, threads, diagnostics, nullptr, cancel});
}

}  // namespace etwpipe

#include "tools/library/merged_source.h"

#include <algorithm>

namespace etwpipe::session {
namespace {

class MergedPass : public SourcePass {
 public:
  MergedPass(std::unique_ptr<SourcePass> trace, std::shared_ptr<const EventBatch> injected)
      : trace_(std::move(trace)), injected_(std::move(injected)) {}

  Result<bool> Next(EventBatch& batch) override {
    if (!ended_ && (held_ == nullptr || next_row_ == held_->rows.size())) {
      const auto more = Load();
      if (!more.ok()) return more.status();
    }
    const std::vector<EventHeader>& added = injected_->rows;
    size_t bytes = 0;
    while (batch.rows.size() < kMaxBatchRows && bytes < kMaxBatchBytes) {
      const bool has_row = held_ != nullptr && next_row_ < held_->rows.size();
      const bool has_added = next_added_ < added.size();
      // What comes after the rows at hand is not known yet.
      if (!has_row && !ended_) break;
      if (has_added && (!has_row || added[next_added_].timestamp < held_->rows[next_row_].timestamp)) {
        batch.rows.push_back(added[next_added_++]);
      } else if (has_row) {
        batch.rows.push_back(held_->rows[next_row_++]);
      } else {
        break;
      }
      bytes += batch.rows.back().record_size;
    }
    if (held_ != nullptr) batch.pins.push_back(held_);
    batch.pins.push_back(injected_);
    batch.SelectAll();
    return !batch.rows.empty();
  }

  Status Fill(EventBatch& batch) const override {
    batch.SelectAll();
    return {};
  }
  uint64_t bytes_done() const override { return trace_->bytes_done(); }

 private:
  // The next batch of the trace that has rows.
  Result<bool> Load() {
    do {
      held_ = std::make_shared<EventBatch>();
      next_row_ = 0;
      const auto more = trace_->Next(*held_);
      if (!more.ok()) return more.status();
      if (!*more) {
        ended_ = true;
        return false;
      }
      ETWPIPE_RETURN_IF_ERROR(trace_->Fill(*held_));
    } while (held_->rows.empty());
    return true;
  }

  std::unique_ptr<SourcePass> trace_;
  std::shared_ptr<const EventBatch> injected_;
  std::shared_ptr<EventBatch> held_;
  size_t next_row_ = 0;
  size_t next_added_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<SourcePass>> MergedSource::StartPass(const PassArgs& args) {
  auto pass = trace_.StartPass({Order::kTime, args.threads, nullptr});
  if (!pass.ok()) return pass.status();
  return std::unique_ptr<SourcePass>(std::make_unique<MergedPass>(std::move(*pass), injected_));
}

}  // namespace etwpipe::session

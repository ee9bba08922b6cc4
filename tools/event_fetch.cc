#include "tools/event_fetch.h"

#include <fmt/format.h>

#include <algorithm>

namespace etwpipe {
namespace {

struct FetchChunk final : SinkChunk {
  std::vector<std::unique_ptr<FetchedEvent>> events;
};

// The first byte where two spans differ, or nothing if they are equal.
std::optional<size_t> FirstDifference(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return std::nullopt;
  return static_cast<size_t>(in_a - a.begin());
}

}  // namespace

Result<std::unique_ptr<SinkChunk>> EventFetch::Prepare(EventBatch& batch) const {
  auto chunk = std::make_unique<FetchChunk>();
  for (const uint16_t index : batch.selection) {
    const EventHeader& row = batch.rows[index];
    if (!std::binary_search(ids_.begin(), ids_.end(), row.instance_id)) continue;
    auto event = std::make_unique<FetchedEvent>();
    event->row = row;
    event->bytes.assign(row.record, row.record + row.record_size);
    event->row.record = event->bytes.data();
    if (row.has(kHasProvider)) event->provider = trace_->provider_guid(row);
    chunk->events.push_back(std::move(event));
  }
  return std::unique_ptr<SinkChunk>(std::move(chunk));
}

Status EventFetch::Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) {
  auto& fetched = static_cast<FetchChunk&>(*chunk).events;
  std::move(fetched.begin(), fetched.end(), std::back_inserter(events_));
  return {};
}

const FetchedEvent* EventFetch::Find(EventInstanceId id) const {
  const auto found =
      std::find_if(events_.begin(), events_.end(), [id](const auto& event) { return event->row.instance_id == id; });
  return found == events_.end() ? nullptr : found->get();
}

std::vector<std::string> DescribeChange(const FetchedEvent& a, const FetchedEvent& b) {
  std::vector<std::string> what;
  const auto compare = [&](std::string_view name, const auto& of_a, const auto& of_b) {
    if (of_a != of_b) what.push_back(fmt::format("{} {} -> {}", name, of_a, of_b));
  };
  compare("cpu", a.row.cpu, b.row.cpu);
  compare("timestamp", a.row.timestamp, b.row.timestamp);
  compare("header type", a.row.header_type, b.row.header_type);
  if (a.provider != b.provider) what.emplace_back("provider");
  compare("event_id", a.row.id, b.row.id);
  compare("version", a.row.version, b.row.version);
  compare("opcode", a.row.opcode, b.row.opcode);
  compare("level", a.row.level, b.row.level);
  compare("channel", a.row.channel, b.row.channel);
  compare("task", a.row.task, b.row.task);
  compare("keyword", a.row.keyword, b.row.keyword);
  compare("pid", a.row.pid, b.row.pid);
  compare("tid", a.row.tid, b.row.tid);
  compare("size", a.row.record_size, b.row.record_size);
  if (const auto at = FirstDifference(a.row.extended_items(), b.row.extended_items())) {
    what.push_back(fmt::format("extended items at byte {}", *at));
  }
  if (const auto at = FirstDifference(a.row.payload(), b.row.payload())) {
    what.push_back(fmt::format("payload at byte {}", *at));
  }
  if (what.empty()) {
    const auto at = FirstDifference(a.row.record_bytes(), b.row.record_bytes());
    what.push_back(at ? fmt::format("record header at byte {}", *at) : "another record of the same id");
  }
  return what;
}

}  // namespace etwpipe

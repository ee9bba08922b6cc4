#include "formats/facts/stack_survey.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "formats/facts/survey_faults.h"
#include "formats/schema/context_records.h"
#include "formats/schema/extended_items.h"
#include "formats/schema/schema_registry.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::facts {
namespace {

using schema::ExtendedType;

struct ClrProvider {
  std::string_view guid;
  uint16_t stack_id;  // of its CLRStackWalk
};
constexpr std::array<ClrProvider, 4> kClrProviders = {{
    {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 82},   // runtime
    {"a669021c-c450-4609-a035-5af59af4df18", 0},    // rundown
    {"763fd754-7086-4dfe-95eb-c01a46faf4ca", 151},  // private
    {"cc2bcbba-16b6-4cf3-8990-d74c2e8af500", 1},    // stress
}};

constexpr size_t kStackWalkHead = 16;  // timestamp, pid, tid
constexpr size_t kMatchIdBytes = 8;
constexpr std::string_view kShortStack = "a record of a stack is too short";

class StackSurveyor final : public Surveyor {
 public:
  explicit StackSurveyor(const StackLimits& limits) : limits_(limits) { records_.pool = StackPool(limits.frames); }

  Status Observe(const EventBatch& batch, const TraceContext& trace) override {
    if (!threads_) Bind(trace);
    for (const EventHeader& row : batch.rows) {
      if (row.provider == stack_walk_) {
        ReadStackWalk(row);
      } else if (IsKernelRecord(row.kind)) {
        NoteSharedTime(row);
      } else {
        const auto clr = std::find(clr_.begin(), clr_.end(), row.provider);
        if (clr != clr_.end()) ReadClr(row, static_cast<size_t>(clr - clr_.begin()));
        if (row.has(kHasExtended)) ReadMatched(row);
      }
    }
    return {};
  }

  Status Finish(const TraceContext& trace, Diagnostics* diagnostics) override {
    if (!threads_) Bind(trace);
    faults_.Report(diagnostics);
    records_.pointer_size = trace.info.pointer_size;
    auto table = std::make_shared<const StackTable>(StackTable::Build(std::move(records_), *threads_));
    if (diagnostics != nullptr) {
      diagnostics->AddCount(DiagnosticId::kStacksDropped, dropped_);
      diagnostics->AddCount(DiagnosticId::kStackKeyUnknown, table->unknown_keys());
      diagnostics->AddCount(DiagnosticId::kStackOrphan, table->orphans());
    }
    trace.facts->Set(std::move(table));
    return {};
  }

 private:
  // The kernel record of a processor before the next.
  struct Last {
    int64_t time = 0;
    EventInstanceId id = 0;
    uint32_t tid = kNoId;
  };

  void Bind(const TraceContext& trace) {
    threads_.emplace(trace);
    const auto intern = [&](std::string_view guid) { return trace.providers->Intern(GuidOf(guid)); };
    stack_walk_ = intern(schema::kStackWalkGuid);
    for (size_t i = 0; i < clr_.size(); ++i) clr_[i] = intern(kClrProviders[i].guid);
  }

  template <typename Record>
  void Keep(std::vector<Record>& records, const Record& record) {
    if (records.size() < limits_.records) {
      records.push_back(record);
    } else {
      ++dropped_;
    }
  }

  // The frames in `bytes`; nothing where there are none or the pool is full.
  std::optional<StackId> Intern(std::span<const std::byte> bytes, size_t pointer_size) {
    frames_.clear();
    ReadFrames(bytes, pointer_size, frames_);
    if (frames_.empty()) return std::nullopt;
    const StackId id = records_.pool.Intern(frames_);
    if (id == kNoStack) ++dropped_;
    return id == kNoStack ? std::nullopt : std::optional(id);
  }

  void ReadStackWalk(const EventHeader& row) {
    switch (row.opcode) {
      case 32:
      case 37:
      case 38: return ReadHalf(row);
      case 34: return ReadDefinition(row, StackDefinition::Kind::kCreate);
      case 35: return ReadDefinition(row, StackDefinition::Kind::kDelete);
      case 36: return ReadDefinition(row, StackDefinition::Kind::kRundown);
      default: return;
    }
  }

  void ReadHalf(const EventHeader& row) {
    const auto payload = row.payload();
    if (payload.size() < kStackWalkHead) return faults_.Bad(kShortStack);
    StackHalf half;
    half.event_time = LoadAt<int64_t>(payload.data());
    half.pid = LoadAt<uint32_t>(payload.data(), 8);
    half.tid = LoadAt<uint32_t>(payload.data(), 12);
    half.logged = row.timestamp;
    half.cpu = row.cpu;
    if (row.opcode == 32) {
      const auto stack = Intern(payload.subspan(kStackWalkHead), row.pointer_size());
      if (!stack) return;
      half.stack = *stack;
    } else {
      const auto key = ReadKey(payload.subspan(kStackWalkHead), row.pointer_size());
      if (!key) return faults_.Bad(kShortStack);
      half.key = *key;
      half.has_key = true;
      half.user = row.opcode == 38;
    }
    Keep(records_.halves, half);
  }

  static std::optional<uint64_t> ReadKey(std::span<const std::byte> bytes, size_t pointer_size) {
    if (bytes.size() < pointer_size) return std::nullopt;
    return pointer_size == 8 ? LoadAt<uint64_t>(bytes.data()) : LoadAt<uint32_t>(bytes.data());
  }

  void ReadDefinition(const EventHeader& row, StackDefinition::Kind kind) {
    const auto payload = row.payload();
    const size_t pointer_size = row.pointer_size();
    const auto key = ReadKey(payload, pointer_size);
    if (!key) return faults_.Bad(kShortStack);
    const auto stack = Intern(payload.subspan(pointer_size), pointer_size);
    if (stack) Keep(records_.definitions, {*key, row.timestamp, *stack, kind});
  }

  // A clock may be too coarse to tell two records of a thread apart.
  void NoteSharedTime(const EventHeader& row) {
    const uint32_t tid = threads_->Of(row);
    const Last now{row.timestamp, row.instance_id, tid};
    const auto [last, added] = last_.try_emplace(row.cpu, now);
    if (added) return;
    const Last before = std::exchange(last->second, now);
    const bool same_thread = tid == before.tid || tid == kNoId || before.tid == kNoId;
    if (before.time == row.timestamp && same_thread) Keep(records_.shared_times, {before.time, before.id});
  }

  void ReadClr(const EventHeader& row, size_t provider) {
    if (schema::SchemaRegistry::IsClassic(row.kind)) return;
    ClrStackRecord record;
    record.time = row.timestamp;
    record.id = row.instance_id;
    record.tid = row.tid;
    record.provider = static_cast<uint8_t>(provider);
    if (row.id == kClrProviders[provider].stack_id) {
      // u16 ClrInstanceID, u8, u8, u32 FrameCount, frames: semantics.md 6.4.
      ByteReader reader(row.payload());
      reader.Skip(4);
      const size_t bytes = size_t{reader.Read<uint32_t>()} * row.pointer_size();
      if (reader.failed() || bytes > reader.remaining()) faults_.Bad("a CLR stack has fewer frames than it says");
      const auto stack = Intern(reader.ReadBytes(std::min(bytes, reader.remaining())), row.pointer_size());
      if (!stack) return;
      record.is_stack = true;
      record.stack = *stack;
    } else {
      record.has_stack = HasStack(row);
    }
    Keep(records_.clr, record);
  }

  static bool HasStack(const EventHeader& row) {
    if (!row.has(kHasExtended)) return false;
    auto items = row.extended_items();
    for (schema::ExtendedItemView item; schema::NextExtendedItem(items, item);) {
      if (IsStack(item.type)) return true;
    }
    return false;
  }

  static bool IsStack(ExtendedType type) {
    return type == ExtendedType::kStackTrace32 || type == ExtendedType::kStackTrace64 ||
           type == ExtendedType::kStackKey32 || type == ExtendedType::kStackKey64;
  }

  void ReadMatched(const EventHeader& row) {
    auto items = row.extended_items();
    for (schema::ExtendedItemView item; schema::NextExtendedItem(items, item);) {
      if (!IsStack(item.type)) continue;
      if (item.data.size() < kMatchIdBytes) {
        faults_.Bad(kShortStack);
        continue;
      }
      MatchedHalf half;
      half.match_id = LoadAt<uint64_t>(item.data.data());
      if (half.match_id == 0) continue;
      half.time = row.timestamp;
      half.id = row.instance_id;
      half.tid = row.tid;
      const auto data = item.data.subspan(kMatchIdBytes);
      const bool wide = item.type == ExtendedType::kStackTrace64 || item.type == ExtendedType::kStackKey64;
      half.has_key = item.type == ExtendedType::kStackKey32 || item.type == ExtendedType::kStackKey64;
      if (half.has_key) {
        const auto key = ReadKey(data, wide ? 8 : 4);
        if (!key) {
          faults_.Bad(kShortStack);
          continue;
        }
        half.key = *key;
      } else {
        const auto stack = Intern(data, wide ? 8 : 4);
        if (!stack) continue;
        half.stack = *stack;
      }
      Keep(records_.matched, half);
    }
  }

  StackLimits limits_;
  StackRecords records_;
  std::optional<KernelThreads> threads_;
  std::optional<ProviderIndex> stack_walk_;
  std::array<std::optional<ProviderIndex>, 4> clr_;
  std::unordered_map<uint16_t, Last> last_;  // by processor
  std::vector<uint64_t> frames_;
  uint64_t dropped_ = 0;
  SurveyFaults faults_;
};

}  // namespace

std::unique_ptr<Surveyor> MakeStackSurveyor(const StackLimits& limits) {
  return std::make_unique<StackSurveyor>(limits);
}

}  // namespace etwpipe::facts

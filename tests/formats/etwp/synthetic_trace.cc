#include "tests/formats/etwp/synthetic_trace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <random>

#include "formats/etl/layout.h"
#include "formats/etl/record_builder.h"
#include "pipeline/byte_reader.h"
#include "pipeline/executor.h"

namespace etwpipe::test {
namespace {

constexpr size_t kCpus = 3;

std::vector<std::byte> RandomBytes(std::mt19937_64& random, size_t size) {
  std::vector<std::byte> bytes(size);
  // Half of the payloads are compressible.
  const bool noise = random() % 2 == 0;
  for (auto& byte : bytes) byte = static_cast<std::byte>(noise ? random() : random() % 4);
  return bytes;
}

template <typename Fields>
std::vector<std::byte> Record(const Fields& fields, std::span<const std::byte> payload) {
  std::vector<std::byte> record(etl::RecordSize(fields, payload.size()));
  const size_t size = etl::WriteRecord(record, fields, payload);
  record.resize(size);
  return record;
}

Guid RandomGuid(std::mt19937_64& random, uint64_t variants) {
  std::mt19937_64 chosen(random() % variants);
  Guid guid;
  for (auto& byte : guid.bytes) byte = static_cast<std::byte>(chosen());
  return guid;
}

// A record of one of the header kinds; `timed` says whether it has a timestamp of its own.
std::vector<std::byte> MakeRecord(std::mt19937_64& random, size_t choice, int64_t timestamp, bool large, bool& timed) {
  timed = true;
  const auto tid = static_cast<uint32_t>(random() % 5 * 4);
  const auto pid = static_cast<uint32_t>(random() % 3 * 4);
  const auto time = static_cast<uint32_t>(random() % 100);
  auto payload = RandomBytes(random, random() % 3 == 0 ? 0 : random() % 70);
  constexpr etl::RecordType kSystemTypes[] = {etl::kTypeSystem32,  etl::kTypeSystem64,   etl::kTypeCompact32,
                                              etl::kTypeCompact64, etl::kTypePerfInfo32, etl::kTypePerfInfo64};
  const uint64_t counters[] = {random(), random(), random()};
  if (large) payload = RandomBytes(random, 65000);
  switch (choice % 12) {
    case 0:
    case 1:
    case 2: {
      etl::SystemFields fields;
      fields.type = kSystemTypes[random() % 6];
      fields.version = 2;
      fields.group = static_cast<uint8_t>(random() % 4 + 1);
      fields.opcode = static_cast<uint8_t>(random() % 4);
      fields.tid = tid;
      fields.pid = pid;
      fields.timestamp = timestamp;
      fields.kernel_time = time;
      fields.user_time = time / 3;
      if (choice % 12 == 1) fields.pebs = random();
      if (choice % 12 == 1) fields.pmc = counters;
      return Record(fields, payload);
    }
    case 3: {
      etl::FullFields fields;
      fields.type = random() % 2 == 0 ? etl::kTypeFull32 : etl::kTypeFull64;
      fields.opcode = static_cast<uint8_t>(random() % 3);
      fields.tid = tid;
      fields.pid = pid;
      fields.timestamp = timestamp;
      fields.guid = RandomGuid(random, 3);
      fields.kernel_time = time;
      return Record(fields, payload);
    }
    case 4: {
      etl::InstanceFields fields;
      fields.full.type = random() % 2 == 0 ? etl::kTypeInstance32 : etl::kTypeInstance64;
      fields.full.timestamp = timestamp;
      fields.full.guid = RandomGuid(random, 2);
      fields.instance_id = static_cast<uint32_t>(random());
      fields.parent_instance_id = static_cast<uint32_t>(random());
      return Record(fields, payload);
    }
    case 5:
    case 6:
    case 7: {
      etl::EventFields fields;
      fields.type = random() % 2 == 0 ? etl::kTypeEvent32 : etl::kTypeEvent64;
      fields.property = static_cast<uint16_t>(random() % 2);
      fields.tid = tid;
      fields.pid = pid;
      fields.timestamp = timestamp;
      fields.provider = RandomGuid(random, 4);
      fields.id = static_cast<uint16_t>(random() % 5);
      fields.level = 4;
      fields.keyword = random() % 2 == 0 ? 0x8000000000000010u : 1;
      fields.user_time = time;
      fields.activity = random() % 2 == 0 ? Guid{} : RandomGuid(random, 50);
      const auto stack = RandomBytes(random, random() % 5 * 8);
      const auto odd = RandomBytes(random, 5);
      const etl::ExtendedItem items[] = {{etl::kExtStackTrace64, stack}, {etl::kExtSchemaTl, odd}};
      if (choice % 12 == 6) fields.items = items;
      auto record = Record(fields, payload);
      // Sometimes the flag is there and what follows is no list of items.
      if (choice % 12 == 7 && payload.size() > 16 && random() % 2 == 0) record[4] |= std::byte{1};
      return record;
    }
    case 8: {
      etl::MessageFields fields;
      fields.message_number = static_cast<uint16_t>(random() % 20);
      const uint64_t options = random();
      if (options & 1) fields.sequence = static_cast<uint32_t>(random());
      if (options & 2) fields.guid = RandomGuid(random, 2);
      if ((options & 6) == 4) fields.component_id = 7;
      timed = (options & 8) != 0;
      if (timed) fields.timestamp = timestamp;
      if (options & 16) fields.ids = etl::MessageFields::Ids{tid, pid};
      return Record(fields, payload);
    }
    case 9: return Record(etl::TimedFields{static_cast<uint32_t>(random()), timestamp}, {});
    case 10: timed = false; return Record(etl::RawFields{etl::kTypeError, etl::kMarkerFixed}, payload);
    default:
      timed = false;
      return Record(etl::RawFields{static_cast<uint8_t>(random() % 2 == 0 ? 77 : 200), etl::kMarkerFixed}, payload);
  }
}

void SetNote(const NoteValue& value, size_t row, AnnotationColumn& column) {
  switch (column.info().type) {
    case AnnotationType::kString:
    case AnnotationType::kMessage: column.SetString(row, value.text); break;
    case AnnotationType::kU64List: column.SetList(row, value.list); break;
    case AnnotationType::kStringList: {
      std::vector<uint64_t> numbers;
      for (const std::string& text : value.texts) numbers.push_back(column.InternText(text));
      column.SetTexts(row, numbers);
      break;
    }
    default: column.SetU64(row, value.bits);
  }
}

NoteValue GetNote(const AnnotationColumn& column, size_t row) {
  NoteValue value;
  value.present = column.has(row);
  if (!value.present) return value;
  switch (column.info().type) {
    case AnnotationType::kString:
    case AnnotationType::kMessage: value.text = column.string(row); break;
    case AnnotationType::kU64List: value.list = column.list(row); break;
    case AnnotationType::kStringList:
      for (const uint64_t number : column.list_view(row)) value.texts.emplace_back(column.text(number));
      break;
    default: value.bits = column.u64(row);
  }
  return value;
}

class SyntheticPass : public SourcePass {
 public:
  SyntheticPass(const SyntheticTrace& trace, const TraceContext& context, size_t batch_rows)
      : trace_(trace), context_(context), batch_rows_(batch_rows) {}

  Result<bool> Next(EventBatch& batch) override {
    const size_t begin = next_;
    const size_t end = std::min(begin + batch_rows_, trace_.events.size());
    while (next_opened_ < trace_.opened.size() &&
           (trace_.opened[next_opened_].first < end || end == trace_.events.size())) {
      batch.opened.push_back(trace_.opened[next_opened_++].second);
    }
    if (begin == end && batch.opened.empty()) return false;
    batch.sequence = sequence_++;
    batch.source_state = std::make_shared<std::pair<size_t, size_t>>(begin, end);
    next_ = end;
    return true;
  }

  Status Fill(EventBatch& batch) const override {
    const auto [begin, end] = *static_cast<const std::pair<size_t, size_t>*>(batch.source_state.get());
    etl::ProviderResolver providers(*context_.providers);
    for (size_t i = begin; i < end; ++i) {
      const OwnedEvent& event = trace_.events[i];
      EventHeader& row = batch.rows.emplace_back();
      etwp::ParseRow(event.record, 8, providers, row);
      row.instance_id = event.instance_id;
      row.timestamp = event.timestamp;
      row.cpu = event.cpu;
    }
    batch.SelectAll();
    for (size_t column = 0; column < trace_.annotations.size(); ++column) {
      AnnotationColumn& added = batch.AddAnnotation(trace_.annotations[column]);
      for (size_t i = begin; i < end; ++i) {
        const auto& notes = trace_.events[i].notes;
        if (column < notes.size() && notes[column].present) SetNote(notes[column], i - begin, added);
      }
    }
    return {};
  }

  uint64_t bytes_done() const override { return next_; }

 private:
  const SyntheticTrace& trace_;
  const TraceContext& context_;
  size_t batch_rows_;
  size_t next_ = 0;
  size_t next_opened_ = 0;
  uint64_t sequence_ = 0;
};

// Keeps what it gets, with annotations.
class KeepSink : public Sink {
 public:
  SinkInfo info() const override { return {Order::kTime, true}; }
  Status Begin(const BeginArgs&) override { return {}; }
  Result<std::unique_ptr<SinkChunk>> Prepare(EventBatch& batch) const override {
    auto chunk = std::make_unique<Chunk>();
    for (const auto& column : batch.annotations) chunk->annotations.push_back(column.info());
    for (const uint16_t index : batch.selection) {
      const EventHeader& row = batch.rows[index];
      OwnedEvent event{row.instance_id, row.timestamp, row.cpu, {row.record, row.record + row.record_size}, {}};
      for (const auto& column : batch.annotations) event.notes.push_back(GetNote(column, index));
      chunk->events.push_back(std::move(event));
    }
    return std::unique_ptr<SinkChunk>(std::move(chunk));
  }
  Status Cut(std::unique_ptr<SinkChunk> chunk, std::vector<std::unique_ptr<SinkBlock>>&) override {
    auto& kept = static_cast<Chunk&>(*chunk);
    for (const auto& info : kept.annotations) {
      if (std::find(annotations.begin(), annotations.end(), info) == annotations.end()) annotations.push_back(info);
    }
    for (auto& event : kept.events) {
      std::vector<NoteValue> notes(annotations.size());
      for (size_t i = 0; i < kept.annotations.size(); ++i) {
        const auto at = std::find(annotations.begin(), annotations.end(), kept.annotations[i]) - annotations.begin();
        notes[static_cast<size_t>(at)] = std::move(event.notes[i]);
      }
      event.notes = std::move(notes);
      events.push_back(std::move(event));
    }
    return {};
  }
  Status CutEnd(std::vector<std::unique_ptr<SinkBlock>>&) override { return {}; }
  Status Encode(SinkBlock&) const override { return {}; }
  Status Write(SinkBlock&) override { return {}; }
  Status Finish() override { return {}; }

  std::vector<OwnedEvent> events;
  std::vector<AnnotationInfo> annotations;

 private:
  struct Chunk : SinkChunk {
    std::vector<OwnedEvent> events;
    std::vector<AnnotationInfo> annotations;
  };
};

}  // namespace

SyntheticTrace MakeTrace(size_t events, uint64_t seed, bool large_records) {
  SyntheticTrace trace;
  TraceInfo& info = trace.info;
  info.format = "etl";
  info.file_size = 123456;
  info.buffers = 7;
  info.buffer_size = 65536;
  info.processors = kCpus;
  info.clock = {ClockType::kQpc, 10'000'000, 1000, 132'000'000'000'000'000};
  info.end_time = 132'000'000'100'000'000;
  info.boot_time = 131'900'000'000'000'000;
  info.logger_name = "synthetic";
  info.log_file_name = "C:\\trace.etl";
  info.log_file_mode = 0x10001;
  info.os_major = 10;
  info.os_build = 19041;
  info.events_lost = 3;
  info.utc_bias_minutes = -60;
  info.next_injected = 5;
  info.header_record.assign(312, std::byte{7});
  info.header_buffer_header.assign(etl::buffer::kHeaderSize, std::byte{9});
  SourceRecording source;
  source.fingerprint.fill(std::byte{0xAB});
  source.path = "/secret/place.etl";
  info.sources.push_back(source);

  std::mt19937_64 random(seed);
  int64_t now = 1000;
  std::vector<uint64_t> offsets(kCpus, 9);
  std::vector<int64_t> last(kCpus, 1000);
  for (size_t i = 0; i < events; ++i) {
    OwnedEvent event;
    event.cpu = static_cast<uint16_t>(random() % kCpus);
    now += static_cast<int64_t>(random() % 50);
    // Now and then a processor steps back.
    const int64_t timestamp = random() % 40 == 0 ? now - 100 : now;
    bool timed = true;
    event.record = MakeRecord(random, random(), timestamp, large_records && i % 50 == 0, timed);
    if (large_records && i % 100 == 50) {
      etl::SystemFields largest;
      largest.timestamp = timestamp;
      event.record = Record(largest, RandomBytes(random, etl::kMaxRecordSize - etl::kSystemHeaderSize));
      timed = true;
    }
    event.timestamp = timed ? timestamp : last[event.cpu];
    last[event.cpu] = event.timestamp;
    uint64_t& offset = offsets[event.cpu];
    if (random() % 20 == 0) offset += 1 + random() % 100;
    event.instance_id = MakeInstanceId(0, event.cpu + 1, 8 * offset);
    if (random() % 500 == 0) event.instance_id = MakeInstanceId(kInjectedSource, 0, 8 * random() % 100000);
    offset += etl::Align8(event.record.size()) / 8;
    trace.events.push_back(std::move(event));
  }
  return trace;
}

void AddAnnotations(SyntheticTrace& trace) {
  trace.annotations = {
      {"note.0_u64", AnnotationType::kU64, AnnotationUnit::kTicks, {}},
      {"note.1_i64", AnnotationType::kI64, AnnotationUnit::kNanoseconds, {}},
      {"note.2_f64", AnnotationType::kF64, AnnotationUnit::kNone, {}},
      {"note.3_bool", AnnotationType::kBool, AnnotationUnit::kNone, {}},
      {"note.4_string", AnnotationType::kString, AnnotationUnit::kNone, {}},
      {"note.5_id", AnnotationType::kInstanceId, AnnotationUnit::kNone, {}},
      {"note.6_list", AnnotationType::kU64List, AnnotationUnit::kBytes, {}},
      {"note.7_message", AnnotationType::kMessage, AnnotationUnit::kNone, "etwpipe.v1.Example"},
      {"note.8_texts", AnnotationType::kStringList, AnnotationUnit::kNone, {}},
  };
  std::mt19937_64 random(99);
  for (auto& event : trace.events) {
    event.notes.resize(trace.annotations.size());
    for (auto& note : event.notes) note.present = random() % 3 != 0;
    const auto set_bits = [&](size_t column, uint64_t bits) {
      if (event.notes[column].present) event.notes[column].bits = bits;
    };
    set_bits(0, random());
    set_bits(1, random() % 1000 - 500);
    set_bits(2, std::bit_cast<uint64_t>(static_cast<double>(random() % 1000) / 7));
    set_bits(3, random() % 2);
    if (event.notes[4].present && random() % 5 != 0) event.notes[4].text = "text " + std::to_string(random() % 10);
    set_bits(5, random() % 100000);
    if (event.notes[6].present) {
      event.notes[6].list.resize(random() % 4);
      for (auto& value : event.notes[6].list) value = random() % 3;
    }
    if (event.notes[7].present) event.notes[7].text = std::string("\x08\x01\x00\xFF", 4);
    if (event.notes[8].present) {
      event.notes[8].texts.resize(random() % 4);
      for (auto& text : event.notes[8].texts) text = std::string(random() % 3, static_cast<char>('a' + random() % 3));
    }
  }
}

SyntheticSource::SyntheticSource(const SyntheticTrace& trace, size_t batch_rows)
    : trace_(trace), batch_rows_(batch_rows) {
  context_.info = trace.info;
}

Result<std::unique_ptr<SourcePass>> SyntheticSource::StartPass(const PassArgs&) {
  return std::unique_ptr<SourcePass>(std::make_unique<SyntheticPass>(trace_, context_, batch_rows_));
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "etwp-test-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::vector<std::byte> ReadBytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

void WriteBytes(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Status WriteArchive(const SyntheticTrace& trace, etwp::EtwpSinkOptions options, size_t batch_rows, int threads,
                    Diagnostics* diagnostics) {
  SyntheticSource source(trace, batch_rows);
  etwp::EtwpSink sink(std::move(options));
  Diagnostics unused;
  return Execute(source, sink, threads, diagnostics != nullptr ? diagnostics : &unused).status();
}

ArchiveContent ReadArchive(std::shared_ptr<InputFile> file, Diagnostics* diagnostics, int threads,
                           const etwp::SkipBlock& skip) {
  ArchiveContent content;
  auto source = etwp::EtwpSource::Open(std::move(file), {diagnostics, {}});
  if (!source.ok()) {
    content.status = source.status();
    return content;
  }
  (*source)->SetSkip(skip);
  content.info = (*source)->context().info;
  KeepSink sink;
  content.status = Execute(**source, sink, threads, diagnostics).status();
  content.events = std::move(sink.events);
  content.annotations = sink.annotations;
  std::sort(content.annotations.begin(), content.annotations.end(),
            [](const AnnotationInfo& a, const AnnotationInfo& b) { return a.name < b.name; });
  for (auto& event : content.events) {
    std::vector<NoteValue> by_name(content.annotations.size());
    for (size_t i = 0; i < event.notes.size(); ++i) {
      const auto at = std::find(content.annotations.begin(), content.annotations.end(), sink.annotations[i]);
      by_name[static_cast<size_t>(at - content.annotations.begin())] = std::move(event.notes[i]);
    }
    event.notes = std::move(by_name);
  }
  return content;
}

ArchiveContent ReadArchive(const std::string& path, Diagnostics* diagnostics, int threads,
                           const etwp::SkipBlock& skip) {
  auto file = InputFile::Open(path);
  if (!file.ok()) {
    ArchiveContent content;
    content.status = file.status();
    return content;
  }
  return ReadArchive(*file, diagnostics, threads, skip);
}

MemoryFile::MemoryFile(std::span<const std::byte> bytes) : fd_(::memfd_create("archive", MFD_CLOEXEC)) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

Result<std::shared_ptr<InputFile>> MemoryFile::Open() const {
  return InputFile::Open("/proc/self/fd/" + std::to_string(fd_));
}

}  // namespace etwpipe::test

// Small traces made by hand: events of every header kind, and the machinery to write and read them as archives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/etwp/etwp_sink.h"
#include "formats/etwp/etwp_source.h"
#include "pipeline/diagnostics.h"
#include "pipeline/source.h"

namespace etwpipe::test {

/// The value of an annotation: its 64 bits, or its text, or its list.
struct NoteValue {
  bool present = false;
  uint64_t bits = 0;
  std::string text;
  std::vector<uint64_t> list;
  std::vector<std::string> texts;

  friend bool operator==(const NoteValue&, const NoteValue&) = default;
};

/// An event that owns its bytes. `notes` are parallel to the annotations of its trace.
struct OwnedEvent {
  uint64_t instance_id = 0;
  int64_t timestamp = 0;
  uint16_t cpu = 0;
  std::vector<std::byte> record;
  std::vector<NoteValue> notes;

  friend bool operator==(const OwnedEvent&, const OwnedEvent&) = default;
};

struct SyntheticTrace {
  TraceInfo info;
  std::vector<AnnotationInfo> annotations;
  std::vector<OwnedEvent> events;
  /// Buffers to be shown to the sink with the batch that holds event `first`; ascending.
  std::vector<std::pair<size_t, std::shared_ptr<const SourceBuffer>>> opened;
};

/// Events of all header kinds with odd sizes, empty and largest payloads, several processors, steps back in time and
/// ids with gaps. The same for the same arguments.
SyntheticTrace MakeTrace(size_t events, uint64_t seed, bool large_records = false);
/// Events of three kinds that the program has schemas of, with text, arrays, a key and extended items.
SyntheticTrace MakeTypedTrace(size_t events);
/// Adds a column of every annotation type, with nulls.
void AddAnnotations(SyntheticTrace& trace);

/// Gives out a trace in batches of at most `batch_rows` events.
class SyntheticSource : public Source {
 public:
  SyntheticSource(const SyntheticTrace& trace, size_t batch_rows);
  const TraceContext& context() const override { return context_; }
  Result<std::unique_ptr<SourcePass>> StartPass(const PassArgs& args) override;

 private:
  const SyntheticTrace& trace_;
  size_t batch_rows_;
  TraceContext context_;
};

/// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> ReadBytes(const std::string& path);
void WriteBytes(const std::string& path, std::span<const std::byte> bytes);

/// Writes a trace as an archive through the executor.
Status WriteArchive(const SyntheticTrace& trace, etwp::EtwpSinkOptions options, size_t batch_rows = 1000,
                    int threads = 1, Diagnostics* diagnostics = nullptr);

/// What comes out of an archive.
struct ArchiveContent {
  Status status;
  TraceInfo info;
  std::vector<OwnedEvent> events;
  std::vector<AnnotationInfo> annotations;  ///< by name
};
/// Reads all of it, in order.
ArchiveContent ReadArchive(const std::string& path, Diagnostics* diagnostics, int threads = 1,
                           const etwp::SkipBlock& skip = {});
/// The same from an open file.
ArchiveContent ReadArchive(std::shared_ptr<InputFile> file, Diagnostics* diagnostics, int threads = 1,
                           const etwp::SkipBlock& skip = {});

/// A file in memory, for thousands of variants.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  Result<std::shared_ptr<InputFile>> Open() const;

 private:
  int fd_;
};

}  // namespace etwpipe::test

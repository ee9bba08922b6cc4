// Buffers of an .etl in memory: read, inflated, walked into records, a little ahead of their use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formats/etl/buffer_index.h"
#include "formats/etl/id_map.h"
#include "pipeline/diagnostics.h"
#include "pipeline/source_buffer.h"

namespace etwpipe::etl {

/// A buffer with what ordering needs. Filled by BufferLoader, completed by the one reader of its stream, then
/// immutable.
struct LoadedBuffer : SourceBuffer {
  /// One raw timestamp per record; the first `leading_untimed` have none of their own and wait for the stream's last.
  std::vector<int64_t> timestamps;
  size_t leading_untimed = 0;
  uint64_t steps_back = 0;  ///< records older than their predecessor in this buffer
  size_t first_step_back = 0;
  /// One id per record, or empty where the id is the place in source `place_source`.
  std::vector<EventInstanceId> ids;
  uint64_t place_source = 0;

  EventInstanceId id(size_t record) const {
    return ids.empty() ? MakeInstanceId(place_source, ordinal, records[record].offset) : ids[record];
  }
};

/// What all loads of one file share.
struct LoadContext {
  std::shared_ptr<const InputFile> file;
  uint32_t format_selector = 3;   ///< xca::Format number
  const IdMap* id_map = nullptr;  ///< null: ids are places
  uint64_t own_source = 0;        ///< source number of records the map does not cover
  bool show_carriers = false;
};

/// Reads, inflates and walks one buffer. Only failing reads are errors; damage is counted. Any thread.
Status LoadBuffer(const LoadContext& context, const BufferEntry& entry, Diagnostics* diagnostics, LoadedBuffer& buffer);

/// Keeps the memory of buffers that are done for the next ones. Thread-safe; outlived by the buffers it gave out.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  std::shared_ptr<LoadedBuffer> Take();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<LoadedBuffer>> free_;
};

/// Loads buffers of an index on request, and ahead of it on other threads.
class BufferLoader {
 public:
  /// `threads` 1: everything in the caller. `diagnostics` may be null.
  BufferLoader(const LoadContext& context, const BufferIndex& index, int threads, Diagnostics* diagnostics);
  ~BufferLoader();
  BufferLoader(const BufferLoader&) = delete;
  BufferLoader& operator=(const BufferLoader&) = delete;

  /// Starts loading an entry if there are threads for it. One caller at a time.
  void Prefetch(size_t entry);
  /// The buffer, waiting for it or loading it here. One caller at a time; each entry once.
  Result<std::shared_ptr<LoadedBuffer>> Take(size_t entry);

 private:
  struct Slot;
  struct Tasks;
  void Run(Slot& slot);

  const LoadContext& context_;
  const BufferIndex& index_;
  Diagnostics* diagnostics_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  std::vector<std::shared_ptr<Slot>> slots_;  // prefetched and not yet taken
  std::unique_ptr<Tasks> tasks_;              // null with one thread
};

}  // namespace etwpipe::etl

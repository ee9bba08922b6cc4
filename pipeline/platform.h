// Everything that touches the operating system: files, spool files, terminal, signals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "pipeline/progress.h"
#include "pipeline/status.h"

namespace etwpipe {

/// A file opened for reading at any place, from any thread. "-" is standard input, copied to a spool file first.
class InputFile {
 public:
  /// `spool_dir`: where a spooled input is kept (empty: TMPDIR or /tmp); spool files have no name and vanish with the
  /// process. `start`: bytes of standard input that were read already. `cancel` (may be null) ends the copying.
  /// Errors name the path and the reason (not found, no permission, a directory, ...).
  static Result<std::shared_ptr<InputFile>> Open(const std::string& path, const std::string& spool_dir = {},
                                                 std::span<const std::byte> start = {},
                                                 const CancelToken* cancel = nullptr);
  /// Standard input as a stream: ReadAt() works for ascending offsets only, size() is unknown (see sequential()).
  /// `cancel` (may be null, else lives as long) ends a wait for input.
  static Result<std::shared_ptr<InputFile>> OpenStream(const CancelToken* cancel = nullptr);

  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Fills `out` from `offset`; the count is smaller only where the file ends. Interrupted reads are continued.
  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const;
  /// Bytes when it was opened; 0 for a stream.
  uint64_t size() const { return size_; }
  bool sequential() const { return sequential_; }
  const std::string& path() const { return path_; }
  /// True if `path` names this very file.
  bool IsSameFile(const std::string& path) const;

 private:
  friend class OutputFile;
  InputFile(std::string path, int fd, uint64_t size, bool sequential)
      : path_(std::move(path)), fd_(fd), size_(size), sequential_(sequential) {}

  std::string path_;
  int fd_;
  uint64_t size_;
  bool sequential_;
  const CancelToken* cancel_ = nullptr;  // of a stream
  mutable uint64_t stream_position_ = 0;
};

/// Looks at a finished output before it gets its name; an error keeps it from appearing.
using OutputCheck = std::function<Status(const std::shared_ptr<InputFile>& written)>;

/// A file that appears under its name only when it is complete: written under a temporary name in the same folder,
/// synced, renamed. Removed if it is never committed.
class OutputFile {
 public:
  enum class Stdout : uint8_t {
    kStream,  ///< write to standard output as bytes come
    kSpool,   ///< collect in a spool file and copy out on Commit(); allows WriteAt()
  };
  /// `path` "-" is standard output. An existing file is an error unless `force`.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path, bool force, Stdout stdout_mode,
                                                    const std::string& spool_dir = {});
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Appends. A full disk is an error that says so.
  Status Append(std::span<const std::byte> bytes);
  /// Appends several pieces as one write.
  Status AppendParts(std::span<const std::span<const std::byte>> parts);
  /// Overwrites bytes that were appended before. Not on a streamed standard output.
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes);
  /// Reads back bytes that were appended before. Not on a streamed standard output.
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const;
  /// Bytes appended so far.
  uint64_t size() const { return size_; }
  /// True once a write failed because whoever read standard output went away.
  bool reader_gone() const { return reader_gone_; }
  /// What Commit() asks once everything is written. Not for a streamed standard output.
  void set_check(OutputCheck check) { check_ = std::move(check); }
  /// Syncs and renames to the final name.
  Status Commit();

 private:
  OutputFile() = default;
  Status Check() const;
  Status WriteAll(int fd, uint64_t offset, bool positioned, std::span<const std::byte> bytes) const;

  std::string path_;
  std::string temporary_path_;  // empty when there is none to remove
  int fd_ = -1;
  uint64_t size_ = 0;
  mutable bool reader_gone_ = false;
  bool streamed_ = false;
  bool spooled_ = false;
  bool force_ = false;
  OutputCheck check_;
};

/// A folder that appears under its name only when it is complete (csv output).
class OutputFolder {
 public:
  /// `force` replaces a folder that holds nothing but files named `*<extension>`; any other is an error, so that nobody
  /// loses a folder by a slip.
  static Result<std::unique_ptr<OutputFolder>> Create(const std::string& path, bool force,
                                                      const std::string& extension);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();
  /// Appends to a file of the folder, made at the first call with its name.
  Status Append(const std::string& file, std::span<const std::byte> bytes);
  /// Bytes appended so far, over all files.
  uint64_t size() const { return size_; }
  /// Syncs all files and renames the folder to its final name.
  Status Commit();

 private:
  OutputFolder() = default;
  std::string path_;
  std::string temporary_path_;
  std::set<std::string> files_;
  uint64_t size_ = 0;
  bool committed_ = false;
};

/// True if standard error (2) or standard output (1) is a terminal.
bool IsTerminal(int fd);
/// Seconds on a clock that never steps back.
double MonotonicSeconds();
/// Cores this process may use, at least 1.
int AvailableCores();
/// Value of an environment variable, empty if unset.
std::string Environment(const char* name);
/// SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) set the token; a second one ends the process at
/// once. SIGPIPE is ignored.
void InstallSignalHandlers(CancelToken* token);
/// Asks the system to back the heap by large pages, so that a run over a small file is not mostly page faults, and has
/// the heap keep what is freed, in blocks up to 32 MiB. For the start of a program.
void UseLargePages();
/// Gives free memory of the heap back to the system, which UseLargePages() has it keep. Takes some milliseconds.
void ReturnFreeMemory();

}  // namespace etwpipe

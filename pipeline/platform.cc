#include "pipeline/platform.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

namespace etwpipe {
namespace {

constexpr size_t kCopyBytes = 1 << 20;
constexpr int kWaitMilliseconds = 100;
constexpr const char* kStandardOutput = "standard output";

std::string ErrorText(int error) { return std::generic_category().message(error); }

std::string SpoolFolder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const std::string from_environment = Environment("TMPDIR");
  return from_environment.empty() ? "/tmp" : from_environment;
}

// A file without a name: it vanishes with its descriptor.
Result<int> OpenSpool(const std::string& wanted_folder) {
  std::string name = SpoolFolder(wanted_folder) + "/etwpipe-spool-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    return Status::Output(fmt::format("{}: cannot create a spool file: {}; choose another folder with --spool DIR",
                                      SpoolFolder(wanted_folder), ErrorText(errno)));
  }
  ::unlink(name.c_str());
  return fd;
}

// What a pipe or a file holds next, 0 at its end. The wait for it goes in steps: a signal that another thread receives,
// or that comes just before the wait, does not interrupt it.
Result<size_t> ReadNext(int fd, std::span<std::byte> out, const CancelToken* cancel) {
  while (true) {
    if (cancel != nullptr && cancel->cancelled()) return Status::Cancelled();
    struct pollfd wait {
      fd, POLLIN, 0
    };
    const int ready = ::poll(&wait, 1, cancel == nullptr ? -1 : kWaitMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t count = ::read(fd, out.data(), out.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::Input(fmt::format("standard input: cannot read: {}", ErrorText(errno)));
    return static_cast<size_t>(count);
  }
}

Status OutputError(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    if (path == kStandardOutput) return Status::Output(fmt::format("{}: no space left where it goes", path));
    return Status::Output(
        fmt::format("{}: no space left; the incomplete output was removed. Free space or choose another folder", path));
  }
  return Status::Output(fmt::format("{}: cannot write: {}", path, ErrorText(error)));
}

// A temporary name beside `path`, hidden and unlikely to be taken.
std::string TemporaryName(const std::filesystem::path& path) {
  std::random_device random;
  const std::filesystem::path folder = path.parent_path();
  return (folder / fmt::format(".{}.{:08x}.tmp", path.filename().string(), random())).string();
}

// Makes a rename durable; failure only means it may be lost with the power.
void SyncFolder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool SameFile(int fd, const std::string& path) {
  struct stat ours {};
  struct stat theirs {};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
         ours.st_ino == theirs.st_ino;
}

CancelToken* signal_token = nullptr;

extern "C" void OnSignal(int signal) {
  if (signal_token == nullptr || signal_token->cancelled()) ::_exit(128 + signal);
  signal_token->Cancel(signal);
}

}  // namespace

Result<std::shared_ptr<InputFile>> InputFile::Open(const std::string& path, const std::string& spool_dir,
                                                   std::span<const std::byte> start, const CancelToken* cancel) {
  if (path == "-") {
    const auto spool = OpenSpool(spool_dir);
    if (!spool.ok()) return spool.status();
    std::shared_ptr<InputFile> file(new InputFile("standard input", *spool, 0, false));
    const auto keep = [&](std::span<const std::byte> bytes) -> Status {
      for (size_t done = 0; done < bytes.size();) {
        const ssize_t step = ::write(*spool, bytes.data() + done, bytes.size() - done);
        if (step < 0 && errno == EINTR) continue;
        if (step < 0) return OutputError("spool file in " + SpoolFolder(spool_dir), errno);
        done += static_cast<size_t>(step);
      }
      file->size_ += bytes.size();
      return {};
    };
    ETWPIPE_RETURN_IF_ERROR(keep(start));
    std::vector<std::byte> chunk(kCopyBytes);
    while (true) {
      const auto count = ReadNext(0, chunk, cancel);
      if (!count.ok()) return count.status();
      if (*count == 0) return file;
      ETWPIPE_RETURN_IF_ERROR(keep(std::span(chunk).first(*count)));
    }
  }
  // O_NONBLOCK: a named pipe without a writer is refused below and not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Status::Input(fmt::format("{}: cannot open: {}", path, ErrorText(errno)));
  std::shared_ptr<InputFile> file(new InputFile(path, fd, 0, false));
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Status::Input(fmt::format("{}: cannot stat: {}", path, ErrorText(errno)));
  if (S_ISDIR(info.st_mode)) return Status::Input(fmt::format("{}: is a directory; name a file in it", path));
  if (!S_ISREG(info.st_mode)) {
    return Status::Input(fmt::format("{}: not a regular file; pipe it in instead: etwpipe ... - < {}", path, path));
  }
  file->size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Result<std::shared_ptr<InputFile>> InputFile::OpenStream(const CancelToken* cancel) {
  const int fd = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return Status::Input(fmt::format("standard input: cannot open: {}", ErrorText(errno)));
  std::shared_ptr<InputFile> stream(new InputFile("standard input", fd, 0, true));
  stream->cancel_ = cancel;
  return stream;
}

InputFile::~InputFile() { ::close(fd_); }

Result<size_t> InputFile::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (sequential_) {
    if (offset < stream_position_) return Status::Internal("standard input: read behind the stream's position");
    std::vector<std::byte> skipped(std::min<uint64_t>(offset - stream_position_, kCopyBytes));
    while (stream_position_ < offset) {
      const auto step = std::min<uint64_t>(offset - stream_position_, skipped.size());
      const auto count = ReadAt(stream_position_, std::span(skipped).first(step));
      if (!count.ok()) return count.status();
      if (*count < step) return size_t{0};
    }
  }
  size_t done = 0;
  while (done < out.size()) {
    if (sequential_) {
      const auto count = ReadNext(fd_, out.subspan(done), cancel_);
      if (!count.ok()) return count.status();
      if (*count == 0) break;
      done += *count;
      continue;
    }
    const ssize_t count = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::Input(fmt::format("{}: cannot read at {}: {}", path_, offset, ErrorText(errno)));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  if (sequential_) stream_position_ = offset + done;
  return done;
}

bool InputFile::IsSameFile(const std::string& path) const { return SameFile(fd_, path); }

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, bool force, Stdout stdout_mode,
                                                       const std::string& spool_dir) {
  std::unique_ptr<OutputFile> file(new OutputFile());
  file->path_ = path == "-" ? kStandardOutput : path;
  file->force_ = force;
  if (path == "-") {
    if (stdout_mode == Stdout::kSpool) {
      const auto spool = OpenSpool(spool_dir);
      if (!spool.ok()) return spool.status();
      file->fd_ = *spool;
      file->spooled_ = true;
      return file;
    }
    file->fd_ = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (file->fd_ < 0) return Status::Output(fmt::format("standard output: cannot open: {}", ErrorText(errno)));
    file->streamed_ = true;
    return file;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Status::Output(fmt::format("{}: is a folder; name a file in it", path));
  }
  // Renaming over a device or a pipe would replace it.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return Status::Output(fmt::format("{}: not a regular file; name one that is, or a new one", path));
  }
  if (!force && std::filesystem::exists(path, ignored)) {
    return Status::Output(fmt::format("{}: exists already; --force overwrites it", path));
  }
  // A link stays and its target is replaced.
  if (std::filesystem::is_symlink(path, ignored)) {
    const auto target = std::filesystem::weakly_canonical(path, ignored);
    if (!target.empty()) file->path_ = target.string();
  }
  file->temporary_path_ = TemporaryName(file->path_);
  file->fd_ = ::open(file->temporary_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file->fd_ < 0) {
    const int error = errno;
    file->temporary_path_.clear();
    return Status::Output(fmt::format("{}: cannot create: {}", path, ErrorText(error)));
  }
  return file;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

Status OutputFile::WriteAll(int fd, uint64_t offset, bool positioned, std::span<const std::byte> bytes) const {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        positioned ? ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done))
                   : ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      reader_gone_ = error == EPIPE;
      return OutputError(path_, error);
    }
    done += static_cast<size_t>(count);
  }
  return {};
}

Status OutputFile::Append(std::span<const std::byte> bytes) {
  ETWPIPE_RETURN_IF_ERROR(WriteAll(fd_, size_, !streamed_, bytes));
  size_ += bytes.size();
  return {};
}

Status OutputFile::AppendParts(std::span<const std::span<const std::byte>> parts) {
  constexpr size_t kMaxParts = 16;
  if (streamed_ || parts.size() > kMaxParts) {
    for (const auto part : parts) ETWPIPE_RETURN_IF_ERROR(Append(part));
    return {};
  }
  struct iovec vector[kMaxParts];
  size_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    vector[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    total += parts[i].size();
  }
  const ssize_t count = ::pwritev(fd_, vector, static_cast<int>(parts.size()), static_cast<off_t>(size_));
  if (count < 0 && errno != EINTR) return OutputError(path_, errno);
  if (count >= 0 && static_cast<size_t>(count) == total) {
    size_ += total;
    return {};
  }
  // Interrupted or cut short: the rest one by one.
  size_t done = count < 0 ? 0 : static_cast<size_t>(count);
  for (const auto part : parts) {
    const size_t skip = std::min(done, part.size());
    done -= skip;
    size_ += skip;
    ETWPIPE_RETURN_IF_ERROR(Append(part.subspan(skip)));
  }
  return {};
}

Status OutputFile::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  if (streamed_ || offset + bytes.size() > size_) return Status::Internal("write behind the end of the output");
  return WriteAll(fd_, offset, true, bytes);
}

Status OutputFile::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Status::Output(fmt::format("{}: cannot read back: {}", path_, ErrorText(errno)));
    done += static_cast<size_t>(count);
  }
  return {};
}

Status OutputFile::Check() const {
  if (!check_) return {};
  const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return Status::Output(fmt::format("{}: cannot read back: {}", path_, ErrorText(errno)));
  return check_(std::shared_ptr<InputFile>(new InputFile(path_, fd, size_, false)));
}

Status OutputFile::Commit() {
  if (streamed_) return {};
  ETWPIPE_RETURN_IF_ERROR(Check());
  if (spooled_) {
    std::vector<std::byte> chunk(kCopyBytes);
    for (uint64_t at = 0; at < size_;) {
      const auto part = std::span(chunk).first(std::min<uint64_t>(chunk.size(), size_ - at));
      ETWPIPE_RETURN_IF_ERROR(ReadAt(at, part));
      ETWPIPE_RETURN_IF_ERROR(WriteAll(1, 0, false, part));
      at += part.size();
    }
    return {};
  }
  if (::fsync(fd_) != 0) return OutputError(path_, errno);
  std::error_code ignored;
  if (!force_ && std::filesystem::exists(path_, ignored)) {
    return Status::Output(fmt::format("{}: appeared while the run was going on; --force overwrites it", path_));
  }
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) return OutputError(path_, errno);
  temporary_path_.clear();
  SyncFolder(path_);
  return {};
}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Create(const std::string& path, bool force,
                                                           const std::string& extension) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    if (!force) return Status::Output(fmt::format("{}: exists already; --force replaces it", path));
    if (!std::filesystem::is_directory(path, error)) {
      return Status::Output(fmt::format("{}: is a file, and a folder is to be written", path));
    }
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.is_regular_file(error) && entry.path().extension() == extension) continue;
      return Status::Output(
          fmt::format("{}: holds \"{}\", which is no {} file; --force replaces only folders of {} files", path,
                      entry.path().filename().string(), extension, extension));
    }
  }
  std::unique_ptr<OutputFolder> folder(new OutputFolder());
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  folder->path_ = trimmed;
  folder->temporary_path_ = TemporaryName(trimmed);
  std::filesystem::create_directory(folder->temporary_path_, error);
  if (error) return Status::Output(fmt::format("{}: cannot create: {}", path, error.message()));
  return folder;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!committed_) std::filesystem::remove_all(temporary_path_, ignored);
}

Status OutputFolder::Append(const std::string& file, std::span<const std::byte> bytes) {
  const std::string path = temporary_path_ + "/" + file;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return OutputError(path_ + "/" + file, errno);
  files_.insert(file);
  size_t done = 0;
  Status status;
  while (done < bytes.size() && status.ok()) {
    const ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      status = OutputError(path_ + "/" + file, errno);
    } else {
      done += static_cast<size_t>(count);
    }
  }
  ::close(fd);
  size_ += done;
  return status;
}

Status OutputFolder::Commit() {
  std::error_code error;
  for (const auto& file : files_) {
    const std::string path = temporary_path_ + "/" + file;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool synced = fd >= 0 && ::fsync(fd) == 0;
    const int sync_error = errno;
    if (fd >= 0) ::close(fd);
    if (!synced) return OutputError(path_ + "/" + file, sync_error);
  }
  std::string replaced;
  if (std::filesystem::exists(path_, error)) {
    replaced = TemporaryName(path_);
    std::filesystem::rename(path_, replaced, error);
    if (error) return Status::Output(fmt::format("{}: cannot replace: {}", path_, error.message()));
  }
  std::filesystem::rename(temporary_path_, path_, error);
  if (error) return Status::Output(fmt::format("{}: cannot rename into place: {}", path_, error.message()));
  committed_ = true;
  if (!replaced.empty()) std::filesystem::remove_all(replaced, error);
  SyncFolder(path_);
  return {};
}

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void InstallSignalHandlers(CancelToken* token) {
  signal_token = token;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  const bool ignored = ::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
  if (!ignored) ::sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
  // A file above the size limit is then an error of the write, and the incomplete output is removed.
  ::sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace etwpipe

// Where a generated file goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "pipeline/platform.h"
#include "pipeline/status.h"

namespace etwpipe::tracegen {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  /// Overwrites bytes that were appended before.
  virtual Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

class MemorySink : public ByteSink {
 public:
  Status Append(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return {};
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class FileSink : public ByteSink {
 public:
  explicit FileSink(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  Status Append(std::span<const std::byte> bytes) override { return file_->Append(bytes); }
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override { return file_->WriteAt(offset, bytes); }
  OutputFile& file() { return *file_; }

 private:
  std::unique_ptr<OutputFile> file_;
};

}  // namespace etwpipe::tracegen

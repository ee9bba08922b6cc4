// Reads any bytes as an archive, by its index and frame by frame, and checks it. The first byte says whether checksums
// are put right first, so that the fuzzer gets past them.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/etwp/etwp_source.h"
#include "formats/etwp/frame.h"
#include "formats/etwp/verify.h"
#include "pipeline/byte_reader.h"

namespace {

using namespace etwpipe;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Gives every frame found from the start on its sync word and checksum, and the tail the checksum of its index.
void PutRight(std::vector<std::byte>& bytes) {
  size_t at = 0;
  while (bytes.size() - at >= etwp::kFramePrefix + etwp::kTailSize) {
    const auto length = LoadAt<uint32_t>(bytes.data(), at + 4);
    if (length > bytes.size() - at - etwp::kFramePrefix) break;
    StoreAt<uint32_t>(bytes.data(), at, etwp::kSyncWord);
    StoreAt<uint64_t>(bytes.data(), at + 8, XXH3_64bits(bytes.data() + at + etwp::kFramePrefix, length));
    at += etwp::kFramePrefix + length;
  }
  if (bytes.size() < etwp::kTailSize) return;
  const size_t tail = bytes.size() - etwp::kTailSize;
  const auto index = LoadAt<uint64_t>(bytes.data(), tail);
  if (index > bytes.size() - etwp::kFramePrefix) return;
  StoreAt<uint64_t>(bytes.data(), tail + 16, LoadAt<uint64_t>(bytes.data(), index + 8));
}

void ReadAll(const std::shared_ptr<InputFile>& file) {
  Diagnostics diagnostics;
  auto source = etwp::EtwpSource::Open(file, {&diagnostics, {}});
  if (!source.ok()) return;
  for (const uint32_t kind : (*source)->archive().dictionary().kind_numbers()) {
    EventHeader row;
    (void)(*source)->KindHeader(kind, row);
  }
  Source::PassArgs args;
  args.diagnostics = &diagnostics;
  const auto pass = (*source)->StartPass(args);
  Require(pass.ok());
  uint64_t sum = 0;
  EventBatch batch;
  while (true) {
    const auto more = (*pass)->Next(batch);
    Require(more.ok());
    if (!*more) break;
    Require((*pass)->Fill(batch).ok());
    for (const auto& row : batch.rows) {
      Require(row.extended_begin <= row.payload_begin && row.payload_begin <= row.record_size);
      for (const std::byte byte : row.record_bytes()) sum += std::to_integer<uint64_t>(byte);
    }
    for (const auto& column : batch.annotations) Require(column.size() == batch.rows.size());
    batch.Clear();
  }
  volatile uint64_t used = sum;
  (void)used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin() + 1, input.end());
  if ((data[0] & 1) != 0) PutRight(bytes);
  const int fd = ::memfd_create("archive", MFD_CLOEXEC);
  Require(fd >= 0);
  Require(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto file = InputFile::Open("/proc/self/fd/" + std::to_string(fd));
  ::close(fd);
  Require(file.ok());
  ReadAll(*file);
  (void)etwp::VerifyArchive(*file, 1, nullptr);
  return 0;
}

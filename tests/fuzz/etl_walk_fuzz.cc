// Whole .etl files: opening, both orders of reading, every header field and extended item, the structural checks.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/etl/etl_source.h"
#include "formats/etl/etl_verify.h"
#include "formats/etl/record.h"
#include "formats/schema/extended_items.h"
#include "pipeline/batch.h"

namespace {

using namespace etwpipe;

// Reads every byte a consumer may read, so that a view outside its memory is seen.
uint64_t Touch(const EventBatch& batch) {
  uint64_t sum = 0;
  for (const EventHeader& row : batch.rows) {
    for (const std::byte b : row.record_bytes()) sum += std::to_integer<uint64_t>(b);
    for (const std::byte b : row.payload()) sum += std::to_integer<uint64_t>(b);
    auto items = row.extended_items();
    schema::ExtendedItemView item;
    while (schema::NextExtendedItem(items, item)) {
      for (const std::byte b : item.data) sum += std::to_integer<uint64_t>(b);
    }
    if (row.payload_begin > row.record_size || row.extended_begin > row.payload_begin) std::abort();
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = ::memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (fd < 0 || ::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  auto file = InputFile::Open(path);
  if (!file.ok()) std::abort();
  Diagnostics diagnostics;
  auto source = etl::EtlSource::Open(*file, {(size & 1) != 0, &diagnostics});
  if (!source.ok()) return 0;
  uint64_t events[2] = {0, 0};
  for (const Order order : {Order::kPerCpu, Order::kTime}) {
    auto pass = (*source)->StartPass({order, 1, &diagnostics});
    if (!pass.ok()) return 0;
    EventBatch batch;
    while (true) {
      const auto more = (*pass)->Next(batch);
      if (!more.ok() || !*more) break;
      if (!(*pass)->Fill(batch).ok()) break;
      (void)Touch(batch);
      events[order == Order::kTime ? 1 : 0] += batch.rows.size();
      batch.Clear();
    }
  }
  if (events[0] != events[1]) std::abort();
  (void)diagnostics.entries();
  (void)etl::VerifyEtl(*file, 1, nullptr);
  return 0;
}

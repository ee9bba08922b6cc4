#include "formats/etwp/images_hash.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <algorithm>

#include "formats/etl/layout.h"
#include "formats/etwp/sha256.h"
#include "pipeline/byte_reader.h"

namespace etwpipe::etwp {

ImageHash HashImage(std::span<const std::byte> header, std::span<const std::byte> data, bool compressed) {
  std::array<std::byte, etl::buffer::kHeaderSize> start{};
  std::copy(header.begin(), header.end(), start.begin());
  if (compressed) {
    StoreAt<uint32_t>(start.data(), etl::buffer::kBufferSize, 0);
    const auto flags = LoadAt<uint16_t>(start.data(), etl::buffer::kFlag);
    StoreAt<uint16_t>(start.data(), etl::buffer::kFlag,
                      static_cast<uint16_t>(flags & ~unsigned{etl::buffer::kFlagCompressed}));
  }
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, start.data(), header.size());
  XXH3_128bits_update(&state, data.data(), data.size());
  const XXH128_hash_t sum = XXH3_128bits_digest(&state);
  ImageHash hash;
  StoreAt(hash.data(), 0, uint64_t{sum.low64});
  StoreAt(hash.data(), 8, uint64_t{sum.high64});
  return hash;
}

std::string ImagesHash::Finish() {
  std::sort(hashes_.begin(), hashes_.end());
  Sha256 sum;
  for (const auto& [offset, hash] : hashes_) sum.Update(hash);
  return sum.Finish();
}

}  // namespace etwpipe::etwp

#ifndef ETWPIPE_FORMATS_XCA_XPRESS_ENCODER_H_
#define ETWPIPE_FORMATS_XCA_XPRESS_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace etwpipe::xca {

// Largest input of XpressEncode, in bytes: the largest ETW buffer Windows accepts.
inline constexpr std::size_t kXpressMaxInput = std::size_t{16} << 20;

// Bytes of output that always suffice for `input_size` bytes: all literals, one 4-byte flag word per 32 of them and the
// flag word that marks the end ([MS-XCA] 2.3.4).
[[nodiscard]] constexpr std::size_t XpressEncodeBound(std::size_t input_size) {
  return input_size + 4 * (input_size / 32 + 1);
}

// Working memory of XpressEncode, 112 KiB, allocated once and reused between calls. It carries no state from one
// call to the next. One object serves one thread at a time; a moved-from one serves none.
class XpressEncoder {
 public:
  XpressEncoder();
  XpressEncoder(XpressEncoder&&) noexcept = default;
  XpressEncoder& operator=(XpressEncoder&&) noexcept = default;

 private:
  friend std::size_t XpressEncode(std::span<const std::byte> in, std::span<std::byte> out, XpressEncoder& scratch);

  struct Tables;
  struct DeleteTables {
    void operator()(Tables* tables) const;
  };
  std::unique_ptr<Tables, DeleteTables> tables_;
};

// Compresses `in` as XPRESS plain LZ77 ([MS-XCA] 2.3) into the start of `out` and returns the bytes written. Returns 0
// when the result does not fit in `out`, or when `in` exceeds kXpressMaxInput; `out` then holds garbage and the caller
// stores the data uncompressed. The same input gives the same bytes on every machine, whatever the size of `out`.
// Bytes of `out` after the result are not touched. The spans must not overlap.
[[nodiscard]] std::size_t XpressEncode(std::span<const std::byte> in, std::span<std::byte> out, XpressEncoder& scratch);

}  // namespace etwpipe::xca

#endif  // ETWPIPE_FORMATS_XCA_XPRESS_ENCODER_H_

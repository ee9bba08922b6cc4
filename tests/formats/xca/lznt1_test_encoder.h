#ifndef ETWPIPE_TESTS_FORMATS_XCA_LZNT1_TEST_ENCODER_H_
#define ETWPIPE_TESTS_FORMATS_XCA_LZNT1_TEST_ENCODER_H_

#include <cstddef>
#include <span>

#include "tests/formats/xca/test_bytes.h"

namespace etwpipe::xca::testing {

// A plain LZNT1 encoder ([MS-XCA] 2.5) for round trips: greedy, tries every earlier position of the chunk, so it is
// slow and meets every offset width. A chunk that does not get smaller is stored.
Bytes Lznt1Encode(std::span<const std::byte> plain);

}  // namespace etwpipe::xca::testing

#endif  // ETWPIPE_TESTS_FORMATS_XCA_LZNT1_TEST_ENCODER_H_

// Large pages for the heap.
#include "pipeline/platform.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#endif

namespace etwpipe {

#ifdef __GLIBC__
void UseLargePages() {
  constexpr int kHeap = 64 << 20;
  constexpr int kLargestBlock = 32 << 20;  // glibc takes no larger threshold
  constexpr size_t kGrow = 256 << 10;      // more than a heap has at its start
  constexpr uintptr_t kLargePage = 2 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TOP_PAD, kHeap);
  const auto begin = reinterpret_cast<uintptr_t>(sbrk(0));
  // Volatile, or the compiler leaves both calls out.
  void* volatile grown = std::malloc(kGrow);
  std::free(grown);
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  const uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  // What is needed beyond comes in small steps.
  mallopt(M_TOP_PAD, 1 << 20);
  // Above what is free now, or the next free() gives it back.
  mallopt(M_TRIM_THRESHOLD, 2 * kHeap);
}

void ReturnFreeMemory() { malloc_trim(0); }
#else
void UseLargePages() {}
void ReturnFreeMemory() {}
#endif

}  // namespace etwpipe

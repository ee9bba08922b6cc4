// Which records of the input stay in a relogged trace.
#pragma once

#include <cstdint>

namespace etwpipe::session {

/// Set of retention bits (semantics.md 1.6). Bits that have no name here are reserved and keep nothing.
using RetentionFlags = uint64_t;

constexpr RetentionFlags kRetainNone = 0;  ///< only what is always retained: processes, threads, images, their rundown
constexpr RetentionFlags kRetainCpuSamples = 0x1;       ///< profile samples and their stacks; the SDK's only named bit
constexpr RetentionFlags kRetainContextSwitches = 0x2;  ///< CSwitch, ReadyThread and their stacks
constexpr RetentionFlags kRetainProcesses = 0x4;        ///< processes, threads, images and their rundown: always on
constexpr RetentionFlags kRetainFileIo = 0x8;           ///< disk and file I/O and their stacks
constexpr RetentionFlags kRetainMemory = 0x10;          ///< page faults, pools, heaps and their stacks
constexpr RetentionFlags kRetainClr = 0x20;             ///< everything of the CLR's providers
constexpr RetentionFlags kRetainAll = ~RetentionFlags{0};  ///< every record, those of programs included

}  // namespace etwpipe::session

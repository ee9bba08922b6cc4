// Tells ThreadSanitizer of an order it cannot see. oneTBB's library is not instrumented, so what one pipeline filter
// leaves to the next would look like a race. All calls are empty in every other build.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ETWPIPE_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define ETWPIPE_THREAD_SANITIZER 1
#endif

#ifdef ETWPIPE_THREAD_SANITIZER
extern "C" void __tsan_release(void* address);
extern "C" void __tsan_acquire(void* address);
#endif

namespace etwpipe {

/// The calling thread is done with what `key` stands for (a token of the pipeline, or the state of a serial filter).
inline void HandOver([[maybe_unused]] const void* key) {
#ifdef ETWPIPE_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(key));
#endif
}

/// The calling thread goes on with it; whatever happened before HandOver(key) has happened.
inline void TakeOver([[maybe_unused]] const void* key) {
#ifdef ETWPIPE_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(key));
#endif
}

/// The key for what a task finds in its own closure: it must be taken over before the closure is read, so the key
/// cannot stand in it. Handed over by whoever is about to start tasks.
inline constexpr char kClosures = 0;

}  // namespace etwpipe

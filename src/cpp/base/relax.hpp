// What a thread does between two looks at a condition that another one is about to change.
#pragma once

namespace gcwsnet {

// Lets the processor save energy, and its other thread run, for a moment.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gcwsnet

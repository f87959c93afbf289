// Threads that wait for work. A call that can use several of them finds them awake or wakes them, and starts no new
// ones.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace gcwsnet {

class ThreadPool;

// Work that at most n_helpers threads of the pool join, each by calling `run` once, which must not throw.
//
// The caller does the work too, closes it when nothing is left, and waits only for those who joined. So calls from
// several threads, and calls within calls, share the pool and cannot wait for each other. Where the system gives no
// more threads, fewer come.
class SharedWork {
 public:
  SharedWork(int n_helpers, std::function<void()> run);
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  // Nobody joins from now on.
  void close();
  // After close: whether all who joined have returned, after waiting for at most this time.
  bool ended_within(std::chrono::milliseconds time);

 private:
  friend ThreadPool;
  ThreadPool& pool_;
  std::function<void()> run_;
  int n_helpers_, n_wanted_;
  bool closed_ = false;
  std::atomic<int> n_working_{0};
};

// What a thread does between two looks at a condition that another one is about to change: it lets the processor save
// energy, and its other thread run, for a moment.
inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gcwsnet

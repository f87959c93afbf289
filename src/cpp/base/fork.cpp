#include "base/fork.hpp"

#include <atomic>
#include <mutex>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace gcwsnet {

namespace {

std::mutex& the_lock = *new std::mutex;  // never destroyed: at exit a thread of the pool may be at work
std::atomic<std::uint32_t> generation{0};

#if !defined(_WIN32)
[[maybe_unused]] const int kAtFork = pthread_atfork([] { the_lock.lock(); }, [] { the_lock.unlock(); },
                                                    [] {
                                                      generation.fetch_add(1);
                                                      the_lock.unlock();
                                                    });
#endif

}  // namespace

ForkSafeLock::ForkSafeLock() { the_lock.lock(); }
ForkSafeLock::~ForkSafeLock() { the_lock.unlock(); }

std::uint32_t fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace gcwsnet

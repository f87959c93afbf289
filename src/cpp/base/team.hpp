// Threads that stay together for a while and go through many short pieces of work, one after the other.
//
// A training step is two such pieces of some hundred microseconds. To ask the pool for threads each time would take as
// long as a part of the work. A member without work looks for it only for some microseconds and then sleeps, so that
// the processor is free for others.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/thread_pool.hpp"

namespace gcwsnet {

// Whether a team is faster than one thread, measured now and then. Where other programs use the processors too, a
// member may lose its own in the middle of a block, and all others wait for it. Such a round takes many times as long
// as others. It counts as four of the fastest, so that one of them does not decide.
class SpeedupMonitor {
 public:
  // For the next round of work, of which all are about equally long.
  bool is_shared() const { return n_decided_ > 0 ? shared_ : is_shared_when_measured(n_measured_); }
  // The time that it took.
  void record(double seconds);

 private:
  static constexpr int kInARow = 4, kMeasured = 24, kDecided = 600;  // rounds: four alone, four shared, ...
  static constexpr double kMaxCounted = 4.0, kWorthwhileRatio = 0.95;
  static constexpr bool is_shared_when_measured(int round) { return round / kInARow % 2 == 1; }

  bool shared_ = false;
  int n_decided_ = 0, n_measured_ = 0;
  std::array<double, kMeasured> seconds_{};
};

class Team {
 public:
  // At most n_members, this thread among them. Only this thread calls what follows.
  explicit Team(int n_members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int n_members() const { return n_members_; }
  // From now on all members work, or this thread alone.
  void share(bool shared) { n_active_ = shared ? n_members_ : 1; }
  int n_active() const { return n_active_; }

  // work(block, member) for each block below n_blocks; `member`, below n_members, is the number of the thread that does
  // it, and no two threads at work have the same. Work must not throw. Blocks are begun in their order.
  template <class Work>
  void for_each_block(std::size_t n_blocks, const Work& work) {
    run(n_blocks, &work,
        [](const void* what, std::size_t block, int member) { (*static_cast<const Work*>(what))(block, member); });
  }

 private:
  using Call = void (*)(const void* work, std::size_t block, int member);

  void run(std::size_t n_blocks, const void* work, Call call);
  void help();
  bool run_one_block(int member);

  int n_members_, n_active_;
  const void* work_ = nullptr;
  Call call_ = nullptr;
  std::size_t n_blocks_ = 0;
  // The number of the piece of work in the upper half, in the lower one how many of its blocks nobody has begun. What
  // is above is only read by a thread that has taken a block: until it is done nobody changes it.
  std::atomic<std::uint64_t> to_begin_{0};
  std::atomic<std::size_t> n_to_end_{0};
  std::atomic<bool> closed_{false};
  std::atomic<int> n_asleep_{0}, next_member_{1};
  std::atomic<bool> caller_asleep_{false};
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::unique_ptr<SharedWork> helpers_;  // from the first shared work on; the first to go
};

}  // namespace gcwsnet

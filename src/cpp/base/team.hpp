// Threads that stay together for a while and go through many short pieces of work, one after the other.
//
// A training step is two such pieces of some hundred microseconds. To ask the pool for threads each time would take as
// long as a part of the work. A member without work looks for it only for some microseconds and then sleeps, so that the
// processor is free for others. Where there are more threads than processors, a member may lose its processor in the middle
// of a block, for as long as many pieces take: a team that has waited for that works without it for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/thread_pool.hpp"

namespace gcwsnet {

class Team {
 public:
  // At most n_members, this thread among them. Only this thread calls for_each_block.
  explicit Team(int n_members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int n_members() const { return n_members_; }
  // Those for whom the next piece of work is best divided.
  int n_at_work() const { return n_alone_ > 0 ? 1 : n_members_; }

  // work(block, member) for each block below n_blocks; `member`, below n_members, is the number of the thread that does
  // it, and no two threads at work have the same. Work must not throw. Blocks are begun in their order.
  template <class Work>
  void for_each_block(std::size_t n_blocks, const Work& work) {
    run(n_blocks, &work, [](const void* what, std::size_t block, int member) {
      (*static_cast<const Work*>(what))(block, member);
    });
  }

 private:
  using Call = void (*)(const void* work, std::size_t block, int member);

  void run(std::size_t n_blocks, const void* work, Call call);
  void wait_for_others();
  void help();
  bool do_one(int member);

  int n_members_;
  const void* work_ = nullptr;
  Call call_ = nullptr;
  std::size_t n_blocks_ = 0;
  int n_alone_ = 0, next_n_alone_;  // pieces of work that this thread does alone, now and after it has waited for long
  // The number of the piece of work in the upper half, in the lower one how many of its blocks nobody has begun. What is
  // above is only read by a thread that has taken a block: until it is done nobody changes it.
  std::atomic<std::uint64_t> to_begin_{0};
  std::atomic<std::size_t> n_to_end_{0};
  std::atomic<bool> closed_{false};
  std::atomic<int> n_asleep_{0}, next_member_{1};
  std::atomic<bool> caller_asleep_{false};
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::unique_ptr<SharedWork> helpers_;  // the last to be made and the first to go
};

}  // namespace gcwsnet

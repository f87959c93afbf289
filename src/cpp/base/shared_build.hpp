// Work that is done once, such as the building of a table, by all threads that need it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/fork.hpp"
#include "base/parallel.hpp"

namespace gcwsnet {

// Parts of work, each of which some thread claims and does. No lock is held meanwhile: a thread that needs the work
// helps instead of waiting, and looks at its stop token between parts. A part that is given up, by an exception or
// since its thread did not come along when the process forked, is done by another thread from the start. So a part must
// be short, only write, and always write the same.
class SharedBuild {
 public:
  explicit SharedBuild(std::size_t n_parts) : parts_(n_parts), n_open_(n_parts), generation_(fork_generation()) {}

  // Returns when all parts are done; work(part) does one. `make_work` makes one such function for each thread.
  template <class MakeWork>
  void finish(int n_threads, StopToken& stop_token, MakeWork make_work) {
    if (is_done()) return;
    reopen_parts_of_other_generations();
    const std::size_t n_helpers = std::min(parts_.size(), static_cast<std::size_t>(std::max(n_threads, 1)));
    for_each_block(n_helpers, n_threads, stop_token, [&] {
      return [&, work = make_work(), at = first_place()](std::size_t) mutable {
        while (!is_done()) {
          if (claim_from(at)) {
            do_part(at, work);
          } else {
            std::this_thread::sleep_for(std::chrono::microseconds(100));  // others do the last parts
          }
          stop_token.poll();
        }
      };
    });
  }

 private:
  enum State : unsigned char { kOpen, kClaimed, kDone };

  bool is_done() const { return n_open_.load(std::memory_order_acquire) == 0; }

  template <class Work>
  void do_part(std::size_t part, Work& work) {
    try {
      work(part);
    } catch (...) {
      reopen(parts_[part]);
      throw;
    }
    if (parts_[part].exchange(kDone) != kDone) n_open_.fetch_sub(1, std::memory_order_acq_rel);
  }

  // Threads begin at 0, 1/2, 1/4, 3/4, 1/8, ... of the parts: neighbours often write to the same lines of the cache.
  std::size_t first_place() {
    const std::uint32_t number = n_helpers_.fetch_add(1, std::memory_order_relaxed);
    std::size_t reversed = 0;
    for (int bit = 0; bit < 16; ++bit) reversed |= std::size_t{number >> bit & 1} << (15 - bit);
    return parts_.size() * reversed >> 16;
  }

  // Claims the next open part from `at` on, cyclically, and goes there. False if there is none.
  bool claim_from(std::size_t& at) {
    for (std::size_t i = 0; i < parts_.size(); ++i, at = at + 1 < parts_.size() ? at + 1 : 0) {
      unsigned char open = kOpen;
      if (parts_[at].load(std::memory_order_relaxed) == kOpen && parts_[at].compare_exchange_strong(open, kClaimed))
        return true;
    }
    return false;
  }

  static void reopen(std::atomic<unsigned char>& part) {
    unsigned char claimed = kClaimed;
    part.compare_exchange_strong(claimed, kOpen);
  }

  // The parts are counted too: a fork may lie between the end of a part and its count.
  void reopen_parts_of_other_generations() {
    const ForkSafeLock lock;
    if (generation_ == fork_generation()) return;
    generation_ = fork_generation();
    std::size_t n_open = 0;
    for (std::atomic<unsigned char>& part : parts_) {
      reopen(part);
      n_open += part.load() != kDone;
    }
    n_open_.store(n_open);
  }

  std::vector<std::atomic<unsigned char>> parts_;
  std::atomic<std::size_t> n_open_;
  std::atomic<std::uint32_t> n_helpers_{0};
  std::uint32_t generation_;  // of the claims
};

}  // namespace gcwsnet

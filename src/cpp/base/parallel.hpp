// Blocks of work on several threads, that can be interrupted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_pool.hpp"

namespace gcwsnet {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Rounding to nearest and subnormal numbers kept, whatever this thread was set to before.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&before_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

// Ends long work. The thread that made it asks `interrupted` at most every 50 ms; the others follow it.
class StopToken {
 public:
  explicit StopToken(std::function<bool()> interrupted) : interrupted_(std::move(interrupted)) {}

  // For what takes milliseconds and must not be left half done.
  static StopToken never() {
    return StopToken([] { return false; });
  }

  // Called often from within the work. Throws Interrupted once the work is to end.
  void poll() {
    if (std::this_thread::get_id() == owner_) {
      const auto now = std::chrono::steady_clock::now();
      if (now - asked_ > std::chrono::milliseconds(50)) {
        asked_ = now;
        if (interrupted_()) stop();
      }
    }
    if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
  }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  std::function<bool()> interrupted_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopped_{false};
};

// How many blocks n things make.
inline std::size_t blocks_of(std::size_t n, std::size_t per_block) { return (n + per_block - 1) / per_block; }

// How many numbers must be added up for another thread to pay.
inline constexpr std::size_t kMinNumbersPerThread = 1 << 16;

// How many threads to use for work whose parts are each worth one thread more.
inline int useful_threads(int n_threads, std::size_t n_parts) {
  return static_cast<int>(std::min(static_cast<std::size_t>(std::max(n_threads, 1)), 1 + n_parts));
}

// Whether calls are faster with several threads, judged by those before. Where other programs use the processors too, a
// helper may lose its own in the middle of a block, and the caller waits for it longer than it would have worked alone.
// Then calls begin alone for a while, which doubles with each further loss, and ask for help only if they take long.
class HelperMonitor {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kShort = std::chrono::milliseconds(5);

  static bool begins_alone() {
    return Clock::now().time_since_epoch().count() < alone_until().load(std::memory_order_relaxed);
  }

  // A call took `worked`, while its own thread did `n_own` of `n_blocks` blocks, and then waited.
  static void record(Clock::duration worked, Clock::duration waited, std::size_t n_own, std::size_t n_blocks) {
    const double alone = static_cast<double>(worked.count()) * static_cast<double>(n_blocks) /
                         static_cast<double>(std::max<std::size_t>(n_own, 1));
    if (static_cast<double>((worked + waited).count()) <= alone) {
      n_lost().store(0, std::memory_order_relaxed);
      return;
    }
    const int lost = std::min(n_lost().load(std::memory_order_relaxed) + 1, kMaxLost);
    n_lost().store(lost, std::memory_order_relaxed);
    const auto pause = std::chrono::duration_cast<Clock::duration>(kShort) * (1 << lost);
    alone_until().store((Clock::now() + pause).time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  static constexpr int kMaxLost = 7;  // 640 ms

  static std::atomic<int>& n_lost() {
    static std::atomic<int> n{0};
    return n;
  }
  static std::atomic<Clock::rep>& alone_until() {
    static std::atomic<Clock::rep> until{0};
    return until;
  }
};

// work(block) for each block below n_blocks, on at most n_threads threads, this one among them; `make_work` makes one
// such function per thread, with that thread's buffers. An exception in a block ends the whole and is thrown here.
template <class MakeWork>
void for_each_block(std::size_t n_blocks, int n_threads, StopToken& stop_token, MakeWork make_work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;

  const auto fail = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!failure) failure = std::current_exception();
  };
  const auto run_until = [&](auto done) {
    try {
      const DefaultFloatEnvironment environment;
      auto work = make_work();
      for (std::size_t block = next++; block < n_blocks; block = next++) {
        stop_token.poll();
        work(block);
        done();
      }
    } catch (...) {
      fail();
      stop_token.stop();
    }
  };
  const auto run = [&] { run_until([] {}); };

  const std::size_t n_useful = std::min(n_blocks, static_cast<std::size_t>(std::max(n_threads, 1)));
  if (n_useful <= 1) {
    run();
  } else {
    const auto start = HelperMonitor::Clock::now();
    std::optional<SharedWork> help;
    std::size_t n_own = 0;
    if (!HelperMonitor::begins_alone()) help.emplace(static_cast<int>(n_useful) - 1, std::ref(run));
    run_until([&] {
      ++n_own;
      if (!help && HelperMonitor::Clock::now() - start > HelperMonitor::kShort)
        help.emplace(static_cast<int>(n_useful) - 1, std::ref(run));
    });
    if (help) {
      const auto worked = HelperMonitor::Clock::now();
      help->close();
      while (!help->ended_within(std::chrono::milliseconds(50))) {
        try {
          stop_token.poll();
        } catch (...) {
          fail();
        }
      }
      HelperMonitor::record(worked - start, HelperMonitor::Clock::now() - worked, n_own, n_blocks);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gcwsnet

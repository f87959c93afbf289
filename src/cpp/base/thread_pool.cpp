#include "base/thread_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace gcwsnet {

namespace {

using Clock = std::chrono::steady_clock;

// To fall asleep and to be woken takes as long as a part of a small batch. So a thread looks around for a while first,
// about as long as the calls of a training loop are apart.
constexpr auto kSpinTime = std::chrono::microseconds(500);

// Waits for a condition without sleeping, but lets other threads have the processor. False if it does not come to hold.
template <class Condition>
bool spin_until(Clock::time_point end, Condition holds) {
  do {
    for (int i = 0; i < 32; ++i) {
      if (holds()) return true;
      cpu_pause();
    }
    std::this_thread::yield();
  } while (Clock::now() < end);
  return holds();
}

// Signals are for the threads that the program made. A thread blocks what is blocked where it is made.
class SignalsBlocked {
 public:
#if defined(_WIN32)
  SignalsBlocked() {}
#else
  SignalsBlocked() {
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&signals, fault);
    pthread_sigmask(SIG_SETMASK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

}  // namespace

// The threads of a process. They never end and the pool is never destroyed: at exit one of them may be at work.
class ThreadPool {
 public:
  static ThreadPool& of_this_process();

  void open(SharedWork& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(&work);
    n_open_.store(open_.size(), std::memory_order_relaxed);
    n_wanted_ += work.n_helpers_;
    make_threads();
    for (int i = std::min(work.n_helpers_ - n_looking_, n_asleep_); i > 0; --i) opened_.notify_one();
  }

  void close(SharedWork& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    n_wanted_ -= work.n_helpers_;
    remove(work);
  }

  bool ended_within(const SharedWork& work, std::chrono::milliseconds time) {
    const auto ended = [&] { return work.n_working_.load(std::memory_order_acquire) == 0; };
    if (spin_until(Clock::now() + kSpinTime, ended)) return true;
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_.wait_for(lock, time, ended);
  }

 private:
  // As many as all the work that is open wants, so that calls from several threads do not take them from each other.
  void make_threads() {
    if (n_threads_ >= n_wanted_) return;
    const SignalsBlocked signals_blocked;
    try {
      for (; n_threads_ < n_wanted_; ++n_threads_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {  // those there are do the work
    }
  }

  [[noreturn]] void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      await_work(lock);
      SharedWork& work = *open_.front();
      if (--work.n_wanted_ == 0) remove(work);
      work.n_working_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      work.run_();
      const bool last = work.n_working_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // now the work may be gone
      lock.lock();
      if (last) ended_.notify_all();
    }
  }

  void await_work(std::unique_lock<std::mutex>& lock) {
    const auto end = Clock::now() + kSpinTime;
    while (open_.empty()) {
      ++n_looking_;
      lock.unlock();
      const bool seen = spin_until(end, [&] { return n_open_.load(std::memory_order_relaxed) != 0; });
      lock.lock();
      --n_looking_;
      if (seen) continue;
      ++n_asleep_;
      opened_.wait(lock, [&] { return !open_.empty(); });
      --n_asleep_;
    }
  }

  void remove(const SharedWork& work) {
    open_.erase(std::remove(open_.begin(), open_.end(), &work), open_.end());
    n_open_.store(open_.size(), std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::condition_variable opened_, ended_;
  std::vector<SharedWork*> open_;       // that wants more helpers
  std::atomic<std::size_t> n_open_{0};  // its size, for those who look around
  int n_threads_ = 0, n_looking_ = 0, n_asleep_ = 0, n_wanted_ = 0;
};

namespace {

std::atomic<ThreadPool*> the_pool{nullptr};

#if !defined(_WIN32)
// A forked process has none of the threads, and what they had locked stays locked there. It makes a pool of its own.
[[maybe_unused]] const int kAtFork = pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
#endif

}  // namespace

ThreadPool& ThreadPool::of_this_process() {
  ThreadPool* pool = the_pool.load();
  if (pool != nullptr) return *pool;
  auto* made = new ThreadPool;
  if (the_pool.compare_exchange_strong(pool, made)) return *made;
  delete made;
  return *pool;
}

SharedWork::SharedWork(int n_helpers, std::function<void()> run)
    : pool_(ThreadPool::of_this_process()), run_(std::move(run)), n_helpers_(n_helpers), n_wanted_(n_helpers) {
  pool_.open(*this);
}

SharedWork::~SharedWork() {
  close();
  while (!ended_within(std::chrono::milliseconds(1000))) {
  }
}

void SharedWork::close() {
  if (!closed_) pool_.close(*this);
  closed_ = true;
}

bool SharedWork::ended_within(std::chrono::milliseconds time) { return pool_.ended_within(*this, time); }

}  // namespace gcwsnet

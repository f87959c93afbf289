#include "base/team.hpp"

#include <algorithm>
#include <chrono>

#include "base/parallel.hpp"

namespace gcwsnet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpinTime = std::chrono::microseconds(50);
constexpr std::uint64_t kLower = 0xffffffffu;

// Whether a condition comes to hold soon.
template <class Condition>
bool spin_until(Condition holds) {
  const auto end = Clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 16; ++i) {
      if (holds()) return true;
      cpu_pause();
    }
  } while (Clock::now() < end);
  return false;
}

}  // namespace

void SpeedupMonitor::record(double seconds) {
  if (n_decided_ > 0) {
    --n_decided_;
    return;
  }
  seconds_[static_cast<std::size_t>(n_measured_)] = seconds;
  if (++n_measured_ < kMeasured) return;
  const double most = kMaxCounted * *std::min_element(seconds_.begin(), seconds_.end());
  double alone = 0.0, shared = 0.0;
  for (int round = 0; round < kMeasured; ++round) {
    (is_shared_when_measured(round) ? shared : alone) += std::min(seconds_[static_cast<std::size_t>(round)], most);
  }
  shared_ = shared < kWorthwhileRatio * alone;
  n_decided_ = kDecided;
  n_measured_ = 0;
}

Team::Team(int n_members) : n_members_(std::max(n_members, 1)), n_active_(n_members_) {}

Team::~Team() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_.store(true);
  }
  begun_.notify_all();
}

void Team::run(std::size_t n_blocks, const void* work, Call call) {
  if (n_active_ == 1 || n_blocks <= 1) {
    for (std::size_t block = 0; block < n_blocks; ++block) call(work, block, 0);
    return;
  }
  if (helpers_ == nullptr) helpers_ = std::make_unique<SharedWork>(n_members_ - 1, [this] { help(); });
  work_ = work;
  call_ = call;
  n_blocks_ = n_blocks;
  n_to_end_.store(n_blocks);
  to_begin_.store(((to_begin_.load() & ~kLower) + kLower + 1) | n_blocks);
  if (n_asleep_.load() != 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun_.notify_all();
  }
  while (run_one_block(0)) {
  }
  const auto ended = [&] { return n_to_end_.load() == 0; };
  if (spin_until(ended)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  caller_asleep_.store(true);
  ended_.wait(lock, ended);
  caller_asleep_.store(false);
}

bool Team::run_one_block(int member) {
  std::uint64_t now = to_begin_.load();
  do {
    if ((now & kLower) == 0) return false;
  } while (!to_begin_.compare_exchange_weak(now, now - 1));
  call_(work_, n_blocks_ - static_cast<std::size_t>(now & kLower), member);
  if (n_to_end_.fetch_sub(1) == 1 && caller_asleep_.load()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.notify_one();
  }
  return true;
}

void Team::help() {
  const DefaultFloatEnvironment environment;
  const int member = next_member_.fetch_add(1);
  const auto has_news = [&] { return (to_begin_.load() & kLower) != 0 || closed_.load(); };
  while (true) {
    while (run_one_block(member)) {
    }
    if (closed_.load()) return;
    if (spin_until(has_news)) continue;
    std::unique_lock<std::mutex> lock(mutex_);
    n_asleep_.fetch_add(1);
    begun_.wait(lock, has_news);
    n_asleep_.fetch_sub(1);
  }
}

}  // namespace gcwsnet

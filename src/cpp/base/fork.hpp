// A process may fork while other threads work. The child has none of them, and what they held locked would stay locked.
#pragma once

#include <cstdint>

namespace gcwsnet {

// The one lock for what several threads read and change in a moment, such as a pointer to a table. A fork waits until
// no thread holds it, so a child finds it free and what it guards whole. Nothing that takes long may be done under it.
class ForkSafeLock {
 public:
  ForkSafeLock();
  ~ForkSafeLock();
  ForkSafeLock(const ForkSafeLock&) = delete;
  ForkSafeLock& operator=(const ForkSafeLock&) = delete;
};

// How many forks lie between the process that loaded this module and this one. What a thread began in another
// generation it will not end in this one.
std::uint32_t fork_generation();

}  // namespace gcwsnet

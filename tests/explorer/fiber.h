// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Fiber: a modelled thread. All of them run on one thread of the system, so that the explorer alone decides who is next
// and every execution can be repeated exactly.

#ifndef FERRET_TESTS_EXPLORER_FIBER_H_
#define FERRET_TESTS_EXPLORER_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace ferret::explorer {

class Fiber {
 public:
  // One that stands for the stack that it is made on.
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to it runs `body`, which must end by switching elsewhere for good. The stack is kept for the next
  // body.
  void Prepare(std::function<void()> body);
  void SwitchTo(Fiber& other) { swapcontext(&context_, &other.context_); }

 private:
  static constexpr size_t kStackBytes = 256 * 1024;
  static void Enter(unsigned high, unsigned low);

  ucontext_t context_{};
  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
};

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_FIBER_H_

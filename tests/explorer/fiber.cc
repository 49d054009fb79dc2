// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace ferret::explorer {

// makecontext passes ints only.
void Fiber::Enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low))->body_();
  std::abort();  // the body returned
}

void Fiber::Prepare(std::function<void()> body) {
  body_ = std::move(body);
  if (stack_ == nullptr) stack_.reset(new char[kStackBytes]);
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  const uint64_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
}

}  // namespace ferret::explorer

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Every kind of record of the C++ API, as the comments of the headers show them. Built by a plain compiler.

#include <cstdio>
#include <string>
#include <thread>

#include "ferret/scope.h"
#include "ferret/session.h"

static void Forward() { FERRET_SCOPE("forward"); }

int main() {
  ferret::SetThreadName("trainer");
  uint32_t forward_thread = ferret::ThreadId();
  for (int step = 0; step < 3; ++step) {
    FERRET_ANNOTATION("epoch");
    Forward();
    { FERRET_OP_SCOPE("mul", ferret::ForwardOp(step)); }
    std::thread([=] { FERRET_OP_SCOPE("MulBackward0", ferret::BackwardOp(step, forward_thread)); }).join();
    { const ferret::Scope scope("dynamic " + std::to_string(step)); }
    { const ferret::Annotation annotation("evaluation"); }
    const ferret::AsyncScope copy = ferret::BeginAsync("copy");
    std::thread([copy] { ferret::EndAsync(copy); }).join();
    ferret::Counter("loss", 1.0 / (step + 1));
  }
  ferret::Instant("checkpoint written");
  ferret::Step();
  std::printf("%s %llu\n", ferret::IsRecording() ? "on" : "off",
              static_cast<unsigned long long>(ferret::Losses().total()));
  return ferret::Stop().empty() ? 0 : 1;
}

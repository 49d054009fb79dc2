// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Linked with code under test of which one statement is in another place (see swapped_order.bzl): the explorer finds an
// execution that breaks.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

#include "tests/explorer/protocol.h"

namespace ferret::explorer {
namespace {

TEST(SwappedOrder, BreaksAnExecution) {
  Protocol exits_late, exits_early, other_thread;
  exits_early.exits_early = true;
  // The second producer gets what the first one leaves.
  other_thread.scopes = {2, 1};
  uint64_t failures = 0;
  uint64_t executions = 0;
  for (const Protocol& protocol : {exits_late, exits_early, other_thread}) {
    Options options;
    options.executions_after_failure = 2000;
    const Result result = Explore(options, Make(protocol));
    failures += result.failures;
    executions += result.executions;
    std::printf("%s: %s", Text(protocol).c_str(), result.Findings().c_str());
  }
  EXPECT_GT(failures, 0u);
  std::printf("FIGURE: explorer: a swapped order found, in %llu of %llu interleavings visited\n",
              static_cast<unsigned long long>(failures), static_cast<unsigned long long>(executions));
}

}  // namespace
}  // namespace ferret::explorer

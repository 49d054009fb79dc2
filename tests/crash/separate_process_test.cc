// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of those who read a hostile file.

#include "tools/separate_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace ferret {
namespace {

using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(SeparateProcess, GivesTheStatusAndAnAnswerOfAnySize) {
  const pid_t own = getpid();
  const SeparateResult result = RunSeparately("", [&](std::string* answer) {
    answer->assign(1'000'000, 'x');
    return getpid() == own ? 1 : 42;
  });
  EXPECT_EQ(result.status, 42);
  EXPECT_EQ(result.answer, std::string(1'000'000, 'x'));
  EXPECT_EQ(result.failure, "");
}

TEST(SeparateProcess, SaysHowItEndedAndLeavesNoCore) {
  const SeparateResult killed = RunSeparately("", [](std::string*) { return raise(SIGKILL); });
  EXPECT_EQ(killed.status, -1);
  EXPECT_THAT(killed.failure, HasSubstr("ended by signal 9"));
  const SeparateResult thrown = RunSeparately("", [](std::string*) -> int { throw std::runtime_error("no"); });
  EXPECT_EQ(thrown.status, -1);
  EXPECT_EQ(thrown.failure, "reading it failed");
  const SeparateResult limits = RunSeparately("", [](std::string*) {
    struct rlimit core, time;
    return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && getrlimit(RLIMIT_CPU, &time) == 0 &&
                   time.rlim_cur != RLIM_INFINITY
               ? 1
               : 0;
  });
  EXPECT_EQ(limits.status, 1);
}

TEST(SeparateProcess, TakesNotAllMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more than any limit";
  const SeparateResult result = RunSeparately("", [](std::string*) {
    std::vector<std::string> all;
    while (all.size() < 1'000) all.emplace_back().reserve(size_t{1} << 30);  // reserved, never touched
    return 0;
  });
  EXPECT_EQ(result.failure, "reading it takes too much memory");
}

}  // namespace
}  // namespace ferret

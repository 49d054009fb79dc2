// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_torch.so in a C++ program that links libtorch.

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "ferret/session.h"
#include "tests/torch/malloc_counter.h"

namespace ferret {
namespace {

std::string TracePath(const char* name) { return std::string(std::getenv("TEST_TMPDIR")) + "/" + name; }

std::string StartTrace(const char* name) { return Start("chrome_trace:" + TracePath(name)); }

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Adapter : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // A session that is over when the adapter comes leaves it as idle as none.
    ASSERT_EQ(StartTrace("early.json"), "");
    ASSERT_EQ(Stop(), "");
    ASSERT_NE(dlopen("adapters/torch/libferret_torch.so", RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }
};

void Op(const char* name, int64_t sequence_nr = -1) {
  RECORD_FUNCTION(name, c10::ArrayRef<const c10::IValue>{}, sequence_nr);
}

TEST_F(Adapter, IsRegisteredWithPyTorchExactlyWhileASessionIsOn) {
  EXPECT_FALSE(at::hasGlobalCallbacks());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(StartTrace("registered.json"), "");
    EXPECT_TRUE(at::hasGlobalCallbacks());
    ASSERT_EQ(Stop(), "");
    EXPECT_FALSE(at::hasGlobalCallbacks());
  }
}

TEST_F(Adapter, RecordsWhatRunsWhileASessionIsOn) {
  Op("before the session");
  ASSERT_EQ(StartTrace("recorded.json"), "");
  {
    RECORD_USER_SCOPE("an annotation");
    Op("an operator", 7);
  }
  ASSERT_EQ(Stop(), "");
  Op("after the session");
  const std::string trace = ReadFile(TracePath("recorded.json"));
  EXPECT_NE(trace.find("\"an operator\""), std::string::npos);
  EXPECT_NE(trace.find("\"Sequence number\": 7"), std::string::npos);
  EXPECT_NE(trace.find("\"an annotation\""), std::string::npos);
  EXPECT_EQ(trace.find("the session"), std::string::npos);
}

TEST_F(Adapter, OperatorThatRunsAcrossAStopEndsHarmlessly) {
  ASSERT_EQ(StartTrace("across.json"), "");
  {
    at::RecordFunction outlives(at::RecordScope::FUNCTION);
    outlives.before("outlives the session");
    ASSERT_EQ(Stop(), "");
    ASSERT_EQ(StartTrace("across2.json"), "");
  }
  Op("next session's");
  ASSERT_EQ(Stop(), "");
  EXPECT_NE(ReadFile(TracePath("across.json")).find("outlives the session"), std::string::npos);
  const std::string second = ReadFile(TracePath("across2.json"));
  EXPECT_EQ(second.find("outlives the session"), std::string::npos);
  EXPECT_NE(second.find("next session's"), std::string::npos);
}

// Each name is at two addresses in turn, and the two names are at the same one, as those of autograd nodes are.
uint64_t MallocsOf1000Rounds() {
  const auto round = [] {
    Op("Add", 1);
    RECORD_FUNCTION("Outer", c10::ArrayRef<const c10::IValue>{});
    Op("Mul", 2);
    Op("Add");
  };
  for (int i = 0; i < 10; ++i) round();
  const uint64_t before = MallocsOfThisThread();
  for (int i = 0; i < 1000; ++i) round();
  return MallocsOfThisThread() - before;
}

TEST_F(Adapter, OperatorMayEndOnAnotherThread) {
  ASSERT_EQ(StartTrace("moved.json"), "");
  for (const at::RecordScope scope : {at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}) {
    auto moved = std::make_unique<at::RecordFunction>(scope);
    moved->before(scope == at::RecordScope::FUNCTION ? "a moved operator" : "a moved annotation");
    std::thread([&] { moved.reset(); }).join();
    Op("an operator after it");
  }
  ASSERT_EQ(Stop(), "");
  const std::string trace = ReadFile(TracePath("moved.json"));
  for (const char* name : {"\"a moved operator\"", "\"a moved annotation\"", "\"an operator after it\""}) {
    EXPECT_NE(trace.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(trace.find("unfinished"), std::string::npos);
}

TEST_F(Adapter, SteadyStateAllocatesNothing) {
  // PyTorch's own share with any observer.
  const at::CallbackHandle observer = at::addGlobalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { return nullptr; }));
  const uint64_t of_torch = MallocsOf1000Rounds();
  at::removeCallback(observer);
  ASSERT_EQ(StartTrace("steady.json"), "");
  const uint64_t with_ferret = MallocsOf1000Rounds();
  ASSERT_EQ(Stop(), "");
  EXPECT_EQ(with_ferret, of_torch);
}

// The session is still on when PyTorch's static objects are destroyed, with threads in the middle of operators.
TEST_F(Adapter, ProcessMayExitWhileThreadsRunOperators) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!StartTrace("exit.json").empty()) std::_Exit(1);
        std::atomic<int> running{0};
        for (int i = 0; i < 3; ++i) {
          std::thread([&running] {
            for (++running;;) Op("at exit");
          }).detach();
        }
        while (running < 3) std::this_thread::yield();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ferret

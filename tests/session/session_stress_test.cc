// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sessions that start and stop while everything else goes on.

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/adapter.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

// Kilobytes of memory that the process has now.
int64_t ResidentKb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      int64_t kb = 0;
      status >> kb;
      return kb;
    }
  }
  return 0;
}

class Recorders {
 public:
  explicit Recorders(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        for (int64_t n = 0; !over_; ++n) {
          FERRET_SCOPE("outer");
          { FERRET_OP_SCOPE("op", ForwardOp(n)); }
          { OpScope op("backward", BackwardOp(n, ThreadId())); }
          EndAsync(BeginAsync("request"));
          if (n % 64 == 0) std::this_thread::yield();
        }
      });
    }
  }
  ~Recorders() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

TEST(SessionStress, CallsOfAllKindsFromAllThreadsGetAlong) {
  Recorders recorders(2);
  std::atomic<int> started{0};
  std::vector<std::thread> callers;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    callers.emplace_back([&started, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 120; ++i) {
        switch (random() % 7) {
          case 0:
          case 1:
            started += Start("memory?max_events=1000").empty();
            break;
          case 2:
            EXPECT_EQ(Stop(60'000), "");
            break;
          case 3:
            // An error only says that somebody else stopped meanwhile.
            (void)Flush(60'000);
            break;
          case 4:
            EXPECT_GE(Losses().total(), 0u);
            break;
          case 5:
            internal::SetThreadIdProvider(random() % 2 == 0 ? nullptr : +[] { return uint64_t{7}; });
            break;
          default:
            std::thread([] { FERRET_SCOPE("short"); }).join();
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  internal::SetThreadIdProvider(nullptr);
  EXPECT_EQ(Stop(60'000), "");
  EXPECT_GT(started, 1);
  EXPECT_FALSE(IsRecording());
}

TEST(SessionStress, TwoHundredSessionsTakeNoMoreMemoryThanAFew) {
  Recorders recorders(2);
  int64_t early_kb = 0;
  for (int i = 0; i < 200; ++i) {
    auto collector = std::make_shared<MemoryCollector>(100);
    ASSERT_TRUE(StartSession(TestOptions(16), Exporters().Memory(collector).Take()).ok());
    for (int n = 0; n < 100; ++n) { FERRET_SCOPE("scope"); }
    ASSERT_TRUE(Stop60().ok());
    ASSERT_TRUE(collector->Take().closed);
    if (i == 40) early_kb = ResidentKb();
  }
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(ResidentKb(), early_kb + 8 * 1024);
#endif
  EXPECT_GT(early_kb, 0);
}

}  // namespace
}  // namespace ferret

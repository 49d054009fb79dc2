// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What waits for its step, and the steps that it is looked up in.

#include "exporters/otlp/steps/held_spans.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "exporters/otlp/steps/step_history.h"

namespace ferret::otlp {
namespace {

constexpr size_t kSpanBytes = 1000;

void AddMany(int count, HeldSpans* held) {
  for (int i = 0; i < count; ++i) held->Add({}, std::string(kSpanBytes, static_cast<char>('a' + i % 26)));
}

TEST(HeldSpans, KeepTheirBytesWhateverComesAfterThem) {
  SpareBlocks spare;
  HeldSpans held(&spare);
  AddMany(3000, &held);
  held.Add({}, std::string(1 << 20, 'L'));
  AddMany(1, &held);
  ASSERT_EQ(held.spans().size(), 3002u);
  for (size_t i = 0; i < 3000; ++i) {
    const HeldSpan& span = held.spans()[i];
    ASSERT_EQ(std::string(span.bytes, span.size), std::string(kSpanBytes, static_cast<char>('a' + i % 26)));
  }
  EXPECT_EQ(std::string(held.spans()[3000].bytes, held.spans()[3000].size), std::string(1 << 20, 'L'));
  EXPECT_EQ(held.spans()[3001].bytes[0], 'a');
}

TEST(HeldSpans, TakeNoMoreBlocksThanWereEverInUseAtOnce) {
  SpareBlocks spare;
  HeldSpans one(&spare), other(&spare);
  size_t most = 0;
  for (int round = 0; round < 10; ++round) {
    AddMany(5000, &one);
    AddMany(1500, &other);
    EXPECT_TRUE(round == 0 || spare.empty()) << "the spare ones were all used";
    one.Clear();
    std::swap(one, other);
    EXPECT_EQ(other.bytes(), 0u);
    one.Clear();
    if (round == 0) most = spare.size();
    EXPECT_EQ(spare.size(), most);
  }
  EXPECT_GT(most, 5u);
}

TEST(HeldSpans, ThatAreLargeAreNotKept) {
  SpareBlocks spare;
  HeldSpans held(&spare);
  held.Add({}, std::string(1 << 20, 'L'));
  EXPECT_GE(held.bytes(), size_t{1} << 20);
  held.Clear();
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(spare.empty());
}

EndedStep Ended(int64_t start_ns, int64_t end_ns) {
  EndedStep step;
  step.start_ns = start_ns;
  step.end_ns = end_ns;
  return step;
}

TEST(StepHistory, AMomentIsInTheStepAroundItWhateverWasAskedBefore) {
  StepHistory history;
  history.Add(Ended(0, 10));
  history.Add(Ended(20, 30));
  history.Add(Ended(30, 40));
  const std::vector<std::pair<int64_t, int64_t>> starts = {{-1, -1}, {0, 0},   {9, 0},   {10, -1}, {15, -1},
                                                           {20, 20}, {29, 20}, {30, 30}, {39, 30}, {40, -1}};
  for (const auto& [before, unused] : starts) {
    for (const auto& [time, start] : starts) {
      history.At(before);
      const EndedStep* const step = history.At(time);
      EXPECT_EQ(step != nullptr ? step->start_ns : -1, start) << before << ", then " << time;
    }
  }
}

TEST(StepHistory, AStepThatIsForgottenIsNotFound) {
  StepHistory history;
  history.Add(Ended(0, 10));
  ASSERT_NE(history.At(5), nullptr);
  for (int64_t i = 1; i < 6000; ++i) history.Add(Ended(10 * i, 10 * i + 10));
  history.Forget();
  EXPECT_EQ(history.At(5), nullptr);
  EXPECT_NE(history.At(59'995), nullptr);
}

}  // namespace
}  // namespace ferret::otlp

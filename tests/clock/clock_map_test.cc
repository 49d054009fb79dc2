// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/clock/clock_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

namespace ferret {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ClockMap, TheMonotonicClockMapsOntoItselfPlusItsOffset) {
  ClockMap map({1000, 5000, 0}, 1.0);
  for (const uint64_t source : {uint64_t{1000}, uint64_t{1001}, uint64_t{1} << 60}) {
    EXPECT_EQ(map.ToNs(source), static_cast<int64_t>(source) + 4000);
  }
  EXPECT_EQ(map.ToNs(1), 4001) << "before the first anchor as well";
}

TEST(ClockMap, IsExactOverYearsOfTicks) {
  // 3 GHz: a third of a ns, for ten years.
  ClockMap map({0, 0, 0}, 1.0 / 3);
  const uint64_t ten_years = uint64_t{3'000'000'000} * 86'400 * 365 * 10;
  const auto ns = static_cast<double>(map.ToNs(ten_years));
  EXPECT_NEAR(ns / (static_cast<double>(ten_years) / 3), 1, 1e-9);
}

TEST(ClockMap, AnAnchorMovesNothingThatWasSaidBefore) {
  ClockMap map({0, 0, 0}, 1.0);
  const int64_t before = map.ToNs(kSecond);
  map.Add({kSecond, kSecond + 700, 10});
  EXPECT_EQ(map.ToNs(kSecond), before);
  EXPECT_EQ(map.ToNs(kSecond / 2), kSecond / 2);
  EXPECT_NEAR(static_cast<double>(map.ToNs(2 * kSecond)), 2 * kSecond + 2 * 700, 2) << "gone after one more interval";
  EXPECT_EQ(map.steps(), 0u);
  EXPECT_EQ(map.largest_error_ns(), 700);
}

TEST(ClockMap, AnEqualReadingTellsNothing) {
  ClockMap map({500, 0, 0}, 1.0);
  map.Add({500, 77, 0});
  EXPECT_EQ(map.ToNs(500), 0);
  EXPECT_EQ(map.steps(), 0u);
}

TEST(ClockMap, AStepForwardIsTakenAtOnceCountedAndKeepsThePast) {
  ClockMap map({0, 0, 0}, 1.0);
  map.Add({kSecond, kSecond, 0});
  map.Add({2 * kSecond, 10 * kSecond, 0});
  EXPECT_EQ(map.steps(), 1u);
  EXPECT_EQ(map.ToNs(2 * kSecond), 10 * kSecond);
  EXPECT_EQ(map.ToNs(2 * kSecond - 1), 2 * kSecond - 1);
  EXPECT_EQ(map.ToNs(3 * kSecond), 11 * kSecond);
}

// A machine that was suspended: the cycle counter went on, the monotonic clock did not.
TEST(ClockMap, AStepBackStandsStillUntilTheTargetHasCaughtUp) {
  ClockMap map({0, 0, 0}, 1.0);
  map.Add({kSecond, kSecond, 0});
  map.Add({10 * kSecond, 2 * kSecond, 0});
  EXPECT_EQ(map.steps(), 1u);
  EXPECT_EQ(map.ToNs(10 * kSecond), 10 * kSecond);
  EXPECT_EQ(map.ToNs(14 * kSecond), 10 * kSecond);
  map.Add({14 * kSecond, 6 * kSecond, 0});
  EXPECT_EQ(map.ToNs(17 * kSecond), 10 * kSecond);
  EXPECT_NEAR(static_cast<double>(map.ToNs(19 * kSecond)), 11 * kSecond, 2) << "caught up, and runs again";
  map.Add({20 * kSecond, 12 * kSecond, 0});
  EXPECT_NEAR(static_cast<double>(map.ToNs(21 * kSecond)), 13 * kSecond, 2);
  EXPECT_EQ(map.steps(), 1u) << "one step, however many anchors it takes";
}

TEST(ClockMap, ACounterThatWasResetStartsAnew) {
  ClockMap map({kSecond, kSecond, 0}, 1.0);
  map.Add({2 * kSecond, 2 * kSecond, 0});
  map.Add({5, 3 * kSecond, 0});
  EXPECT_EQ(map.steps(), 1u);
  EXPECT_EQ(map.ToNs(5), 3 * kSecond);
  EXPECT_EQ(map.ToNs(5 + kSecond), 4 * kSecond);
}

TEST(ClockMap, OlderReadingsAreConvertedAsTheyWereThen) {
  ClockMap map({0, 0, 0}, 1.0);
  std::vector<std::pair<uint64_t, int64_t>> said;
  std::minstd_rand random(3);
  for (uint64_t i = 1; i <= ClockMap::kMaxSegments / 2; ++i) {
    const uint64_t at = i * kSecond;
    for (uint64_t part = 1; part < 4; ++part) {
      const uint64_t then = at - part * 100'000'000;
      said.emplace_back(then, map.ToNs(then));
    }
    map.Add({at, static_cast<int64_t>(at) + static_cast<int64_t>(random() % 1000), 1000});
  }
  for (const auto& [source, ns] : said) EXPECT_EQ(map.ToNs(source), ns);
}

TEST(ClockMap, WhatAReadingBecomesDoesNotDependOnTheReadingBefore) {
  std::minstd_rand random(7);
  ClockMap map({0, 0, 0}, 1.0);
  int64_t target = 0;
  for (uint64_t i = 1; i <= 50; ++i) {
    // Steps both ways among them, so that segments stand still or lie ahead.
    target += i % 17 == 0 ? 9'000'000'000 : i % 13 == 0 ? -500'000'000 : 1'000'000'000 + static_cast<int64_t>(random() % 1000);
    map.Add({i * kSecond, target, 1000});
  }
  ASSERT_GT(map.steps(), 3u);
  for (int i = 0; i < 20'000; ++i) {
    // Also right at the ends of segments.
    const uint64_t segment = map.segments()[random() % map.segments().size()].source;
    const uint64_t source = random() % 2 == 0 ? segment - random() % 2 : random() % (55 * kSecond);
    const ClockMap fresh(map.segments(), 1.0);
    ASSERT_EQ(map.ToNs(source), fresh.ToNs(source)) << source;
  }
}

// However long it runs, the last hundred anchors are remembered and not more than a bounded number.
TEST(ClockMap, ForgetsTheOldestSegmentsOnly) {
  ClockMap map({0, 0, 0}, 1.0);
  std::vector<std::pair<uint64_t, int64_t>> said;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    const uint64_t at = i * kSecond;
    said.emplace_back(at - 1000, map.ToNs(at - 1000));
    map.Add({at, static_cast<int64_t>(at) + static_cast<int64_t>(i % 7 * 100), 1000});
  }
  for (size_t i = said.size() - 100; i < said.size(); ++i) EXPECT_EQ(map.ToNs(said[i].first), said[i].second);
  // Far back it is an extrapolation, still in order and still close.
  EXPECT_NEAR(static_cast<double>(map.ToNs(kSecond)), kSecond, 1e9);
  EXPECT_LT(map.ToNs(kSecond), map.ToNs(2 * kSecond));
}

// Two clocks: a counter with a rate of its own that drifts, and the target; anchors with errors at random intervals.
class Clocks {
 public:
  Clocks(uint32_t seed, double ns_per_tick, double drift_ppm)
      : random_(seed), ns_per_tick_(ns_per_tick), drift_ppm_(drift_ppm) {}

  void Pass(double seconds) {
    rate_ += seconds * drift_ppm_ * 1e-6 * std::uniform_real_distribution<double>(-0.05, 0.05)(random_);
    rate_ = std::clamp(rate_, -drift_ppm_ * 1e-6, drift_ppm_ * 1e-6);
    target_ += seconds * 1e9;
    source_ += seconds * 1e9 / (ns_per_tick_ * (1 + rate_));
  }
  void StepTarget(double ns) { target_ += ns; }
  void ResetSource() { source_ = 1e6; }

  uint64_t source() const { return static_cast<uint64_t>(source_); }
  int64_t target() const { return static_cast<int64_t>(target_); }
  Anchor Read(int64_t jitter) {
    const auto error = std::uniform_int_distribution<int64_t>(-jitter, jitter)(random_);
    return {source(), target() + error, jitter};
  }
  double Uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

 private:
  std::mt19937 random_;
  const double ns_per_tick_;
  const double drift_ppm_;
  double rate_ = 0;
  double source_ = 1e12, target_ = 1.7e15;
};

class ClockMapProperties : public ::testing::TestWithParam<uint32_t> {
 protected:
  Clocks clocks_{GetParam(), 0.25 + GetParam() % 7 * 0.13, GetParam() % 3 == 0 ? 0.0 : 30.0};
  const int64_t jitter_ = GetParam() % 4 == 0 ? 20 : 300;
  // The first rate is off by as much as a measurement over half a millisecond may be.
  ClockMap map_{clocks_.Read(jitter_), (0.25 + GetParam() % 7 * 0.13) * (1 + 3e-4 * (GetParam() % 2))};

  // Time goes on, with readings in between that must never go back.
  void Pass(double seconds) {
    for (int i = 0; i < 20; ++i) {
      clocks_.Pass(seconds / 20);
      const int64_t now = map_.ToNs(clocks_.source());
      ASSERT_GE(now, last_) << "never backwards";
      last_ = now;
    }
  }
  void AddAnchor() {
    const uint64_t at = clocks_.source();
    const int64_t before = map_.ToNs(at - 1), steps = static_cast<int64_t>(map_.steps());
    const Anchor anchor = clocks_.Read(jitter_);
    const int64_t said = map_.ToNs(anchor.source);
    map_.Add(anchor);
    ASSERT_EQ(map_.ToNs(at - 1), before) << "the past stays";
    ASSERT_GE(map_.ToNs(anchor.source), said) << "never backwards";
    if (static_cast<int64_t>(map_.steps()) == steps) {
      ASSERT_EQ(map_.ToNs(anchor.source), said) << "continuous";
    }
  }
  // As the drain does: anchors close together at first, then apart.
  void Converge() {
    double interval = 0.001;
    for (int i = 0; i < 30; ++i) {
      Pass(interval * clocks_.Uniform(0.8, 1.2));
      AddAnchor();
      interval = std::min(interval * 2, 1.0);
    }
  }
  int64_t Error() const { return std::abs(map_.ToNs(clocks_.source()) - clocks_.target()); }
  // What jitter and drift may make of it within a second.
  int64_t Bound() const { return 4 * jitter_ + 10'000; }

  int64_t last_ = 0;
};

TEST_P(ClockMapProperties, FollowsADriftingClockWithinItsBound) {
  Converge();
  for (int i = 0; i < 500; ++i) {
    Pass(clocks_.Uniform(0.7, 1.4));
    EXPECT_LT(Error(), Bound());
    AddAnchor();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(map_.steps(), 0u);
}

TEST_P(ClockMapProperties, ConvergesAfterStepsForwardAndBack) {
  Converge();
  for (const double step : {5e9, -3e6, 2e6, -2e9, 40e9}) {
    clocks_.StepTarget(step);
    const uint64_t steps = map_.steps();
    for (int i = 0; i < 10; ++i) {
      Pass(clocks_.Uniform(0.7, 1.4));
      AddAnchor();
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(map_.steps(), steps + 1) << step;
    EXPECT_LT(Error(), Bound()) << step;
  }
}

TEST_P(ClockMapProperties, ConvergesAfterAReset) {
  Converge();
  for (int resets = 1; resets <= 3; ++resets) {
    clocks_.ResetSource();
    clocks_.Pass(0.5);
    map_.Add(clocks_.Read(jitter_));
    EXPECT_EQ(map_.steps(), static_cast<uint64_t>(resets));
    last_ = 0;
    Converge();
    EXPECT_LT(Error(), Bound());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ClockMapProperties, ::testing::Range(1u, 60u));

}  // namespace
}  // namespace ferret

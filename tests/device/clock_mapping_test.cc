// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How well times of a device are placed on the CPU's clock, against a device whose true times are known.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "tests/device/device_kit.h"

namespace ferret::internal {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Errors {
  std::vector<int64_t> start;     // absolute
  std::vector<int64_t> duration;  // absolute
  int64_t largest_bound = 0;
  int beyond_bound = 0;
  int before_launch = 0;

  static int64_t Quantile(std::vector<int64_t> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
  }
  void Print(const char* what) const {
    std::printf("%s: %zu intervals; start off by %lld ns (median), %lld (p99), %lld (most), bound %lld (most); "
                "duration off by %lld (p99), %lld (most)\n",
                what, start.size(), static_cast<long long>(Quantile(start, 0.5)),
                static_cast<long long>(Quantile(start, 0.99)), static_cast<long long>(Quantile(start, 1)),
                static_cast<long long>(largest_bound), static_cast<long long>(Quantile(duration, 0.99)),
                static_cast<long long>(Quantile(duration, 1)));
  }
};

Errors Compare(const DeviceKit& kit) {
  Errors errors;
  for (const auto& [token, result] : kit.results) {
    if (!result.timed) continue;
    const DeviceKit::Truth& truth = kit.truths.at(token);
    const int64_t start = std::abs(result.start_ns - truth.start_ns);
    const int64_t end = std::abs(result.end_ns - truth.end_ns);
    errors.start.push_back(start);
    errors.duration.push_back(std::abs((result.end_ns - result.start_ns) - (truth.end_ns - truth.start_ns)));
    errors.largest_bound = std::max(errors.largest_bound, result.error_ns);
    errors.beyond_bound += std::max(start, end) > result.error_ns;
    errors.before_launch += result.start_ns < truth.begin_put_ns || result.end_ns < truth.end_put_ns;
  }
  return errors;
}

// Wanders by some tenths of a millionth within seconds, and by a few within an hour, as a crystal that warms and cools.
double Wander(void*, int64_t now_ns) {
  const double s = static_cast<double>(now_ns) * 1e-9;
  return 1e3 * std::sin(s / 7.0) + 20e3 * std::sin(s / 60.0) + 1e6 * std::sin(s / 1200.0);
}

void RealLatencies(DeviceKit& kit) {
  kit.fake.SetLatencyNs(nullptr, 150);
  kit.fake.SetLatencyNs("cuEventRecord", 1'200);
  kit.fake.SetFrontEndCostNs(1'000);
}

class Drift : public ::testing::TestWithParam<double> {};

TEST_P(Drift, OfTwoHoursKeepsEveryIntervalWithinItsBound) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, GetParam());
  kit.fake.SetWander(0, &Wander, nullptr);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  std::mt19937_64 random(7);
  const int64_t end_ns = kit.fake.NowNs() + 7200 * kSecond;
  while (kit.fake.NowNs() < end_ns) {
    // A burst of work, queued ahead of the device, then a pause: mostly of ms, sometimes of minutes.
    const int burst = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < burst; ++i) {
      const int64_t ns = static_cast<int64_t>(1'000 + random() % (random() % 4 == 0 ? 20'000'000 : 200'000));
      ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, ns); }), std::nullopt);
      kit.fake.AdvanceNs(static_cast<int64_t>(random() % 20'000));
    }
    kit.RunFor(static_cast<int64_t>(random() % 400'000'000), 10'000'000);
    if (random() % 500 == 0) kit.fake.AdvanceNs(static_cast<int64_t>(random() % 300) * kSecond);
  }
  kit.Settle();
  const Errors errors = Compare(kit);
  errors.Print("two hours");
  EXPECT_EQ(errors.start.size(), kit.truths.size());
  EXPECT_GT(errors.start.size(), 50'000u);
  EXPECT_EQ(errors.beyond_bound, 0);
  EXPECT_EQ(errors.before_launch, 0);
  EXPECT_LE(Errors::Quantile(errors.start, 0.99), 2'000);
  EXPECT_LE(Errors::Quantile(errors.duration, 1), 1'000);
  EXPECT_EQ(kit.tracker->counts().placement.suspect, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ppm, Drift, ::testing::Values(-50.0, 0.0, 50.0), [](const auto& drift) {
  return drift.param < 0 ? "Minus50" : drift.param > 0 ? "Plus50" : "None";
});

TEST(ClockMapping, ScopesThatLastForHoursAreAsWellPlacedAsShortOnes) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 37);
  const CuStream stream = kit.NewStream();
  const CuStream other = kit.NewStream();
  kit.Prepare(stream);
  uint64_t token = 0;
  ASSERT_EQ(kit.Time(stream,
                     [&] {
                       // Work goes on beside it, and with it the anchors.
                       for (int i = 0; i < 7200; ++i) {
                         EXPECT_EQ(kit.Time(other, [&] { kit.fake.Kernel(other, 10'000); }), std::nullopt);
                         kit.RunFor(kSecond, 50'000'000);
                       }
                     },
                     &token),
            std::nullopt);
  kit.Settle();
  const PairResult* const result = kit.ResultOf(token);
  ASSERT_NE(result, nullptr);
  ASSERT_TRUE(result->timed);
  const DeviceKit::Truth& truth = kit.truths[token];
  std::printf("two hours in one scope: start off by %lld ns, end by %lld, bound %lld\n",
              static_cast<long long>(result->start_ns - truth.start_ns),
              static_cast<long long>(result->end_ns - truth.end_ns), static_cast<long long>(result->error_ns));
  EXPECT_LE(std::abs(result->start_ns - truth.start_ns), result->error_ns);
  EXPECT_LE(std::abs(result->end_ns - truth.end_ns), result->error_ns);
  EXPECT_LE(result->error_ns, 10'000);
}

// The driver's numbers are floats of milliseconds: against an anchor of an hour ago they come in steps of 250 µs.
TEST(ClockMapping, AnHourWithoutWorkCostsNoPrecision) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 50);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 20; ++j) {
      ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 30'000); }), std::nullopt);
      kit.RunFor(10'000'000);
    }
    kit.fake.AdvanceNs(3600 * kSecond);
  }
  kit.Settle();
  const Errors errors = Compare(kit);
  errors.Print("after an hour of nothing");
  EXPECT_EQ(errors.start.size(), 60u);
  EXPECT_EQ(errors.beyond_bound, 0);
  EXPECT_LE(Errors::Quantile(errors.start, 1), 5'000);
}

TEST(ClockMapping, ASuspendedDeviceClockMakesABreakAndNoLie) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 20);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 50'000); }), std::nullopt);
      kit.RunFor(50'000'000, 10'000'000);
    }
    // As if the device's counter had gone on while the CPU's stood still: far more than any oscillator could drift.
    kit.fake.StepDeviceClockNs(0, 40'000'000);
  }
  kit.Settle();
  const Errors errors = Compare(kit);
  errors.Print("three jumps of 40 ms");
  EXPECT_EQ(errors.start.size(), 400u);
  EXPECT_EQ(errors.beyond_bound, 0);
  EXPECT_EQ(errors.before_launch, 0);
  EXPECT_GE(kit.tracker->counts().breaks, 3u);
  // Also between a jump's two anchors most can only lie on one side of it.
  EXPECT_LE(Errors::Quantile(errors.start, 0.95), 5'000);
}

TEST(ClockMapping, WithoutAnchorsIntervalsArePlacedWithABoundThatSaysSo) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 50);
  kit.fake.FailAlways("cuStreamCreateWithPriority", kCuOutOfMemory);  // hence no stream for anchors
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 100'000); }), std::nullopt);
    kit.RunFor(20'000'000, 2'000'000);
  }
  kit.RunFor(15 * kSecond, 100'000'000);
  const Errors errors = Compare(kit);
  errors.Print("no anchors at all");
  EXPECT_EQ(errors.start.size(), 50u);
  EXPECT_EQ(kit.tracker->counts().anchors, 0u);
  EXPECT_EQ(errors.beyond_bound, 0);
  EXPECT_EQ(errors.before_launch, 0);
}

TEST(ClockMapping, AnchorsThatFailForAWhileWidenTheBoundUntilTheyComeAgain) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 50);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  const auto work = [&](int seconds) {
    for (int i = 0; i < 10 * seconds; ++i) {
      ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 100'000); }), std::nullopt);
      kit.RunFor(100'000'000, 10'000'000);
    }
  };
  work(5);
  const uint64_t before = kit.tracker->counts().anchors;
  // The anchors' own stream is busy for as long: they are held up.
  kit.fake.SetLatencyNs("cuEventQuery", 150);
  kit.fake.FailAlways("cuEventCreate", kCuOutOfMemory);
  work(5);
  kit.fake.StopFailing();
  work(5);
  kit.Settle();
  EXPECT_GT(kit.tracker->counts().anchors, before);
  const Errors errors = Compare(kit);
  errors.Print("no new events for 5 s");
  EXPECT_EQ(errors.start.size(), 150u);
  EXPECT_EQ(errors.beyond_bound, 0);
}

// A front end that needs long for each stamp makes the anchors' windows wide: honestly so.
TEST(ClockMapping, ASaturatedDeviceWidensTheBound) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, -50);
  kit.fake.SetFrontEndCostNs(400'000);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 100'000); }), std::nullopt);
    kit.RunFor(100'000'000, 5'000'000);
  }
  kit.Settle();
  const Errors errors = Compare(kit);
  errors.Print("0.4 ms for a stamp");
  EXPECT_EQ(errors.start.size(), 100u);
  EXPECT_EQ(errors.beyond_bound, 0);
  EXPECT_EQ(errors.before_launch, 0);
  EXPECT_GT(errors.largest_bound, 100'000);
}

TEST(ClockMapping, AtTheEndWhatHasBeenPassedIsPlacedWithoutAskingTheDeviceAgain) {
  DeviceKit kit;
  RealLatencies(kit);
  kit.fake.SetDriftPpm(0, 50);
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(kit.Time(stream, [&] { kit.fake.Kernel(stream, 100'000); }), std::nullopt);
    kit.RunFor(50'000'000, 10'000'000);
  }
  ASSERT_FALSE(kit.tracker->idle());
  const uint64_t calls = kit.fake.Calls(nullptr);
  kit.GiveUp();
  EXPECT_EQ(kit.fake.Calls(nullptr), calls);
  const Errors errors = Compare(kit);
  errors.Print("the last second without a last anchor");
  EXPECT_EQ(errors.start.size(), 60u);
  EXPECT_EQ(errors.beyond_bound, 0);
}

}  // namespace
}  // namespace ferret::internal

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What markers do to kernels, and what they say of them: against stamps that the kernels make themselves.

#include <algorithm>
#include <cmath>

#include "bench/gpu_bench/bench.h"

namespace gpu_bench {
namespace {

constexpr char kNoStamps[] = "the kernels left no stamps: this driver does not run them";
constexpr uint64_t kHoldNs = 2'000'000;  // keeps the device busy until all that matters is queued

}  // namespace

Json KernelGaps(const Bench& bench) {
  constexpr uint32_t kChain = 100;
  constexpr uint64_t kShort = 5000;
  const gpu::Stream stream = bench.NewStream();
  const std::vector<gpu::Event> events = bench.NewEvents(2 * kChain);
  Json json = Json::Object();
  json.Set("unit", "ns from a kernel's end to the next one's start, queued behind a busy device")
      .Set("kernel_ns", kShort);
  double tick = 0;
  for (size_t markers = 0; markers <= 2; ++markers) {
    std::vector<double> gaps, clocks;
    for (Rounds rounds(bench, 30); rounds.Next();) {
      bench.Spin(stream, kHoldNs);
      for (uint32_t i = 0; i < kChain; ++i) {
        for (size_t m = 0; i > 0 && m < markers; ++m) {
          GPU_CALL(bench.driver, cuEventRecord, events[2 * i + m], stream);
        }
        bench.Spin(stream, kShort, i);
      }
      std::vector<Stamps> stamps;
      if (!bench.ReadStamps(stream, kChain, &stamps)) return Skipped(kNoStamps);
      for (uint32_t i = 1; i < kChain; ++i) {
        const Stamps &a = stamps[i - 1], &b = stamps[i];
        const double gap = static_cast<double>(static_cast<int64_t>(b.start_ns - a.stop_ns));
        gaps.push_back(gap);
        if (gap > 0 && (tick == 0 || gap < tick)) tick = gap;
        // %clock64 is each processor's own.
        if (a.processor == b.processor) {
          clocks.push_back(static_cast<double>(static_cast<int64_t>(b.start_clock - a.stop_clock)));
        }
      }
    }
    json.Set(std::to_string(markers) + "_markers",
             Json::Object().Set("globaltimer_ns", Spread(gaps)).Set("clock64_cycles", Spread(clocks)));
  }
  json.Set("least_positive_gap_ns", tick);
  bench.Destroy(stream);
  bench.Destroy(events);
  return json;
}

Json Durations(const Bench& bench) {
  const gpu::Stream stream = bench.NewStream();
  const std::vector<gpu::Event> events = bench.NewEvents(2);
  Json json = Json::Object();
  json.Set("unit", "ns by which the events' interval is longer than the kernel's own, by %globaltimer");
  for (const bool queued : {true, false}) {
    Json kind = Json::Object();
    for (const uint64_t ns : {1'000u, 5'000u, 20'000u, 100'000u, 1'000'000u, 10'000'000u}) {
      std::vector<double> longer, own, cycles;
      for (Rounds rounds(bench, ns < 1'000'000 ? 200 : 30); rounds.Next();) {
        if (queued) bench.Spin(stream, 200'000);
        GPU_CALL(bench.driver, cuEventRecord, events[0], stream);
        bench.Spin(stream, ns, 0);
        GPU_CALL(bench.driver, cuEventRecord, events[1], stream);
        std::vector<Stamps> stamps;
        if (!bench.ReadStamps(stream, 1, &stamps)) return Skipped(kNoStamps);
        own.push_back(static_cast<double>(stamps[0].stop_ns - stamps[0].start_ns));
        longer.push_back(bench.ElapsedNs(events[0], events[1]) - own.back());
        cycles.push_back(static_cast<double>(stamps[0].stop_clock - stamps[0].start_clock));
      }
      kind.Set(std::to_string(ns),
               Json::Object().Set("longer_ns", Spread(longer)).Set("kernel_ns", Spread(own)).Set(
                   "kernel_cycles", Spread(cycles)));
    }
    json.Set(queued ? "behind_another_kernel" : "on_an_idle_stream", kind);
  }
  bench.Destroy(stream);
  bench.Destroy(events);
  return json;
}

Json ElapsedVariants(const Bench& bench) {
  const gpu::Driver& driver = bench.driver;
  const gpu::Stream stream = bench.NewStream();
  const std::vector<gpu::Event> events = bench.NewEvents(3);
  Json json = Json::Object();
  std::vector<double> difference;
  int64_t same = 0, pairs = 0;
  float reversed = 0;
  gpu::Result reversed_result = 0;
  for (Rounds rounds(bench, 500); rounds.Next();) {
    GPU_CALL(driver, cuEventRecord, events[0], stream);
    bench.Spin(stream, static_cast<uint64_t>(rounds.done()) * 7001);
    GPU_CALL(driver, cuEventRecord, events[1], stream);
    GPU_CALL(driver, cuStreamSynchronize, stream);
    reversed_result = driver.cuEventElapsedTime(&reversed, events[1], events[0]);
    if (driver.cuEventElapsedTimeV2 == nullptr) continue;
    float one = 0, two = 0;
    GPU_CALL(driver, cuEventElapsedTime, &one, events[0], events[1]);
    GPU_CALL(driver, cuEventElapsedTimeV2, &two, events[0], events[1]);
    ++pairs;
    if (std::equal(reinterpret_cast<const char*>(&one), reinterpret_cast<const char*>(&one + 1),
                   reinterpret_cast<const char*>(&two))) {
      ++same;
    }
    difference.push_back(static_cast<double>(two - one) * 1e6);
  }
  json.Set("has_v2", driver.cuEventElapsedTimeV2 != nullptr).Set("pairs", pairs).Set("same_bits", same);
  json.Set("v2_minus_v1_ns", Spread(difference));
  json.Set("reversed", Json::Object().Set("result", driver.ErrorName(reversed_result)).Set("ms", reversed));
  float ms = 0;
  json.Set("never_recorded", driver.ErrorName(driver.cuEventElapsedTime(&ms, events[0], events[2])));
  bench.Spin(stream, 5'000'000);
  GPU_CALL(driver, cuEventRecord, events[1], stream);
  json.Set("pending", driver.ErrorName(driver.cuEventElapsedTime(&ms, events[0], events[1])));
  bench.Destroy(stream);
  bench.Destroy(events);
  return json;
}

}  // namespace gpu_bench

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What Ferret's own timed scopes cost, and whether all of them are timed.

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bench/gpu_bench/bench.h"
#include "bench/gpu_bench/workload.h"
#include "ferret/cuda.h"
#include "ferret/session.h"

namespace gpu_bench {
namespace {

// A session whose output goes nowhere.
class Session {
 public:
  Session() {
    setenv("FERRET_CUDA_RATE", "0", 1);  // no limit
    const ferret::Error error = ferret::Start("table:/dev/null");
    if (!error.empty()) throw std::runtime_error("ferret::Start: " + error);
  }
  ~Session() { Stop(); }

  // What became of its timed scopes.
  Json Stop() {
    if (stopped_) return Json::Object();
    stopped_ = true;
    const ferret::Error error = ferret::Stop(20'000);
    Json json = Json::Object();
    if (!error.empty()) json.Set("stop", error);
    return json.Set("device_counts", DeviceCountsJson()).Set("records_lost", ferret::Losses().total());
  }

 private:
  static Json DeviceCountsJson() {
    const ferret::DeviceCounts counts = ferret::DeviceLosses();
    Json lost = Json::Object();
    for (size_t i = 0; i < counts.lost.size(); ++i) {
      if (counts.lost[i] == 0) continue;
      lost.Set(ferret::DeviceLossText(static_cast<ferret::DeviceLoss>(i)), counts.lost[i]);
    }
    return Json::Object().Set("asked", counts.asked).Set("timed", counts.timed).Set("lost", lost);
  }

  bool stopped_ = false;
};

// Rounds of scopes small enough for the pool of markers, each on an empty stream: the mean of each round.
constexpr int kRound = 200;

struct PerScope {
  std::vector<double> scope, bare, off;
};

void Add(const PerScope& from, PerScope* to) {
  to->scope.insert(to->scope.end(), from.scope.begin(), from.scope.end());
  to->bare.insert(to->bare.end(), from.bare.begin(), from.bare.end());
  to->off.insert(to->off.end(), from.off.begin(), from.off.end());
}

template <typename Call>
double MeanNs(const Call& call) {
  const int64_t start = NowNs();
  for (int i = 0; i < kRound; ++i) call(i);
  return static_cast<double>(NowNs() - start) / kRound;
}

// The device thread takes the times off the markers, or makes more of them.
void LetDeviceThreadWork() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

PerScope MeasureScopes(const Bench& bench, gpu::Stream stream) {
  PerScope result;
  // Until there are markers for all threads' rounds.
  for (Rounds rounds(bench, 10); rounds.Next();) {
    MeanNs([&](int) { FERRET_CUDA_SCOPE(stream, "warming up"); });
    GPU_CALL(bench.driver, cuStreamSynchronize, stream);
    LetDeviceThreadWork();
  }
  const std::vector<gpu::Event> events = bench.NewEvents(2 * kRound);
  for (Rounds rounds(bench, 200); rounds.Next();) {
    result.scope.push_back(MeanNs([&](int) { FERRET_CUDA_SCOPE(stream, "empty"); }));
    GPU_CALL(bench.driver, cuStreamSynchronize, stream);
    result.bare.push_back(MeanNs([&](int i) {
      GPU_CALL(bench.driver, cuEventRecord, events[static_cast<size_t>(2 * i)], stream);
      GPU_CALL(bench.driver, cuEventRecord, events[static_cast<size_t>(2 * i + 1)], stream);
    }));
    GPU_CALL(bench.driver, cuStreamSynchronize, stream);
    result.off.push_back(MeanNs([](int) { FERRET_SCOPE("not timed"); }));
    LetDeviceThreadWork();
  }
  bench.Destroy(events);
  return result;
}

}  // namespace

Json ScopeCosts(const Bench& bench) {
  Json json = Json::Object();
  json.Set("unit", "ns on the recording thread, mean of 200 in a row; what a session counts includes warming up");
  for (const int threads : {1, 2, 4, 8}) {
    std::mutex mutex;
    PerScope all;
    Session session;
    OnThreads(bench, threads, [&](int) {
      const gpu::Stream stream = bench.NewStream();
      ferret::cuda::Prepare(stream);
      const PerScope own = MeasureScopes(bench, stream);
      bench.Destroy(stream);
      const std::lock_guard<std::mutex> lock(mutex);
      Add(own, &all);
    });
    Json one = Json::Object();
    one.Set("timed_scope", Spread(all.scope)).Set("two_bare_records", Spread(all.bare));
    one.Set("scope_not_timed", Spread(all.off)).Set("session", session.Stop());
    json.Set(std::to_string(threads) + "_threads", one);
  }
  return json;
}

Json ManyPairs(const Bench& bench) {
  const gpu::Stream stream = bench.NewStream();
  Session session;
  const bool prepared = ferret::cuda::Prepare(stream);
  const int64_t start = NowNs();
  Rounds rounds(bench, 100'000);
  while (rounds.Next()) {
    FERRET_CUDA_SCOPE(stream, "spin");
    bench.Spin(stream, 2000);
  }
  const int64_t queued = NowNs();
  GPU_CALL(bench.driver, cuStreamSynchronize, stream);
  const int64_t done = NowNs();
  Json json = Json::Object();
  json.Set("pairs", rounds.done()).Set("prepared", prepared);
  json.Set("queued_in_ms", static_cast<double>(queued - start) / 1e6);
  json.Set("done_after_ms", static_cast<double>(done - start) / 1e6);
  json.Set("session", session.Stop());
  bench.Destroy(stream);
  return json;
}

Json WorkloadCosts(const Bench& bench) {
  constexpr int kSteps = 1000;
  const int steps = bench.short_run ? 3 : kSteps;
  Workload workload(bench);
  workload.Run(steps);  // warm
  std::vector<double> off, coarse, kernels;
  Json last_coarse = Json::Object(), last_kernels = Json::Object();
  const auto step_us = [&] {
    const int64_t start = NowNs();
    workload.Run(steps);
    return static_cast<double>(NowNs() - start) / 1000 / steps;
  };
  for (Rounds rounds(bench, 20); rounds.Next();) {
    off.push_back(step_us());
    for (const bool time_kernels : {false, true}) {
      Session session;
      ferret::cuda::Prepare(workload.stream());
      workload.time_kernels(time_kernels);
      (time_kernels ? kernels : coarse).push_back(step_us());
      (time_kernels ? last_kernels : last_coarse) = session.Stop();
    }
  }
  Json json = Json::Object();
  json.Set("unit", "us per step of gpu_mlp, hidden 256, batch 512").Set("steps_per_round", steps);
  json.Set("ferret_off", Spread(off));
  json.Set("phases_timed", Spread(coarse)).Set("phases_timed_session", last_coarse);
  json.Set("kernels_timed", Spread(kernels)).Set("kernels_timed_session", last_kernels);
  return json;
}

}  // namespace gpu_bench

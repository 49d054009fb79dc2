// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How well the device's clock can be tied to the CPU's: what one anchor leaves open, and how the two drift apart.

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/gpu_bench/bench.h"
#include "bench/gpu_bench/workload.h"

namespace gpu_bench {
namespace {

constexpr int kTries = 8;

// The event was stamped in between.
struct Window {
  int64_t from_ns, to_ns;
  int64_t width() const { return to_ns - from_ns; }
  double middle() const { return static_cast<double>(from_ns) + static_cast<double>(width()) / 2; }
};

Window TakeOne(const Bench& bench, gpu::Stream stream, gpu::Event event) {
  Window window = {NowNs(), 0};
  GPU_CALL(bench.driver, cuEventRecord, event, stream);
  bench.Await(event);
  window.to_ns = NowNs();
  return window;
}

Json Windows(const Bench& bench) {
  const gpu::Stream stream = bench.NewStream(gpu::kNonBlockingStream, -100);  // the driver clamps the priority
  const gpu::Event event = bench.NewEvent();
  std::vector<double> single, best;
  for (Rounds rounds(bench, 500); rounds.Next();) {
    double least = 0;
    for (int i = 0; i < kTries; ++i) {
      single.push_back(static_cast<double>(TakeOne(bench, stream, event).width()));
      if (i == 0 || single.back() < least) least = single.back();
    }
    best.push_back(least);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  bench.Destroy(stream);
  bench.Destroy({event});
  return Json::Object().Set("single", Spread(single)).Set("best_of_8", Spread(best));
}

// Anchors on one chain: their CPU time, and the device's since the first.
struct Chain {
  std::vector<double> cpu_ns, gpu_ns, width_ns;

  // In ppm, between two of them.
  double Slope(size_t from, size_t to) const {
    return ((gpu_ns[to] - gpu_ns[from]) / (cpu_ns[to] - cpu_ns[from]) - 1) * 1e6;
  }
  // How far the anchors in between lie from the line through every `step`th.
  std::vector<double> Residuals(size_t step) const {
    std::vector<double> residuals;
    for (size_t left = 0; left + step < cpu_ns.size(); left += step) {
      const double rate = (cpu_ns[left + step] - cpu_ns[left]) / (gpu_ns[left + step] - gpu_ns[left]);
      for (size_t i = left + 1; i < left + step; ++i) {
        residuals.push_back(std::abs(cpu_ns[left] + rate * (gpu_ns[i] - gpu_ns[left]) - cpu_ns[i]));
      }
    }
    return residuals;
  }
};

// Adds the best of a few tries. The event of the anchor before is given and becomes this one's.
void Extend(const Bench& bench, gpu::Stream stream, std::vector<gpu::Event>* spare, gpu::Event* last, Chain* chain) {
  Window best = {0, 0};
  gpu::Event found = nullptr;
  for (int i = 0; i < kTries; ++i) {
    const gpu::Event event = (*spare)[static_cast<size_t>(i)];
    const Window window = TakeOne(bench, stream, event);
    if (found != nullptr && window.width() >= best.width()) continue;
    best = window;
    found = event;
  }
  const double before = chain->gpu_ns.empty() ? 0 : chain->gpu_ns.back();
  chain->gpu_ns.push_back(*last == nullptr ? 0 : before + bench.ElapsedNs(*last, found));
  chain->cpu_ns.push_back(best.middle());
  chain->width_ns.push_back(static_cast<double>(best.width()));
  for (gpu::Event& event : *spare) {
    if (event != found) continue;
    event = *last != nullptr ? *last : bench.NewEvent();
    break;
  }
  *last = found;
}

}  // namespace

Json AnchorWindows(const Bench& bench) {
  Json json = Json::Object();
  json.Set("unit", "ns between the clock before the record and after completion was seen");
  json.Set("idle", Windows(bench));
  // Four streams of kernels that fill the device, fed from another thread.
  std::atomic<bool> stop{false};
  Json busy = Json::Object();
  OnThreads(bench, 2, [&](int thread) {
    if (thread == 1) {
      try {
        busy = Windows(bench);
      } catch (...) {
        stop = true;
        throw;
      }
      stop = true;
      return;
    }
    std::vector<gpu::Stream> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(bench.NewStream());
    while (!stop) {
      for (int i = 0; i < 64; ++i) {
        for (const gpu::Stream stream : streams) bench.Spin(stream, 20'000, Bench::kNoSlot, 4096);
      }
      for (const gpu::Stream stream : streams) GPU_CALL(bench.driver, cuStreamSynchronize, stream);
    }
    for (const gpu::Stream stream : streams) bench.Destroy(stream);
  });
  return json.Set("saturated", busy);
}

Json ClockDrift(const Bench& bench) {
  const double seconds = bench.Seconds(120);
  const int64_t period_ns = static_cast<int64_t>(bench.Seconds(0.25) * 1e9);
  Chain chain;
  std::atomic<bool> stop{false};
  OnThreads(bench, 2, [&](int thread) {
    if (thread == 1) {
      Workload workload(bench);
      while (!stop) workload.Run(10);
      return;
    }
    try {
      const gpu::Stream stream = bench.NewStream(gpu::kNonBlockingStream, -100);
      std::vector<gpu::Event> spare = bench.NewEvents(kTries);
      gpu::Event last = nullptr;
      const int64_t start = NowNs();
      for (int64_t next = start; next <= start + static_cast<int64_t>(seconds * 1e9); next += period_ns) {
        if (next > NowNs()) std::this_thread::sleep_for(std::chrono::nanoseconds(next - NowNs()));
        Extend(bench, stream, &spare, &last, &chain);
      }
      bench.Destroy(stream);
      bench.Destroy(spare);
      bench.Destroy({last});
    } catch (...) {
      stop = true;
      throw;
    }
    stop = true;
  });
  Json json = Json::Object();
  json.Set("seconds", seconds).Set("anchors", chain.cpu_ns.size()).Set("window_ns", Spread(chain.width_ns));
  json.Set("device_fast_ppm", chain.Slope(0, chain.cpu_ns.size() - 1));
  // 4 anchors are a second in a real run.
  std::vector<double> slopes;
  for (size_t i = 0; i + 4 < chain.cpu_ns.size(); i += 4) slopes.push_back(chain.Slope(i, i + 4));
  json.Set("ppm_of_each_second", Spread(slopes));
  Json residuals = Json::Object();
  for (const size_t step : {4u, 8u, 40u}) {
    residuals.Set("line_through_every_" + std::to_string(step) + "th", Spread(chain.Residuals(step)));
  }
  json.Set("interpolation_error_ns", residuals);
  // The whole course: µs by which the device is off the one line through both ends, at each second.
  Json course = Json::List();
  const double rate = 1 + chain.Slope(0, chain.cpu_ns.size() - 1) / 1e6;
  for (size_t i = 0; i < chain.cpu_ns.size(); i += 4) {
    course.Add((chain.gpu_ns[i] - rate * (chain.cpu_ns[i] - chain.cpu_ns[0])) / 1000);
  }
  return json.Set("off_the_line_us", course);
}

}  // namespace gpu_bench

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the sections of gpu_bench share: the device, the kernel that spins, events, threads that start together, and
// waits that end.

#ifndef FERRET_BENCH_GPU_BENCH_BENCH_H_
#define FERRET_BENCH_GPU_BENCH_BENCH_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/gpu_bench/json.h"
#include "examples/gpu_driver.h"

namespace gpu_bench {

// CLOCK_MONOTONIC.
inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What a spin kernel leaves: %globaltimer and %clock64 at its start and end, and where it ran.
struct Stamps {
  uint64_t start_ns, stop_ns, start_clock, stop_clock, processor;
};

class Bench {
 public:
  // The device's context becomes current on this thread. Throws gpu::DriverError, as all here do.
  Bench(const gpu::Driver& loaded, gpu::Device device, gpu::Context context, bool short_run);

  const gpu::Driver& driver;
  const gpu::Device device;
  const gpu::Context context;
  const bool short_run;  // only to see that it runs: figures mean nothing

  // The section that begins now has so long. Its loops end by it (Rounds).
  void BeginSection(double seconds) { deadline_ns_ = NowNs() + static_cast<int64_t>(seconds * 1e9); }
  bool OutOfTime() const { return NowNs() > deadline_ns_; }

  // `full` in a real run.
  int64_t Count(int64_t full) const { return short_run ? std::max<int64_t>(2, full / 100) : full; }
  double Seconds(double full) const { return short_run ? full / 100 : full; }

  // Why `functions` cannot be called, or "": names those that the driver lacks.
  template <typename... Functions>
  static std::string Lacks(const char* names, Functions... functions) {
    return ((functions != nullptr) && ...) ? "" : std::string("the driver lacks one of ") + names;
  }

  gpu::Stream NewStream(unsigned flags = gpu::kNonBlockingStream, int priority = 0) const;
  gpu::Event NewEvent() const;
  std::vector<gpu::Event> NewEvents(size_t count) const;
  void Destroy(gpu::Stream stream) const;
  void Destroy(const std::vector<gpu::Event>& events) const;

  // Spins for `ns`. `slot`: where its stamps go, below kSlots; kNoSlot: nowhere.
  static constexpr uint32_t kSlots = 4096;
  static constexpr uint32_t kNoSlot = ~0u;
  void Spin(gpu::Stream stream, uint64_t ns, uint32_t slot = kNoSlot, uint32_t blocks = 1) const;
  // Waits for the stream. False if the kernels of these slots left nothing, which happens where kernels are not run.
  bool ReadStamps(gpu::Stream stream, uint32_t slots, std::vector<Stamps>* stamps) const;

  // Until the event is complete, by queries. Throws after a second, and any other error.
  void Await(gpu::Event event) const;
  // From the earlier to the later, both complete.
  double ElapsedNs(gpu::Event from, gpu::Event to) const;

 private:
  gpu::Function spin_ = nullptr;
  gpu::Address slots_ = 0;
  int64_t deadline_ns_ = INT64_MAX;
};

// for (Rounds rounds(bench, 100); rounds.Next();): that often, fewer in a short run and where the section's time is
// over, once at least.
class Rounds {
 public:
  Rounds(const Bench& bench, int64_t full) : bench_(bench), count_(bench.Count(full)) {}
  bool Next() { return done_ < count_ && (done_++ == 0 || !bench_.OutOfTime()); }
  int64_t done() const { return done_; }

 private:
  const Bench& bench_;
  const int64_t count_;
  int64_t done_ = 0;
};

// Runs it on `count` threads at once, with the context current. What one throws is thrown once all have ended.
void OnThreads(const Bench& bench, int count, const std::function<void(int thread)>& work);

// The sections. Each is one answer.
Json CallCosts(const Bench& bench);
Json KernelGaps(const Bench& bench);
Json AnchorWindows(const Bench& bench);
Json ClockDrift(const Bench& bench);
Json Durations(const Bench& bench);
Json ElapsedVariants(const Bench& bench);
Json StreamKinds(const Bench& bench);
Json ScopeCosts(const Bench& bench);
Json ManyPairs(const Bench& bench);
Json WorkloadCosts(const Bench& bench);
Json Captures(const Bench& bench);

// Everything, as one document. `short_run` as in Bench.
Json RunAll(bool short_run);

}  // namespace gpu_bench

#endif  // FERRET_BENCH_GPU_BENCH_BENCH_H_

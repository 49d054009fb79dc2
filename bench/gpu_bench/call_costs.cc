// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What single calls of the driver cost the calling thread, alone and beside others.

#include <mutex>

#include "bench/gpu_bench/bench.h"

namespace gpu_bench {
namespace {

constexpr size_t kEvents = 64;

// What one thread works with.
struct Hands {
  gpu::Stream stream;
  std::vector<gpu::Event> events;  // recorded, complete
};

// Calls it in rounds of kEvents, for the time of one call in each; the stream is empty before each round.
template <typename Call>
Json Measure(const Bench& bench, std::vector<Hands>* hands, int threads, const Call& call) {
  std::mutex mutex;
  std::vector<double> times;
  OnThreads(bench, threads, [&](int thread) {
    Hands& mine = (*hands)[static_cast<size_t>(thread)];
    std::vector<double> own;
    for (Rounds rounds(bench, 400); rounds.Next();) {
      GPU_CALL(bench.driver, cuStreamSynchronize, mine.stream);
      for (const gpu::Event event : mine.events) {
        const int64_t start = NowNs();
        call(mine, event);
        own.push_back(static_cast<double>(NowNs() - start));
      }
    }
    GPU_CALL(bench.driver, cuStreamSynchronize, mine.stream);
    const std::lock_guard<std::mutex> lock(mutex);
    times.insert(times.end(), own.begin(), own.end());
  });
  return Spread(times);
}

}  // namespace

Json CallCosts(const Bench& bench) {
  const gpu::Driver& driver = bench.driver;
  Json json = Json::Object();
  std::vector<double> readings;
  for (Rounds rounds(bench, 10000); rounds.Next();) {
    const int64_t start = NowNs();
    readings.push_back(static_cast<double>(NowNs() - start));
  }
  json.Set("unit", "ns per call, with one reading of the clock").Set("clock_reading", Spread(readings));
  for (const int threads : {1, 2, 4, 8}) {
    std::vector<Hands> hands(static_cast<size_t>(threads));
    for (Hands& hand : hands) {
      hand = {bench.NewStream(), bench.NewEvents(kEvents)};
      for (const gpu::Event event : hand.events) GPU_CALL(driver, cuEventRecord, event, hand.stream);
    }
    const auto elapsed = [&](Hands& mine, gpu::Event event) {
      float ms = 0;
      GPU_CALL(driver, cuEventElapsedTime, &ms, mine.events.front(), event);
    };
    const auto record = [&](Hands& mine, gpu::Event event) { GPU_CALL(driver, cuEventRecord, event, mine.stream); };
    Json one = Json::Object();
    one.Set("cuEventElapsedTime", Measure(bench, &hands, threads, elapsed));
    one.Set("cuEventQuery", Measure(bench, &hands, threads,
                                    [&](Hands&, gpu::Event event) { GPU_CALL(driver, cuEventQuery, event); }));
    if (driver.cuStreamIsCapturing != nullptr) {
      one.Set("cuStreamIsCapturing", Measure(bench, &hands, threads, [&](Hands& mine, gpu::Event) {
                int status = 0;
                GPU_CALL(driver, cuStreamIsCapturing, mine.stream, &status);
              }));
    }
    one.Set("cuEventRecord", Measure(bench, &hands, threads, record));
    // All on the first one's stream.
    const gpu::Stream shared = hands.front().stream;
    one.Set("cuEventRecord_one_stream", Measure(bench, &hands, threads, [&](Hands&, gpu::Event event) {
              GPU_CALL(driver, cuEventRecord, event, shared);
            }));
    json.Set(std::to_string(threads) + "_threads", one);
    for (const Hands& hand : hands) {
      bench.Destroy(hand.stream);
      bench.Destroy(hand.events);
    }
  }
  // While the device is busy, as polling finds it.
  const gpu::Stream stream = bench.NewStream();
  const gpu::Event event = bench.NewEvent();
  std::vector<double> pending;
  bench.Spin(stream, 20'000'000);
  GPU_CALL(driver, cuEventRecord, event, stream);
  for (Rounds rounds(bench, 10000); rounds.Next();) {
    const int64_t start = NowNs();
    if (driver.cuEventQuery(event) != gpu::kNotReady) break;
    pending.push_back(static_cast<double>(NowNs() - start));
  }
  json.Set("cuEventQuery_pending", Spread(pending));
  bench.Destroy(stream);
  bench.Destroy({event});
  return json;
}

}  // namespace gpu_bench

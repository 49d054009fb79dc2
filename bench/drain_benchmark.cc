// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the drain costs an event: chunks full of records in, finished FunctionEvents out, on one core, nothing else
// running. items_per_second is finished events a second.
//
//   Plain    pairs of nested scopes
//   Linked   forward ops and, in reverse, their backward ops, as a training step has them: every event is linked
//   Flight…  the same into the ring of a flight recorder, which is full

#include <benchmark/benchmark.h>

#include "bench/counting_sink.h"
#include "ferret/scope.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/drain/drain.h"
#include "runtime/export/batch_pool.h"
#include "runtime/export/flight_ring.h"
#include "runtime/record/recorder.h"

namespace ferret {
namespace {

using internal::Drain;
using internal::Recorder;

constexpr int kEvents = 100'000;  // fit the pool

void RecordPlain() {
  for (int i = 0; i < kEvents / 2; ++i) {
    FERRET_SCOPE("outer");
    FERRET_SCOPE("inner");
  }
}

void RecordLinked() {
  static int64_t number = 0;
  constexpr int kOpsInStep = 500;
  const uint32_t thread = ThreadId();
  for (int step = 0; step < kEvents / (2 * kOpsInStep); ++step) {
    for (int i = 0; i < kOpsInStep; ++i) { FERRET_OP_SCOPE("forward", ForwardOp(number + i)); }
    for (int i = kOpsInStep; i-- > 0;) { FERRET_OP_SCOPE("backward", BackwardOp(number + i, thread)); }
    number += kOpsInStep;
  }
}

class FlightSink final : public internal::BatchSink {
 public:
  std::shared_ptr<EventBatch> NewBatch() override { return pool_.Acquire(); }
  void Push(std::shared_ptr<EventBatch> batch) override {
    events += batch->events.size();
    links += batch->links.size();
    batch->sequence = ++batches_;
    ring_.Push(std::move(batch));
  }
  bool full() const { return ring_.counts().discarded > 0; }

  uint64_t events = 0;
  uint64_t links = 0;

 private:
  BatchPool pool_{64};
  FlightRing ring_{{size_t{64} << 20, int64_t{3600} * 1'000'000'000}};
  uint64_t batches_ = 0;
};

template <typename Sink>
bool IsReady(const Sink&) {
  return true;
}
bool IsReady(const FlightSink& sink) { return sink.full(); }

template <typename Sink>
void RunDrain(benchmark::State& state, void (*record)()) {
  Recorder::Config config;
  static Recorder* const recorder = Recorder::Create(config);
  recorder->Start(true);
  ClockMap clock = StartClockMap(true, WallOffsetNs());
  Sink sink;
  Drain drain({}, recorder, &clock, &sink);
  do {
    record();
    drain.Pass(ReadTicks(true));
  } while (!IsReady(sink));
  sink.events = sink.links = 0;
  for (auto _ : state) {
    state.PauseTiming();
    record();
    const uint64_t now = ReadTicks(true);
    state.ResumeTiming();
    drain.Pass(now);
  }
  Recorder::Stop();
  drain.Finish(ReadTicks(true));
  state.SetItemsProcessed(static_cast<int64_t>(sink.events));
  state.counters["event_bytes"] = sizeof(FunctionEvent);
  state.counters["links/event"] = static_cast<double>(sink.links) / static_cast<double>(sink.events);
}

void Plain(benchmark::State& state) { RunDrain<CountingSink>(state, &RecordPlain); }
void Linked(benchmark::State& state) { RunDrain<CountingSink>(state, &RecordLinked); }
void FlightPlain(benchmark::State& state) { RunDrain<FlightSink>(state, &RecordPlain); }
void FlightLinked(benchmark::State& state) { RunDrain<FlightSink>(state, &RecordLinked); }

BENCHMARK(Plain)->Unit(benchmark::kMillisecond);
BENCHMARK(Linked)->Unit(benchmark::kMillisecond);
BENCHMARK(FlightPlain)->Unit(benchmark::kMillisecond);
BENCHMARK(FlightLinked)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How many finished, linked FunctionEvents a second Ferret keeps up with: one thread records forward and backward ops at
// a given rate, the drain builds and links them on another core, nothing is exported.
//
//   sustained [million scopes a second, 0 for as fast as possible] [seconds] [MiB of pool]
//
// Prints one line of name=value pairs. The pacing loop's own cost (it reads the counter until the next burst is due) is
// outside of what recording costs, and is what is left of the core: busy= is the part that recording took.

#include <cstdio>
#include <cstdlib>
#include <chrono>

#include "bench/counting_sink.h"
#include "ferret/scope.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/drain/drain_thread.h"
#include "runtime/record/recorder.h"
#include "runtime/record/thread_registry.h"

namespace {

using namespace ferret;            // a program of one file
using namespace ferret::internal;  // that measures the parts

constexpr int kOps = 100;  // of a step, forward and as many backward

void Step(int64_t first, uint32_t thread) {
  for (int i = 0; i < kOps; ++i) { FERRET_OP_SCOPE("forward", ForwardOp(first + i)); }
  for (int i = kOps; i-- > 0;) { FERRET_OP_SCOPE("backward", BackwardOp(first + i, thread)); }
}

}  // namespace

int main(int argc, char** argv) {
  const double rate = argc > 1 ? std::atof(argv[1]) * 1e6 : 20e6;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 10;
  const int mib = argc > 3 ? std::atoi(argv[3]) : 64;

  Recorder::Config config;
  config.pool.chunks = config.pool.max_chunks = static_cast<uint32_t>(mib * 16);
  Recorder* const recorder = Recorder::Create(config);
  if (recorder == nullptr || !CheckCycleCounter().fit) return 1;
  CountingSink sink;
  DrainThread::Config drain_config;
  drain_config.cycle_counter = true;
  drain_config.wall_offset_ns = WallOffsetNs();
  ClockMap clock = StartClockMap(true, 0);
  DrainThread drain(drain_config, recorder, &sink);
  recorder->Start(true);
  drain.Start();

  const auto ticks_per_step = static_cast<uint64_t>(rate == 0 ? 0 : 2 * kOps / rate * 1e9 / clock.ns_per_tick());
  const auto ticks_in_all = static_cast<uint64_t>(seconds * 1e9 / clock.ns_per_tick());
  const uint32_t thread = ThreadId();
  const uint64_t start = ReadCycleCounter();
  uint64_t due = start;
  uint64_t busy = 0;
  int64_t number = 0;
  for (;;) {
    const uint64_t begin = ReadCycleCounter();
    if (begin - start >= ticks_in_all) break;
    Step(number, thread);
    number += kOps;
    const uint64_t end = ReadCycleCounter();
    busy += end - begin;
    due += ticks_per_step;
    // A thread that was held up catches up: the rate is an average.
    while (static_cast<int64_t>(ReadCycleCounter() - due) < 0) {
    }
  }
  const double elapsed = static_cast<double>(ReadCycleCounter() - start) * clock.ns_per_tick() / 1e9;
  Recorder::Stop();
  drain.Finish(std::chrono::steady_clock::now() + std::chrono::seconds(60));

  uint64_t lost = 0;
  for (const auto& entry : ThreadRegistry::Global().Losses()) lost += entry.second.total();
  const double offered = 2.0 * static_cast<double>(number);
  std::printf("offered_M/s=%.2f finished_M/s=%.2f lost_%%=%.3f linked_%%=%.2f ns/scope=%.2f busy_%%=%.0f exact=%s\n",
              offered / elapsed / 1e6, static_cast<double>(sink.events) / elapsed / 1e6,
              100 * static_cast<double>(lost) / offered,
              200 * static_cast<double>(sink.links) / static_cast<double>(sink.events),
              static_cast<double>(busy) * clock.ns_per_tick() / offered,
              100 * static_cast<double>(busy) * clock.ns_per_tick() / 1e9 / elapsed,
              sink.events + lost == 2 * static_cast<uint64_t>(number) ? "yes" : "NO");
  return 0;
}

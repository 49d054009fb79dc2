// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the table exporter costs its thread per function event: names that recur, as a training run has them.
//
//   Read       the fields that Plain uses, read and added up: what memory alone takes
//   Plain      events without details: the path by name id
//   Unnamed    the same names, but not in the name table
//   Report     one text report of so many keys

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "exporters/table/aggregate.h"
#include "exporters/table/report.h"

namespace ferret {
namespace {

constexpr size_t kEvents = 1 << 16;  // larger than the caches that batches pass through
constexpr int kNames = 128;

struct Source {
  explicit Source(bool in_table, int name_count = kNames) {
    for (int i = 0; i < name_count; ++i) names.push_back("aten::an_operator_of_usual_length_" + std::to_string(i));
    uint64_t seed = 1;
    for (size_t i = 0; i < kEvents; ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      const auto random = static_cast<uint32_t>(seed >> 33);
      FunctionEvent& event = events.emplace_back();
      const uint32_t name = random % static_cast<uint32_t>(name_count);
      event.name = names[name];
      event.name_id = in_table ? 1 + name : 0;
      event.start_ns = 1751410836123456789 + static_cast<int64_t>(i) * 1000;
      event.end_ns = event.start_ns + 100 + random % 90'000;
      event.self_ns = 50;
      event.is_user_annotation = name % 5 == 0;
    }
  }
  std::vector<std::string> names;
  std::vector<FunctionEvent> events;
};

void SetCounters(benchmark::State& state) {
  const double events = static_cast<double>(state.iterations()) * kEvents;
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["ns/event"] =
      benchmark::Counter(events * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void RunAggregate(benchmark::State& state, bool in_table) {
  const Source source(in_table);
  table::Aggregate aggregate({}, 4096);
  for (auto _ : state) {
    for (const FunctionEvent& event : source.events) {
      table::Aggregate::Expect(event);
      aggregate.Add(event);
    }
  }
  SetCounters(state);
}

void Read(benchmark::State& state) {
  const Source source(true);
  for (auto _ : state) {
    int64_t sum = 0;
    for (const FunctionEvent& event : source.events) {
      sum += event.duration_ns() + event.self_cpu_time_total_ns() + event.name_id + (event.details == nullptr ? 0 : 1);
    }
    benchmark::DoNotOptimize(sum);
  }
  SetCounters(state);
}

void Plain(benchmark::State& state) { RunAggregate(state, true); }
void Unnamed(benchmark::State& state) { RunAggregate(state, false); }

void Report(benchmark::State& state) {
  const Source source(true, static_cast<int>(state.range(0)));
  table::Aggregate aggregate({}, 4096);
  for (const FunctionEvent& event : source.events) aggregate.Add(event);
  const SessionInfo session;
  const ExportProgress progress;
  const TableExporterOptions options;
  table::ReportSource report;
  report.aggregate = &aggregate;
  report.session = &session;
  report.progress = &progress;
  report.options = &options;
  for (auto _ : state) benchmark::DoNotOptimize(table::TextReport(report));
}

BENCHMARK(Read)->Unit(benchmark::kMicrosecond);
BENCHMARK(Plain)->Unit(benchmark::kMicrosecond);
BENCHMARK(Unnamed)->Unit(benchmark::kMicrosecond);
BENCHMARK(Report)->Arg(128)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ferret

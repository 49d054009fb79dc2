// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of a run, which sees device time come late, has the rows of the list of all its events; so has its trace
// when it is read back.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "exporters/memory/memory_exporter.h"
#include "exporters/table/aggregate.h"
#include "runtime/trace_reader/trace_reader.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/timed_scopes/average_rows.h"
#include "tests/timed_scopes/timed_forest.h"

namespace ferret {
namespace {

EventList ListOf(const TimedForest& forest, const SessionInfo& info) {
  auto collector = std::make_shared<MemoryCollector>();
  MemoryExporter exporter(collector);
  EXPECT_TRUE(exporter.Open(info).ok());
  for (const EventBatch& batch : forest.batches()) EXPECT_TRUE(exporter.Export(batch).ok());
  return collector->Take().ToEventList();
}

TEST(TimedScopes, TheTableHasTheRowsOfTheListHoweverLateDeviceTimesCome) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    ForestShape shape;
    shape.seed = seed;
    shape.failures = seed % 4 == 0 ? 0 : 10 * static_cast<int>(seed % 4);
    const TimedForest forest(shape);
    ASSERT_EQ(forest.counts().asked, forest.counts().timed + forest.counts().total_lost());
    ASSERT_GT(forest.outer_pairs(), 20u);
    ASSERT_GT(forest.kernels(), 20u);
    const EventList list = ListOf(forest, SessionInfo());
    for (int grouping = 0; grouping < 8; ++grouping) {
      AverageOptions options;
      options.group_by_input_shapes = (grouping & 1) != 0;
      options.group_by_overload_name = (grouping & 2) != 0;
      options.group_by_stack_n = (grouping & 4) != 0 ? 1 : 0;
      table::Aggregate aggregate(options, 10'000);
      for (const EventBatch& batch : forest.batches()) {
        for (const DeviceTimeShare& share : batch.device_times) aggregate.AddDeviceTime(share);
        for (const FunctionEvent& event : batch.events) aggregate.Add(event);
      }
      Rows rows;
      for (const table::Row& row : aggregate.Rows()) {
        EXPECT_EQ(row.average.use_device, DeviceType::kCuda);
        AddRow(row.average, &rows);
      }
      ExpectSame(rows, RowsOf(list.key_averages(options)),
                 "seed " + std::to_string(seed) + ", grouping " + std::to_string(grouping));
    }
  }
}

TEST(TimedScopes, ATraceReadsBackAsTheList) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    ForestShape shape;
    shape.seed = seed;
    shape.start_ns = kSessionStartNs;
    const TimedForest forest(shape);
    TempDir folder;
    ChromeTraceOptions options;
    options.target = folder / "trace.json";
    ChromeTraceExporter exporter(options);
    ASSERT_TRUE(exporter.Open(TestSession()).ok());
    for (const EventBatch& batch : forest.batches()) ASSERT_TRUE(exporter.Export(batch).ok());
    ASSERT_TRUE(exporter.Close({}, absl::InfiniteFuture()).ok());
    const absl::StatusOr<TraceContents> trace = ReadTrace(options.target);
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_EQ(trace->kernels_linked, forest.kernels() + forest.outer_pairs());
    EXPECT_EQ(trace->kernels_alone, 0u);

    const EventList list = ListOf(forest, TestSession());
    AverageOptions shapes;
    shapes.group_by_input_shapes = true;
    for (const AverageOptions& grouping : {AverageOptions(), shapes}) {
      ExpectSame(RowsOf(trace->events.key_averages(grouping)), RowsOf(list.key_averages(grouping)),
                 "seed " + std::to_string(seed));
    }
  }
}

}  // namespace
}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the trace of a made-up run with timed scopes, for which no device is needed, and prints as JSON what must be
// in it.
//
//     write_device_rows TRACE SEED PART_BYTES

#include <cstdio>
#include <cstdlib>

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "tests/timed_scopes/timed_forest.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  ferret::SessionInfo info;
  info.start_ns = 1757000000123456789;
  info.pid = 900;
  info.process_name = "made_up";
  info.host_name = "node-b";
  ferret::ForestShape shape;
  shape.seed = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  shape.scopes = 5000;
  shape.start_ns = info.start_ns;
  const ferret::TimedForest forest(shape);

  ferret::ChromeTraceOptions options;
  options.target = argv[1];
  options.max_part_bytes = std::strtoull(argv[3], nullptr, 10);
  ferret::ChromeTraceExporter exporter(options);
  if (!exporter.Open(info).ok()) return 1;
  for (const ferret::EventBatch& batch : forest.batches()) {
    if (!exporter.Export(batch).ok()) return 1;
  }
  ferret::ExportProgress progress;
  progress.device = forest.counts();
  if (!exporter.Close(progress, absl::InfiniteFuture()).ok()) return 1;
  std::printf("{\"scopes\": %d, \"kernels\": %zu, \"outer_pairs\": %zu, \"drawn\": %zu, \"asked\": %llu, \"timed\": %llu}\n",
              shape.scopes, forest.kernels(), forest.outer_pairs(), forest.drawn_annotations(),
              static_cast<unsigned long long>(forest.counts().asked),
              static_cast<unsigned long long>(forest.counts().timed));
}

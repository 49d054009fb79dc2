// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FileMetrics: how long operators, kernels and steps took, in a file of its own beside the file of spans: one MetricsData
// in OTLP/JSON a line, one line for each interval of the run's own time.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_FILE_FILE_METRICS_H_
#define FERRET_EXPORTERS_OTLP_FILE_FILE_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/metrics/metric_encoder.h"
#include "exporters/otlp/resource/resource.h"
#include "ferret/function_event.h"
#include "runtime/export/file/document_file.h"

namespace ferret::otlp {

class FileMetrics {
 public:
  FileMetrics(const Resource& resource, int64_t start_ns);

  // Nothing is written before.
  absl::Status Open(const DocumentFileOptions& options);
  const DocumentFile* file() const { return file_.get(); }

  void Measure(const FunctionEvent& event);
  // At `time_ns` in the run. An error is of this file alone: what could not be written waits for the next call.
  absl::Status WriteIfDue(int64_t time_ns);
  // Puts the file in place. After an error without what waited.
  absl::Status Finish(int64_t time_ns);

 private:
  absl::Status Write(int64_t time_ns);

  DurationSeries durations_;
  const std::unique_ptr<MetricEncoder> encoder_;
  DocumentFileOptions options_;
  bool is_wanted_ = false;
  std::unique_ptr<DocumentFile> file_;
  int64_t due_ns_;
};

// "run.jsonl.gz" -> "run.metrics.jsonl.gz"
std::string MetricsPath(const std::string& spans_path);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_FILE_FILE_METRICS_H_

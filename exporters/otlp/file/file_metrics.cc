// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/file/file_metrics.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/export/step_event.h"

namespace ferret::otlp {
namespace {

constexpr int64_t kIntervalNs = 60'000'000'000;

}  // namespace

FileMetrics::FileMetrics(const Resource& resource, int64_t start_ns)
    : durations_(Form::kJson, start_ns), encoder_(MakeMetricEncoder(Form::kJson, resource)),
      due_ns_(start_ns + kIntervalNs) {}

absl::Status FileMetrics::Open(const DocumentFileOptions& options) {
  options_ = options;
  is_wanted_ = true;
  absl::StatusOr<std::unique_ptr<DocumentFile>> opened = DocumentFile::Open(options);
  if (!opened.ok()) return opened.status();
  file_ = *std::move(opened);
  return absl::OkStatus();
}

void FileMetrics::Measure(const FunctionEvent& event) {
  int64_t number = 0;
  if (event.device_type != DeviceType::kCpu) {
    durations_.RecordKernel(event);
  } else if (IsStep(event, &number)) {
    durations_.RecordStep(event.duration_ns());
  } else {
    durations_.RecordOp(event);
  }
}

absl::Status FileMetrics::WriteIfDue(int64_t time_ns) {
  if (!is_wanted_ || time_ns < due_ns_) return absl::OkStatus();
  due_ns_ = time_ns + kIntervalNs;
  return Write(time_ns);
}

absl::Status FileMetrics::Write(int64_t time_ns) {
  absl::Status status = file_ != nullptr ? file_->Retry() : Open(options_);
  // What was in the file is gone; what was measured since is not.
  const absl::Status lost = absl::IsDataLoss(status) ? status : absl::OkStatus();
  if (!lost.ok()) {
    file_->Discard();
    file_.reset();
    status = Open(options_);
  }
  // One line waits at most: what is measured meanwhile goes into the next one.
  if (!status.ok()) return status;
  encoder_->Encode(durations_.Collect(time_ns), [&](const MetricRequest& request) {
    status.Update(file_->Append(request.bytes, ""));
  });
  durations_.Reset();
  return status.ok() ? lost : status;
}

absl::Status FileMetrics::Finish(int64_t time_ns) {
  if (!is_wanted_) return absl::OkStatus();
  absl::Status written = Write(time_ns);
  if (file_ == nullptr) return written;
  if (!absl::IsDataLoss(written)) written = absl::OkStatus();  // Finish says so
  absl::Status finished = file_->Finish("");
  if (!finished.ok()) file_->FinishWithoutBacklog("").IgnoreError();
  written.Update(finished);
  return written;
}

std::string MetricsPath(const std::string& spans_path) {
  for (const absl::string_view ending : {".jsonl.gz", ".jsonl"}) {
    if (!absl::EndsWith(spans_path, ending)) continue;
    return spans_path.substr(0, spans_path.size() - ending.size()) + ".metrics" + std::string(ending);
  }
  return spans_path + ".metrics";
}

}  // namespace ferret::otlp

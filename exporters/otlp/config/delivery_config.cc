// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How requests are cut and kept until they are sent: delay, batch, queue, spill and spill_size.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/config/config_parts.h"
#include "exporters/otlp/config/otlp_parameters.h"

namespace ferret::otlp {
namespace {

// Room for a request that is being sent and one that waits.
constexpr uint64_t kLeastQueue = uint64_t{8} * 1000 * 1000;
// A span takes at least tens of bytes: more of them never fit into a request.
constexpr int64_t kMostBatch = 100000;

absl::Status ReadBatch(const ExporterSpec& spec, const OtlpVariables& variables, DeliveryConfig* config) {
  const absl::StatusOr<int64_t> batch = IntParameter(spec, "batch", 0, 1, kMostBatch);
  if (!batch.ok()) return batch.status();
  if (*batch > 0) {
    config->batch_spans = static_cast<size_t>(*batch);
  } else if (const std::optional<int64_t> number = variables.Number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1)) {
    config->batch_spans = static_cast<size_t>(std::min(*number, kMostBatch));
  }
  return absl::OkStatus();
}

absl::Status ReadDelay(const ExporterSpec& spec, const OtlpVariables& variables, DeliveryConfig* config) {
  const absl::StatusOr<std::optional<absl::Duration>> delay = DurationParameter(spec, "delay", /*zero=*/false);
  if (!delay.ok()) return delay.status();
  if (delay->has_value()) {
    config->schedule_delay = **delay;
  } else if (const std::optional<absl::Duration> time = variables.Milliseconds("OTEL_BSP_SCHEDULE_DELAY")) {
    config->schedule_delay = std::max(*time, absl::Milliseconds(1));  // 0 is "at once", not a thread that never rests
  }
  return absl::OkStatus();
}

absl::Status ReadSpill(const ExporterSpec& spec, DeliveryConfig* config) {
  const std::string* const directory = FindParameter(spec, "spill");
  if (directory == nullptr && FindParameter(spec, "spill_size") != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(spec.name, ": spill_size means something only with spill=DIR"));
  }
  if (directory == nullptr) return absl::OkStatus();
  if (directory->empty()) return BadParameter(spec, "spill", "a directory");
  config->spill_directory = *directory;
  const absl::StatusOr<uint64_t> bytes = SizeParameter(spec, "spill_size", config->spill_bytes, kLeastQueue);
  if (!bytes.ok()) return bytes.status();
  config->spill_bytes = *bytes;
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadDelivery(const ExporterSpec& spec, const OtlpVariables& variables, DeliveryConfig* config) {
  absl::Status status = ReadBatch(spec, variables, config);
  if (status.ok()) status = ReadDelay(spec, variables, config);
  if (status.ok()) status = ReadSpill(spec, config);
  if (!status.ok()) return status;
  const absl::StatusOr<uint64_t> queue = SizeParameter(spec, "queue", config->queue_bytes, kLeastQueue);
  if (!queue.ok()) return queue.status();
  config->queue_bytes = *queue;
  const std::string count = variables.Text("OTEL_BSP_MAX_QUEUE_SIZE");
  if (!count.empty()) {
    variables.Ignore("OTEL_BSP_MAX_QUEUE_SIZE", count, "what waits is counted in bytes, by the parameter queue=64MB");
  }
  return absl::OkStatus();
}

}  // namespace ferret::otlp

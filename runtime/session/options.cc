// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/session/flight_options.h"
#include "runtime/session/schedule.h"

namespace ferret {
namespace {

absl::Status CheckRange(absl::string_view option, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", value, ", not from ", least, " to ", most));
}

absl::Status CheckRange(absl::string_view option, absl::Duration value, absl::Duration least, absl::Duration most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", absl::FormatDuration(value), ", not from ",
                                                 absl::FormatDuration(least), " to ", absl::FormatDuration(most)));
}

}  // namespace

absl::Status Options::Validate() const {
  const absl::Status ranges[] = {
      CheckRange("buffer_bytes", buffer_bytes, kMinBufferBytes, kMaxBufferBytes),
      CheckRange("buffer_cap_bytes", buffer_cap_bytes, kMinBufferBytes, kMaxBufferBytes),
      CheckRange("exporter_queue_bytes", exporter_queue_bytes, kMinQueueBytes, kMaxQueueBytes),
      CheckRange("link_table_entries", link_table_entries, kMinLinkTableEntries, kMaxLinkTableEntries),
      CheckRange("cuda_rate", cuda_rate, 0, kMaxCudaRate),
      CheckRange("block_limit", block_limit, absl::Milliseconds(1), absl::Seconds(10)),
      CheckRange("stop_deadline", stop_deadline, absl::Milliseconds(10), absl::Hours(1)),
      ValidateSchedule(schedule),
      ValidateFlight(flight),
  };
  for (const absl::Status& status : ranges) {
    if (!status.ok()) return status;
  }
  if (overflow == Overflow::kGrow && buffer_cap_bytes < buffer_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("overflow grow needs buffer_cap_bytes (FERRET_BUFFER_CAP), now ",
                                                   buffer_cap_bytes, ", of at least buffer_bytes, ", buffer_bytes));
  }
  return absl::OkStatus();
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines of a trace that name a process or a track, or say where it is shown (ph M).

#ifndef FERRET_EXPORTERS_CHROME_TRACE_METADATA_LINE_H_
#define FERRET_EXPORTERS_CHROME_TRACE_METADATA_LINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/text/number_text.h"

namespace ferret::chrome_trace {

// Of a device's process in the order of processes: behind those of the CPU, whose index is their pid.
inline constexpr int64_t kFirstDeviceSortIndex = 5000000;

// `args` are the members of the object; the time counts from the trace's base.
inline std::string MetadataLine(const char* name, int64_t since_base_ns, int64_t pid, int64_t tid,
                                const std::string& args) {
  char time[kNumberChars];
  const std::string since(time, static_cast<size_t>(WriteMicros(time, since_base_ns) - time));
  return absl::StrCat("    {\"name\": \"", name, "\", \"ph\": \"M\", \"ts\": ", since, ", \"pid\": ", pid,
                      ", \"tid\": ", tid, ", \"args\": {", args, "}},\n");
}

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_METADATA_LINE_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The reader of traces as a fuzz target: any bytes give a list of events or an error, and whatever is in the list can
// be asked for. With clang: -fsanitize=fuzzer; without, fuzz_trace_reader_test.cc drives it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/trace_reader/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ferret::TraceContents> trace =
      ferret::ReadTrace(ferret::ByteReader::OfBytes(bytes).get(), "fuzz");
  if (!trace.ok()) {
    // Without a reason nobody could do anything about it.
    if (trace.status().message().substr(0, 6) != "fuzz: ") std::abort();
    return 0;
  }
  for (const ferret::FunctionEvent& event : trace->events) {
    if (event.end_ns < event.start_ns || event.name.data() == nullptr) {
      if (!event.name.empty() || event.end_ns < event.start_ns) std::abort();
    }
    (void)event.metadata();
    (void)event.stack();
    (void)event.ToString();
  }
  ferret::AverageOptions groups;
  groups.group_by_input_shapes = groups.group_by_overload_name = true;
  groups.group_by_stack_n = 2;
  (void)trace->events.key_averages(groups).table();
  return 0;
}

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The reader of traces as a fuzz target: any bytes give a list of events, of which everything can be asked, or an error
// that says in which file. A list that is exported is a trace that can be read, with the same in it.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trace_reader/trace_reader.h"
#include "tests/fuzz/property.h"

namespace {

using ferret::EventList;
using ferret::FunctionEvent;

absl::StatusOr<ferret::TraceContents> Read(std::string_view bytes) {
  return ferret::ReadTrace(ferret::ByteReader::OfBytes(bytes).get(), "fuzz");
}

std::string Export(const EventList& list) {
  // Made once: making one takes longer than all the rest.
  static const int file = memfd_create("exported", MFD_CLOEXEC);
  FUZZ_PROPERTY(list.export_chrome_trace("/proc/self/fd/" + std::to_string(file)) == "");
  std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
  FUZZ_PROPERTY(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

// What the plain trace says of an event, in any order.
std::vector<std::string> Lines(const EventList& list) {
  std::vector<std::string> lines;
  for (const FunctionEvent& event : list) {
    lines.push_back(std::string(event.trace_name()) + " " + std::to_string(event.start_ns - list.start_ns()) + " " +
                    std::to_string(event.duration_ns()));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = Read({reinterpret_cast<const char*>(data), size});
  if (!trace.ok()) {
    // Without a reason nobody could do anything about it.
    FUZZ_PROPERTY(trace.status().message().substr(0, 6) == "fuzz: ");
    return 0;
  }
  for (const std::string& warning : trace->warnings) FUZZ_PROPERTY(!warning.empty() && warning.find('\n') == warning.npos);
  for (const FunctionEvent& event : trace->events) {
    FUZZ_PROPERTY(event.start_ns <= event.end_ns && (event.name.data() != nullptr || event.name.empty()));
    (void)event.metadata();
    (void)event.stack();
    (void)event.ToString();
  }
  ferret::AverageOptions groups;
  groups.group_by_input_shapes = groups.group_by_overload_name = true;
  groups.group_by_stack_n = 2;
  (void)trace->events.key_averages(groups).table();

  // Once exported, a list has no more than the plain trace has a place for: from then on it stays what it is.
  const auto once = Read(Export(trace->events));
  FUZZ_PROPERTY(once.ok());
  const auto twice = Read(Export(once->events));
  FUZZ_PROPERTY(twice.ok() && Lines(once->events) == Lines(twice->events));
  return 0;
}

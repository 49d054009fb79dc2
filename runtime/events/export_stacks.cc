// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stacks with a metric each, one a line: what flame graph programs read.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ferret/event_list.h"
#include "runtime/events/text_file.h"

namespace ferret {
namespace {

// Whether the metric is device time; an error for a name that is no metric.
std::string ReadMetric(const std::string& metric, bool* of_device) {
  *of_device = metric != "self_cpu_time_total";
  for (const char* known : {"self_cpu_time_total", "self_device_time_total", "self_cuda_time_total",
                            "self_xpu_time_total", "self_privateuse1_time_total"}) {
    if (metric == known) return "";
  }
  return absl::StrCat("metric=", metric,
                      ": must be one of self_cpu_time_total, self_device_time_total, self_cuda_time_total, "
                      "self_xpu_time_total, self_privateuse1_time_total");
}

// One line, or none for an event that took no whole microsecond or has no stack.
std::string StackLine(std::vector<std::string> stack, double metric_us) {
  const int64_t whole_us = static_cast<int64_t>(metric_us);
  if (stack.empty() || whole_us <= 0) return "";
  std::reverse(stack.begin(), stack.end());
  for (std::string& frame : stack) {
    std::replace_if(frame.begin(), frame.end(),
                    [](char c) { return c == ' ' || c == ';' || c == '\t' || c == '\n' || c == '\r'; }, '_');
  }
  return absl::StrCat(absl::StrJoin(stack, ";"), " ", whole_us, "\n");
}

}  // namespace

std::string EventList::export_stacks(const std::string& path, const std::string& metric) const {
  bool of_device = false;
  if (std::string error = ReadMetric(metric, &of_device); !error.empty()) return error;
  TextFile file(path);
  for (const FunctionEvent* event : order_) {
    if (event->details == nullptr) continue;
    file.Write(StackLine(event->stack(), of_device ? event->self_device_time_total() : event->self_cpu_time_total()));
  }
  return file.Close();
}

std::string EventAverages::export_stacks(const std::string& path, const std::string& metric) const {
  bool of_device = false;
  if (std::string error = ReadMetric(metric, &of_device); !error.empty()) return error;
  TextFile file(path);
  for (const FunctionEventAvg& row : rows) {
    file.Write(StackLine(row.stack, of_device ? row.self_device_time_total() : row.self_cpu_time_total()));
  }
  return file.Close();
}

}  // namespace ferret

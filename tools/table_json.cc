// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/table_json.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/json_text.h"

namespace ferret {
namespace {

std::string_view DeviceText(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu: return "cpu";
    case DeviceType::kCuda: return "cuda";
    case DeviceType::kXpu: return "xpu";
    case DeviceType::kHpu: return "hpu";
    case DeviceType::kMtia: return "mtia";
    case DeviceType::kPrivateUse1: return "privateuse1";
  }
  return "unknown";
}

std::string RowJson(const FunctionEventAvg& row, const AverageOptions& groups) {
  std::string text = absl::StrCat("{\"name\": ", QuotedJson(row.key));
  const auto number = [&text](const char* key, int64_t value) { absl::StrAppend(&text, ", \"", key, "\": ", value); };
  const auto flag = [&text](const char* key, bool value) {
    absl::StrAppend(&text, ", \"", key, "\": ", value ? "true" : "false");
  };
  if (groups.group_by_overload_name) absl::StrAppend(&text, ", \"overload_name\": ", QuotedJson(row.overload_name));
  absl::StrAppend(&text, ", \"device\": ", QuotedJson(DeviceText(row.device_type)));
  flag("is_user_annotation", row.is_user_annotation);
  number("calls", row.count);
  number("self_cpu_ns", row.self_cpu_time_total_ns);
  number("total_cpu_ns", row.cpu_time_total_ns);
  number("self_device_ns", row.self_device_time_total_ns);
  number("total_device_ns", row.device_time_total_ns);
  number("self_cpu_bytes", row.self_cpu_memory_usage);
  number("total_cpu_bytes", row.cpu_memory_usage);
  number("self_device_bytes", row.self_device_memory_usage);
  number("total_device_bytes", row.device_memory_usage);
  number("flops", row.flops);
  if (row.node_id != -1) number("node_id", row.node_id);
  if (groups.group_by_input_shapes) {
    absl::StrAppend(&text, ", \"input_shapes\": [",
                    absl::StrJoin(row.input_shapes, ", ",
                                  [](std::string* out, const std::vector<int64_t>& shape) {
                                    absl::StrAppend(out, "[", absl::StrJoin(shape, ", "), "]");
                                  }),
                    "]");
  }
  if (groups.group_by_stack_n > 0) {
    absl::StrAppend(&text, ", \"stack\": [",
                    absl::StrJoin(row.stack, ", ",
                                  [](std::string* out, const std::string& frame) { out->append(QuotedJson(frame)); }),
                    "]");
  }
  return text + "}";
}

}  // namespace

std::string TableJson(const std::vector<FunctionEventAvg>& rows, const AverageOptions& groups) {
  std::string text = "{\"rows\": [";
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "\n" : ",\n", RowJson(rows[i], groups));
  }
  return text + "\n]}\n";
}

}  // namespace ferret

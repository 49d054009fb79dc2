// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/report.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/events/sort_key.h"
#include "runtime/events/table.h"
#include "runtime/events/table_text.h"
#include "runtime/events/value_text.h"
#include "runtime/export/file/document_head.h"
#include "runtime/text/json_text.h"

namespace ferret::table {
namespace {

double Seconds(const ReportSource& source) {
  return static_cast<double>(std::max<int64_t>(0, source.end_ns - source.session->start_ns)) / 1e9;
}

std::string Head(const ReportSource& source) {
  const SessionInfo& session = *source.session;
  std::string head = absl::StrCat("Ferret: ", OneLine(session.process_name), ", pid ", session.pid);
  if (session.has_rank) absl::StrAppend(&head, ", rank ", session.rank, " of ", session.world_size);
  absl::StrAppend(&head, ", ", source.aggregate->events(), " events in ", TimeText(Seconds(source) * 1e6));
  // In the form that ReadDocumentHead finds.
  if (!source.run_id.empty()) {
    absl::StrAppend(&head, "  [\"", kRunIdKey, "\": \"", source.run_id, "\", \"", kPidKey, "\": ", session.pid, "]");
  }
  return head;
}

std::string LossText(const LossCounts& lost) {
  if (lost.total() == 0) return "Lost: nothing";
  std::string text = absl::StrCat("Lost: ", lost.total(), " events");
  const char* before = " (";
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    if (lost.by_reason[i] == 0) continue;
    absl::StrAppend(&text, before, LossReasonText(static_cast<LossReason>(i)), " ", lost.by_reason[i]);
    before = ", ";
  }
  return text + ")";
}

// "" if no scope was to be timed.
std::string DeviceText(const DeviceCounts& device) {
  if (device.asked == 0) return "";
  std::string text = absl::StrCat("Timed on a device: ", device.timed, " of ", device.asked, " scopes");
  const char* before = " (";
  for (size_t i = 0; i < kDeviceLossCount; ++i) {
    if (device.lost[i] == 0) continue;
    absl::StrAppend(&text, before, DeviceLossText(static_cast<DeviceLoss>(i)), " ", device.lost[i]);
    before = ", ";
  }
  absl::StrAppend(&text, device.total_lost() == 0 ? "" : ")");
  const DeviceClockCounts& clock = device.clock;
  if (clock.suspect + clock.negative + clock.breaks != 0) {
    absl::StrAppend(&text, "; clocks: ", clock.breaks, " breaks, ", clock.suspect, " times suspect, ", clock.negative,
                    " negative");
  }
  return absl::StrCat(text, "\n");
}

std::string Ns(int64_t ns) { return TimeText(static_cast<double>(ns) / 1000.0); }

class Json {
 public:
  explicit Json(std::string* out) : out_(out) {}
  void Text(const char* name, std::string_view value) { absl::StrAppend(Name(name), QuotedJson(value)); }
  void Number(const char* name, int64_t value) { absl::StrAppend(Name(name), value); }
  void Flag(const char* name, bool value) { absl::StrAppend(Name(name), value ? "true" : "false"); }
  // `"name": `, for a value that the caller appends.
  std::string* Name(const char* name) {
    absl::StrAppend(out_, first_ ? "" : ", ", "\"", name, "\": ");
    first_ = false;
    return out_;
  }

 private:
  std::string* const out_;
  bool first_ = true;
};

void AppendShapes(const std::vector<std::vector<int64_t>>& shapes, std::string* out) {
  out->push_back('[');
  for (size_t i = 0; i < shapes.size(); ++i) {
    absl::StrAppend(out, i == 0 ? "[" : ", [");
    for (size_t j = 0; j < shapes[i].size(); ++j) absl::StrAppend(out, j == 0 ? "" : ", ", shapes[i][j]);
    out->push_back(']');
  }
  out->push_back(']');
}

void AppendRow(const Row& row, std::string* out) {
  const FunctionEventAvg& average = row.average;
  out->push_back('{');
  Json json(out);
  json.Text("key", average.key);
  if (!average.overload_name.empty()) json.Text("overload_name", average.overload_name);
  if (!average.input_shapes.empty()) AppendShapes(average.input_shapes, json.Name("input_shapes"));
  if (!average.stack.empty()) {
    json.Name("stack")->push_back('[');
    for (size_t i = 0; i < average.stack.size(); ++i) {
      absl::StrAppend(out, i == 0 ? "" : ", ", QuotedJson(average.stack[i]));
    }
    out->push_back(']');
  }
  json.Number("device_type", static_cast<int64_t>(average.device_type));
  json.Flag("is_async", average.is_async);
  json.Flag("is_user_annotation", average.is_user_annotation);
  json.Number("count", average.count);
  json.Number("cpu_time_total_ns", average.cpu_time_total_ns);
  json.Number("self_cpu_time_total_ns", average.self_cpu_time_total_ns);
  json.Number("device_time_total_ns", average.device_time_total_ns);
  json.Number("self_device_time_total_ns", average.self_device_time_total_ns);
  json.Number("p50_ns", row.p50_ns);
  json.Number("p95_ns", row.p95_ns);
  json.Number("p99_ns", row.p99_ns);
  json.Number("max_ns", row.max_ns);
  json.Number("cpu_memory_usage", average.cpu_memory_usage);
  json.Number("self_cpu_memory_usage", average.self_cpu_memory_usage);
  json.Number("device_memory_usage", average.device_memory_usage);
  json.Number("self_device_memory_usage", average.self_device_memory_usage);
  json.Number("flops", average.flops);
  json.Name("histogram")->push_back('[');
  const char* between = "";
  for (size_t bucket = 0; bucket < DurationHistogram::kBuckets; ++bucket) {
    if (row.durations->count(bucket) == 0) continue;
    absl::StrAppend(out, between, "[", DurationHistogram::LowestIn(bucket), ", ", row.durations->count(bucket), "]");
    between = ", ";
  }
  out->append("]}");
}

// Indices of the rows to be shown, in their order.
std::vector<size_t> Order(const std::vector<Row>& rows, const TableExporterOptions& options) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const SortKey key = FindSortKey(options.sort_by);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return key(rows[a].average) > key(rows[b].average); });
  if (options.row_limit >= 0) order.resize(std::min(order.size(), static_cast<size_t>(options.row_limit)));
  return order;
}

}  // namespace

std::string TextReport(const ReportSource& source) {
  const std::vector<Row> rows = source.aggregate->Rows();
  TableSource table;
  table.count = rows.size();
  table.row = [&rows](size_t index) -> const FunctionEventAvg& { return rows[index].average; };
  table.with_flops = true;
  for (const Row& row : rows) {
    const FunctionEventAvg& average = row.average;
    table.profile_memory |= average.cpu_memory_usage != 0 || average.self_cpu_memory_usage != 0 ||
                            average.device_memory_usage != 0 || average.self_device_memory_usage != 0;
  }
  table.extra = {{"p50", [&rows](size_t index) { return Ns(rows[index].p50_ns); }},
                 {"p95", [&rows](size_t index) { return Ns(rows[index].p95_ns); }},
                 {"p99", [&rows](size_t index) { return Ns(rows[index].p99_ns); }},
                 {"max", [&rows](size_t index) { return Ns(rows[index].max_ns); }}};
  TableOptions print;
  print.sort_by = source.options->sort_by;
  print.row_limit = source.options->row_limit;
  print.header = Head(source);
  std::string error;
  std::string text = PrintTable(table, print, &error);
  if (!error.empty()) text = absl::StrCat(print.header, "\nno table: ", error, "\n");
  const size_t shown = Order(rows, *source.options).size();
  if (shown < rows.size()) absl::StrAppend(&text, "Rows: ", shown, " of ", rows.size(), " (row_limit)\n");
  if (source.aggregate->other_events() != 0) {
    absl::StrAppend(&text, "Row ", Aggregate::kOtherKey, ": the ", source.aggregate->other_events(),
                    " events of all keys after the first ", source.aggregate->keys(), " (max_keys)\n");
  }
  absl::StrAppend(&text, LossText(source.progress->lost), "\n", DeviceText(source.progress->device));
  return text;
}

std::string JsonReport(const ReportSource& source) {
  const std::vector<Row> rows = source.aggregate->Rows();
  const SessionInfo& session = *source.session;
  std::string out = "{";
  Json json(&out);
  if (!source.run_id.empty()) json.Text(kRunIdKey, source.run_id);
  json.Number(kPidKey, session.pid);
  json.Text("process_name", session.process_name);
  if (session.has_rank) {
    json.Number("rank", session.rank);
    json.Number("world_size", session.world_size);
  }
  json.Number("start_ns", session.start_ns);
  json.Number("end_ns", source.end_ns);
  json.Number("events", static_cast<int64_t>(source.aggregate->events()));
  json.Number("keys", static_cast<int64_t>(source.aggregate->keys()));
  json.Number("other_events", static_cast<int64_t>(source.aggregate->other_events()));
  json.Name("lost")->push_back('{');
  Json lost(&out);
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    lost.Number(LossReasonText(static_cast<LossReason>(i)), static_cast<int64_t>(source.progress->lost.by_reason[i]));
  }
  out.push_back('}');
  if (const DeviceCounts& device = source.progress->device; device.asked != 0) {
    json.Name("device_counts")->push_back('{');
    Json counts(&out);
    counts.Number("asked", static_cast<int64_t>(device.asked));
    counts.Number("timed", static_cast<int64_t>(device.timed));
    for (size_t i = 0; i < kDeviceLossCount; ++i) {
      if (device.lost[i] == 0) continue;
      counts.Number(DeviceLossText(static_cast<DeviceLoss>(i)), static_cast<int64_t>(device.lost[i]));
    }
    out.push_back('}');
  }
  json.Name("rows")->push_back('[');
  const char* between = "";
  for (const size_t index : Order(rows, *source.options)) {
    out += between;
    AppendRow(rows[index], &out);
    between = ", ";
  }
  return out + "]}\n";
}

}  // namespace ferret::table

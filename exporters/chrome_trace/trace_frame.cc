// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/trace_frame.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/strings/str_format.h"
#include "exporters/chrome_trace/metadata_line.h"
#include "runtime/text/number_text.h"
#include "runtime/export/file/document_head.h"
#include "runtime/text/json_text.h"

namespace ferret::chrome_trace {
namespace {

std::string Micros(int64_t ns) {
  char text[kNumberChars];
  return std::string(text, WriteMicros(text, ns));
}

// Equal for equal input, different for any two processes of any two runs.
std::string TraceId(const SessionInfo& info, const std::string& run_id) {
  const std::string seed = absl::StrCat(run_id, "/", info.host_name, "/", info.pid, "/", info.start_ns);
  const auto fnv1a = [&](uint64_t hash) {
    for (char c : seed) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return hash;
  };
  return absl::StrFormat("%016X%016X", fnv1a(0xcbf29ce484222325), fnv1a(0x84222325cbf29ce4));
}

bool IsOn(const std::string& value) { return value == "1" || value == "true" || value == "on" || value == "yes"; }

std::string Options(const SessionInfo& info) {
  std::string text;
  for (const auto& [name, value] : info.options) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", QuotedJson(name), ": ", QuotedJson(value));
  }
  return text;
}

std::string Losses(const LossCounts& lost) {
  std::string text;
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    if (lost.by_reason[i] == 0) continue;
    absl::StrAppend(&text, "\"", LossReasonText(static_cast<LossReason>(i)), "\": ", lost.by_reason[i], ", ");
  }
  absl::StrAppend(&text, "\"total\": ", lost.total());
  return text;
}

// Empty if no scope was to be timed. HTA's validator wants a number wherever a key is `device`.
std::string DeviceAccount(const DeviceCounts& device) {
  if (device.asked == 0) return "";
  std::string text = absl::StrCat(", \"device_counts\": {\"asked\": ", device.asked, ", \"timed\": ", device.timed);
  for (size_t i = 0; i < kDeviceLossCount; ++i) {
    if (device.lost[i] == 0) continue;
    absl::StrAppend(&text, ", \"", DeviceLossText(static_cast<DeviceLoss>(i)), "\": ", device.lost[i]);
  }
  const DeviceClockCounts& clock = device.clock;
  return absl::StrCat(text, "}, \"device_clock\": {\"moved\": ", clock.moved, ", \"suspect\": ", clock.suspect,
                      ", \"negative\": ", clock.negative, ", \"breaks\": ", clock.breaks, "}");
}

}  // namespace

int64_t BaseNs(int64_t session_start_ns) {
  constexpr int64_t kThreeMonthsNs = int64_t{7889238} * 1000000000;
  return session_start_ns <= 0 ? 0 : session_start_ns / kThreeMonthsNs * kThreeMonthsNs;
}

std::string TraceHead(const SessionInfo& info, const std::string& run_id) {
  std::string head = "{\n  \"schemaVersion\": 1,\n";
  absl::StrAppend(&head, "  \"distributedInfo\": {\"backend\": ",
                  QuotedJson(info.backend.empty() ? "unknown" : info.backend), ", \"rank\": ", info.rank,
                  ", \"world_size\": ", info.world_size, "},\n");
  absl::StrAppend(&head, "  \"host_name\": ", QuotedJson(info.host_name), ",\n");
  absl::StrAppend(&head, "  \"trace_id\": \"", TraceId(info, run_id), "\",\n");
  absl::StrAppend(&head, "  \"", kRunIdKey, "\": \"", run_id, "\",\n  \"", kPidKey, "\": ", info.pid, ",\n");
  if (!info.job_id.empty()) absl::StrAppend(&head, "  \"ferret_job_id\": ", QuotedJson(info.job_id), ",\n");
  for (const auto& [variable, value] : info.options) {
    // The keys that torch.profiler writes, only for what is on.
    const std::string name = absl::AsciiStrToLower(absl::StripPrefix(variable, "FERRET_"));
    const bool known = name == "record_shapes" || name == "profile_memory" || name == "with_stack" ||
                       name == "with_flops" || name == "with_modules";
    if (known && IsOn(value)) absl::StrAppend(&head, "  \"", name, "\": 1,\n");
  }
  const auto process = [&info](const char* name, const std::string& args) {
    return MetadataLine(name, info.start_ns - BaseNs(info.start_ns), info.pid, 0, args);
  };
  // "ns": with "ms" Catapult compares times by the microsecond, puts short neighbours into one another, loses arrows.
  absl::StrAppend(&head, "  \"displayTimeUnit\": \"ns\",\n  \"baseTimeNanoseconds\": ", BaseNs(info.start_ns),
                  ",\n  \"traceEvents\": [\n",
                  process("process_name", "\"name\": " + QuotedJson(info.process_name)),
                  process("process_labels", "\"labels\": \"CPU\""),
                  process("process_sort_index", absl::StrCat("\"sort_index\": ", info.pid)));
  return head;
}

std::string TraceTail(const SessionInfo& info, const TraceState& state) {
  const int64_t base = BaseNs(info.start_ns);
  const int64_t end_ns = std::max(state.span_start_ns, state.span_end_ns);
  const std::string start = Micros(state.span_start_ns - base);
  const ExportProgress& progress = state.progress;
  std::string tail;
  absl::StrAppend(&tail, "    {\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ", start,
                  ", \"dur\": ", Micros(end_ns - std::max(state.span_start_ns, base)),
                  ", \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\", "
                  "\"args\": {\"Op count\": ",
                  state.events, "}},\n");
  absl::StrAppend(&tail, "    {\"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ", start,
                  ", \"pid\": \"Spans\", \"tid\": 0, \"args\": {\"sort_index\": 536870912}},\n");
  absl::StrAppend(&tail, "    {\"name\": \"Ferret Record\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\"",
                  ", \"ts\": ", Micros(end_ns - base), ", \"args\": {\"events\": ", state.events, ", ");
  if (state.part > 0) absl::StrAppend(&tail, "\"part\": ", state.part, ", ");
  if (progress.events_discarded > 0) absl::StrAppend(&tail, "\"events_discarded\": ", progress.events_discarded, ", ");
  absl::StrAppend(&tail, "\"events_built\": ", progress.events_built, ", \"lost\": {", Losses(progress.lost),
                  "}, \"links_made\": ", progress.links_made, ", \"links_evicted\": ", progress.links_evicted,
                  ", \"links_unmatched\": ", progress.links_unmatched, ", \"links_hurried\": ", progress.links_hurried,
                  ", \"ends_refused\": ", progress.ends_refused,
                  ", \"details_lost\": ", progress.details_lost,
                  ", \"remote_ends_unmatched\": ", progress.remote_ends_unmatched,
                  ", \"names_inline\": ", progress.names_inline, ", \"clock_backward\": ", progress.clock_backward,
                  ", \"clock_steps\": ", progress.clock_steps, DeviceAccount(progress.device),
                  ", \"options\": {", Options(info), "}}}\n");
  absl::StrAppend(&tail, "  ],\n  \"deviceProperties\": [", state.device_properties, "],\n  \"traceName\": ", QuotedJson(state.path), "\n}\n");
  return tail;
}

}  // namespace ferret::chrome_trace

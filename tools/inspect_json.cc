// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_json.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/text/json_text.h"

namespace ferret {
namespace {

// Writes the members of objects and arrays, with commas between them.
class Writer {
 public:
  void Open(std::string_view key, char bracket) {
    Key(key);
    text_.push_back(bracket);
    first_ = true;
  }
  void Close(char bracket) {
    text_.push_back(bracket);
    first_ = false;
  }
  void Text(std::string_view key, std::string_view value) {
    Key(key);
    absl::StrAppend(&text_, QuotedJson(value));
  }
  template <typename Value>
  void Number(std::string_view key, Value value) {
    Key(key);
    absl::StrAppend(&text_, value);
  }
  void Flag(std::string_view key, bool value) {
    Key(key);
    absl::StrAppend(&text_, value ? "true" : "false");
  }
  void Null(std::string_view key) {
    Key(key);
    absl::StrAppend(&text_, "null");
  }
  std::string Take() { return std::move(text_); }

 private:
  void Key(std::string_view key) {
    if (!first_) absl::StrAppend(&text_, ", ");
    first_ = false;
    if (!key.empty()) absl::StrAppend(&text_, QuotedJson(key), ": ");
  }

  std::string text_;
  bool first_ = true;
};

void WriteThread(const InspectedProcess& process, const InspectedThread& thread, Writer* out) {
  const auto age = [&](int64_t ns) { return std::max<int64_t>(process.reference_ns - ns, 0); };
  out->Open("", '{');
  out->Number("thread", thread.thread);
  out->Number("os_tid", thread.os_tid);
  out->Text("name", thread.name);
  out->Flag("is_main", thread.is_main);
  out->Flag("has_exited", thread.has_exited);
  thread.state.known ? out->Text("state", thread.state.state) : out->Null("state");
  thread.state.waiting.empty() ? out->Null("waiting_in") : out->Text("waiting_in", thread.state.waiting);
  out->Number("idle_ns", age(thread.last_ns));
  out->Open("open", '[');
  for (const InspectedScope& scope : thread.open) {
    out->Open("", '{');
    out->Text("name", scope.name);
    out->Number("age_ns", age(scope.start_ns));
    out->Number("start_unix_ns", scope.start_ns);
    out->Flag("is_async", scope.is_async);
    out->Close('}');
  }
  out->Close(']');
  out->Number("open_left_out", thread.open_left_out);
  out->Open("last", '[');
  for (const InspectedEvent& event : thread.last) {
    out->Open("", '{');
    out->Text("name", event.name);
    out->Number("ended_ns_ago", age(event.end_ns));
    out->Number("duration_ns", event.end_ns - event.start_ns);
    out->Number("end_unix_ns", event.end_ns);
    out->Close('}');
  }
  out->Close(']');
  out->Close('}');
}

}  // namespace

std::string InspectJson(const InspectedProcess& process) {
  Writer out;
  out.Open("", '{');
  out.Number("pid", process.pid);
  out.Text("program", process.info.process_name);
  out.Text("host", process.info.host_name);
  process.info.has_rank ? out.Number("rank", process.info.rank) : out.Null("rank");
  out.Number("world_size", process.info.world_size);
  out.Flag("is_alive", process.lives);
  out.Text("file", process.file);
  out.Number("reference_unix_ns", process.reference_ns);
  out.Number("last_record_unix_ns", process.last_record_ns);
  out.Flag("has_ended", process.has_ended);
  out.Flag("is_paused", process.is_paused);
  if (process.has_step) {
    out.Open("last_step", '{');
    out.Number("number", process.step);
    out.Number("end_unix_ns", process.step_end_ns);
    out.Close('}');
  } else {
    out.Null("last_step");
  }
  out.Open("chunks", '{');
  out.Number("used", process.chunks_used);
  out.Number("all", process.chunks);
  out.Number("bytes_each", process.chunk_bytes);
  out.Close('}');
  out.Open("lost", '{');
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    if (process.lost.by_reason[i] == 0) continue;
    out.Number(LossReasonText(static_cast<LossReason>(i)), process.lost.by_reason[i]);
  }
  out.Close('}');
  out.Open("exporters", '[');
  for (const InspectedExporter& exporter : process.exporters) {
    out.Open("", '{');
    out.Text("name", exporter.name);
    out.Text("path", exporter.path);
    out.Flag("is_disabled", exporter.disabled);
    out.Number("batches_behind", exporter.behind);
    out.Close('}');
  }
  out.Close(']');
  out.Open("notes", '[');
  for (const std::string& note : process.notes) out.Text("", note);
  out.Close(']');
  out.Open("threads", '[');
  for (const InspectedThread& thread : process.threads) WriteThread(process, thread, &out);
  out.Close(']');
  out.Close('}');
  return out.Take();
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_event.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/trace_reader/decimal_time.h"

namespace ferret {
namespace {

using Kind = JsonValue::Kind;

// A string, or a number where strings are numbers; anything else is wrong.
absl::Status Text(const JsonValue& event, const char* key, bool number_allowed, std::string_view* text) {
  const JsonValue* const value = event.Find(key);
  if (value == nullptr || value->kind == Kind::kNull) return absl::OkStatus();
  if (!value->is_string() && !(number_allowed && value->is_number())) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" of the event that ends here is neither a string", number_allowed ? " nor a number" : " nor null"));
  }
  *text = value->text;
  return absl::OkStatus();
}

// A number, or a string that holds one. NaN and infinities are as good as none.
absl::Status Time(const JsonValue& event, const char* key, std::optional<int64_t>* time_ns) {
  const JsonValue* const value = event.Find(key);
  if (value == nullptr || value->kind == Kind::kNull) return absl::OkStatus();
  if (value->is_number() || value->is_string()) {
    *time_ns = NanosecondsOfMicros(value->text);
    if (time_ns->has_value()) return absl::OkStatus();
    if (value->is_number() && value->text.find_first_of("NI") != std::string::npos) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" of the event that ends here is not a time in microseconds, or is out of range"));
}

}  // namespace

absl::Status ReadTraceEvent(const JsonValue& value, TraceEvent* event) {
  std::string_view phase;
  absl::Status status = Text(value, "ph", false, &phase);
  if (status.ok()) status = Text(value, "cat", false, &event->category);
  if (status.ok()) status = Text(value, "name", true, &event->name);
  if (status.ok()) status = Text(value, "pid", true, &event->pid);
  if (status.ok()) status = Text(value, "tid", true, &event->tid);
  if (status.ok()) status = Text(value, "id", true, &event->id);
  if (status.ok()) status = Time(value, "ts", &event->time_ns);
  if (status.ok()) status = Time(value, "dur", &event->duration_ns);
  if (!status.ok()) return status;
  if (phase.size() == 1) event->phase = phase[0];
  const JsonValue* const args = value.Find("args");
  if (args != nullptr && args->is_object()) {
    event->args = args;
  } else if (args != nullptr && args->kind != Kind::kNull) {
    return absl::InvalidArgumentError("\"args\" of the event that ends here is not an object");
  }
  return absl::OkStatus();
}

}  // namespace ferret

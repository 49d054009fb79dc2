// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/crash_session.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferret {
namespace {

void Line(std::string* text, absl::string_view name, absl::string_view value) {
  absl::StrAppend(text, name, "\t", absl::CEscape(value), "\n");
}

// Leaves *to as it is if the text is no number.
template <typename Number>
void SetNumber(const std::string& text, Number* to) {
  Number number = 0;
  if (absl::SimpleAtoi(text, &number)) *to = number;
}

}  // namespace

std::string CrashSessionText(const CrashSession& session) {
  const SessionInfo& info = session.info;
  std::string text;
  Line(&text, "start_ns", absl::StrCat(info.start_ns));
  Line(&text, "pid", absl::StrCat(info.pid));
  if (info.in_forked_child) Line(&text, "forked", "1");
  Line(&text, "process", info.process_name);
  Line(&text, "host", info.host_name);
  if (info.has_rank) Line(&text, "rank", absl::StrCat(info.rank));
  Line(&text, "world_size", absl::StrCat(info.world_size));
  Line(&text, "backend", info.backend);
  Line(&text, "job", info.job_id);
  Line(&text, "run", session.run_id);
  Line(&text, "with_flops", session.with_flops ? "1" : "0");
  if (session.flight) Line(&text, "flight", "1");
  Line(&text, "directory", session.directory);
  Line(&text, "exporters", session.exporters);
  for (const std::string& output : session.outputs) Line(&text, "output", output);
  for (const auto& [name, value] : info.options) {
    absl::StrAppend(&text, "option\t", absl::CEscape(name), "\t", absl::CEscape(value), "\n");
  }
  return text;
}

CrashSession ParseCrashSession(absl::string_view text) {
  CrashSession session;
  SessionInfo& info = session.info;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    std::string value, second;
    if (fields.size() < 2 || !absl::CUnescape(fields[1], &value)) continue;
    const absl::string_view name = fields[0];
    if (name == "start_ns") SetNumber(value, &info.start_ns);
    if (name == "pid") SetNumber(value, &info.pid);
    if (name == "forked") info.in_forked_child = value == "1";
    if (name == "process") info.process_name = value;
    if (name == "host") info.host_name = value;
    if (name == "rank") {
      info.has_rank = true;
      SetNumber(value, &info.rank);
    }
    if (name == "world_size") SetNumber(value, &info.world_size);
    if (name == "backend") info.backend = value;
    if (name == "job") info.job_id = value;
    if (name == "run") session.run_id = value;
    if (name == "with_flops") session.with_flops = value == "1";
    if (name == "flight") session.flight = value == "1";
    if (name == "directory") session.directory = value;
    if (name == "exporters") session.exporters = value;
    if (name == "output") session.outputs.push_back(value);
    if (name == "option" && fields.size() == 3 && absl::CUnescape(fields[2], &second)) {
      info.options.emplace_back(value, second);
    }
  }
  return session;
}

}  // namespace ferret

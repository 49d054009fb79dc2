// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_text.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/text/utf8_text.h"

namespace ferret {
namespace {

constexpr size_t kMostNameBytes = 100;
// Of a stack that never ends, its beginning and its end.
constexpr size_t kMostScopes = 64;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string TimeText(int64_t unix_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(unix_ns), absl::LocalTimeZone());
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// "1 thread", "3 threads".
std::string Counted(uint64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

void AppendHead(const InspectedProcess& process, std::string* text) {
  const SessionInfo& info = process.info;
  absl::StrAppend(text, "process ", process.pid);
  if (!info.process_name.empty()) absl::StrAppend(text, " ", ShownName(info.process_name));
  if (info.has_rank) absl::StrAppend(text, ", rank ", info.rank);
  if (info.has_rank && info.world_size > 0) absl::StrAppend(text, " of ", info.world_size);
  if (!info.host_name.empty()) absl::StrAppend(text, ", on ", ShownName(info.host_name));
  if (process.lives) {
    if (info.start_ns > 0) {
      absl::StrAppend(text, ", recording for ", DurationText(process.reference_ns - info.start_ns));
    }
  } else {
    absl::StrAppend(text, ", dead: ages are up to its last record, ", TimeText(process.last_record_ns));
  }
  absl::StrAppend(text, "\n");
  if (process.has_ended) absl::StrAppend(text, "  recording has ended, and with it what is open here\n");
  if (process.is_paused) {
    absl::StrAppend(text, "  recording has been paused for ", DurationText(process.reference_ns - process.paused_ns),
                    ": what was open then may have ended\n");
  }
  if (process.has_step) {
    absl::StrAppend(text, "  last step: ProfilerStep#", process.step, ", ended ",
                    DurationText(process.reference_ns - process.step_end_ns), " ago\n");
  }
  absl::StrAppend(text, "  file: ", ShownName(process.file), ", ", process.chunks_used, " of ",
                  Counted(process.chunks, "chunk"), " in use\n");
  for (const InspectedExporter& exporter : process.exporters) {
    absl::StrAppend(text, "  exporter ", ShownName(exporter.name), ": ",
                    exporter.disabled      ? "disabled"
                    : exporter.behind == 0 ? "has everything"
                                           : absl::StrCat(exporter.behind, " batches behind"),
                    "\n");
  }
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    if (process.lost.by_reason[i] == 0) continue;
    absl::StrAppend(text, "  lost ", process.lost.by_reason[i], ": ", LossReasonText(static_cast<LossReason>(i)), "\n");
  }
  for (const std::string& note : process.notes) absl::StrAppend(text, "  ", note, "\n");
}

void AppendScopes(const InspectedProcess& process, const InspectedThread& thread, std::string* text) {
  const size_t count = thread.open.size();
  size_t depth = 0;
  for (size_t i = 0; i < count; ++i) {
    const InspectedScope& scope = thread.open[i];
    if (count > kMostScopes && i == kMostScopes / 2) {
      absl::StrAppend(text, "    … ", count - kMostScopes + thread.open_left_out, " more scopes …\n");
      i += count - kMostScopes - 1;
      continue;
    }
    if (scope.is_async) depth = 0;
    const std::string age = absl::StrCat("open for ", DurationText(process.reference_ns - scope.start_ns));
    absl::StrAppend(text, "  ", Padded(age, 20), "  ", std::string(2 * std::min<size_t>(depth, 20), ' '), ShownName(scope.name),
                    scope.is_async ? " (asynchronous)" : "", "\n");
    ++depth;
  }
}

void AppendThread(const InspectedProcess& process, const InspectedThread& thread, std::string* text) {
  absl::StrAppend(text, "\nthread ", thread.thread, " ", thread.is_main ? "main " : "", "\"", ShownName(thread.name),
                  "\", tid ", thread.os_tid);
  if (thread.has_exited) {
    absl::StrAppend(text, ", has exited");
  } else if (thread.state.known) {
    absl::StrAppend(text, ", ", thread.state.state);
    if (!thread.state.waiting.empty()) absl::StrAppend(text, " in ", ShownName(thread.state.waiting));
  } else if (thread.state.is_gone) {
    absl::StrAppend(text, ", is gone");
  }
  absl::StrAppend(text, "\n");
  AppendScopes(process, thread, text);
  if (!thread.has_open()) absl::StrAppend(text, "  nothing open\n");
  for (const InspectedEvent& event : thread.last) {
    const std::string age = absl::StrCat("ended ", DurationText(process.reference_ns - event.end_ns), " ago");
    absl::StrAppend(text, "  ", Padded(age, 20), "  ", ShownName(event.name), ", took ", DurationText(event.end_ns - event.start_ns), "\n");
  }
}

}  // namespace

std::string DurationText(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  char text[64];
  const double value = static_cast<double>(ns);
  const long long seconds = ns / 1'000'000'000;
  const auto scaled = [&](double number, const char* unit) {
    std::snprintf(text, sizeof(text), "%.*f %s", number < 9.995 ? 2 : number < 99.95 ? 1 : 0, number, unit);
  };
  if (ns < 1'000) {
    std::snprintf(text, sizeof(text), "%d ns", static_cast<int>(ns));
  } else if (ns < 999'500) {
    scaled(value / 1e3, "us");
  } else if (ns < 999'500'000) {
    scaled(value / 1e6, "ms");
  } else if (seconds < 60) {
    scaled(value / 1e9, "s");
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof(text), "%lld min %02lld s", seconds / 60, seconds % 60);
  } else {
    std::snprintf(text, sizeof(text), "%lld h %02lld min", seconds / 3600, seconds / 60 % 60);
  }
  return text;
}

std::string ShownName(std::string_view name) {
  std::string valid;
  AppendUtf8(name.substr(0, 1'000), &valid);
  std::string shown;
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<unsigned char>(valid[i]);
    // C1 controls are two bytes: 0xc2 and their number.
    const bool is_c1 = byte == 0xc2 && i + 1 < valid.size() && static_cast<unsigned char>(valid[i + 1]) < 0xa0;
    if (byte >= 0x20 && byte != 0x7f && !is_c1) {
      shown.push_back(valid[i]);
      continue;
    }
    if (is_c1) ++i;
    absl::StrAppend(&shown, "\\x", absl::Hex(static_cast<unsigned char>(valid[i]), absl::kZeroPad2));
  }
  if (shown.size() <= kMostNameBytes && name.size() <= 1'000) return shown;
  size_t head = std::min(shown.size(), kMostNameBytes / 2);
  size_t tail = shown.size() - std::min(shown.size() - head, kMostNameBytes / 2);
  while (head > 0 && IsContinuation(shown[head])) --head;
  while (tail < shown.size() && IsContinuation(shown[tail])) ++tail;
  return absl::StrCat(shown.substr(0, head), "…", shown.substr(tail));
}

std::string InspectText(const InspectedProcess& process, bool all_threads) {
  std::string text;
  AppendHead(process, &text);
  uint64_t idle = 0;
  int64_t least = INT64_MAX, most = 0;
  for (const InspectedThread& thread : process.threads) {
    if (thread.has_open() || thread.is_main || all_threads) {
      AppendThread(process, thread, &text);
      continue;
    }
    ++idle;
    least = std::min(least, process.reference_ns - thread.last_ns);
    most = std::max(most, process.reference_ns - thread.last_ns);
  }
  if (process.threads.empty()) absl::StrAppend(&text, "\nno thread has anything recorded that is not exported\n");
  if (idle != 0) {
    std::string range = DurationText(least);
    if (DurationText(most) != range) absl::StrAppend(&range, " to ", DurationText(most));
    absl::StrAppend(&text, "\n", Counted(idle, "more thread"), " with nothing open, idle for ", range,
                    " (--all-threads shows them)\n");
  }
  return text;
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/crash/crash_reader.h"
#include "runtime/crash/process_stamp.h"
#include "tools/crash_files.h"
#include "tools/inspect_arguments.h"
#include "tools/inspect_json.h"
#include "tools/inspect_report.h"
#include "tools/inspect_targets.h"
#include "tools/inspect_text.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tools/separate_process.h"

namespace ferret {
namespace {

using internal::CrashContents;

struct Inspected {
  int64_t rank = 0;
  int32_t pid = 0;
  std::string text;
};

absl::StatusOr<Inspected> InspectHere(const InspectTarget& target, const InspectRequest& request) {
  const absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::Open(target.open_path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::unique_ptr<CrashContents>> contents = CrashContents::Read((*file)->bytes());
  if (!contents.ok()) return contents.status();
  const int32_t pid = target.pid != 0 ? target.pid : (*contents)->stamp().pid;
  const bool lives = target.pid != 0 || IsProcessRunning((*contents)->stamp());
  InspectedProcess process;
  process.file = target.file;
  if (!InspectContents(contents->get(), request.last, lives ? absl::StrCat("/proc/", pid, "/task") : "", pid, &process)) {
    return absl::ResourceExhaustedError("no memory for what is in it");
  }
  const std::string text = request.json ? InspectJson(process) : InspectText(process, request.all_threads);
  return Inspected{process.info.has_rank ? process.info.rank : INT64_MAX, pid, text};
}

// False if there is something wrong with it, which has been said.
bool InspectTo(const InspectTarget& target, const InspectRequest& request, std::vector<Inspected>* all) {
  const std::string shown = absl::CHexEscape(target.file);
  constexpr int kHasGone = 2;
  const SeparateResult result = RunSeparately(target.open_path, [&](std::string* answer) {
    const absl::StatusOr<Inspected> inspected = InspectHere(target, request);
    if (inspected.ok()) {
      *answer = absl::StrCat(inspected->rank, " ", inspected->pid, "\n", inspected->text);
      return 0;
    }
    if (request.all && HasGone(target)) return kHasGone;
    Say(absl::StrCat(shown, ": ", std::string(inspected.status().message())));
    return 1;
  });
  if (!result.failure.empty()) Say(absl::StrCat(shown, ": ", result.failure));
  if (result.status != 0) return result.status == kHasGone;
  Inspected inspected;
  char* end = nullptr;
  inspected.rank = std::strtoll(result.answer.c_str(), &end, 10);
  inspected.pid = static_cast<int32_t>(std::strtol(end, &end, 10));
  inspected.text = result.answer.substr(result.answer.find('\n') + 1);
  all->push_back(std::move(inspected));
  return true;
}

absl::StatusOr<std::vector<InspectTarget>> TargetsOf(const std::string& argument, const InspectRequest& request) {
  int32_t pid = 0;
  if (absl::SimpleAtoi(argument, &pid) && pid > 0) return TargetsOfPid(pid, request.folders);
  return TargetsAt(argument);
}

bool PrintAll(const std::vector<Inspected>& all, bool json) {
  std::string text = json ? "{\"processes\": [" : "";
  for (size_t i = 0; i < all.size(); ++i) {
    absl::StrAppend(&text, json ? (i == 0 ? "\n" : ",\n") : (i == 0 ? "" : "\n\n"), all[i].text);
  }
  if (json) absl::StrAppend(&text, "\n]}\n");
  return Print(text);
}

}  // namespace

int Inspect(char** arguments) {
  const absl::StatusOr<InspectRequest> parsed = ParseInspectArguments(arguments);
  if (!parsed.ok()) {
    Say(std::string(parsed.status().message()));
    std::fputs(kInspectUsage, stderr);
    return kOwnFailure;
  }
  const InspectRequest& request = *parsed;
  if (request.help) {
    std::fputs(kInspectUsage, stdout);
    return 0;
  }
  bool done = true;
  std::vector<InspectTarget> targets;
  if (request.all) targets = AllTargets();
  for (const std::string& argument : request.arguments) {
    absl::StatusOr<std::vector<InspectTarget>> more = TargetsOf(argument, request);
    if (more.ok()) {
      std::move(more->begin(), more->end(), std::back_inserter(targets));
    } else {
      Say(std::string(more.status().message()));
      done = false;
    }
  }
  std::vector<Inspected> all;
  for (const InspectTarget& target : targets) done &= InspectTo(target, request, &all);
  if (request.all && all.empty() && done) {
    Say("no process records into a file: FERRET_CRASH_DIR=auto makes one do it");
    done = false;
  }
  std::stable_sort(all.begin(), all.end(), [](const Inspected& a, const Inspected& b) {
    return std::make_pair(a.rank, a.pid) < std::make_pair(b.rank, b.pid);
  });
  if ((!all.empty() || request.json) && !PrintAll(all, request.json)) return kOwnFailure;
  return done ? 0 : 1;
}

}  // namespace ferret

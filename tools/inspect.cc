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
#include "absl/strings/strip.h"
#include "runtime/crash/crash_reader.h"
#include "runtime/crash/process_stamp.h"
#include "tools/crash_files.h"
#include "tools/inspect_json.h"
#include "tools/inspect_report.h"
#include "tools/inspect_targets.h"
#include "tools/inspect_text.h"
#include "tools/run.h"
#include "tools/separate_process.h"

namespace ferret {
namespace {

using internal::CrashContents;

constexpr uint32_t kMostLast = 10'000;

struct InspectRequest {
  std::vector<std::string> arguments;  // pids, files, folders
  std::vector<std::string> folders;    // of files whose process is gone
  uint32_t last = 5;
  bool all = false;
  bool all_threads = false;
  bool json = false;
  bool help = false;
};

struct Inspected {
  int64_t rank = 0;
  int32_t pid = 0;
  std::string text;
};

void Say(absl::string_view line) {
  const std::string whole = absl::StrCat("ferret: ", line, "\n");
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

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

absl::Status ParseArguments(char** arguments, InspectRequest* request) {
  const auto set_last = [&](absl::string_view value) {
    if (absl::SimpleAtoi(value, &request->last) && request->last <= kMostLast) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--last: not a number from 0 to ", kMostLast, ": ", value));
  };
  for (; *arguments != nullptr; ++arguments) {
    absl::string_view argument = *arguments;
    absl::Status status;
    if (argument == "--last" || argument == "--dir") {
      const char* const value = arguments[1];
      if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(argument, " needs a value"));
      ++arguments;
      if (argument == "--last") status = set_last(value);
      else request->folders.emplace_back(value);
    } else if (absl::ConsumePrefix(&argument, "--last=")) {
      status = set_last(argument);
    } else if (absl::ConsumePrefix(&argument, "--dir=")) {
      request->folders.emplace_back(argument);
    } else if (argument == "--all") {
      request->all = true;
    } else if (argument == "--all-threads") {
      request->all_threads = true;
    } else if (argument == "--json") {
      request->json = true;
    } else if (argument == "--help" || argument == "-h") {
      request->help = true;
    } else if (argument.size() > 1 && argument[0] == '-') {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", argument));
    } else {
      request->arguments.emplace_back(argument);
    }
    if (!status.ok()) return status;
  }
  if (request->arguments.empty() && !request->all && !request->help) {
    return absl::InvalidArgumentError("no process and no file");
  }
  if (request->folders.empty()) {
    const char* const own = getenv("FERRET_CRASH_DIR");
    if (own != nullptr && *own != '\0' && absl::string_view(own) != "auto") request->folders.emplace_back(own);
    request->folders.emplace_back("/dev/shm");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<InspectTarget>> TargetsOf(const std::string& argument, const InspectRequest& request) {
  int32_t pid = 0;
  if (absl::SimpleAtoi(argument, &pid) && pid > 0) return TargetsOfPid(pid, request.folders);
  return TargetsAt(argument);
}

void Print(const std::vector<Inspected>& all, bool json) {
  std::string text = json ? "{\"processes\": [" : "";
  for (size_t i = 0; i < all.size(); ++i) {
    absl::StrAppend(&text, json ? (i == 0 ? "\n" : ",\n") : (i == 0 ? "" : "\n\n"), all[i].text);
  }
  if (json) absl::StrAppend(&text, "\n]}\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

const char kInspectUsage[] =
    "usage: ferret inspect [--last N] [--all-threads] [--json] [--dir FOLDER] PID|FILE|FOLDER...\n"
    "       ferret inspect --all\n"
    "\n"
    "Prints what every thread of a process has open, for how long, and what it did last, from the file that\n"
    "FERRET_CRASH_DIR made it record into. The process is not stopped, asked or slowed down. It may be dead: ages are up\n"
    "to its last record then.\n"
    "\n"
    "  --all          every process that records into such a file, by rank\n"
    "  --last N       the last N events that each thread finished (default 5), as far as the file still has them\n"
    "  --all-threads  also threads that have nothing open\n"
    "  --dir FOLDER   where files of processes that are gone lie (default: FERRET_CRASH_DIR, /dev/shm)\n"
    "  --json         for programs: {\"processes\": [...]}, of each\n"
    "                   pid, program, host, rank, world_size, is_alive, file, reference_unix_ns (ages are up to then),\n"
    "                   last_record_unix_ns, has_ended, is_paused, last_step {number, end_unix_ns},\n"
    "                   chunks {used, all, bytes_each}, lost {REASON: count}, \n"
    "                   exporters [{name, path, is_disabled, batches_behind}], notes, and\n"
    "                   threads [{thread, os_tid, name, is_main, has_exited, state, waiting_in, idle_ns,\n"
    "                     open [{name, age_ns, start_unix_ns, is_async}] outermost first,\n"
    "                     open_left_out (of more than 256, from the middle),\n"
    "                     last [{name, ended_ns_ago, duration_ns, end_unix_ns}] latest first}]\n";

int Inspect(char** arguments) {
  InspectRequest request;
  const absl::Status parsed = ParseArguments(arguments, &request);
  if (!parsed.ok()) {
    Say(std::string(parsed.message()));
    std::fputs(kInspectUsage, stderr);
    return kOwnFailure;
  }
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
  if (!all.empty() || request.json) Print(all, request.json);
  return done ? 0 : 1;
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_arguments.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ferret {
namespace {

constexpr uint32_t kMostLast = 10'000;

}  // namespace

absl::StatusOr<InspectRequest> ParseInspectArguments(char** arguments) {
  InspectRequest request;
  const auto set_last = [&](absl::string_view value) {
    if (absl::SimpleAtoi(value, &request.last) && request.last <= kMostLast) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--last: not a number from 0 to ", kMostLast, ": ", value));
  };
  bool only_operands = false;
  for (; *arguments != nullptr; ++arguments) {
    absl::string_view argument = *arguments;
    absl::Status status;
    if (only_operands) {
      request.arguments.emplace_back(argument);
    } else if (argument == "--") {
      only_operands = true;
    } else if (argument == "--last" || argument == "--dir") {
      const char* const value = arguments[1];
      if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(argument, " needs a value"));
      ++arguments;
      if (argument == "--last") status = set_last(value);
      else request.folders.emplace_back(value);
    } else if (absl::ConsumePrefix(&argument, "--last=")) {
      status = set_last(argument);
    } else if (absl::ConsumePrefix(&argument, "--dir=")) {
      request.folders.emplace_back(argument);
    } else if (argument == "--all") {
      request.all = true;
    } else if (argument == "--all-threads") {
      request.all_threads = true;
    } else if (argument == "--json") {
      request.json = true;
    } else if (argument == "--help" || argument == "-h") {
      request.help = true;
    } else if (argument.size() > 1 && argument[0] == '-') {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", argument));
    } else {
      request.arguments.emplace_back(argument);
    }
    if (!status.ok()) return status;
  }
  if (request.arguments.empty() && !request.all && !request.help) {
    return absl::InvalidArgumentError("no process and no file");
  }
  if (request.folders.empty()) {
    const char* const own = getenv("FERRET_CRASH_DIR");
    if (own != nullptr && *own != '\0' && absl::string_view(own) != "auto") request.folders.emplace_back(own);
    request.folders.emplace_back("/dev/shm");
  }
  return request;
}

const char kInspectUsage[] =
    "usage: ferret inspect [--last N] [--all-threads] [--json] [--dir FOLDER] [--] PID|FILE|FOLDER...\n"
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
    "                   chunks {used, all, bytes_each}, lost {REASON: count},\n"
    "                   exporters [{name, path, is_disabled, batches_behind}], notes, and\n"
    "                   threads [{thread, os_tid, name, is_main, has_exited, state, waiting_in, idle_ns,\n"
    "                     open [{name, age_ns, start_unix_ns, is_async}] outermost first,\n"
    "                     open_left_out (of more than 256, from the middle),\n"
    "                     last [{name, ended_ns_ago, duration_ns, end_unix_ns}] latest first}]\n";

}  // namespace ferret

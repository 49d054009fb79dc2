// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/recover.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/crash/crash_file.h"
#include "runtime/crash/crash_reader.h"
#include "tools/check_exporters.h"
#include "tools/crash_files.h"
#include "tools/crash_hold.h"
#include "tools/recovery.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tools/separate_process.h"

namespace ferret {
namespace {

using internal::CrashContents;
using internal::CrashFile;

RecoverOutcome RecoverHere(const std::string& path, const RecoverRequest& request, std::string* named) {
  const std::string shown = absl::CHexEscape(path);
  const auto fail = [&](const absl::Status& status) {
    Say(absl::StrCat(shown, ": ", std::string(status.message())));
    return RecoverOutcome::kFailed;
  };
  const absl::StatusOr<std::unique_ptr<MappedFile>> file = MappedFile::Open(path, MappedFile::For::kHolding);
  if (!file.ok()) {
    fail(file.status());
    // Its process has just ended well, or somebody has recovered it; or it is another user's.
    return absl::IsNotFound(file.status()) || IsOfAnotherUser(path) ? RecoverOutcome::kLeft : RecoverOutcome::kFailed;
  }
  const bool into_own = request.exporters.empty();
  if (const absl::Status own = CheckIsOwn(**file); into_own && !own.ok()) {
    fail(absl::PermissionDeniedError(
        absl::StrCat("skipped, ", std::string(own.message()), ": only --export may read it, into an output of yours")));
    return IsOfAnotherUser(path) ? RecoverOutcome::kLeft : RecoverOutcome::kFailed;
  }
  const absl::StatusOr<internal::ProcessStamp> stamp = CrashContents::ReadStamp((*file)->bytes());
  if (!stamp.ok()) return fail(stamp.status());
  const CrashHold hold = HoldCrashFile(**file, *stamp, path);
  const bool lives = hold == CrashHold::kStillRecording || hold == CrashHold::kElsewhere;
  if (lives && request.live && into_own) {
    Say(absl::StrCat(shown, ": process ", stamp->pid, " is still writing its outputs: --live needs --export"));
    return RecoverOutcome::kFailed;
  }
  if (lives && !request.live) {
    const absl::string_view why = hold == CrashHold::kStillRecording
                                      ? " is still recording"
                                      : " still records in another container or on another host, or somebody recovers it";
    Say(absl::StrCat(shown, ": skipped, process ", stamp->pid, why, " (--live reads it all the same)"));
    return RecoverOutcome::kLeft;
  }
  if (into_own && hold == CrashHold::kRecovered) {
    Say(absl::StrCat(shown, ": skipped, somebody else has recovered it"));
    return RecoverOutcome::kLeft;
  }
  if (into_own && !IsOfThisBoot(*stamp)) {
    Say(absl::StrCat(shown, ": skipped, from another host, or from before this one was started: --export writes what is ",
                     "in it to another output"));
    return RecoverOutcome::kLeft;
  }
  const absl::StatusOr<std::unique_ptr<CrashContents>> contents = CrashContents::Read((*file)->bytes());
  if (!contents.ok()) return fail(contents.status());
  if (!request.quiet) {
    for (const std::string& note : (*contents)->Notes()) Say(absl::StrCat(shown, ": ", note));
  }
  // The folder may change for outputs.
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  std::vector<std::string> lines;
  const absl::StatusOr<size_t> outputs = RecoverContents(contents->get(), request, &lines, named);
  for (const std::string& line : lines) Say(line);
  if (!outputs.ok()) {
    Say(absl::StrCat(shown, ": kept, not everything could be recovered: ",
                     absl::CHexEscape(std::string(outputs.status().message()))));
    return RecoverOutcome::kFailed;
  }
  if (*outputs == 0) {
    Say(absl::StrCat(shown, ": kept, no output can be gone on with: ferret recover --all --export ",
                     "chrome_trace:recovered.json ", shown, " makes a new one of it"));
    return RecoverOutcome::kFailed;
  }
  if (into_own && !request.keep && unlink(absolute.c_str()) != 0 && errno != ENOENT) {
    return fail(absl::UnavailableError(absl::StrCat("recovered, but it cannot be removed: ", strerror(errno))));
  }
  return RecoverOutcome::kRecovered;
}

absl::Status ParseArguments(char** arguments, RecoverRequest* request, std::vector<std::string>* paths, bool* help) {
  bool only_paths = false;
  bool into_new = false;
  for (; *arguments != nullptr; ++arguments) {
    absl::string_view argument = *arguments;
    if (only_paths) {
      paths->emplace_back(argument);
    } else if (argument == "--") {
      only_paths = true;
    } else if (argument == "--export") {
      if (*++arguments == nullptr) return absl::InvalidArgumentError("--export needs a value");
      request->exporters = *arguments;
      into_new = true;
    } else if (absl::ConsumePrefix(&argument, "--export=")) {
      request->exporters = std::string(argument);
      into_new = true;
    } else if (argument == "--all") {
      request->all = true;
    } else if (argument == "--live") {
      request->live = true;
    } else if (argument == "--keep") {
      request->keep = true;
    } else if (argument == "--help" || argument == "-h") {
      *help = true;
    } else if (argument.size() > 1 && argument[0] == '-') {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", argument));
    } else {
      paths->push_back(std::string(argument));
    }
  }
  if (*help) return absl::OkStatus();
  if (into_new && request->exporters.empty()) return absl::InvalidArgumentError("--export needs a value");
  if (paths->empty()) return absl::InvalidArgumentError("no file");
  // An output that is gone on with has everything already.
  if (request->all && !into_new) return absl::InvalidArgumentError("--all needs --export");
  return absl::OkStatus();
}

}  // namespace

const char kRecoverUsage[] =
    "usage: ferret recover [--export SPEC] [--all] [--live] [--keep] [--] FILE|FOLDER...\n"
    "\n"
    "Completes the outputs of processes that recorded with FERRET_CRASH_DIR and were killed, from what that variable made\n"
    "them leave behind, and removes it. What an output has is not written to it again; what was open when the process died\n"
    "ends then, marked as cut short. Files of processes that live, wherever they run, and of other users are left alone.\n"
    "\n"
    "  --export SPEC  write to other outputs instead, as in FERRET_EXPORT; the crash file stays. Where a name would be that\n"
    "                 of an earlier file's output, the process's pid is added\n"
    "  --all          with --export: also what the process had exported, as far as it is still there\n"
    "  --live         with --export: also from processes that are still recording\n"
    "  --keep         leave the crash file where it is. Recovered a second time, without --export, it makes other outputs of\n"
    "                 the same events: trace-recovered.json\n"
    "\n"
    "Ends with 0 if everything was recovered but what is to be left alone in a folder, with 1 if something was not, which\n"
    "stays as it is, and with 125 if it was asked for what cannot be done.\n";

RecoverOutcome RecoverFile(const std::string& path, RecoverRequest* request) {
  const SeparateResult result = RunSeparately(
      path, [&](std::string* named) { return static_cast<int>(RecoverHere(path, *request, named)); });
  if (!result.answer.empty()) request->named.insert(result.answer);
  if (!result.failure.empty()) Say(absl::StrCat(absl::CHexEscape(path), ": ", result.failure));
  return result.status < 0 ? RecoverOutcome::kFailed : static_cast<RecoverOutcome>(result.status);
}

int Recover(char** arguments) {
  RecoverRequest request;
  std::vector<std::string> paths;
  bool help = false;
  const absl::Status parsed = ParseArguments(arguments, &request, &paths, &help);
  if (!parsed.ok()) {
    Say(std::string(parsed.message()));
    std::fputs(kRecoverUsage, stderr);
    return kOwnFailure;
  }
  if (help) {
    std::fputs(kRecoverUsage, stdout);
    return 0;
  }
  if (!request.exporters.empty()) {
    // Not file by file: it is wrong for all of them.
    if (const absl::Status status = CheckExporters(request.exporters, false); !status.ok()) {
      Say(std::string(status.message()));
      return kOwnFailure;
    }
  }
  bool done = true;
  for (const std::string& path : paths) {
    internal::CrashFile::RemoveUnpublished(path);  // does nothing where there is no folder
    const absl::StatusOr<std::vector<std::string>> files = CrashFilesAt(path);
    if (!files.ok()) {
      Say(std::string(files.status().message()));
      done = false;
      continue;
    }
    if (files->empty()) Say(absl::StrCat(absl::CHexEscape(path), ": no crash files"));
    for (const std::string& file : *files) {
      const RecoverOutcome outcome = RecoverFile(file, &request);
      // In a folder there may be those of processes that live.
      done &= outcome == RecoverOutcome::kRecovered || (outcome == RecoverOutcome::kLeft && file != path);
    }
  }
  return done ? 0 : 1;
}

}  // namespace ferret

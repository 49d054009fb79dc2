// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "runtime/session/environment.h"
#include "runtime/session/run_report.h"
#include "tools/check_exporters.h"
#include "tools/child_process.h"
#include "tools/recover.h"
#include "tools/run_environment.h"
#include "tools/run_summary.h"
#include "tools/say.h"

namespace ferret {
namespace {

constexpr char kDefaultExport[] = "chrome_trace:trace-%p.json.gz";
// Whoever waits for the command waits for this, too.
constexpr absl::Duration kRecoveryLimit = absl::Seconds(60);

enum class Torch {
  kIfThere,  // preload what brings the adapter in, if it is part of this installation
  kYes,      // fail without it
  kNo,
};

struct Request {
  std::optional<std::string> exporters;
  std::optional<std::string> flight;
  Torch torch = Torch::kIfThere;
  bool help = false;
  char** command = nullptr;
};

// Options end at the first argument that is not one, or at "--": what follows is the command, whatever it looks like.
absl::StatusOr<Request> ParseArguments(char** arguments) {
  Request request;
  for (; *arguments != nullptr; ++arguments) {
    absl::string_view argument = *arguments;
    if (argument == "--") {
      ++arguments;
      break;
    }
    if (argument.empty() || argument[0] != '-') break;
    if (argument == "--export") {
      if (*++arguments == nullptr) return absl::InvalidArgumentError("--export needs a value");
      request.exporters = *arguments;
    } else if (absl::ConsumePrefix(&argument, "--export=")) {
      request.exporters = std::string(argument);
    } else if (argument == "--flight") {
      if (*++arguments == nullptr) return absl::InvalidArgumentError("--flight needs a value");
      request.flight = *arguments;
    } else if (absl::ConsumePrefix(&argument, "--flight=")) {
      request.flight = std::string(argument);
    } else if (argument == "--torch") {
      request.torch = Torch::kYes;
    } else if (argument == "--no-torch") {
      request.torch = Torch::kNo;
    } else if (argument == "--help" || argument == "-h") {
      request.help = true;
      return request;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", argument));
    }
  }
  if (*arguments == nullptr) return absl::InvalidArgumentError("no command");
  if (request.exporters.has_value() && request.exporters->empty()) {
    return absl::InvalidArgumentError("--export needs a value");
  }
  if (request.flight.has_value() && request.flight->empty()) {
    return absl::InvalidArgumentError("--flight needs a value");
  }
  request.command = arguments;
  return request;
}

// The file that recording processes report to, removed at the end.
class ReportFile {
 public:
  ReportFile() {
    const char* folder = getenv("TMPDIR");
    path_ = absl::StrCat(folder == nullptr || *folder == '\0' ? "/tmp" : folder, "/ferret-run-XXXXXX");
    const int file = mkstemp(&path_[0]);
    if (file < 0) {
      Say(absl::StrCat("cannot create ", path_, ": ", strerror(errno), "; there will be no summary, and of killed processes no recovery"));
      path_.clear();
      return;
    }
    close(file);
  }
  ~ReportFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  const std::string& path() const { return path_; }

  RunReport Read() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return ParseRunReport(text.str());
  }

 private:
  std::string path_;
};

absl::Status Prepare(const Request& request, const std::string& run_id, const std::string& report,
                     EnvironmentCopy* environment) {
  if (request.exporters.has_value()) {
    environment->Set("FERRET_EXPORT", *request.exporters);
  } else if (!RecordingRequested([&](const char* name) { return environment->Get(name); })) {
    environment->Set("FERRET_EXPORT", kDefaultExport);
  }
  if (request.flight.has_value()) environment->Set("FERRET_FLIGHT", *request.flight);
  environment->Set("FERRET_RUN_ID", run_id);
  environment->Set("FERRET_RUN_REPORT", report);
  // Better no run than a long one that each process refuses to record.
  const absl::StatusOr<Options> options =
      OptionsFromEnvironment([&](const char* name) { return environment->Get(name); });
  if (!options.ok()) return options.status();
  if (absl::Status status = CheckExporters(options->exporters, !options->plugins.empty()); !status.ok()) return status;

  if (request.torch == Torch::kNo) return absl::OkStatus();
  const std::string library = FindPreloadLibrary();
  if (library.empty()) {
    if (request.torch == Torch::kIfThere) return absl::OkStatus();
    return absl::NotFoundError("--torch: libferret_preload.so is not part of this installation");
  }
  const char* current = environment->Get("LD_PRELOAD");
  const absl::StatusOr<std::string> preload = AddPreload(current == nullptr ? "" : current, library);
  if (!preload.ok()) return preload.status();
  environment->Set("LD_PRELOAD", *preload);
  return absl::OkStatus();
}

}  // namespace

const char kRunUsage[] =
    "usage: ferret run [--export SPEC] [--flight SPEC] [--torch | --no-torch] [--] COMMAND [ARGUMENT]...\n"
    "\n"
    "Runs COMMAND with recording turned on and ends as it ends.\n"
    "\n"
    "  --export SPEC  where the events go, as in FERRET_EXPORT; without it what FERRET_EXPORT says,\n"
    "                 or else chrome_trace:trace-%p.json.gz\n"
    "  --flight SPEC  keep only the latest events and write them when something asks for it, as FERRET_FLIGHT: 30s, 64M,\n"
    "                 last=30s,slow=2x,signal=USR2\n"
    "  --torch        fail if programs that use PyTorch could not be recorded\n"
    "  --no-torch     record only programs that are built with Ferret: preload nothing\n";

int Run(char** arguments) {
  const absl::StatusOr<Request> request = ParseArguments(arguments);
  if (!request.ok()) {
    Say(std::string(request.status().message()));
    std::fputs(kRunUsage, stderr);
    return kOwnFailure;
  }
  if (request->help) {
    std::fputs(kRunUsage, stdout);
    return 0;
  }

  std::optional<ReportFile> report;
  report.emplace();
  const std::string run_id = FreshRunId();
  EnvironmentCopy environment(environ);
  const absl::Status prepared = Prepare(*request, run_id, report->path(), &environment);
  if (!prepared.ok()) {
    Say(std::string(prepared.message()));
    return kOwnFailure;
  }
  const std::string unknown = UnknownVariables(environ);
  if (!unknown.empty()) Say(unknown);

  const CommandResult result = RunCommand(request->command, environment.Pointers().data());
  if (result.start_error != 0) {
    Say(absl::StrCat("cannot run ", *request->command, ": ", strerror(result.start_error)));
    return result.start_error == ENOENT ? 127 : 126;
  }
  if (!report->path().empty()) {
    // Before the files of killed processes get their names: these are gone on with.
    RecoverRequest recover;
    recover.quiet = true;
    recover.limit = kRecoveryLimit;
    bool told = false;
    for (const RunReport::CrashFile& file : report->Read().crash_files) {
      if (access(file.path.c_str(), F_OK) != 0) continue;
      RecoverFile(file.path, &recover);
      told = true;
    }
    for (const std::string& line : FinishRun(report->Read(), run_id, told)) Say(line);
  }
  // Now: ending by a signal runs no destructor.
  report.reset();
  ExitAs(result.wait_status);
}

}  // namespace ferret

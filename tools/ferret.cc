// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The `ferret` command line.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/session/variables.h"
#include "tools/inspect.h"
#include "tools/inspect_arguments.h"
#include "tools/otlp_replay.h"
#include "tools/replay_transport.h"
#include "tools/recover.h"
#include "tools/run.h"
#include "tools/table.h"
#include "tools/table_arguments.h"

namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kUsage[] =
    "usage: ferret run [OPTION]... [--] COMMAND [ARGUMENT]...   run a program with recording turned on\n"
    "       ferret inspect [OPTION]... PID|FILE|FOLDER...       print what a program is doing, or was when it died\n"
    "       ferret recover [OPTION]... FILE|FOLDER...           complete what killed programs recorded\n"
    "       ferret table [OPTION]... FILE                       print what the events of a trace add up to\n"
    "       ferret otlp-replay [OPTION]... FILE...              send what was kept on disk to an OTLP receiver\n"
    "       ferret help [run|inspect|recover|table|otlp-replay] this text, or that of a command\n"
    "       ferret help --markdown                              the variables as a Markdown table\n"
    "       ferret --version\n";

int Help(char** arguments) {
  const absl::string_view topic = *arguments == nullptr ? "" : *arguments;
  if (topic.empty()) {
    std::fputs(absl::StrCat(kUsage, "\nEnvironment variables:\n", ferret::VariablesText()).c_str(), stdout);
  } else if (topic == "run") {
    std::fputs(ferret::kRunUsage, stdout);
  } else if (topic == "inspect") {
    std::fputs(ferret::kInspectUsage, stdout);
  } else if (topic == "recover") {
    std::fputs(ferret::kRecoverUsage, stdout);
  } else if (topic == "table") {
    std::fputs(ferret::TableUsage().c_str(), stdout);
  } else if (topic == "otlp-replay") {
    std::fputs(ferret::kOtlpReplayUsage, stdout);
  } else if (topic == "--markdown") {
    std::fputs(ferret::VariablesMarkdown().c_str(), stdout);
  } else {
    std::fprintf(stderr, "ferret: no help on %s\n", *arguments);
    return ferret::kOwnFailure;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const absl::string_view command = argc < 2 ? "" : argv[1];
  if (command == "run") return ferret::Run(argv + 2);
  if (command == "inspect") return ferret::Inspect(argv + 2);
  if (command == "recover") return ferret::Recover(argv + 2);
  if (command == "table") return ferret::Table(argv + 2);
  if (command == "otlp-replay") return ferret::OtlpReplay(argv + 2, &ferret::ReplayTransport);
  if (command == "help" || command == "--help" || command == "-h") return Help(argv + 2);
  if (command == "--version") {
    std::printf("ferret %s\n", kVersion);
    return 0;
  }
  if (!command.empty()) std::fprintf(stderr, "ferret: unknown command %s\n", argv[1]);
  std::fputs(kUsage, stderr);
  return ferret::kOwnFailure;
}

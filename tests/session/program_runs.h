// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs recording_program, or another one, with a folder of its own to write to, with the given variables and no other FERRET_* ones but
// a deadline for its stop.

#ifndef FERRET_TESTS_SESSION_PROGRAM_RUNS_H_
#define FERRET_TESTS_SESSION_PROGRAM_RUNS_H_

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ferret {

struct ProgramRun {
  int status = -1;  // exit status, or 128 and the signal
  int printed = -1;
  std::string err;
  std::vector<std::string> files;  // names, sorted
};

class ProgramRuns : public testing::Test {
 protected:
  ProgramRuns() {
    const char* base = getenv("TEST_TMPDIR");
    folder_ = std::string(base != nullptr ? base : "/tmp") + "/runs-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::vector<std::string> ours;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (text.rfind("FERRET_", 0) == 0) ours.push_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : ours) unsetenv(name.c_str());
    setenv("FERRET_STOP_DEADLINE", "50s", 1);  // disks may stand still
  }
  ~ProgramRuns() override { std::filesystem::remove_all(folder_); }

  std::string program_ = "tests/session/recording_program";

  // The variable for a trace in the folder.
  std::string ToFile() const { return "FERRET_EXPORT=chrome_trace:" + folder_ + "/trace.json"; }

  // `shell` stands before the program's command line: variables, limits.
  ProgramRun Run(const std::string& shell, const std::string& how) {
    const std::string command = shell + " " + program_ + " " + how + " >" + folder_ + ".out 2>" + folder_ + ".err";
    ProgramRun run;
    const int status = system(command.c_str());
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.err = Read(folder_ + ".err");
    std::ifstream(folder_ + ".out") >> run.printed;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      run.files.push_back(entry.path().filename().string());
    }
    std::sort(run.files.begin(), run.files.end());
    return run;
  }

  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  // How many scopes the file in the folder has; -1 if it is not one value in strict JSON.
  int ScopesIn(const std::string& file) const {
    rapidjson::Document document;
    const std::string text = Read(folder_ + "/" + file);
    document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
    if (document.HasParseError() || !document.IsObject() || !document.HasMember("traceEvents")) return -1;
    int scopes = 0;
    for (const rapidjson::Value& event : document["traceEvents"].GetArray()) {
      scopes += event["ph"] == "X" && event["name"] == "scope";
    }
    return scopes;
  }

  static size_t Lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  std::string folder_;
};

using Files = std::vector<std::string>;

}  // namespace ferret

#endif  // FERRET_TESTS_SESSION_PROGRAM_RUNS_H_

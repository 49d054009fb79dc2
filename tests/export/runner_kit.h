// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A runner with a scripted exporter, on a clock that stands still, and the lines that it reports.

#ifndef FERRET_TESTS_EXPORT_RUNNER_KIT_H_
#define FERRET_TESTS_EXPORT_RUNNER_KIT_H_

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/export/exporter_runner.h"
#include "tests/export/fakes.h"

namespace ferret {

inline std::mutex g_lines_mutex;
inline std::vector<std::string>& Lines() {
  static auto* const lines = new std::vector<std::string>;
  return *lines;
}
inline void KeepLine(const std::string& line) {
  std::lock_guard<std::mutex> lock(g_lines_mutex);
  Lines().push_back(line);
}

class ExporterRunnerTest : public testing::Test {
 protected:
  ExporterRunnerTest() {
    std::lock_guard<std::mutex> lock(g_lines_mutex);
    Lines().clear();
    options_.name = "scripted";
    options_.report = &KeepLine;
    options_.clock = clock_;
  }

  std::unique_ptr<ExporterRunner> Start() {
    return std::make_unique<ExporterRunner>(std::make_unique<ScriptedExporter>(script_), SessionInfo(), options_);
  }
  std::vector<std::string> TakeLines() {
    std::lock_guard<std::mutex> lock(g_lines_mutex);
    return std::exchange(Lines(), {});
  }
  // Returns once another thread is inside of Stop.
  static void WaitForStop(ExporterRunner& runner) {
    while (!absl::IsFailedPrecondition(runner.Flush(absl::InfinitePast()))) std::this_thread::yield();
  }

  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
  FakeClock* const clock_ = FakeClock::Create();
  RunnerOptions options_;
};

}  // namespace ferret

#endif  // FERRET_TESTS_EXPORT_RUNNER_KIT_H_

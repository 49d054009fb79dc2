// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// One session into files of a folder of its own, whatever happens to them, and what is there afterwards.

#ifndef FERRET_TESTS_DISK_DISK_RUN_H_
#define FERRET_TESTS_DISK_DISK_RUN_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "exporters/builtin.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/registry.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/session/session_kit.h"

namespace ferret {

// A program that records for a while, flushing in between.
struct DiskRun {
  uint64_t attempts = 0;
  ExporterCounts counts;
  std::string err;
  std::vector<std::string> files;  // names, sorted

  size_t lines() const { return static_cast<size_t>(std::count(err.begin(), err.end(), '\n')); }
  uint64_t lost() const { return counts.dropped + counts.failed; }
};

// Records in rounds of so many scopes, with a flush at the end of each and then a call of `after`, into exporter `spec`;
// `before` is called before recording is on.
inline DiskRun RunOnDisk(const std::string& folder, const std::string& spec, int rounds, int scopes,
                         const std::function<void(int round)>& after = [](int) {},
                         const std::function<void()>& before = [] {}) {
  DiskRun result;
  testing::internal::CaptureStderr();
  const auto specs = ParseExporterSpecs(spec);
  EXPECT_TRUE(specs.ok()) << specs.status();
  ExporterRegistry registry;
  RegisterBuiltinExporters(registry);
  auto exporter = registry.Create(specs->at(0));
  EXPECT_TRUE(exporter.ok()) << exporter.status();
  before();
  auto run = SessionRun::Start(TestOptions(), Exporters().With(specs->at(0).name, *std::move(exporter)).Take());
  EXPECT_TRUE(run.ok()) << run.status();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < scopes; ++i) { FERRET_SCOPE("scope"); }
    result.attempts += static_cast<uint64_t>(scopes);
    (*run)->Flush(absl::Now() + absl::Seconds(60)).IgnoreError();  // it is the exporter's to say
    after(round);
  }
  (*run)->Stop(absl::Now() + absl::Seconds(60)).IgnoreError();
  EXPECT_EQ((*run)->Losses().total(), 0u) << "recording has room";
  result.counts = (*run)->Outputs().at(0).counts;
  result.err = testing::internal::GetCapturedStderr();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    result.files.push_back(entry.path().filename());
  }
  std::sort(result.files.begin(), result.files.end());
  return result;
}

// attempts = exported + lost, whatever happened.
inline void ExpectCounted(const DiskRun& run) {
  EXPECT_EQ(run.counts.pushed, run.attempts);
  EXPECT_EQ(run.counts.exported + run.lost(), run.attempts);
  EXPECT_EQ(run.counts.waiting, 0u);
}

// The text of a file, unpacked if it is gzipped; `whole` is false if the gzip member is not.
inline std::string TextOf(const std::string& path, bool* whole) {
  const std::string bytes = ReadFile(path);
  *whole = true;
  if (path.find(".gz") == std::string::npos) return bytes;
  Inflated inflated = Gunzip(bytes);
  *whole = inflated.whole;
  return std::move(inflated.text);
}

}  // namespace ferret

#endif  // FERRET_TESTS_DISK_DISK_RUN_H_

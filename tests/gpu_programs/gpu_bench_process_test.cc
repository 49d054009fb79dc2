// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// bench/gpu_bench and bench/gpu_check as programs: without a driver, and with one that runs the kernels on the CPU.

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

constexpr const char* kSections[] = {"call_costs",  "kernel_gaps", "durations",   "elapsed_time", "anchor_windows",
                                     "scope_costs", "many_pairs",  "workload",    "clock_drift",  "stream_kinds",
                                     "captures"};

std::string BenchPath() { return DataFile("bench/gpu_bench/gpu_bench"); }
std::string Library() {
  return "FERRET_CUDA_LIBRARY=" + DataFile("tests/gpu_programs/cpu_driver/right/libcuda.so.1");
}

TEST(GpuBench, WithoutADriverItPrintsADocumentThatSaysSo) {
  const Outcome outcome = RunProgram({BenchPath()}, {"FERRET_CUDA_LIBRARY=/nowhere/libcuda.so.1"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(outcome.out.c_str()).HasParseError()) << outcome.out;
  EXPECT_EQ(std::string(document["error"].GetString()).rfind("/nowhere/libcuda.so.1: ", 0), 0u) << outcome.out;
  EXPECT_TRUE(document["machine"].HasMember("cores"));
}

TEST(GpuBench, NeedsNoSharedLibraryButGlibcs) {
  const Outcome outcome = RunProgram({"/bin/sh", "-c", "ldd " + BenchPath() + " " + DataFile("examples/gpu_mlp")});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("libc.so"), std::string::npos) << outcome.out;
  for (const char* library : {"libabsl", "libstdc++", "libgcc", "libz.", "libcu", "libferret"}) {
    EXPECT_EQ(outcome.out.find(library), std::string::npos) << outcome.out;
  }
}

TEST(GpuCheck, LeavesResultsOfAllSectionsATraceAndATable) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = {DataFile("bench/gpu_check"), BenchPath(), DataFile("examples/gpu_mlp")};
  for (const std::string& file : files) {
    ASSERT_EQ(symlink(file.c_str(), (folder / file.substr(file.rfind('/') + 1)).c_str()), 0);
  }
  const Outcome outcome = RunProgram({folder / "gpu_check", folder / "out", "--short"}, {Library()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;

  const std::string text = ReadFile(folder / "out/gpu_bench.json");
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(text.c_str()).HasParseError()) << text;
  EXPECT_FALSE(document.HasMember("error")) << text;
  EXPECT_TRUE(document.HasMember("not_the_real_driver"));
  for (const char* section : kSections) {
    ASSERT_TRUE(document.HasMember(section)) << section;
    EXPECT_FALSE(document[section].HasMember("error")) << section << ": " << document[section]["error"].GetString();
  }
  // The kernels ran, for as long as they were asked to.
  const auto& kernel = document["durations"]["behind_another_kernel"]["1000000"];
  EXPECT_GE(kernel["kernel_ns"]["min"].GetDouble(), 1e6);
  EXPECT_GE(kernel["longer_ns"]["min"].GetDouble(), 0);
  // Ferret timed what it was asked to, or says why not.
  const auto& counts = document["many_pairs"]["session"]["device_counts"];
  EXPECT_GE(counts["asked"].GetInt(), document["many_pairs"]["pairs"].GetInt());
  EXPECT_GT(counts["timed"].GetInt(), 0);
  int64_t sum = counts["timed"].GetInt();
  for (const auto& reason : counts["lost"].GetObject()) sum += reason.value.GetInt();
  EXPECT_EQ(sum, counts["asked"].GetInt());
  EXPECT_NE(ReadFile(folder / "out/verify.txt").find("good"), std::string::npos);
  EXPECT_NE(ReadFile(folder / "out/trace.json").find("\"backward\""), std::string::npos);
  EXPECT_NE(ReadFile(folder / "out/table.txt").find("Self CUDA time total"), std::string::npos);
}

}  // namespace
}  // namespace ferret

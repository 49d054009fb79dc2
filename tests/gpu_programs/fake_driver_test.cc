// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// gpu_bench against the fake driver, where work is pending until its time has come and kernels compute nothing.

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cstdlib>
#include <string>

#include "bench/gpu_bench/bench.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"

namespace ferret {
namespace {

TEST(GpuBench, RunsToItsEndAgainstTheFakeDriver) {
  fake_cuda::FakeCuda& fake = fake_cuda::Load().fake;
  fake.Reset();
  fake.UseMonotonicClock();
  ASSERT_EQ(setenv("FERRET_CUDA_LIBRARY", fake_cuda::LibraryPath().c_str(), 1), 0);

  const std::string text = gpu_bench::RunAll(/*short_run=*/true).text();
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(text.c_str()).HasParseError()) << text;
  EXPECT_FALSE(document.HasMember("error")) << text;
  for (const auto& section : document.GetObject()) {
    if (!section.value.IsObject() || !section.value.HasMember("error")) continue;
    ADD_FAILURE() << section.name.GetString() << ": " << section.value["error"].GetString();
  }
  EXPECT_GT(document["call_costs"]["8_threads"]["cuEventRecord"]["count"].GetInt(), 0);
  EXPECT_TRUE(document["kernel_gaps"].HasMember("skipped")) << text;
  EXPECT_GT(document["clock_drift"]["anchors"].GetInt(), 400);
}

}  // namespace
}  // namespace ferret

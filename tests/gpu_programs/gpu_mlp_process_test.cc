// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// examples/gpu_mlp as a program: without a driver, and with one that runs its kernels on the CPU.

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/fake_cuda/fake_cuda_loader.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

Outcome RunMlp(const std::string& library, std::vector<std::string> arguments,
            std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), DataFile("examples/gpu_mlp"));
  environment.push_back("FERRET_CUDA_LIBRARY=" + library);
  return RunProgram(arguments, environment);
}

std::string RightDriver() { return DataFile("tests/gpu_programs/cpu_driver/right/libcuda.so.1"); }
std::string WrongDriver() { return DataFile("tests/gpu_programs/cpu_driver/wrong/libcuda.so.1"); }

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(GpuMlp, WithoutADriverItSaysSoInOneLineAndSucceeds) {
  const Outcome outcome = RunMlp("/nowhere/libcuda.so.1", {});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_TRUE(Contains(outcome.out, "nothing to train on: /nowhere/libcuda.so.1")) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
}

TEST(GpuMlp, SaysLoudlyThatTheDriverIsNotTheMachinesOwn) {
  const Outcome outcome = RunMlp("/nowhere/libcuda.so.1", {});
  EXPECT_TRUE(Contains(outcome.err, "NOT the machine's own CUDA driver: FERRET_CUDA_LIBRARY=/nowhere/libcuda.so.1"))
      << outcome.err;
}

TEST(GpuMlp, ItsKernelsComputeWhatTheHostDoesAndTheLossFalls) {
  const Outcome outcome = RunMlp(RightDriver(), {"--steps", "100", "--hidden", "64", "--batch", "256", "--verify"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(Contains(outcome.out, "good")) << outcome.out;
  EXPECT_FALSE(Contains(outcome.out, "WRONG")) << outcome.out;
}

TEST(GpuMlp, ItsKernelsComputeWhatTheHostDoesInShapesThatFillNoBlock) {
  for (const char* size : {"1", "7", "131"}) {
    const Outcome outcome = RunMlp(
        RightDriver(), {"--steps", "2", "--hidden", size, "--batch", size, "--verify", "--no-check"});
    EXPECT_EQ(outcome.exit_status, 0) << size << outcome.out << outcome.err;
  }
}

TEST(GpuMlp, VerifyFailsAndNamesTheKernelThatIsWrong) {
  const Outcome outcome = RunMlp(WrongDriver(), {"--verify", "--no-check"});
  EXPECT_EQ(outcome.exit_status, 1);
  size_t wrong = 0;
  for (size_t at = 0; (at = outcome.out.find("WRONG", at)) != std::string::npos; ++at) {
    const size_t line = outcome.out.rfind('\n', at) + 1;
    EXPECT_EQ(outcome.out.compare(line, 3, "sgd"), 0) << outcome.out;
    ++wrong;
  }
  EXPECT_GE(wrong, 3u) << outcome.out;
}

TEST(GpuMlp, FailsWhenTheLossDoesNotFall) {
  const std::vector<std::string> small = {"--steps", "20", "--hidden", "16", "--batch", "32"};
  EXPECT_EQ(RunMlp(WrongDriver(), small).exit_status, 1);
  std::vector<std::string> unchecked = small;
  unchecked.push_back("--no-check");
  EXPECT_EQ(RunMlp(WrongDriver(), unchecked).exit_status, 0);
}

TEST(GpuMlp, AnErrorOfTheDriverIsOneLineThatNamesTheFunctionAndTheError) {
  const Outcome outcome = RunMlp(RightDriver(), {"--hidden", "16384", "--batch", "65536"});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_TRUE(Contains(outcome.err, "\ngpu_mlp: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)\n")) << outcome.err;
}

TEST(GpuMlp, RunsToItsEndWithADriverThatComputesNothing) {
  const Outcome outcome = RunMlp(fake_cuda::LibraryPath(), {"--steps", "20", "--no-check"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("loss ", 0), 0u) << outcome.out;
}

TEST(GpuMlp, TakesAToolkitsStubForNoDriver) {
  const Outcome outcome = RunMlp(fake_cuda::StubLibraryPath(), {});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.out.rfind("gpu_mlp: nothing to train on: cuInit: ", 0), 0u) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "(34)")) << outcome.out;
}

TEST(GpuMlp, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--stpes", "3"},
           {"--steps"},
           {"--steps", "1"},
           {"--steps", "-5"},
           {"--batch", "many"},
           {"--hidden", "9x"}}) {
    const Outcome outcome = RunMlp(RightDriver(), arguments);
    EXPECT_EQ(outcome.exit_status, 2) << arguments[0];
    EXPECT_TRUE(Contains(outcome.err, arguments[0])) << outcome.err;
    EXPECT_TRUE(Contains(outcome.err, "usage:")) << outcome.err;
  }
}

TEST(GpuMlp, RecordsPhasesLaunchesStepsAndTheLoss) {
  const TemporaryFolder folder;
  const Outcome outcome = RunMlp(RightDriver(), {"--steps", "20", "--hidden", "16", "--batch", "32", "--no-check"},
                                 {"FERRET_EXPORT=chrome_trace:" + folder / "trace.json"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  const std::string text = ReadFile(folder / "trace.json");
  rapidjson::Document trace;
  ASSERT_FALSE(trace.Parse(text.c_str()).HasParseError());
  std::map<std::pair<std::string, std::string>, int> counts;  // by category and name
  for (const auto& event : trace["traceEvents"].GetArray()) {
    if (!event.HasMember("name")) continue;
    ++counts[{event.HasMember("cat") ? event["cat"].GetString() : "", event["name"].GetString()}];
  }
  const std::map<std::string, int> per_step = {
      {"upload", 1},    {"copy to device", 2}, {"forward", 1},  {"matmul", 5},
      {"bias_tanh", 1}, {"softmax_loss", 1},   {"backward", 1}, {"column_sums", 2},
      {"sgd", 4},       {"tanh_backward", 1},  {"optimizer", 1}};
  int timed = 0;
  for (const auto& [name, times] : per_step) {
    // The weights are copied once.
    EXPECT_EQ((counts[{"cpu_op", name}]), times * 20 + (name == "copy to device" ? 4 : 0)) << name;
    timed += counts[{"kernel", name}] + counts[{"gpu_user_annotation", name}];
  }
  // This driver is too fast for all to find markers, which a device thread makes.
  EXPECT_GT(timed, 0);
  EXPECT_EQ((counts[{"cpu_op", "data"}]), 20);
  EXPECT_EQ((counts[{"user_annotation", "train step"}]), 20);
  EXPECT_EQ((counts[{"", "loss"}]), 3);
}

}  // namespace
}  // namespace ferret

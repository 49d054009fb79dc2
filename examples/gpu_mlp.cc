// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a small network on a CUDA device, timed by Ferret on both sides, without a CUDA toolkit:
//
//     FERRET_EXPORT=chrome_trace:trace.json,table:stderr bazel-bin/examples/gpu_mlp
//
// Where there is no driver or no device it says so and succeeds. Exit status 1: the loss did not fall, a kernel
// computed something else than the host (--verify), or the driver reported an error.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "examples/gpu_driver.h"
#include "examples/gpu_mlp_check.h"
#include "examples/gpu_mlp_data.h"
#include "examples/gpu_mlp_model.h"
#include "ferret/cuda.h"
#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

constexpr float kRate = 0.5f;
constexpr uint32_t kLossEvery = 10;  // reading it waits for the device
constexpr char kUsage[] =
    "usage: gpu_mlp [--steps N] [--hidden N] [--batch N] [--phases] [--verify] [--no-check]\n"
    "  --phases    time the phases of a step on the device, not each kernel, too\n"
    "  --verify    compare each kernel's result of the first step with the host's\n"
    "  --no-check  do not ask that the loss falls\n";

struct Options {
  uint32_t steps = 200, hidden = 256, batch = 512;
  bool phases = false, verify = false, check = true;
};

bool ParseCount(const char* text, uint32_t least, uint32_t most, uint32_t* count) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most) return false;
  *count = static_cast<uint32_t>(value);
  return true;
}

// Why not, or "".
std::string Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const struct {
      const char* name;
      uint32_t* count;
      uint32_t least, most;
    } counts[] = {{"--steps", &options->steps, 2, 100000000},
                  {"--hidden", &options->hidden, 1, 16384},
                  {"--batch", &options->batch, 1, 65536}};
    bool known = true;
    if (name == "--phases") {
      options->phases = true;
    } else if (name == "--verify") {
      options->verify = true;
    } else if (name == "--no-check") {
      options->check = false;
    } else {
      known = false;
    }
    for (const auto& count : counts) {
      if (name != count.name) continue;
      known = true;
      if (i + 1 == argc || !ParseCount(argv[++i], count.least, count.most, count.count)) {
        return name + " takes a number from " + std::to_string(count.least) + " to " + std::to_string(count.most);
      }
    }
    if (!known) return "unknown option " + name;
  }
  return "";
}

int Train(const Options& options, const gpu::Driver& driver) {
  gpu::Stream stream = nullptr;
  GPU_CALL(driver, cuStreamCreateWithPriority, &stream, gpu::kNonBlockingStream, 0);
  if (!ferret::cuda::Prepare(stream)) std::fprintf(stderr, "Ferret does not time this run on the device\n");
  const gpu_mlp::Shape shape = gpu_mlp::SpiralShape(options.hidden, options.batch);
  const gpu_mlp::Weights weights = gpu_mlp::FirstWeights(shape);
  gpu_mlp::Model model(driver, stream, shape, weights);
  model.time_kernels(!options.phases);
  gpu_mlp::Spirals data;
  gpu_mlp::Batch batch;
  double first = 0, last = 0;
  for (uint32_t step = 0; step < options.steps; ++step) {
    {
      FERRET_ANNOTATION("train step");
      {
        FERRET_SCOPE("data");
        data.Fill(shape.batch, &batch);
      }
      model.Step(batch, kRate);
      if (step == 0 && options.verify && !gpu_mlp::CheckStep(&model, weights, batch, kRate)) return 1;
      if (step % kLossEvery == 0 || step + 1 == options.steps) {
        last = model.Loss();
        ferret::Counter("loss", last);
        if (step == 0) first = last;
      }
    }
    ferret::Step();
  }
  // While the driver is there: what the device has not been asked for by the end of main has no time on it.
  if (const ferret::Error error = ferret::Stop(); !error.empty()) std::fprintf(stderr, "gpu_mlp: %s\n", error.c_str());
  std::printf("loss %.4f -> %.4f in %u steps\n", first, last, options.steps);
  if (options.check && !(last < first / 2)) {
    std::fprintf(stderr, "gpu_mlp: the loss did not fall to half of what it was\n");
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string why = Parse(argc, argv, &options); !why.empty()) {
    std::fprintf(stderr, "gpu_mlp: %s\n%s", why.c_str(), kUsage);
    return 2;
  }
  gpu::Driver driver;
  std::string why = driver.Load();
  try {
    gpu::Device device = 0;
    gpu::Context context = nullptr;
    if (why.empty()) why = gpu::OpenFirstDevice(driver, &device, &context);
    if (!why.empty()) {
      std::printf("gpu_mlp: nothing to train on: %s\n", why.c_str());
      return 0;
    }
    return Train(options, driver);
  } catch (const gpu::DriverError& error) {
    std::fprintf(stderr, "gpu_mlp: %s\n", error.what());
    return 1;
  }
}

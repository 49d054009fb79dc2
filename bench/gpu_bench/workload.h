// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// examples/gpu_mlp's training as something to measure beside.

#ifndef FERRET_BENCH_GPU_BENCH_WORKLOAD_H_
#define FERRET_BENCH_GPU_BENCH_WORKLOAD_H_

#include "bench/gpu_bench/bench.h"
#include "examples/gpu_mlp_data.h"
#include "examples/gpu_mlp_model.h"
#include "ferret/scope.h"

namespace gpu_bench {

class Workload {
 public:
  explicit Workload(const Bench& bench)
      : bench_(bench),
        stream_(bench.NewStream()),
        shape_(gpu_mlp::SpiralShape(256, 512)),
        model_(bench.driver, stream_, shape_, gpu_mlp::FirstWeights(shape_)) {
    gpu_mlp::Spirals().Fill(shape_.batch, &batch_);
  }

  void time_kernels(bool time) { model_.time_kernels(time); }
  gpu::Stream stream() const { return stream_; }

  // Ends when the device has done the last step.
  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      model_.Step(batch_, 0.1f);
      ferret::Step();
    }
    GPU_CALL(bench_.driver, cuStreamSynchronize, stream_);
  }

 private:
  const Bench& bench_;
  const gpu::Stream stream_;  // left to the process's end: the model waits for it when it goes
  const gpu_mlp::Shape shape_;
  gpu_mlp::Model model_;
  gpu_mlp::Batch batch_;
};

}  // namespace gpu_bench

#endif  // FERRET_BENCH_GPU_BENCH_WORKLOAD_H_

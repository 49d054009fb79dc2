// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A perceptron with one hidden layer that trains on a CUDA device, with kernels of its own (gpu_mlp_kernels.ptx) and
// recorded by Ferret: each phase of a step is a scope timed on the device, and inside of it each launch, if asked for.

#ifndef FERRET_EXAMPLES_GPU_MLP_MODEL_H_
#define FERRET_EXAMPLES_GPU_MLP_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/gpu_driver.h"

namespace gpu_mlp {

struct Shape {
  uint32_t inputs, hidden, classes, batch;
};

struct Batch {
  std::vector<float> inputs;  // a row per sample
  std::vector<uint32_t> labels;
};

struct Weights {
  std::vector<float> w1, b1, w2, b2;
};

// On the device: rows without gaps, of 4-byte elements.
struct Buffer {
  gpu::Address address;
  uint32_t rows, columns;

  uint32_t size() const { return rows * columns; }
  size_t bytes() const { return size() * sizeof(float); }
};

// All that a step reads and writes. Each kernel has a result of its own, so that all can be looked at after a step;
// only `sgd` changes the weights where they are.
struct Buffers {
  Buffer x, labels, w1, b1, w2, b2;                             // in
  Buffer hidden_sum, hidden, logits, losses;                    // forward
  Buffer g_logits, g_w2, g_b2, g_hidden, g_hidden_sum, g_w1, g_b1;  // gradients
};

class Model {
 public:
  // The device's context is current, here and wherever the rest is called. Errors of the driver are thrown
  // (gpu::DriverError). The stream outlives the model.
  Model(const gpu::Driver& driver, gpu::Stream stream, const Shape& shape, const Weights& weights);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void time_kernels(bool time) { time_kernels_ = time; }

  // Queues a step on the stream.
  void Step(const Batch& batch, float rate);
  // Waits for the last step. The mean over its batch.
  double Loss();

  const Shape& shape() const { return shape_; }
  const Buffers& buffers() const { return buffers_; }
  // Waits for what is queued.
  std::vector<float> Fetch(const Buffer& buffer);

 private:
  struct Kernel {
    const char* name;
    gpu::Function function;
  };
  struct Operand {
    const Buffer& buffer;
    bool transposed;
  };

  Kernel Find(gpu::Module module, const char* name);
  Buffer Allocate(uint32_t rows, uint32_t columns);
  void Upload(const Buffer& to, const void* from);
  void Forward();
  void Backward();
  void Update(float rate);

  void MatMul(const Buffer& out, Operand a, Operand b);
  void ColumnSums(const Buffer& out, const Buffer& x);
  // One thread for each of `threads`; the arguments have the types of the kernel's parameters.
  template <typename... Arguments>
  void Launch(const Kernel& kernel, uint32_t threads, Arguments... arguments) {
    void* pointers[] = {&arguments...};
    LaunchWith(kernel, threads, pointers);
  }
  void LaunchWith(const Kernel& kernel, uint32_t threads, void** arguments);

  const gpu::Driver& driver_;
  const gpu::Stream stream_;
  const Shape shape_;
  bool time_kernels_ = true;
  std::vector<gpu::Address> allocated_;
  Kernel matmul_, bias_tanh_, softmax_loss_, tanh_backward_, column_sums_, sgd_;
  Buffers buffers_;
};

}  // namespace gpu_mlp

#endif  // FERRET_EXAMPLES_GPU_MLP_MODEL_H_

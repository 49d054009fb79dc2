// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "examples/gpu_mlp_model.h"

#include "ferret/cuda.h"

namespace gpu_mlp {
namespace {

constexpr char kKernels[] =
#include "examples/gpu_mlp_kernels.inc"
    ;

constexpr uint32_t kBlock = 128;

}  // namespace

Model::Model(const gpu::Driver& driver, gpu::Stream stream, const Shape& shape, const Weights& weights)
    : driver_(driver), stream_(stream), shape_(shape) {
  gpu::Module module = nullptr;
  GPU_CALL(driver_, cuModuleLoadData, &module, kKernels);
  matmul_ = Find(module, "matmul");
  bias_tanh_ = Find(module, "bias_tanh");
  softmax_loss_ = Find(module, "softmax_loss");
  tanh_backward_ = Find(module, "tanh_backward");
  column_sums_ = Find(module, "column_sums");
  sgd_ = Find(module, "sgd");

  const auto [inputs, hidden, classes, batch] = shape_;
  Buffers& b = buffers_;
  b.x = Allocate(batch, inputs);
  b.labels = Allocate(batch, 1);
  b.w1 = Allocate(inputs, hidden);
  b.b1 = Allocate(1, hidden);
  b.w2 = Allocate(hidden, classes);
  b.b2 = Allocate(1, classes);
  b.hidden_sum = Allocate(batch, hidden);
  b.hidden = Allocate(batch, hidden);
  b.logits = Allocate(batch, classes);
  b.losses = Allocate(batch, 1);
  b.g_logits = Allocate(batch, classes);
  b.g_w2 = Allocate(hidden, classes);
  b.g_b2 = Allocate(1, classes);
  b.g_hidden = Allocate(batch, hidden);
  b.g_hidden_sum = Allocate(batch, hidden);
  b.g_w1 = Allocate(inputs, hidden);
  b.g_b1 = Allocate(1, hidden);
  Upload(b.w1, weights.w1.data());
  Upload(b.b1, weights.b1.data());
  Upload(b.w2, weights.w2.data());
  Upload(b.b2, weights.b2.data());
}

Model::~Model() {
  // Whatever went wrong before cannot be told from here, and the process's end frees the memory, too.
  driver_.cuStreamSynchronize(stream_);
  for (const gpu::Address address : allocated_) driver_.cuMemFree(address);
}

Model::Kernel Model::Find(gpu::Module module, const char* name) {
  Kernel kernel = {name, nullptr};
  GPU_CALL(driver_, cuModuleGetFunction, &kernel.function, module, name);
  return kernel;
}

Buffer Model::Allocate(uint32_t rows, uint32_t columns) {
  Buffer buffer = {0, rows, columns};
  GPU_CALL(driver_, cuMemAlloc, &buffer.address, buffer.bytes());
  allocated_.push_back(buffer.address);
  return buffer;
}

void Model::Upload(const Buffer& to, const void* from) {
  ferret::cuda::Scope scope(stream_, "copy to device", time_kernels_);
  ferret::cuda::Launch launch;
  launch.bytes = static_cast<int64_t>(to.bytes());
  ferret::cuda::DescribeLaunch(launch);
  GPU_CALL(driver_, cuMemcpyHtoDAsync, to.address, from, to.bytes(), stream_);
}

std::vector<float> Model::Fetch(const Buffer& buffer) {
  std::vector<float> values(buffer.size());
  FERRET_CUDA_SCOPE(stream_, "copy to host");
  ferret::cuda::Launch launch;
  launch.bytes = static_cast<int64_t>(buffer.bytes());
  ferret::cuda::DescribeLaunch(launch);
  GPU_CALL(driver_, cuMemcpyDtoHAsync, values.data(), buffer.address, buffer.bytes(), stream_);
  GPU_CALL(driver_, cuStreamSynchronize, stream_);
  return values;
}

void Model::Step(const Batch& batch, float rate) {
  {
    FERRET_CUDA_SCOPE(stream_, "upload");
    Upload(buffers_.x, batch.inputs.data());
    Upload(buffers_.labels, batch.labels.data());
  }
  Forward();
  Backward();
  Update(rate);
}

double Model::Loss() {
  double sum = 0;
  for (const float loss : Fetch(buffers_.losses)) sum += static_cast<double>(loss);
  return sum / shape_.batch;
}

void Model::Forward() {
  FERRET_CUDA_SCOPE(stream_, "forward");
  const Buffers& b = buffers_;
  MatMul(b.hidden_sum, {b.x, false}, {b.w1, false});
  Launch(bias_tanh_, b.hidden.size(), b.hidden.address, b.hidden_sum.address, b.b1.address, b.hidden.size(),
         b.hidden.columns);
  MatMul(b.logits, {b.hidden, false}, {b.w2, false});
  Launch(softmax_loss_, shape_.batch, b.g_logits.address, b.losses.address, b.logits.address, b.b2.address,
         b.labels.address, shape_.batch, shape_.classes);
}

void Model::Backward() {
  FERRET_CUDA_SCOPE(stream_, "backward");
  const Buffers& b = buffers_;
  MatMul(b.g_w2, {b.hidden, true}, {b.g_logits, false});
  ColumnSums(b.g_b2, b.g_logits);
  MatMul(b.g_hidden, {b.g_logits, false}, {b.w2, true});
  Launch(tanh_backward_, b.hidden.size(), b.g_hidden_sum.address, b.g_hidden.address, b.hidden.address,
         b.hidden.size());
  MatMul(b.g_w1, {b.x, true}, {b.g_hidden_sum, false});
  ColumnSums(b.g_b1, b.g_hidden_sum);
}

void Model::Update(float rate) {
  FERRET_CUDA_SCOPE(stream_, "optimizer");
  const Buffers& b = buffers_;
  Launch(sgd_, b.w1.size(), b.w1.address, b.g_w1.address, rate, b.w1.size());
  Launch(sgd_, b.b1.size(), b.b1.address, b.g_b1.address, rate, b.b1.size());
  Launch(sgd_, b.w2.size(), b.w2.address, b.g_w2.address, rate, b.w2.size());
  Launch(sgd_, b.b2.size(), b.b2.address, b.g_b2.address, rate, b.b2.size());
}

void Model::MatMul(const Buffer& out, Operand a, Operand b) {
  const uint32_t depth = a.transposed ? a.buffer.rows : a.buffer.columns;
  const uint32_t a_width = a.buffer.columns, b_width = b.buffer.columns;
  Launch(matmul_, out.size(), out.address, a.buffer.address, b.buffer.address, out.rows, out.columns, depth,
         a.transposed ? 1u : a_width, a.transposed ? a_width : 1u,   // from row to row, from column to column
         b.transposed ? 1u : b_width, b.transposed ? b_width : 1u);
}

void Model::ColumnSums(const Buffer& out, const Buffer& x) {
  Launch(column_sums_, x.columns, out.address, x.address, x.rows, x.columns);
}

void Model::LaunchWith(const Kernel& kernel, uint32_t threads, void** arguments) {
  const uint32_t blocks = (threads + kBlock - 1) / kBlock;
  // By the class and not by the macro, since the name is a different one each time.
  ferret::cuda::Scope scope(stream_, kernel.name, time_kernels_);
  ferret::cuda::DescribeLaunch({{blocks, 1, 1}, {kBlock, 1, 1}});
  GPU_CALL(driver_, cuLaunchKernel, kernel.function, blocks, 1, 1, kBlock, 1, 1, 0, stream_, arguments, nullptr);
}

}  // namespace gpu_mlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/flops.h"

#include <array>
#include <initializer_list>
#include <variant>
#include <vector>

#include "runtime/events/detail_reader.h"

namespace ferret {
namespace {

using Inputs = std::vector<Value>;
using Sizes = std::vector<int64_t>;

// 0 if a factor is negative or the product does not fit.
int64_t Product(const int64_t* factors, size_t count) {
  int64_t product = 1;
  for (size_t i = 0; i < count; ++i) {
    if (factors[i] < 0 || __builtin_mul_overflow(product, factors[i], &product)) return 0;
  }
  return product;
}
int64_t Product(std::initializer_list<int64_t> factors) { return Product(factors.begin(), factors.size()); }

const Sizes* SizesOf(const Inputs& inputs, size_t index, size_t dimensions) {
  if (index >= inputs.size()) return nullptr;
  const Tensor* tensor = std::get_if<Tensor>(&inputs[index]);
  return tensor == nullptr || tensor->sizes.size() != dimensions ? nullptr : &tensor->sizes;
}

// [M, K] x [K, N]
int64_t MatrixProduct(const Inputs& inputs, size_t first) {
  const Sizes* a = SizesOf(inputs, first, 2);
  const Sizes* b = SizesOf(inputs, first + 1, 2);
  if (a == nullptr || b == nullptr || (*a)[1] != (*b)[0]) return 0;
  return Product({2, (*a)[0], (*a)[1], (*b)[1]});
}

// [B, M, K] x [B, K, N]
int64_t BatchedMatrixProduct(const Inputs& inputs, size_t first) {
  const Sizes* a = SizesOf(inputs, first, 3);
  const Sizes* b = SizesOf(inputs, first + 1, 3);
  if (a == nullptr || b == nullptr || (*a)[0] != (*b)[0] || (*a)[2] != (*b)[1]) return 0;
  return Product({2, (*a)[0], (*a)[1], (*a)[2], (*b)[2]});
}

int64_t ElementWise(const Inputs& inputs) {
  const Tensor* tensor = inputs.empty() ? nullptr : std::get_if<Tensor>(&inputs[0]);
  return tensor == nullptr ? 0 : Product(tensor->sizes.data(), tensor->sizes.size());
}

// Height and width, which may be given as one number for both.
bool ReadPair(const Inputs& inputs, size_t index, std::array<int64_t, 2>* pair) {
  if (index >= inputs.size()) return false;
  if (const int64_t* both = std::get_if<int64_t>(&inputs[index])) {
    *pair = {*both, *both};
    return true;
  }
  const Sizes* list = std::get_if<Sizes>(&inputs[index]);
  if (list == nullptr || list->empty() || list->size() > 2) return false;
  *pair = {list->front(), list->back()};
  return true;
}

// (input [N, Cin, H, W], weight [Cout, Cin / groups, kh, kw], bias, stride, padding, dilation, groups)
int64_t Convolution(const Inputs& inputs) {
  const Sizes* input = SizesOf(inputs, 0, 4);
  const Sizes* weight = SizesOf(inputs, 1, 4);
  std::array<int64_t, 2> stride;
  std::array<int64_t, 2> padding;
  std::array<int64_t, 2> dilation;
  if (input == nullptr || weight == nullptr || inputs.size() < 7 || !ReadPair(inputs, 3, &stride) ||
      !ReadPair(inputs, 4, &padding) || !ReadPair(inputs, 5, &dilation)) {
    return 0;
  }
  const int64_t* groups = std::get_if<int64_t>(&inputs[6]);
  if (groups == nullptr || *groups <= 0 || (*input)[1] < 0 || (*input)[1] % *groups != 0) return 0;
  std::array<int64_t, 2> out;
  for (size_t i = 0; i < 2; ++i) {
    // In 128 bits: sums of products of 64-bit numbers always fit.
    const __int128 span = __int128{(*input)[2 + i]} + 2 * __int128{padding[i]} -
                          __int128{dilation[i]} * ((*weight)[2 + i] - __int128{1}) - 1;
    if (stride[i] <= 0 || span < 0) return 0;
    const __int128 size = span / stride[i] + 1;
    if (size > INT64_MAX) return 0;
    out[i] = static_cast<int64_t>(size);
  }
  return Product({2, (*input)[0], out[0], out[1], (*weight)[2], (*weight)[3], (*input)[1] / *groups, (*weight)[0]});
}

struct Operator {
  std::string_view name;
  int64_t (*count)(const Inputs& inputs);
};
constexpr Operator kOperators[] = {
    {"aten::conv2d", Convolution},
    {"aten::mm", [](const Inputs& inputs) { return MatrixProduct(inputs, 0); }},
    {"aten::addmm", [](const Inputs& inputs) { return MatrixProduct(inputs, 1); }},
    {"aten::bmm", [](const Inputs& inputs) { return BatchedMatrixProduct(inputs, 0); }},
    {"aten::baddbmm", [](const Inputs& inputs) { return BatchedMatrixProduct(inputs, 1); }},
    {"aten::mul", ElementWise},
    {"aten::add", ElementWise},
};

const Operator* Find(std::string_view name) {
  for (const Operator& op : kOperators) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

}  // namespace

bool HasFlops(std::string_view op_name) { return Find(op_name) != nullptr; }

int64_t EstimateFlops(std::string_view op_name, std::string_view recorded_details) {
  const Operator* op = Find(op_name);
  return op == nullptr ? 0 : op->count(ReadInputs(recorded_details));
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Value: an argument of an operator or a piece of metadata, typed.

#ifndef FERRET_VALUE_H_
#define FERRET_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ferret {

// What is recorded of a tensor; nothing of its contents, and no reference to it.
struct Tensor {
  std::string dtype;  // as C++ writes it: "float", "c10::BFloat16", "long int"
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements; empty if unknown

  bool operator==(const Tensor& other) const {
    return dtype == other.dtype && sizes == other.sizes && strides == other.strides;
  }
};

// std::monostate is None, and anything that has no value to show.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<bool>, std::vector<std::string>, Tensor, std::vector<Tensor>>;

}  // namespace ferret

#endif  // FERRET_VALUE_H_

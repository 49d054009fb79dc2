// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How many floating-point operations an operator does, from the shapes of its inputs, for the few operators whose count
// is known: convolution, matrix products, addition, multiplication.

#ifndef FERRET_RUNTIME_EVENTS_FLOPS_H_
#define FERRET_RUNTIME_EVENTS_FLOPS_H_

#include <cstdint>
#include <string_view>

namespace ferret {

// Whether EstimateFlops knows the operator. Cheap.
bool HasFlops(std::string_view op_name);

// 0 for other operators, for inputs that the operator cannot have, and where the count is beyond 63 bits.
int64_t EstimateFlops(std::string_view op_name, std::string_view recorded_details);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_FLOPS_H_

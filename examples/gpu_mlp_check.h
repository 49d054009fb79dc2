// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether the device computed what its kernels should: each result of a step against the host's.

#ifndef FERRET_EXAMPLES_GPU_MLP_CHECK_H_
#define FERRET_EXAMPLES_GPU_MLP_CHECK_H_

#include "examples/gpu_mlp_model.h"

namespace gpu_mlp {

// After one step from these weights with this batch. Prints a line for each result of a kernel on standard output, with
// the largest difference. Each is computed from the device's own inputs of that kernel, so that a fault shows where it
// is and not in everything behind it. False if any is off.
bool CheckStep(Model* model, const Weights& before, const Batch& batch, float rate);

}  // namespace gpu_mlp

#endif  // FERRET_EXAMPLES_GPU_MLP_CHECK_H_

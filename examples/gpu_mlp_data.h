// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What gpu_mlp learns: to which of three interleaved spirals a point of the plane belongs. Made on the host, from fixed
// seeds, so that every run sees the same samples in the same order.

#ifndef FERRET_EXAMPLES_GPU_MLP_DATA_H_
#define FERRET_EXAMPLES_GPU_MLP_DATA_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "examples/gpu_mlp_model.h"

namespace gpu_mlp {

inline constexpr uint32_t kPlane = 2;
inline constexpr uint32_t kSpirals = 3;

// Draws batches of points on the spirals, with noise.
class Spirals {
 public:
  void Fill(uint32_t samples, Batch* batch) {
    batch->inputs.resize(size_t{samples} * kPlane);
    batch->labels.resize(samples);
    for (uint32_t i = 0; i < samples; ++i) {
      const uint32_t spiral = i % kSpirals;
      const float radius = uniform_(random_);
      const float angle = 4 * (radius + static_cast<float>(spiral)) + 0.2f * normal_(random_);
      batch->inputs[i * kPlane] = radius * std::sin(angle);
      batch->inputs[i * kPlane + 1] = radius * std::cos(angle);
      batch->labels[i] = spiral;
    }
  }

 private:
  std::mt19937 random_{1};
  std::uniform_real_distribution<float> uniform_{0, 1};
  std::normal_distribution<float> normal_{0, 1};
};

inline Shape SpiralShape(uint32_t hidden, uint32_t batch) { return {kPlane, hidden, kSpirals, batch}; }

// Random weights that keep sums near 1; wide in the first layer, so that its units bend at different places.
inline Weights FirstWeights(const Shape& shape) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1);
  const auto make = [&](size_t size, float scale) {
    std::vector<float> values(size);
    for (float& value : values) value = scale * normal(random);
    return values;
  };
  return {make(size_t{shape.inputs} * shape.hidden, 3), make(shape.hidden, 1),
          make(size_t{shape.hidden} * shape.classes, 1 / std::sqrt(static_cast<float>(shape.hidden))),
          std::vector<float>(shape.classes)};
}

}  // namespace gpu_mlp

#endif  // FERRET_EXAMPLES_GPU_MLP_DATA_H_

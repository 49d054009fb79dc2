// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Corpus: the inputs that are worth changing, since each reached something that no earlier one did.

#ifndef FERRET_TESTS_FUZZ_CORPUS_H_
#define FERRET_TESTS_FUZZ_CORPUS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/fuzz/coverage.h"
#include "tests/fuzz/mutator.h"

namespace ferret::fuzz {

// The files that the paths name, and those in the folders among them, by name: the same order everywhere.
absl::StatusOr<std::vector<std::string>> FilesAt(const std::vector<std::string>& paths);

class Corpus {
 public:
  Corpus() : seen_(size_t{kEdges} * kFeaturesPerEdge), edge_seen_(kEdges) {}

  struct Kept {
    std::string input;
    std::vector<uint32_t> edges;  // sorted
    std::vector<Comparison> comparisons;
  };

  // Keeps the input if a feature of it is new; says whether.
  bool Offer(const std::string& input, const std::vector<Feature>& features,
             const std::vector<Comparison>& comparisons);

  bool empty() const { return kept_.empty(); }
  size_t size() const { return kept_.size(); }
  size_t features() const { return features_; }
  size_t edges() const { return edges_; }

  // One of the inputs; the later ones more often. Not empty.
  const Kept& Pick(Mutator* random) const;

  // The fewest inputs, about, that reach all edges together, or of these the `most` that reach most, written to a folder
  // under names made of what is in them.
  absl::Status WriteSmallest(const std::string& folder, size_t most) const;

 private:
  std::vector<Kept> kept_;
  std::vector<bool> seen_;
  std::vector<bool> edge_seen_;
  size_t features_ = 0;
  size_t edges_ = 0;
};

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_CORPUS_H_

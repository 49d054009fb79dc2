// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace ferret::fuzz {
namespace {

// FNV-1a: short, and the same everywhere.
std::string NameOf(absl::string_view input) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return absl::StrFormat("%016x", hash);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilesAt(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->is_regular_file(error)) inside.push_back(entry->path().string());
    }
    if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

bool Corpus::Offer(const std::string& input, const std::vector<Feature>& features,
                   const std::vector<Comparison>& comparisons) {
  bool is_new = false;
  std::vector<uint32_t> edges;
  edges.reserve(features.size());
  for (const Feature feature : features) {
    const uint32_t edge = feature / kFeaturesPerEdge;
    edges.push_back(edge);
    if (seen_[feature]) continue;
    is_new = seen_[feature] = true;
    ++features_;
    if (!edge_seen_[edge]) ++edges_;
    edge_seen_[edge] = true;
  }
  if (!is_new) return false;
  std::sort(edges.begin(), edges.end());
  kept_.push_back({input, std::move(edges), comparisons});
  return true;
}

const Corpus::Kept& Corpus::Pick(Mutator* random) const {
  const size_t late = random->Below(2) == 0 ? kept_.size() - kept_.size() / 4 - 1 : 0;
  return kept_[late + random->Below(kept_.size() - late)];
}

absl::Status Corpus::WriteSmallest(const std::string& folder, size_t most) const {
  std::vector<size_t> order(kept_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return kept_[a].input.size() < kept_[b].input.size(); });
  std::vector<bool> reached(kEdges);
  const auto gain = [&reached](const Kept& kept) {
    return std::count_if(kept.edges.begin(), kept.edges.end(), [&reached](uint32_t edge) { return !reached[edge]; });
  };
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Greedy: always the one that adds most; among equals the smallest.
  for (size_t written = 0; written < most; ++written) {
    const Kept* best = nullptr;
    std::ptrdiff_t most_added = 0;
    for (const size_t i : order) {
      if (const std::ptrdiff_t added = gain(kept_[i]); added > most_added) {
        most_added = added;
        best = &kept_[i];
      }
    }
    if (best == nullptr) return absl::OkStatus();
    for (const uint32_t edge : best->edges) reached[edge] = true;
    const std::string path = absl::StrCat(folder, "/", NameOf(best->input));
    if (!std::ofstream(path, std::ios::binary).write(best->input.data(), static_cast<std::streamsize>(best->input.size()))) {
      return absl::UnavailableError(absl::StrCat("cannot write ", path));
    }
  }
  return absl::OkStatus();
}

}  // namespace ferret::fuzz

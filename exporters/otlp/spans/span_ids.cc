// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/span_ids.h"

#include <algorithm>
#include <cstring>

namespace ferret::otlp {
namespace {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

// The 64-bit finalizer of MurmurHash3.
uint64_t Finalize(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

class Hash {
 public:
  explicit Hash(uint64_t seed) : state_(seed) {}

  void Add(uint64_t word) { state_ = Finalize((state_ + kGoldenGamma) ^ word); }
  // With its length, so that neighbours cannot trade bytes.
  void Add(const std::string& text) {
    Add(text.size());
    for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      for (size_t k = i; k < std::min(text.size(), i + sizeof(word)); ++k) {
        word = word << 8 | static_cast<unsigned char>(text[k]);
      }
      Add(word);
    }
  }
  void Add(const ProcessKey& key) {
    Add(key.job);
    Add(static_cast<uint64_t>(key.rank));
    Add(key.host);
    Add(static_cast<uint64_t>(key.pid));
    Add(static_cast<uint64_t>(key.session_start_ns));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_;
};

uint64_t HashOf(uint64_t seed, const ProcessKey& key) {
  Hash hash(seed);
  hash.Add(key);
  return hash.value();
}

TraceId TraceOf(uint64_t high, uint64_t low) {
  if (high == 0 && low == 0) low = 1;  // all zeros is no trace
  TraceId id;
  for (size_t i = 0; i < 8; ++i) {
    id[i] = static_cast<char>(high >> (56 - 8 * i));
    id[8 + i] = static_cast<char>(low >> (56 - 8 * i));
  }
  return id;
}

}  // namespace

SpanIds::SpanIds(const ProcessKey& key)
    : trace_id_(TraceOf(HashOf(1, key), HashOf(2, key))), seed_(HashOf(3, key)), job_(key.job), rank_(key.rank) {}

TraceId SpanIds::TraceOfStep(int64_t number) const {
  const auto half = [&](uint64_t seed) {
    Hash hash(seed);
    hash.Add(job_);
    hash.Add(static_cast<uint64_t>(rank_));
    hash.Add(static_cast<uint64_t>(number));
    return hash.value();
  };
  return TraceOf(half(4), half(5));
}

}  // namespace ferret::otlp

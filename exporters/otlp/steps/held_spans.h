// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HeldSpans: encoded spans that wait until it is known which trace they belong to, and whether they are sent at all.
//
// Their bytes lie in blocks one behind the other, each span in one piece. Blocks are used again, also by another HeldSpans
// with the same SpareBlocks: no more are made than were ever in use at once.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_
#define FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/spans/span.h"

namespace ferret::otlp {

struct HeldSpan {
  SpanId id = 0;
  SpanId parent = 0;
  SpanId linked = 0;
  int64_t time_ns = 0;  // the moment that says which step it belongs to
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  DurationSeries::Id series;  // of its durations
  uint32_t events = 1;        // that it shows: more if it carries moments
  uint32_t size = 0;
  uint64_t batch = 0;         // that it came with
  char* bytes = nullptr;
};

// Of one size, without content.
using SpareBlocks = std::vector<std::unique_ptr<char[]>>;

class HeldSpans {
 public:
  // `spare` outlives it.
  explicit HeldSpans(SpareBlocks* spare) : spare_(spare) {}

  // Copies the bytes.
  void Add(HeldSpan span, std::string_view bytes) {
    span.bytes = Room(bytes.size());
    span.size = static_cast<uint32_t>(bytes.size());
    std::memcpy(span.bytes, bytes.data(), bytes.size());
    spans_.push_back(span);
  }

  std::vector<HeldSpan>& spans() { return spans_; }
  bool empty() const { return spans_.empty(); }
  // In the order in which they were added.
  const HeldSpan& front() const { return spans_.front(); }
  size_t bytes() const { return used_bytes_ + spans_.size() * sizeof(HeldSpan); }

  void Clear() {
    spans_.clear();
    for (std::unique_ptr<char[]>& block : blocks_) spare_->push_back(std::move(block));
    blocks_.clear();
    large_.clear();
    used_bytes_ = left_ = 0;
  }

 private:
  static constexpr size_t kBlockBytes = size_t{64} << 10;

  char* Room(size_t size) {
    if (size > kBlockBytes / 4) {
      large_.emplace_back(new char[size]);
      used_bytes_ += size;
      return large_.back().get();
    }
    if (size > left_) {
      if (spare_->empty()) spare_->emplace_back(new char[kBlockBytes]);
      blocks_.push_back(std::move(spare_->back()));
      spare_->pop_back();
      at_ = blocks_.back().get();
      used_bytes_ += left_ = kBlockBytes;
    }
    left_ -= size;
    at_ += size;
    return at_ - size;
  }

  std::vector<HeldSpan> spans_;
  SpareBlocks* spare_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::unique_ptr<char[]>> large_;  // of a span each, and not worth keeping
  size_t used_bytes_ = 0;
  char* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_

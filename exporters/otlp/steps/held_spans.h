// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HeldSpans: encoded spans that wait until it is known which trace they belong to, and whether they are sent at all.
//
// Their bytes lie in blocks one behind the other, each span in one piece. Blocks are kept for the next spans, up to the
// most that ever waited.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_
#define FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
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
  uint32_t size = 0;
  char* bytes = nullptr;
};

class HeldSpans {
 public:
  // Copies the bytes.
  void Add(HeldSpan span, std::string_view bytes) {
    span.bytes = Room(bytes.size());
    span.size = static_cast<uint32_t>(bytes.size());
    std::memcpy(span.bytes, bytes.data(), bytes.size());
    spans_.push_back(span);
  }

  std::vector<HeldSpan>& spans() { return spans_; }
  bool empty() const { return spans_.empty(); }
  size_t bytes() const { return used_bytes_ + spans_.size() * sizeof(HeldSpan); }

  void Clear() {
    spans_.clear();
    // One of a size of its own is not worth keeping.
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.size != kBlockBytes; }),
                  blocks_.end());
    used_ = used_bytes_ = left_ = 0;
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 20;
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };

  char* Room(size_t size) {
    if (size > kBlockBytes / 4) {
      blocks_.insert(blocks_.begin(), Block{std::make_unique<char[]>(size), size});
      ++used_;
      used_bytes_ += size;
      return blocks_.front().bytes.get();
    }
    if (size > left_) {
      if (used_ == blocks_.size()) blocks_.push_back({std::make_unique<char[]>(kBlockBytes), kBlockBytes});
      at_ = blocks_[used_++].bytes.get();
      used_bytes_ += left_ = kBlockBytes;
    }
    left_ -= size;
    at_ += size;
    return at_ - size;
  }

  std::vector<HeldSpan> spans_;
  std::vector<Block> blocks_;  // of which the first used_ are in use
  size_t used_ = 0;
  size_t used_bytes_ = 0;
  char* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_HELD_SPANS_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How much a list of attributes may hold, and how much it holds.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTE_LIMITS_H_
#define FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTE_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ferret::otlp {

// No limits, if nothing is said.
struct AttributeLimits {
  static constexpr int64_t kNone = INT64_MAX;
  int64_t count = kNone;          // attributes; of a span
  size_t value_chars = SIZE_MAX;  // characters of a text, and of each text of a list of texts
};

// The first `most` characters of a text. A byte that is not part of well-formed UTF-8 is one, as it becomes U+FFFD.
std::string_view FirstCharacters(std::string_view text, size_t most);

// What every kind of list is.
class LimitedList {
 public:
  // For how many more there is room.
  int64_t room() const { return std::max<int64_t>(0, room_); }
  // How many found none.
  uint32_t dropped() const { return room_ < 0 ? static_cast<uint32_t>(-room_) : 0; }

 protected:
  explicit LimitedList(const AttributeLimits& limits) : room_(limits.count), value_chars_(limits.value_chars) {}

  // Whether there is room for one more, which then is taken.
  bool Take() { return room_-- > 0; }
  // No character has less than a byte: most texts need not be looked at.
  std::string_view Cut(std::string_view text) const {
    return text.size() <= value_chars_ ? text : FirstCharacters(text, value_chars_);
  }
  void Restart(int64_t room) { room_ = room; }

 private:
  int64_t room_;  // less than 0: so many were dropped
  size_t value_chars_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTE_LIMITS_H_

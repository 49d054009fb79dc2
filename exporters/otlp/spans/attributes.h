// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Lists of attributes (KeyValue) in OTLP's two forms, with the same functions, so that what is said is written once for
// both. Keys and texts may hold any bytes: ill-formed UTF-8 is replaced, see utf8_text.h. A list must not have a key
// twice; that is the caller's to see to. What a list has no room for is left out and counted, and texts are cut to their
// limit.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTES_H_
#define FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/spans/attribute_limits.h"
#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {

// Field numbers of KeyValue lists.
inline constexpr uint32_t kResourceAttributes = 1;
inline constexpr uint32_t kScopeAttributes = 3;
inline constexpr uint32_t kSpanAttributes = 9;
inline constexpr uint32_t kEventAttributes = 3;
inline constexpr uint32_t kLinkAttributes = 4;

// A sequence of fields.
class ProtoAttributes : public LimitedList {
 public:
  explicit ProtoAttributes(uint32_t field, const AttributeLimits& limits = {})
      : LimitedList(limits), tag_(Tag(field, kBytes)) {}

  void Text(std::string_view key, std::string_view value);
  void Texts(std::string_view key, const std::vector<std::string>& values);
  // Inlined, as most keys are literals: what does not depend on the value then is a few constants.
  [[gnu::always_inline]] void Int(std::string_view key, int64_t value) {
    if (!Take()) return;
    const size_t value_bytes = 1 + VarintBytes(static_cast<uint64_t>(value));
    char* at = Begin(key, value_bytes);
    *at++ = Tag(3, kVarint);
    out_.End(PutVarint(at, static_cast<uint64_t>(value)));
  }
  void Bool(std::string_view key, bool value) {
    if (!Take()) return;
    char* at = Begin(key, 2);
    *at++ = Tag(2, kVarint);
    *at++ = value ? 1 : 0;
    out_.End(at);
  }
  void Real(std::string_view key, double value);

  std::string_view view() const { return out_.view(); }
  bool empty() const { return out_.empty(); }
  // With room for so many.
  void Clear(int64_t room = AttributeLimits::kNone) {
    Restart(room);
    out_.Clear();
  }

 private:
  // Everything up to the inside of the AnyValue, for which there is room.
  [[gnu::always_inline]] char* Begin(std::string_view key, size_t value_bytes) {
    const size_t inside = FieldBytes(key.size()) + FieldBytes(value_bytes);
    char* at = out_.Room(1 + kMaxVarintBytes + inside);
    *at++ = tag_;
    at = PutField(PutVarint(at, inside), Tag(1, kBytes), key);
    *at++ = Tag(2, kBytes);
    return PutVarint(at, value_bytes);
  }

  const char tag_;
  ByteBuffer out_;
};

// A sequence of objects, each with a comma behind it.
class JsonAttributes : public LimitedList {
 public:
  // All kinds of lists look the same.
  explicit JsonAttributes(uint32_t, const AttributeLimits& limits = {}) : LimitedList(limits) {}

  void Text(std::string_view key, std::string_view value);
  void Texts(std::string_view key, const std::vector<std::string>& values);
  void Int(std::string_view key, int64_t value);
  void Bool(std::string_view key, bool value);
  void Real(std::string_view key, double value);

  std::string_view view() const { return out_; }
  bool empty() const { return out_.empty(); }
  void Clear(int64_t room = AttributeLimits::kNone) {
    Restart(room);
    out_.clear();
  }

 private:
  void Begin(std::string_view key);

  std::string out_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_ATTRIBUTES_H_

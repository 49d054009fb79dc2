// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// WireReader: the fields of a protobuf message that somebody else wrote, one after another, within its bounds.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_WIRE_READER_H_
#define FERRET_EXPORTERS_OTLP_SPANS_WIRE_READER_H_

#include <cstdint>
#include <string_view>

#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // Reads a field. False at the end, and where the bytes are no message: then ok() is false. Groups, which nothing in OTLP
  // has, count as that.
  bool Next() {
    if (rest_.empty() || !ok_) return false;
    uint64_t tag = 0;
    const std::string_view from = rest_;
    ok_ = ReadVarint(&tag) && tag >> 3 != 0 && tag >> 3 < uint64_t{1} << 29 && ReadValue(static_cast<WireType>(tag & 7));
    field_ = static_cast<uint32_t>(tag >> 3);
    whole_ = from.substr(0, from.size() - rest_.size());
    return ok_;
  }
  bool ok() const { return ok_; }

  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  uint64_t number() const { return number_; }        // of kVarint
  std::string_view bytes() const { return bytes_; }  // of all others
  std::string_view whole() const { return whole_; }  // with its tag and length

 private:
  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (size_t i = 0; i < kMaxVarintBytes && i < rest_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      if (i == kMaxVarintBytes - 1 && byte > 1) return false;  // more than 64 bits
      *value |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }
  bool ReadValue(WireType type) {
    type_ = type;
    uint64_t size = 0;
    switch (type) {
      case kVarint: return ReadVarint(&number_);
      case kFixed64: size = 8; break;
      case kFixed32: size = 4; break;
      case kBytes:
        if (!ReadVarint(&size)) return false;
        break;
      default: return false;
    }
    if (size > rest_.size()) return false;
    bytes_ = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(static_cast<size_t>(size));
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
  uint32_t field_ = 0;
  WireType type_ = kVarint;
  uint64_t number_ = 0;
  std::string_view bytes_;
  std::string_view whole_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_WIRE_READER_H_

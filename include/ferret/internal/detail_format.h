// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of what is known of a scope beyond its times: inputs, stack, overload name and so on, as the thread that
// recorded it wrote them. One form all the way from the recording thread to the exporter, which is the first to take
// it apart (DetailReader, runtime/events/detail_reader.h): most of it is never looked at.
//
// Details are a sequence of items, in any order; of two with the same kind the later counts.
//
//     item      kind (1 byte), length of what follows in bytes (4 bytes, little endian), payload
//     varint    LEB128, unsigned; signed numbers zigzag
//     text      varint length, bytes
//     value     tag (1 byte), then by tag:
//                 none -; bool 1 byte; int signed varint; double 8 bytes; string text;
//                 int list: varint count, signed varints; double list: varint count, 8 bytes each;
//                 bool list: varint count, 1 byte each; string list: varint count, texts;
//                 tensor: text dtype, varint dimensions, signed varint sizes, 1 byte whether strides follow, as many
//                 signed varint strides; tensor list: varint count, tensors (without their tags)
//     payload   by kind, see DetailKind

#ifndef FERRET_INTERNAL_DETAIL_FORMAT_H_
#define FERRET_INTERNAL_DETAIL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ferret::internal {

enum class DetailKind : uint8_t {
  kInputs = 1,           // values to the end, one for each argument
  kKeywordInputs = 2,    // pairs of text and value to the end
  kStack = 3,            // texts to the end, innermost frame first
  kOverloadName = 4,     // text
  kModuleHierarchy = 5,  // text
  kFlops = 6,            // signed varint
  kNode = 7,             // signed varint node id, 1 byte whether remote
  kExtraMeta = 8,        // pairs of text and text to the end
  kMetadata = 9,         // pairs of text and value to the end
};

enum class ValueTag : uint8_t {
  kNone = 0,
  kBool = 1,
  kInt = 2,
  kDouble = 3,
  kString = 4,
  kIntList = 5,
  kDoubleList = 6,
  kBoolList = 7,
  kStringList = 8,
  kTensor = 9,
  kTensorList = 10,
};

inline constexpr size_t kDetailHeaderBytes = 5;
// Of one record: what is longer is cut, by whole items.
inline constexpr size_t kMaxDetailBytes = 16 * 1024;
// As PyTorch: longer lists of scalars are not kept.
inline constexpr size_t kMaxScalarListElements = 30;

// Writes details into a buffer of the caller's. An item for which there is no room is left out whole (see cut()).
// Does not allocate, does not throw.
class DetailWriter {
 public:
  DetailWriter(char* buffer, size_t bytes) : begin_(buffer), at_(buffer), limit_(buffer + bytes) {}

  void BeginItem(DetailKind kind) {
    item_ = at_;
    full_ = false;
    Byte(static_cast<uint8_t>(kind));
    uint32_t length = 0;
    Bytes(&length, sizeof(length));
  }
  void EndItem() {
    if (full_) {
      at_ = item_;
      cut_ = true;
      return;
    }
    const uint32_t length = static_cast<uint32_t>(at_ - item_ - static_cast<std::ptrdiff_t>(kDetailHeaderBytes));
    std::memcpy(item_ + 1, &length, sizeof(length));
  }

  void Byte(uint8_t byte) {
    if (at_ == limit_) {
      full_ = true;
      return;
    }
    *at_++ = static_cast<char>(byte);
  }
  void Bytes(const void* bytes, size_t count) {
    if (static_cast<size_t>(limit_ - at_) < count) {
      full_ = true;
      return;
    }
    if (count != 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  void Tag(ValueTag tag) { Byte(static_cast<uint8_t>(tag)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<uint8_t>(value | 0x80));
    Byte(static_cast<uint8_t>(value));
  }
  void Signed(int64_t value) { Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void Double(double value) { Bytes(&value, sizeof(value)); }
  void Text(std::string_view text) {
    Varint(text.size());
    Bytes(text.data(), text.size());
  }

  // For whoever looks at the room once and not at each byte: where the next one goes, and how far the caller got.
  char* at() const { return at_; }
  char* limit() const { return limit_; }
  void Advance(char* at) { at_ = at; }

  std::string_view bytes() const { return {begin_, static_cast<size_t>(at_ - begin_)}; }
  // Whether an item was left out for want of room.
  bool cut() const { return cut_; }
  void Clear() {
    at_ = begin_;
    full_ = cut_ = false;
  }

 private:
  char* const begin_;
  char* at_;
  char* const limit_;
  char* item_ = nullptr;
  bool full_ = false;
  bool cut_ = false;
};

}  // namespace ferret::internal

#endif  // FERRET_INTERNAL_DETAIL_FORMAT_H_

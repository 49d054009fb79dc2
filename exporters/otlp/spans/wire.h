// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's wire format, as much of it as OTLP needs, and a buffer to write it into.
//
// Every Put function writes at `at` and returns the end of what it wrote.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_WIRE_H_
#define FERRET_EXPORTERS_OTLP_SPANS_WIRE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace ferret::otlp {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// The byte in front of a field with a number below 16.
constexpr char Tag(uint32_t field, WireType type) { return static_cast<char>(field << 3 | type); }

inline constexpr size_t kMaxVarintBytes = 10;

inline size_t VarintBytes(uint64_t value) {
  // Seven bits to a byte: ceil(bits / 7) without a division.
  const uint32_t bits = 64 - static_cast<uint32_t>(__builtin_clzll(value | 1));
  return (bits * 9 + 64) / 64;
}

inline char* PutVarint(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

inline char* PutBytes(char* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

// Little endian, as the wire format has it.
inline char* PutFixed64(char* at, uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  std::memcpy(at, &value, sizeof(value));
  return at + sizeof(value);
}

// So many bytes behind what is copied loosely may be read and written.
inline constexpr size_t kLoose = 32;

// In whole blocks, which is a few instructions where memcpy is a call: for short texts of which many are alike in size.
inline char* PutLoosely(char* at, std::string_view bytes) {
  for (size_t done = 0; done < bytes.size(); done += kLoose) std::memcpy(at + done, bytes.data() + done, kLoose);
  return at + bytes.size();
}

// A field with a length in front.
inline char* PutField(char* at, char tag, std::string_view bytes) {
  *at++ = tag;
  return PutBytes(PutVarint(at, bytes.size()), bytes);
}
inline size_t FieldBytes(size_t size) { return 1 + VarintBytes(size) + size; }

// Bytes that only grow, in one piece. view() may be copied loosely.
class ByteBuffer {
 public:
  // Where the next `bytes` go.
  char* Room(size_t bytes) {
    if (capacity_ - size_ < bytes) Grow(bytes);
    return data_.get() + size_;
  }
  // What was written since Room ends here.
  void End(const char* end) { size_ = static_cast<size_t>(end - data_.get()); }
  void Append(std::string_view bytes) { End(PutBytes(Room(bytes.size()), bytes)); }
  void Resize(size_t size) {
    if (size > size_) Room(size - size_);
    size_ = size;
  }

  char* data() { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_.get(), size_}; }
  void Clear() { size_ = 0; }

 private:
  void Grow(size_t bytes) {
    capacity_ = std::max<size_t>({size_ + bytes, 2 * capacity_, 256});
    std::unique_ptr<char[]> grown(new char[capacity_ + kLoose]);
    if (size_ != 0) std::memcpy(grown.get(), data_.get(), size_);
    data_ = std::move(grown);
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Bytes that stay as they are. view() may be copied loosely.
class LooseBytes {
 public:
  LooseBytes() = default;
  explicit LooseBytes(std::string_view bytes) : bytes_(bytes), size_(bytes.size()) { bytes_.append(kLoose, '\0'); }

  std::string_view view() const { return {bytes_.data(), size_}; }
  size_t size() const { return size_; }

 private:
  std::string bytes_;
  size_t size_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_WIRE_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/detail_reader.h"

#include <cstring>
#include <string>
#include <utility>

namespace ferret {
namespace {

using internal::DetailKind;
using internal::ValueTag;

// The shortest tensor: no name, no dimensions, no strides.
constexpr size_t kMinTensorBytes = 3;

}  // namespace

bool FindDetail(std::string_view recorded, DetailKind kind, std::string_view* payload) {
  bool found = false;
  while (recorded.size() >= internal::kDetailHeaderBytes) {
    uint32_t length = 0;
    std::memcpy(&length, recorded.data() + 1, sizeof(length));
    const uint8_t item = static_cast<uint8_t>(recorded[0]);
    recorded.remove_prefix(internal::kDetailHeaderBytes);
    if (length > recorded.size()) break;
    if (item == static_cast<uint8_t>(kind)) {
      *payload = recorded.substr(0, length);
      found = true;
    }
    recorded.remove_prefix(length);
  }
  return found;
}

bool DetailReader::Fail() {
  failed_ = true;
  return false;
}

bool DetailReader::ReadByte(uint8_t* byte) {
  if (done()) return Fail();
  *byte = static_cast<uint8_t>(left_[0]);
  left_.remove_prefix(1);
  return true;
}

bool DetailReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte = 0;
    if (!ReadByte(&byte)) return false;
    const uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) return Fail();
    *value |= bits << shift;
    if (byte < 0x80) return true;
  }
  return Fail();
}

bool DetailReader::ReadSigned(int64_t* value) {
  uint64_t zigzag = 0;
  if (!ReadVarint(&zigzag)) return false;
  *value = static_cast<int64_t>(zigzag >> 1 ^ (~(zigzag & 1) + 1));
  return true;
}

bool DetailReader::ReadDouble(double* value) {
  if (failed_ || left_.size() < sizeof(*value)) return Fail();
  std::memcpy(value, left_.data(), sizeof(*value));
  left_.remove_prefix(sizeof(*value));
  return true;
}

bool DetailReader::ReadText(std::string_view* text) {
  size_t length = 0;
  if (!ReadCount(1, &length)) return false;
  *text = left_.substr(0, length);
  left_.remove_prefix(length);
  return true;
}

bool DetailReader::ReadCount(size_t bytes_each, size_t* count) {
  uint64_t value = 0;
  if (!ReadVarint(&value)) return false;
  if (value > left_.size() / bytes_each) return Fail();
  *count = static_cast<size_t>(value);
  return true;
}

bool DetailReader::ReadTensor(Tensor* tensor) {
  std::string_view dtype;
  size_t dimensions = 0;
  if (!ReadText(&dtype) || !ReadCount(1, &dimensions)) return false;
  tensor->dtype = dtype;
  tensor->sizes.resize(dimensions);
  for (int64_t& size : tensor->sizes) {
    if (!ReadSigned(&size)) return false;
  }
  uint8_t has_strides = 0;
  if (!ReadByte(&has_strides)) return false;
  if (has_strides == 0) return true;
  if (dimensions > left_.size()) return Fail();
  tensor->strides.resize(dimensions);
  for (int64_t& stride : tensor->strides) {
    if (!ReadSigned(&stride)) return false;
  }
  return true;
}

template <typename T, typename Read>
bool DetailReader::ReadList(size_t bytes_each, Value* value, Read read) {
  size_t count = 0;
  if (!ReadCount(bytes_each, &count)) return false;
  std::vector<T> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    T element{};
    if (!read(&element)) return false;
    list.push_back(std::move(element));
  }
  *value = std::move(list);
  return true;
}

bool DetailReader::ReadValue(Value* value) {
  const auto read_bool = [this](bool* out) {
    uint8_t byte = 0;
    if (!ReadByte(&byte)) return false;
    *out = byte != 0;
    return true;
  };
  const auto read_string = [this](std::string* out) {
    std::string_view text;
    if (!ReadText(&text)) return false;
    *out = text;
    return true;
  };
  const auto read_one = [value](auto element, auto read) {
    if (!read(&element)) return false;
    *value = std::move(element);
    return true;
  };
  const auto read_signed = [this](int64_t* out) { return ReadSigned(out); };
  const auto read_double = [this](double* out) { return ReadDouble(out); };
  const auto read_tensor = [this](Tensor* out) { return ReadTensor(out); };

  uint8_t tag = 0;
  if (!ReadByte(&tag)) return false;
  switch (static_cast<ValueTag>(tag)) {
    case ValueTag::kNone: *value = std::monostate(); return true;
    case ValueTag::kBool: return read_one(false, read_bool);
    case ValueTag::kInt: return read_one(int64_t{0}, read_signed);
    case ValueTag::kDouble: return read_one(0.0, read_double);
    case ValueTag::kString: return read_one(std::string(), read_string);
    case ValueTag::kIntList: return ReadList<int64_t>(1, value, read_signed);
    case ValueTag::kDoubleList: return ReadList<double>(sizeof(double), value, read_double);
    case ValueTag::kBoolList: return ReadList<bool>(1, value, read_bool);
    case ValueTag::kStringList: return ReadList<std::string>(1, value, read_string);
    case ValueTag::kTensor: return read_one(Tensor(), read_tensor);
    case ValueTag::kTensorList: return ReadList<Tensor>(kMinTensorBytes, value, read_tensor);
  }
  return Fail();
}

std::vector<Value> ReadInputs(std::string_view recorded) {
  std::vector<Value> inputs;
  std::string_view payload;
  if (!FindDetail(recorded, DetailKind::kInputs, &payload)) return inputs;
  DetailReader reader(payload);
  while (!reader.done()) {
    Value value;
    if (!reader.ReadValue(&value)) break;
    inputs.push_back(std::move(value));
  }
  return inputs;
}

}  // namespace ferret

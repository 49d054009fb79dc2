// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/inputs.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "ferret/internal/hot_path.h"

namespace ferret::torch_adapter {
namespace {

using internal::DetailWriter;
using internal::kMaxScalarListElements;
using internal::ValueTag;

// What a list of tensors leaves for the arguments behind it, the stack and the overload name.
constexpr size_t kReserve = 1024;

struct TensorShape {
  bool known = false;  // the type
  caffe2::TypeMeta dtype;
  c10::IntArrayRef sizes;
  c10::IntArrayRef strides;  // empty if there are none

  std::string_view TypeName() const { return known ? dtype.name() : std::string_view(); }
  bool HasStrides() const { return !sizes.empty() && strides.size() == sizes.size(); }
};

// False for what PyTorch's own profiler takes for no tensor, and for a tensor whose sizes cannot be had: classes that
// override them may throw anything.
FERRET_INLINE bool GetShape(const at::Tensor& tensor, TensorShape& shape) {
  if (!tensor.defined() || tensor.is_nested() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    return false;
  }
  shape.known = true;
  try {
    shape.dtype = tensor.dtype();
    shape.sizes = tensor.sizes();
  } catch (...) {
    return false;
  }
  try {
    // Sparse tensors have none.
    if (tensor.layout() == at::kStrided) shape.strides = tensor.strides();
  } catch (...) {
    shape.strides = {};
  }
  return true;
}

// Of a member of a list, of which nothing may be known.
TensorShape ShapeOf(const at::Tensor& tensor) {
  TensorShape shape;
  return GetShape(tensor, shape) ? shape : TensorShape{};
}

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

size_t SignedBytes(int64_t value) {
  return VarintBytes(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

// The length of what WriteShape writes.
size_t ShapeBytes(const TensorShape& shape) {
  const std::string_view dtype = shape.TypeName();
  size_t bytes = VarintBytes(dtype.size()) + dtype.size() + VarintBytes(shape.sizes.size()) + 1;
  for (const int64_t size : shape.sizes) bytes += SignedBytes(size);
  for (const int64_t stride : shape.strides) bytes += SignedBytes(stride);
  return bytes;
}

void WriteShape(const TensorShape& shape, DetailWriter& writer) {
  writer.Text(shape.TypeName());
  writer.Varint(shape.sizes.size());
  for (const int64_t size : shape.sizes) writer.Signed(size);
  const bool has_strides = shape.HasStrides();
  writer.Byte(has_strides ? 1 : 0);
  if (!has_strides) return;
  for (const int64_t stride : shape.strides) writer.Signed(stride);
}

void WriteNone(DetailWriter& writer) { writer.Tag(ValueTag::kNone); }

// How a tensor of a type begins: kTensor and the type's name.
struct TensorStart {
  uint32_t length = 0;  // 0: too long for this
  char bytes[32] = {};
};
using TensorStarts = std::array<TensorStart, c10::NumScalarTypes>;

TensorStarts MakeTensorStarts() {
  TensorStarts starts{};
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::string_view name = caffe2::TypeMeta::fromScalarType(static_cast<c10::ScalarType>(i)).name();
    if (name.size() + 2 > sizeof(starts[i].bytes)) continue;
    DetailWriter writer(starts[i].bytes, sizeof(starts[i].bytes));
    writer.Tag(ValueTag::kTensor);
    writer.Text(name);
    starts[i].length = static_cast<uint32_t>(writer.bytes().size());
  }
  return starts;
}

inline char* PutSigned(char* at, int64_t value) {
  uint64_t bits = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
  for (; bits >= 0x80; bits >>= 7) *at++ = static_cast<char>(bits | 0x80);
  *at++ = static_cast<char>(bits);
  return at;
}

// The most that a usual value takes.
constexpr size_t kMostDimensions = 8;
constexpr std::ptrdiff_t kMostBytes = sizeof(TensorStart::bytes) + 2 + 2 * kMostDimensions * 10;

// A tensor as nearly all are, with few dimensions. Where it ends; nullptr for any other.
FERRET_INLINE char* PutUsualTensor(char* at, const TensorStarts& starts, const TensorShape& shape) {
  if (shape.sizes.size() > kMostDimensions || !shape.dtype.isScalarType()) return nullptr;
  const TensorStart& start = starts[static_cast<size_t>(shape.dtype.toScalarType())];
  if (start.length == 0) return nullptr;
  const size_t length = start.length;
  std::memcpy(at, start.bytes, sizeof(start.bytes));
  at += length;
  *at++ = static_cast<char>(shape.sizes.size());
  for (const int64_t size : shape.sizes) at = PutSigned(at, size);
  const bool has_strides = shape.HasStrides();
  *at++ = has_strides ? 1 : 0;
  if (!has_strides) return at;
  for (const int64_t stride : shape.strides) at = PutSigned(at, stride);
  return at;
}

// By value: the shape of a usual tensor then need not be in memory.
FERRET_COLD char* WriteUnusualTensor(char* at, TensorShape shape, DetailWriter& writer) {
  writer.Advance(at);
  writer.Tag(ValueTag::kTensor);
  WriteShape(shape, writer);
  return writer.at();
}

void WriteTensor(const at::Tensor& tensor, DetailWriter& writer) {
  TensorShape shape;
  if (!GetShape(tensor, shape)) return WriteNone(writer);
  writer.Tag(ValueTag::kTensor);
  WriteShape(shape, writer);
}

// A member of which nothing is known is a tensor without type and sizes: positions are kept.
bool WriteTensorList(c10::ArrayRef<c10::IValue> list, DetailWriter& writer) {
  size_t bytes = 1 + VarintBytes(list.size());
  for (const c10::IValue& tensor : list) bytes += ShapeBytes(ShapeOf(tensor.toTensor()));
  const bool fits = writer.bytes().size() + bytes + kReserve <= internal::kMaxDetailBytes;
  writer.Tag(ValueTag::kTensorList);
  writer.Varint(fits ? list.size() : 0);
  if (!fits) return false;
  for (const c10::IValue& tensor : list) WriteShape(ShapeOf(tensor.toTensor()), writer);
  return true;
}

// nullopt for what is no integer, and for a symbol whose value is not known.
std::optional<int64_t> Integer(const c10::IValue& value) {
  if (value.isInt()) return value.toInt();
  if (!value.isSymInt()) return std::nullopt;
  try {
    return value.toSymInt().maybe_as_int();
  } catch (...) {  // asks Python
    return std::nullopt;
  }
}

bool WriteIntList(c10::ArrayRef<c10::IValue> list, DetailWriter& writer) {
  int64_t integers[kMaxScalarListElements];
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> integer = Integer(list[i]);
    if (!integer) return false;
    integers[i] = *integer;
  }
  writer.Tag(ValueTag::kIntList);
  writer.Varint(list.size());
  for (size_t i = 0; i < list.size(); ++i) writer.Signed(integers[i]);
  return true;
}

template <typename Is>
bool All(c10::ArrayRef<c10::IValue> list, Is is) {
  for (const c10::IValue& value : list) {
    if (!is(value)) return false;
  }
  return true;
}

// Integers, the empty list among them, floating-point numbers or booleans; anything else has no value to show.
void WriteScalarList(c10::ArrayRef<c10::IValue> list, DetailWriter& writer) {
  if (list.size() > kMaxScalarListElements) return WriteNone(writer);
  if (WriteIntList(list, writer)) return;
  if (All(list, [](const c10::IValue& value) { return value.isDouble(); })) {
    writer.Tag(ValueTag::kDoubleList);
    writer.Varint(list.size());
    for (const c10::IValue& value : list) writer.Double(value.toDouble());
  } else if (All(list, [](const c10::IValue& value) { return value.isBool(); })) {
    writer.Tag(ValueTag::kBoolList);
    writer.Varint(list.size());
    for (const c10::IValue& value : list) writer.Byte(value.toBool() ? 1 : 0);
  } else {
    WriteNone(writer);
  }
}

// Any value, with a look at the room at each byte.
__attribute__((noinline)) bool WriteValue(const c10::IValue& value, DetailWriter& writer) {
  if (value.isTensor()) {
    WriteTensor(value.toTensor(), writer);
  } else if (const std::optional<int64_t> integer = Integer(value)) {
    writer.Tag(ValueTag::kInt);
    writer.Signed(*integer);
  } else if (value.isDouble()) {
    writer.Tag(ValueTag::kDouble);
    writer.Double(value.toDouble());
  } else if (value.isBool()) {
    writer.Tag(ValueTag::kBool);
    writer.Byte(value.toBool() ? 1 : 0);
  } else if (value.isTensorList()) {
    return WriteTensorList(value.toListRef(), writer);
  } else if (value.isList()) {
    WriteScalarList(value.toListRef(), writer);
  } else {
    WriteNone(writer);
  }
  return true;
}

// The same for values that come with nearly every operator, at a place with room for kMostBytes. Where it ends; nullptr
// for any other value.
FERRET_INLINE char* PutUsualValue(char* at, const TensorStarts& starts, const c10::IValue& value,
                                   DetailWriter& writer) {
  if (value.isTensor()) {
    TensorShape shape;
    if (!GetShape(value.toTensor(), shape)) {
      *at = static_cast<char>(ValueTag::kNone);
      return at + 1;
    }
    // Not by way of WriteValue, which would ask the tensor again.
    char* const end = PutUsualTensor(at, starts, shape);
    return FERRET_LIKELY(end != nullptr) ? end : WriteUnusualTensor(at, shape, writer);
  }
  if (value.isInt()) {
    *at = static_cast<char>(ValueTag::kInt);
    return PutSigned(at + 1, value.toInt());
  }
  if (value.isBool()) {
    at[0] = static_cast<char>(ValueTag::kBool);
    at[1] = value.toBool() ? 1 : 0;
    return at + 2;
  }
  if (value.isNone()) {
    *at = static_cast<char>(ValueTag::kNone);
    return at + 1;
  }
  return nullptr;
}

}  // namespace

bool WriteInputs(c10::ArrayRef<const c10::IValue> inputs, DetailWriter& writer) {
  if (inputs.empty()) return true;
  static const TensorStarts starts = MakeTensorStarts();
  bool complete = true;
  writer.BeginItem(internal::DetailKind::kInputs);
  char* at = writer.at();
  for (const c10::IValue& value : inputs) {
    const bool has_room = writer.limit() - at >= kMostBytes;
    char* const end = FERRET_LIKELY(has_room) ? PutUsualValue(at, starts, value, writer) : nullptr;
    if (FERRET_LIKELY(end != nullptr)) {
      at = end;
    } else {
      writer.Advance(at);
      complete &= WriteValue(value, writer);
      at = writer.at();
    }
  }
  writer.Advance(at);
  writer.EndItem();
  return complete;
}

}  // namespace ferret::torch_adapter

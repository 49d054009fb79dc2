// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/inputs.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace ferret::torch_adapter {
namespace {

using internal::DetailWriter;
using internal::kMaxScalarListElements;
using internal::ValueTag;

// What a list of tensors leaves for the arguments behind it, the stack and the overload name.
constexpr size_t kReserve = 1024;

struct TensorShape {
  std::string_view dtype;
  c10::IntArrayRef sizes;
  c10::IntArrayRef strides;  // empty if there are none
};

// nullopt for what PyTorch's own profiler takes for no tensor, and for a tensor whose sizes cannot be had: classes that
// override them may throw anything.
std::optional<TensorShape> ShapeOf(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_nested() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    return std::nullopt;
  }
  TensorShape shape;
  try {
    shape.dtype = tensor.dtype().name();
    shape.sizes = tensor.sizes();
  } catch (...) {
    return std::nullopt;
  }
  try {
    // Sparse tensors have none.
    if (tensor.layout() == at::kStrided) shape.strides = tensor.strides();
  } catch (...) {
    shape.strides = {};
  }
  return shape;
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
  size_t bytes = VarintBytes(shape.dtype.size()) + shape.dtype.size() + VarintBytes(shape.sizes.size()) + 1;
  for (const int64_t size : shape.sizes) bytes += SignedBytes(size);
  for (const int64_t stride : shape.strides) bytes += SignedBytes(stride);
  return bytes;
}

void WriteShape(const TensorShape& shape, DetailWriter& writer) {
  writer.Text(shape.dtype);
  writer.Varint(shape.sizes.size());
  for (const int64_t size : shape.sizes) writer.Signed(size);
  const bool has_strides = !shape.sizes.empty() && shape.strides.size() == shape.sizes.size();
  writer.Byte(has_strides ? 1 : 0);
  if (!has_strides) return;
  for (const int64_t stride : shape.strides) writer.Signed(stride);
}

void WriteNone(DetailWriter& writer) { writer.Tag(ValueTag::kNone); }

void WriteTensor(const at::Tensor& tensor, DetailWriter& writer) {
  const std::optional<TensorShape> shape = ShapeOf(tensor);
  if (!shape) return WriteNone(writer);
  writer.Tag(ValueTag::kTensor);
  WriteShape(*shape, writer);
}

// A member of which nothing is known is a tensor without type and sizes: positions are kept.
bool WriteTensorList(c10::ArrayRef<c10::IValue> list, DetailWriter& writer) {
  size_t bytes = 1 + VarintBytes(list.size());
  for (const c10::IValue& tensor : list) bytes += ShapeBytes(ShapeOf(tensor.toTensor()).value_or(TensorShape{}));
  const bool fits = writer.bytes().size() + bytes + kReserve <= internal::kMaxDetailBytes;
  writer.Tag(ValueTag::kTensorList);
  writer.Varint(fits ? list.size() : 0);
  if (!fits) return false;
  for (const c10::IValue& tensor : list) {
    WriteShape(ShapeOf(tensor.toTensor()).value_or(TensorShape{}), writer);
  }
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

bool WriteValue(const c10::IValue& value, DetailWriter& writer) {
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

}  // namespace

bool WriteInputs(c10::ArrayRef<const c10::IValue> inputs, DetailWriter& writer) {
  if (inputs.empty()) return true;
  bool complete = true;
  writer.BeginItem(internal::DetailKind::kInputs);
  for (const c10::IValue& value : inputs) complete &= WriteValue(value, writer);
  writer.EndItem();
  return complete;
}

}  // namespace ferret::torch_adapter

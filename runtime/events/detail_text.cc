// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/detail_text.h"

#include <cstdint>
#include <variant>

namespace ferret {
namespace {

using internal::DetailKind;
using internal::DetailWriter;
using internal::ValueTag;

constexpr size_t kFirstTry = 512;
// An item's length is 32 bits; what is longer is left out.
constexpr size_t kMaxItemBytes = size_t{1} << 31;

struct ValueWriter {
  DetailWriter* out;

  void operator()(std::monostate) const { out->Tag(ValueTag::kNone); }
  void operator()(bool value) const { Scalar(ValueTag::kBool, value); }
  void operator()(int64_t value) const { Scalar(ValueTag::kInt, value); }
  void operator()(double value) const { Scalar(ValueTag::kDouble, value); }
  void operator()(const std::string& value) const { Scalar(ValueTag::kString, value); }
  void operator()(const std::vector<int64_t>& list) const { List(ValueTag::kIntList, list); }
  void operator()(const std::vector<double>& list) const { List(ValueTag::kDoubleList, list); }
  void operator()(const std::vector<bool>& list) const { List(ValueTag::kBoolList, list); }
  void operator()(const std::vector<std::string>& list) const { List(ValueTag::kStringList, list); }
  void operator()(const Tensor& tensor) const { Scalar(ValueTag::kTensor, tensor); }
  void operator()(const std::vector<Tensor>& list) const { List(ValueTag::kTensorList, list); }

 private:
  void Element(bool value) const { out->Byte(value ? 1 : 0); }
  void Element(int64_t value) const { out->Signed(value); }
  void Element(double value) const { out->Double(value); }
  void Element(const std::string& value) const { out->Text(value); }
  void Element(const Tensor& tensor) const {
    out->Text(tensor.dtype);
    out->Varint(tensor.sizes.size());
    for (const int64_t size : tensor.sizes) out->Signed(size);
    const bool has_strides = !tensor.strides.empty() && tensor.strides.size() == tensor.sizes.size();
    out->Byte(has_strides ? 1 : 0);
    if (!has_strides) return;
    for (const int64_t stride : tensor.strides) out->Signed(stride);
  }
  template <typename T>
  void Scalar(ValueTag tag, const T& value) const {
    out->Tag(tag);
    Element(value);
  }
  template <typename T>
  void List(ValueTag tag, const std::vector<T>& list) const {
    out->Tag(tag);
    out->Varint(list.size());
    for (const auto& element : list) Element(static_cast<const T&>(element));
  }
};

}  // namespace

void AppendDetail(DetailKind kind, std::string* recorded, const std::function<void(DetailWriter* out)>& write) {
  const size_t before = recorded->size();
  for (size_t bytes = kFirstTry; bytes <= kMaxItemBytes; bytes *= 4) {
    recorded->resize(before + bytes);
    DetailWriter out(recorded->data() + before, bytes);
    out.BeginItem(kind);
    write(&out);
    out.EndItem();
    if (!out.cut()) {
      recorded->resize(before + out.bytes().size());
      return;
    }
  }
  recorded->resize(before);
}

void AppendStack(const std::vector<std::string>& frames, std::string* recorded) {
  AppendDetail(DetailKind::kStack, recorded, [&frames](DetailWriter* out) {
    for (const std::string& frame : frames) out->Text(frame);
  });
}

void WriteValue(const Value& value, DetailWriter* out) { std::visit(ValueWriter{out}, value); }

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The definitions of ScopeDetails: inline, so that a program needs nothing but the recording functions.

#ifndef FERRET_INTERNAL_SCOPE_DETAILS_INLINE_H_
#define FERRET_INTERNAL_SCOPE_DETAILS_INLINE_H_

namespace ferret {

inline void ScopeDetails::Close() {
  if (open_ != internal::DetailKind{}) writer_.EndItem();
  open_ = {};
}
inline void ScopeDetails::Open(internal::DetailKind kind) {
  if (open_ == kind) return;
  Close();
  writer_.BeginItem(kind);
  open_ = kind;
}
inline std::string_view ScopeDetails::bytes() {
  Close();
  return writer_.bytes();
}

inline ScopeDetails& ScopeDetails::Tensor(std::string_view dtype, Ints sizes, Ints strides) {
  Open(internal::DetailKind::kInputs);
  writer_.Tag(internal::ValueTag::kTensor);
  writer_.Text(dtype);
  writer_.Varint(sizes.size);
  for (size_t i = 0; i < sizes.size; ++i) writer_.Signed(sizes.data[i]);
  const bool has_strides = sizes.size != 0 && strides.size == sizes.size;
  writer_.Byte(has_strides ? 1 : 0);
  for (size_t i = 0; has_strides && i < strides.size; ++i) writer_.Signed(strides.data[i]);
  return *this;
}
inline void ScopeDetails::Put(int64_t value) {
  writer_.Tag(internal::ValueTag::kInt);
  writer_.Signed(value);
}
inline void ScopeDetails::Put(double value) {
  writer_.Tag(internal::ValueTag::kDouble);
  writer_.Double(value);
}
inline void ScopeDetails::Put(bool value) {
  writer_.Tag(internal::ValueTag::kBool);
  writer_.Byte(value ? 1 : 0);
}
inline void ScopeDetails::Put(std::string_view value) {
  writer_.Tag(internal::ValueTag::kString);
  writer_.Text(value);
}
template <typename T>
ScopeDetails& ScopeDetails::PutInput(T value) {
  Open(internal::DetailKind::kInputs);
  Put(value);
  return *this;
}
template <typename T>
ScopeDetails& ScopeDetails::PutKeyword(std::string_view key, T value) {
  Open(internal::DetailKind::kKeywordInputs);
  writer_.Text(key);
  Put(value);
  return *this;
}
inline ScopeDetails& ScopeDetails::Scalar(int64_t value) { return PutInput(value); }
inline ScopeDetails& ScopeDetails::Scalar(double value) { return PutInput(value); }
inline ScopeDetails& ScopeDetails::Scalar(bool value) { return PutInput(value); }
inline ScopeDetails& ScopeDetails::Scalar(std::string_view value) { return PutInput(value); }
inline ScopeDetails& ScopeDetails::Keyword(std::string_view key, int64_t value) { return PutKeyword(key, value); }
inline ScopeDetails& ScopeDetails::Keyword(std::string_view key, double value) { return PutKeyword(key, value); }
inline ScopeDetails& ScopeDetails::Keyword(std::string_view key, bool value) { return PutKeyword(key, value); }
inline ScopeDetails& ScopeDetails::Keyword(std::string_view key, std::string_view value) {
  return PutKeyword(key, value);
}
inline ScopeDetails& ScopeDetails::ScalarList(Ints values) {
  Open(internal::DetailKind::kInputs);
  writer_.Tag(internal::ValueTag::kIntList);
  const size_t count = values.size <= internal::kMaxScalarListElements ? values.size : 0;
  writer_.Varint(count);
  for (size_t i = 0; i < count; ++i) writer_.Signed(values.data[i]);
  return *this;
}
inline ScopeDetails& ScopeDetails::None() {
  Open(internal::DetailKind::kInputs);
  writer_.Tag(internal::ValueTag::kNone);
  return *this;
}

inline ScopeDetails& ScopeDetails::Overload(std::string_view name) {
  Open(internal::DetailKind::kOverloadName);
  writer_.Text(name);
  Close();
  return *this;
}
inline ScopeDetails& ScopeDetails::Frame(std::string_view frame) {
  Open(internal::DetailKind::kStack);
  writer_.Text(frame);
  return *this;
}
inline ScopeDetails& ScopeDetails::Module(std::string_view hierarchy) {
  Open(internal::DetailKind::kModuleHierarchy);
  writer_.Text(hierarchy);
  Close();
  return *this;
}
inline ScopeDetails& ScopeDetails::Flops(int64_t operations) {
  Open(internal::DetailKind::kFlops);
  writer_.Signed(operations);
  Close();
  return *this;
}
inline ScopeDetails& ScopeDetails::Node(int64_t node_id, bool is_remote) {
  Open(internal::DetailKind::kNode);
  writer_.Signed(node_id);
  writer_.Byte(is_remote ? 1 : 0);
  Close();
  return *this;
}

}  // namespace ferret

#endif  // FERRET_INTERNAL_SCOPE_DETAILS_INLINE_H_

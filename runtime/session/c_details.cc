// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the C API that is about details and memory.

#include <cstring>
#include <new>
#include <string_view>

#include "ferret/c_api.h"
#include "ferret/scope_details.h"

struct ferret_details {
  ferret::ScopeDetails details;
};

namespace {

std::string_view Text(const char* text, size_t length) {
  if (text == nullptr) return {};
  return {text, length == FERRET_STRLEN ? std::strlen(text) : length};
}

ferret::Allocation Of(const void* address, int64_t bytes, int64_t allocated, int64_t reserved, int type, int index) {
  return {address, bytes, allocated, reserved, static_cast<ferret::DeviceType>(type), index};
}

}  // namespace

extern "C" {

int ferret_wants_shapes(void) { return ferret::WantsShapes(); }
int ferret_wants_stacks(void) { return ferret::WantsStacks(); }
int ferret_wants_memory(void) { return ferret::WantsMemory(); }

ferret_details* ferret_details_new(void) { return new (std::nothrow) ferret_details; }
void ferret_details_free(ferret_details* details) { delete details; }

void ferret_details_tensor(ferret_details* details, const char* dtype, size_t length, const int64_t* sizes,
                           size_t dimensions, const int64_t* strides) {
  if (details == nullptr) return;
  const ferret::Ints shown(sizes, sizes == nullptr ? 0 : dimensions);
  details->details.Tensor(Text(dtype, length), shown, ferret::Ints(strides, strides == nullptr ? 0 : shown.size));
}
void ferret_details_int(ferret_details* details, int64_t value) {
  if (details != nullptr) details->details.Scalar(value);
}
void ferret_details_double(ferret_details* details, double value) {
  if (details != nullptr) details->details.Scalar(value);
}
void ferret_details_bool(ferret_details* details, int value) {
  if (details != nullptr) details->details.Scalar(value != 0);
}
void ferret_details_text(ferret_details* details, const char* text, size_t length) {
  if (details != nullptr) details->details.Scalar(Text(text, length));
}
void ferret_details_int_list(ferret_details* details, const int64_t* values, size_t count) {
  if (details != nullptr) details->details.ScalarList(ferret::Ints(values, values == nullptr ? 0 : count));
}
void ferret_details_none(ferret_details* details) {
  if (details != nullptr) details->details.None();
}

void ferret_details_keyword_int(ferret_details* details, const char* key, int64_t value) {
  if (details != nullptr) details->details.Keyword(Text(key, FERRET_STRLEN), value);
}
void ferret_details_keyword_double(ferret_details* details, const char* key, double value) {
  if (details != nullptr) details->details.Keyword(Text(key, FERRET_STRLEN), value);
}
void ferret_details_keyword_text(ferret_details* details, const char* key, const char* text, size_t length) {
  if (details != nullptr) details->details.Keyword(Text(key, FERRET_STRLEN), Text(text, length));
}

void ferret_details_overload(ferret_details* details, const char* name, size_t length) {
  if (details != nullptr) details->details.Overload(Text(name, length));
}
void ferret_details_frame(ferret_details* details, const char* frame, size_t length) {
  if (details != nullptr) details->details.Frame(Text(frame, length));
}
void ferret_details_module(ferret_details* details, const char* hierarchy, size_t length) {
  if (details != nullptr) details->details.Module(Text(hierarchy, length));
}
void ferret_details_flops(ferret_details* details, int64_t operations) {
  if (details != nullptr) details->details.Flops(operations);
}
void ferret_details_node(ferret_details* details, int64_t node_id, int is_remote) {
  if (details != nullptr) details->details.Node(node_id, is_remote != 0);
}
void ferret_details_attach(ferret_details* details) {
  if (details == nullptr) return;
  ferret::Attach(details->details);
  details->details.Clear();
}

void ferret_allocation(const void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                       int device_type, int device_index) {
  ferret::RecordAllocation(Of(address, bytes, total_allocated, total_reserved, device_type, device_index));
}
void ferret_out_of_memory(int64_t bytes, int64_t total_allocated, int64_t total_reserved, int device_type,
                          int device_index) {
  ferret::RecordOutOfMemory(Of(nullptr, bytes, total_allocated, total_reserved, device_type, device_index));
}

}  // extern "C"

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a span says of a function event beyond its name and times; otlp.md lists the keys. Only what is known is said.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_EVENT_ATTRIBUTES_H_
#define FERRET_EXPORTERS_OTLP_SPANS_EVENT_ATTRIBUTES_H_

#include "exporters/otlp/spans/attributes.h"
#include "ferret/event_batch.h"

namespace ferret::otlp {

// For ProtoAttributes and JsonAttributes.
template <typename Attributes>
void DescribeDetails(const FunctionEvent& event, Attributes* out);
template <typename Attributes>
void DescribeInstant(const InstantEvent& event, Attributes* out);
// `scope` is the span id of the scope that the bytes belong to, 0 for none.
template <typename Attributes>
void DescribeMemory(const MemoryEvent& event, uint64_t scope, Attributes* out);

const char* ScopeText(RecordScope scope);
const char* DeviceText(DeviceType type);
const char* ActivityText(const FunctionEvent& event);

// Whether DescribeEvent says nothing, which is the common case. Without a branch for each of the reasons.
inline bool SaysNothing(const FunctionEvent& event) {
  return (event.sequence_nr < 0) & (event.fwd_thread == 0) & (event.scope == RecordScope::kFunction) &
         !(event.is_async | event.is_truncated | event.is_synthesized | event.is_legacy | event.is_python_function) &
         (event.device_type == DeviceType::kCpu) & (event.details == nullptr);
}

template <typename Attributes>
inline void DescribeEvent(const FunctionEvent& event, Attributes* out) {
  if (event.sequence_nr >= 0) {
    out->Int("ferret.sequence_nr", event.sequence_nr);
    // The forward thread of others is this thread of its forward op.
    out->Int("ferret.thread", event.thread);
  }
  if (event.fwd_thread > 0) out->Int("ferret.fwd_thread", event.fwd_thread);
  if (event.scope != RecordScope::kFunction) out->Text("ferret.scope", ScopeText(event.scope));
  if (event.is_async) out->Bool("ferret.is_async", true);
  if (event.is_truncated) out->Bool("ferret.is_truncated", true);
  if (event.is_synthesized) out->Bool("ferret.is_synthesized", true);
  if (event.is_legacy) out->Bool("ferret.is_legacy", true);
  if (event.is_python_function) out->Bool("ferret.is_python_function", true);
  if (event.device_type != DeviceType::kCpu) out->Text("ferret.activity", ActivityText(event));
  if (event.details != nullptr) DescribeDetails(event, out);
}

extern template void DescribeDetails(const FunctionEvent& event, ProtoAttributes* out);
extern template void DescribeDetails(const FunctionEvent& event, JsonAttributes* out);
extern template void DescribeInstant(const InstantEvent& event, ProtoAttributes* out);
extern template void DescribeInstant(const InstantEvent& event, JsonAttributes* out);
extern template void DescribeMemory(const MemoryEvent& event, uint64_t scope, ProtoAttributes* out);
extern template void DescribeMemory(const MemoryEvent& event, uint64_t scope, JsonAttributes* out);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_EVENT_ATTRIBUTES_H_

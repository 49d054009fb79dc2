// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an encoder is told of a span, and what it gives to whoever sends it on.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_SPAN_H_
#define FERRET_EXPORTERS_OTLP_SPANS_SPAN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exporters/otlp/spans/span_ids.h"

namespace ferret::otlp {

// An empty name is no name to OTLP.
inline constexpr std::string_view kEmptyName = "(empty)";
// The name's exact bytes in hex, of a span or an event whose name OTLP cannot hold: empty, or ill-formed UTF-8.
inline constexpr std::string_view kNameHexKey = "ferret.name_hex";
inline constexpr std::string_view kScopeName = "ferret";
inline constexpr std::string_view kVersion = "0.1.0-dev";
// W3C's sampled bit, and OTLP's "it is known whether the parent is in another process", which it is not; and which it is.
inline constexpr uint32_t kSpanFlags = 0x101;
inline constexpr uint32_t kRemoteParentFlags = 0x300;
// Of a link.
inline constexpr std::string_view kLinkTypeKey = "ferret.link.type";
inline constexpr std::string_view kLinkTypeTexts[] = {"forward", "launch", "run"};

// What a span's link says of the span that it names.
enum class LinkType : uint8_t {
  kForward,  // the forward op of this backward op
  kLaunch,   // the scope that launched this device work
  kRun,      // the run's span, from a step's
};
inline constexpr size_t kLinkTypeCount = 3;

struct Span {
  SpanId id = 0;
  SpanId parent = 0;  // 0: none
  SpanId linked = 0;  // 0: none
  LinkType link_type = LinkType::kForward;
  uint32_t flags = kSpanFlags;
  std::string_view name;
  uint32_t name_id = 0;  // as FunctionEvent::name_id
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // Lists of the encoder's own form, one behind the other.
  std::string_view track;       // of the thread or stream
  std::string_view attributes;  // of the span alone
  std::string_view events;
  uint32_t dropped_attributes = 0;  // for which there was no room
  std::string_view trace_state;  // in W3C's form; empty for none
};

// The same of an event, which is what nearly all spans are of: it has a parent, of the same process, and no moments. Behind
// both texts kLoose bytes may be read.
struct EventSpan {
  SpanId id = 0;
  SpanId parent = 0;
  SpanId linked = 0;  // 0: none
  LinkType link_type = LinkType::kForward;
  std::string_view name;
  uint32_t name_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view track;
  std::string_view attributes;
  uint32_t dropped_attributes = 0;

  Span ToSpan() const {
    Span span;
    span.id = id;
    span.parent = parent;
    span.linked = linked;
    span.link_type = link_type;
    span.name = name;
    span.name_id = name_id;
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    span.track = track;
    span.attributes = attributes;
    span.dropped_attributes = dropped_attributes;
    return span;
  }
};

// A finished message: an ExportTraceServiceRequest, which is the same as a TracesData. The bytes live until the encoder is
// given the next span.
struct RequestBody {
  std::string_view bytes;  // empty without spans: nobody sends an empty envelope
  size_t spans = 0;
};

// Times before 1970 cannot be said.
inline uint64_t UnixNano(int64_t ns) { return ns < 0 ? 0 : static_cast<uint64_t>(ns); }

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_SPAN_H_

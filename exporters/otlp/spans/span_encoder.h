// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SpanEncoder: spans as one protobuf message, ExportTraceServiceRequest.
//
// A span's size is computed first and the span then written once, into the place where it stays. What is around the spans
// (resource, scope, and the lengths of both) is written in front of them at the end, into room that was left for it. What
// all spans have in common is copied in one piece, and so is what all spans of one name have.
//
// A span may also be written before it is known to which trace it belongs: it is taken out with last(), changed in place,
// and put into a message by AddEncoded.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_

#include <array>
#include <string>
#include <string_view>

#include "exporters/otlp/spans/attributes.h"
#include "exporters/otlp/spans/name_cache.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {

class SpanEncoder {
 public:
  using Attributes = ProtoAttributes;

  SpanEncoder(const TraceId& trace_id, const Resource& resource);

  // In the encoder's own trace.
  void AddSpan(const Span& span);
  // What the latest AddSpan wrote, until the next call.
  std::string_view last() const { return out_.view().substr(last_); }
  void AddEncoded(std::string_view span) {
    out_.Append(span);
    ++spans_;
  }

  // Changes of a copy of what last() gave, of a span that has a parent; SetLinkTrace: and a link.
  static void SetTrace(char* span, const TraceId& trace);
  static void SetParent(char* span, SpanId parent);
  static void SetLinkTrace(char* span, const TraceId& trace);

  // Appends a Span.Event to `events`. The attributes are a list of kEventAttributes.
  static void AppendEvent(int64_t time_ns, std::string_view name, std::string_view attributes, std::string* events);

  // Of what was added since Clear, roughly.
  size_t bytes() const { return out_.size(); }
  size_t spans() const { return spans_; }
  RequestBody Finish();
  void Clear();

 private:
  // The name, and kNameHexKey if it is needed, as fields. Most are short: these are in one cache line with their size,
  // and copied with a constant size, which is a few instructions.
  static constexpr size_t kShort = 56;
  struct alignas(64) Prepared {
    size_t size = 0;
    std::array<char, kShort> start{};
    std::string all;  // if it is longer than that
  };
  static Prepared Prepare(std::string_view name);

  // Fields that every span has: trace id, span id, parent, kind, start, end, flags. Where in them the values are:
  static constexpr size_t kTraceAt = 2;
  static constexpr size_t kIdAt = 18 + 2;
  static constexpr size_t kParentAt = kIdAt + 8 + 2;
  static constexpr size_t kStartAt = kParentAt + 8 + 2 + 1;
  static constexpr size_t kEndAt = kStartAt + 8 + 1;
  static constexpr size_t kFlagsAt = kEndAt + 8 + 2;
  static constexpr size_t kCommonBytes = kFlagsAt + 4;
  static constexpr size_t kParentBytes = 10;
  // In a link: behind its own tag and length; and behind the trace id.
  static constexpr size_t kLinkTraceAt = 2 + 2;
  static constexpr size_t kLinkSpanAt = 2 + 18 + 2;

  std::array<char, kCommonBytes> common_;
  std::array<std::string, kLinkTypeCount> links_;  // the whole field
  std::string resource_;  // the whole field
  std::string scope_;     // the whole field
  size_t head_room_;
  NameCache<Prepared> names_;
  ByteBuffer out_;
  size_t spans_ = 0;
  size_t last_ = 0;  // where the latest span begins
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_

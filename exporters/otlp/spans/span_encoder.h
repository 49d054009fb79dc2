// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SpanEncoder: spans as one protobuf message, ExportTraceServiceRequest.
//
// A span's size is computed first and the span then written once, into the place where it stays. What is around the spans
// (resource, scope, and the lengths of both) is written in front of them at the end, into room that was left for it. What
// all spans have in common is copied in one piece, and so is what all spans of one name have.
//
// The span of an event has this form, and is written in whole blocks of constant size, each over what is too much of the
// one before it:
//
//   0    1        2 or 3                          +64                                          kLoose
//   | tag| length | common: ids, times, flags ... | link, if any | name | track | attributes | ...... |
//
// A span may also be written before it is known to which trace it belongs: it is taken out with last(), changed in place,
// and put into a message by AddEncoded.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
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
  void AddEventSpan(const EventSpan& span);
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
  // The name, and kNameHexKey if it is needed, as fields. Most are short, and copied in one block or two of constant
  // size; the first of them is in one cache line with the size.
  //
  //   0    8         64          128
  //   |size| kFirst  | up to kShort | all |
  static constexpr size_t kFirst = 56;
  static constexpr size_t kShort = 120;
  struct alignas(64) Prepared {
    size_t size = 0;
    std::array<char, kShort> start{};
    std::string all;  // if it is longer than that
  };
  static_assert(offsetof(Prepared, start) + kFirst == 64 && offsetof(Prepared, all) == 128);
  static Prepared Prepare(std::string_view name);

  // Fields that every span has: trace id, span id, parent, kind, start, end, flags. Where in them the values are:
  static constexpr size_t kTraceAt = 2;
  static constexpr size_t kIdAt = 18 + 2;
  static constexpr size_t kParentAt = kIdAt + 8 + 2;
  static constexpr size_t kStartAt = kParentAt + 8 + 2 + 1;
  static constexpr size_t kEndAt = kStartAt + 8 + 1;
  static constexpr size_t kFlagsAt = kEndAt + 8 + 2;
  static constexpr size_t kCommonBytes = kFlagsAt + 4;
  static_assert(kCommonBytes == 64, "a cache line");
  static constexpr size_t kParentBytes = 10;
  // In a link: behind its own tag and length; and behind the trace id.
  static constexpr size_t kLinkTraceAt = 2 + 2;
  static constexpr size_t kLinkSpanAt = 2 + 18 + 2;

  // The common fields with these ids and times, of a span with a parent.
  void PutCommon(char* at, SpanId id, SpanId parent, int64_t start_ns, int64_t end_ns) const {
    std::memcpy(at, common_.data(), kCommonBytes);
    PutSpanId(at + kIdAt, id);
    PutSpanId(at + kParentAt, parent);
    PutFixed64(at + kStartAt, UnixNano(start_ns));
    PutFixed64(at + kEndAt, std::max(UnixNano(start_ns), UnixNano(end_ns)));
  }
  // Big endian.
  static char* PutSpanId(char* at, SpanId id) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    id = __builtin_bswap64(id);
#endif
    std::memcpy(at, &id, sizeof(id));
    return at + sizeof(id);
  }

  std::array<char, kCommonBytes> common_;
  std::array<LooseBytes, kLinkTypeCount> links_;  // the whole field
  std::string resource_;  // the whole field
  std::string scope_;     // the whole field
  size_t head_room_;
  NameCache<Prepared> names_;
  ByteBuffer out_;
  size_t spans_ = 0;
  size_t last_ = 0;  // where the latest span begins
};

[[gnu::always_inline]] inline void SpanEncoder::AddEventSpan(const EventSpan& span) {
  const Prepared* const name = names_.Find(span.name_id);
  const std::string_view link =
      span.linked != 0 ? links_[static_cast<size_t>(span.link_type)].view() : std::string_view();
  const size_t rest = span.track.size() + span.attributes.size() + link.size();
  // What is longer has a length of more than two bytes.
  constexpr size_t kLongest = (size_t{1} << 14) - kCommonBytes - kShort - 1;
  const bool usual = name != nullptr && name->size <= kShort && rest <= kLongest && span.dropped_attributes == 0;
  if (__builtin_expect(!usual, 0)) return AddSpan(span.ToSpan());

  char* at = out_.Room(3 + kCommonBytes + kShort + rest + kLoose);
  last_ = out_.size();
  const size_t size = kCommonBytes + name->size + rest;
  // Both bytes of the length; of a short one the second is written over.
  const size_t is_long = size >= 0x80 ? 1 : 0;
  at[0] = Tag(2, kBytes);
  at[1] = static_cast<char>((size & 0x7f) | is_long << 7);
  at[2] = static_cast<char>(size >> 7);
  at += 2 + is_long;
  PutCommon(at, span.id, span.parent, span.start_ns, span.end_ns);
  at += kCommonBytes;
  if (span.linked != 0) {
    PutLoosely(at, link);
    PutSpanId(at + kLinkSpanAt, span.linked);
    at += link.size();
  }
  std::memcpy(at, name->start.data(), kFirst);
  if (name->size > kFirst) std::memcpy(at + kFirst, name->start.data() + kFirst, kShort - kFirst);
  at = PutLoosely(PutLoosely(at + name->size, span.track), span.attributes);
  out_.End(at);
  ++spans_;
}

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_SPAN_ENCODER_H_

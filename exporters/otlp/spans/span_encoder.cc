// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/span_encoder.h"

#include <utility>

#include "runtime/text/json_text.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

constexpr char kFlagsTag[] = {static_cast<char>(0x85), 0x01};  // field 16, fixed32

std::string_view View(const char* bytes, size_t size) { return {bytes, size}; }

char* PutFlags(char* at, uint32_t flags) {
  for (int i = 0; i < 4; ++i) *at++ = static_cast<char>(flags >> 8 * i);
  return at;
}

std::string Field(uint32_t number, std::string_view bytes) {
  std::string field(1 + kMaxVarintBytes + bytes.size(), '\0');
  field.resize(static_cast<size_t>(PutField(field.data(), Tag(number, kBytes), bytes) - field.data()));
  return field;
}

std::string WellFormedName(std::string_view name, bool* exact) {
  std::string text;
  *exact = AppendUtf8(name, &text) && !name.empty();
  return name.empty() ? std::string(kEmptyName) : text;
}

}  // namespace

SpanEncoder::SpanEncoder(const TraceId& trace_id, const Resource& resource) {
  const std::string_view trace = View(trace_id.data(), trace_id.size());
  char* at = PutField(common_.data(), Tag(1, kBytes), trace);
  at = PutField(at, Tag(2, kBytes), std::string(sizeof(SpanId), '\0'));
  at = PutField(at, Tag(4, kBytes), std::string(sizeof(SpanId), '\0'));
  *at++ = Tag(6, kVarint);
  *at++ = 1;  // SPAN_KIND_INTERNAL
  *at++ = Tag(7, kFixed64);
  at = PutFixed64(at, 0);
  *at++ = Tag(8, kFixed64);
  at = PutFixed64(at, 0);
  at = PutBytes(at, View(kFlagsTag, sizeof(kFlagsTag)));
  PutFlags(at, kSpanFlags);

  for (size_t type = 0; type < kLinkTypeCount; ++type) {
    ProtoAttributes attributes(kLinkAttributes);
    attributes.Text(kLinkTypeKey, kLinkTypeTexts[type]);
    char flags[1 + sizeof(uint32_t)] = {Tag(6, kFixed32)};
    PutFlags(flags + 1, kSpanFlags);
    std::string link = Field(1, trace) + Field(2, std::string(sizeof(SpanId), '\0'));
    link.append(attributes.view()).append(flags, sizeof(flags));
    links_[type] = LooseBytes(Field(13, link));
  }

  ProtoAttributes resource_attributes(kResourceAttributes);
  resource.AppendTo(&resource_attributes);
  resource_ = Field(1, resource_attributes.view());
  scope_ = Field(1, Field(1, kScopeName) + Field(2, kVersion));
  head_room_ = 2 * (1 + kMaxVarintBytes) + resource_.size() + scope_.size();
  Clear();
}

SpanEncoder::Prepared SpanEncoder::Prepare(std::string_view name) {
  bool exact = false;
  std::string fields = Field(5, WellFormedName(name, &exact));
  if (!exact) {
    ProtoAttributes attribute(kSpanAttributes);
    attribute.Text(kNameHexKey, HexText(name));
    fields.append(attribute.view());
  }
  Prepared prepared;
  prepared.size = fields.size();
  if (fields.size() <= kShort) {
    PutBytes(prepared.start.data(), fields);
  } else {
    prepared.all = std::move(fields);
  }
  return prepared;
}

void SpanEncoder::AddSpan(const Span& span) {
  const Prepared& name = names_.Get(span.name, span.name_id, &Prepare);
  const size_t common_bytes = span.parent != 0 ? kCommonBytes : kCommonBytes - kParentBytes;
  const std::string_view link =
      span.linked != 0 ? links_[static_cast<size_t>(span.link_type)].view() : std::string_view();
  const size_t state_bytes = span.trace_state.empty() ? 0 : FieldBytes(span.trace_state.size());
  const size_t dropped_bytes = span.dropped_attributes == 0 ? 0 : 1 + VarintBytes(span.dropped_attributes);
  const size_t size = common_bytes + name.size + span.track.size() + span.attributes.size() + link.size() +
                      span.events.size() + dropped_bytes + state_bytes;
  char* at = out_.Room(1 + kMaxVarintBytes + size + kShort);
  last_ = out_.size();
  *at++ = Tag(2, kBytes);
  at = PutVarint(at, size);

  char* const common = at;
  PutCommon(common, span.id, span.parent, span.start_ns, span.end_ns);
  PutFlags(common + kFlagsAt, span.flags);
  at += kCommonBytes;
  if (span.parent == 0) {
    char* const field = common + kParentAt + sizeof(SpanId) - kParentBytes;
    std::memmove(field, field + kParentBytes, static_cast<size_t>(at - field) - kParentBytes);
    at -= kParentBytes;
  }
  if (span.linked != 0) {
    PutBytes(at, link);
    PutSpanId(at + kLinkSpanAt, span.linked);
    at += link.size();
  }
  if (name.size <= kShort) {
    std::memcpy(at, name.start.data(), kShort);  // what is too much is written over
    at += name.size;
  } else {
    at = PutBytes(at, name.all);
  }
  at = PutBytes(at, span.track);
  at = PutBytes(at, span.attributes);
  at = PutBytes(at, span.events);
  if (dropped_bytes > 0) {
    *at++ = Tag(10, kVarint);
    at = PutVarint(at, span.dropped_attributes);
  }
  if (state_bytes > 0) at = PutField(at, Tag(3, kBytes), span.trace_state);
  out_.End(at);
  ++spans_;
}

namespace {

// Behind a span's tag and length.
char* Fields(char* span) {
  while ((*++span & 0x80) != 0) {
  }
  return span + 1;
}

}  // namespace

void SpanEncoder::SetTrace(char* span, const TraceId& trace) {
  std::memcpy(Fields(span) + kTraceAt, trace.data(), trace.size());
}
void SpanEncoder::SetParent(char* span, SpanId parent) { PutSpanId(Fields(span) + kParentAt, parent); }
void SpanEncoder::SetLinkTrace(char* span, const TraceId& trace) {
  std::memcpy(Fields(span) + kCommonBytes + kLinkTraceAt, trace.data(), trace.size());
}

void SpanEncoder::AppendEvent(int64_t time_ns, std::string_view name, std::string_view attributes,
                              std::string* events) {
  bool exact = false;
  const std::string shown = Field(2, WellFormedName(name, &exact));
  ProtoAttributes hex(kEventAttributes);
  if (!exact) hex.Text(kNameHexKey, HexText(name));
  char time[9] = {Tag(1, kFixed64)};
  PutFixed64(time + 1, UnixNano(time_ns));
  std::string event(time, sizeof(time));
  event.append(shown).append(attributes).append(hex.view());
  events->append(Field(11, event));
}

RequestBody SpanEncoder::Finish() {
  if (spans_ == 0) return {};
  const size_t spans_bytes = out_.size() - head_room_;
  const size_t scope_spans = scope_.size() + spans_bytes;
  const size_t resource_spans = resource_.size() + FieldBytes(scope_spans);
  const size_t head = FieldBytes(resource_spans) - spans_bytes;
  char* const begin = out_.data() + (head_room_ - head);
  *begin = Tag(1, kBytes);
  char* at = PutBytes(PutVarint(begin + 1, resource_spans), resource_);
  *at++ = Tag(2, kBytes);
  PutBytes(PutVarint(at, scope_spans), scope_);
  return {View(begin, head + spans_bytes), spans_};
}

void SpanEncoder::Clear() {
  out_.Clear();
  out_.Resize(head_room_);
  last_ = head_room_;
  spans_ = 0;
}

}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/json_encoder.h"

#include "runtime/text/json_text.h"
#include "runtime/text/number_text.h"

namespace ferret::otlp {
namespace {

// Beside the pieces that have sizes of their own: literals, ids and times.
constexpr size_t kRestBytes = 512;

constexpr std::string_view kFlagsKey = "\"flags\":";

// Every span begins with these, and goes on with its link if it has one.
constexpr std::string_view kTraceText = "{\"traceId\":\"";
constexpr std::string_view kIdText = "\",\"spanId\":\"";
constexpr std::string_view kParentText = "\",\"parentSpanId\":\"";
constexpr std::string_view kLinkText = "\",\"links\":[{\"traceId\":\"";
constexpr size_t kTraceChars = 2 * sizeof(TraceId);
constexpr size_t kSpanChars = 2 * sizeof(SpanId);
constexpr size_t kIdAt = kTraceText.size() + kTraceChars + kIdText.size();
constexpr size_t kParentAt = kIdAt + kSpanChars + kParentText.size();
constexpr size_t kLinkTraceAt = kParentAt + kSpanChars + kLinkText.size();

// Two hex digits a byte.
char* PutHex(char* at, SpanId id) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) *at++ = kDigits[id >> shift & 15];
  return at;
}

void PutTrace(char* at, const TraceId& trace) { PutBytes(at, HexText({trace.data(), trace.size()})); }

std::string_view WithoutComma(std::string_view list) {
  if (!list.empty()) list.remove_suffix(1);
  return list;
}

bool AppendName(std::string_view name, std::string* out) {
  if (!name.empty()) return AppendJsonText(name, out);
  out->append(kEmptyName);
  return false;
}

}  // namespace

JsonEncoder::JsonEncoder(const TraceId& trace_id, const Resource& resource) {
  const std::string trace = HexText({trace_id.data(), trace_id.size()});
  head_ = "{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{\"name\":\"" + std::string(kScopeName) +
          "\",\"version\":\"" + std::string(kVersion) + "\"},\"spans\":[";
  JsonAttributes attributes(kResourceAttributes);
  resource.AppendTo(&attributes);
  tail_ = "]}],\"resource\":{\"attributes\":[" + std::string(WithoutComma(attributes.view())) + "]}}]}\n";
  begin_ = std::string(kTraceText) + trace + std::string(kIdText);
  link_ = std::string(kLinkText) + trace + std::string(kIdText);
  for (size_t type = 0; type < kLinkTypeCount; ++type) {
    JsonAttributes link_attributes(kLinkAttributes);
    link_attributes.Text(kLinkTypeKey, kLinkTypeTexts[type]);
    link_ends_[type] = "\",\"attributes\":[" + std::string(WithoutComma(link_attributes.view())) + "]," +
                       std::string(kFlagsKey) + std::to_string(kSpanFlags) + "}],";
  }
  Clear();
}

JsonEncoder::Prepared JsonEncoder::Prepare(std::string_view name) {
  Prepared prepared;
  prepared.name = "\"name\":\"";
  if (!AppendName(name, &prepared.name)) {
    JsonAttributes attribute(kSpanAttributes);
    attribute.Text(kNameHexKey, HexText(name));
    prepared.attribute = attribute.view();
  }
  prepared.name.append("\",\"kind\":1,\"startTimeUnixNano\":\"");
  return prepared;
}

void JsonEncoder::AddSpan(const Span& span) {
  const Prepared& name = names_.Get(span.name, span.name_id, &Prepare);
  const std::string& link_end = link_ends_[static_cast<size_t>(span.link_type)];
  const size_t attributes = name.attribute.size() + span.track.size() + span.attributes.size();
  std::string state;
  if (!span.trace_state.empty()) AppendJsonText(span.trace_state, &state);
  char* at = out_.Room(begin_.size() + name.name.size() + attributes + link_.size() + link_end.size() + state.size() +
                       span.events.size() + kRestBytes);
  last_ = out_.size();
  at = PutHex(PutBytes(at, begin_), span.id);
  if (span.parent != 0) at = PutHex(PutBytes(at, kParentText), span.parent);
  if (span.linked != 0) {
    at = PutBytes(PutHex(PutBytes(at, link_), span.linked), link_end);
  } else {
    at = PutBytes(at, "\",");
  }
  at = WriteUnsigned(PutBytes(at, name.name), UnixNano(span.start_ns));
  at = PutBytes(at, "\",\"endTimeUnixNano\":\"");
  at = WriteUnsigned(at, std::max(UnixNano(span.start_ns), UnixNano(span.end_ns)));
  at = PutBytes(at, "\",");
  if (attributes > 0) {
    at = PutBytes(at, "\"attributes\":[");
    at = PutBytes(PutBytes(PutBytes(at, name.attribute), span.track), span.attributes);
    at = PutBytes(at - 1, "],");  // over the last comma
  }
  if (span.dropped_attributes > 0) {
    at = WriteUnsigned(PutBytes(at, "\"droppedAttributesCount\":"), span.dropped_attributes);
    *at++ = ',';
  }
  if (!span.events.empty()) {
    at = PutBytes(PutBytes(at, "\"events\":["), span.events);
    at = PutBytes(at - 1, "],");
  }
  if (!state.empty()) at = PutBytes(PutBytes(PutBytes(at, "\"traceState\":\""), state), "\",");
  at = WriteUnsigned(PutBytes(at, kFlagsKey), span.flags);
  at = PutBytes(at, "},");
  out_.End(at);
  ++spans_;
}

void JsonEncoder::SetTrace(char* span, const TraceId& trace) { PutTrace(span + kTraceText.size(), trace); }
void JsonEncoder::SetParent(char* span, SpanId parent) { PutHex(span + kParentAt, parent); }
void JsonEncoder::SetLinkTrace(char* span, const TraceId& trace) { PutTrace(span + kLinkTraceAt, trace); }

void JsonEncoder::AppendEvent(int64_t time_ns, std::string_view name, std::string_view attributes,
                              std::string* events) {
  char digits[kNumberChars];
  events->append("{\"timeUnixNano\":\"");
  events->append(digits, static_cast<size_t>(WriteUnsigned(digits, UnixNano(time_ns)) - digits));
  events->append("\",\"name\":\"");
  JsonAttributes hex(kEventAttributes);
  if (!AppendName(name, events)) hex.Text(kNameHexKey, HexText(name));
  events->append("\"");
  std::string all(attributes);
  all.append(hex.view());
  if (!all.empty()) events->append(",\"attributes\":[").append(WithoutComma(all)).append("]");
  events->append("},");
}

RequestBody JsonEncoder::Finish() {
  if (spans_ == 0) return {};
  if (!finished_) {
    out_.Resize(out_.size() - 1);  // the last comma
    out_.Append(tail_);
    finished_ = true;
  }
  return {out_.view(), spans_};
}

void JsonEncoder::Clear() {
  out_.Clear();
  out_.Append(head_);
  last_ = out_.size();
  spans_ = 0;
  finished_ = false;
}

}  // namespace ferret::otlp

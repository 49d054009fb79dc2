// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonEncoder: the same message as SpanEncoder makes, in OTLP/JSON: one line, with its newline.
//
// The spans come before the resource. A collector knows a file again by its first thousand bytes: these must differ
// between the files of a process, and the first span's id does.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_JSON_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_SPANS_JSON_ENCODER_H_

#include <array>
#include <string>
#include <string_view>

#include "exporters/otlp/spans/attributes.h"
#include "exporters/otlp/spans/name_cache.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {

class JsonEncoder {
 public:
  using Attributes = JsonAttributes;

  JsonEncoder(const TraceId& trace_id, const Resource& resource);

  // As SpanEncoder's.
  void AddSpan(const Span& span);
  void AddEventSpan(const EventSpan& span) { AddSpan(span.ToSpan()); }
  std::string_view last() const { return out_.view().substr(last_); }
  void AddEncoded(std::string_view span) {
    out_.Append(span);
    ++spans_;
  }
  static void SetTrace(char* span, const TraceId& trace);
  static void SetParent(char* span, SpanId parent);
  static void SetLinkTrace(char* span, const TraceId& trace);

  static void AppendEvent(int64_t time_ns, std::string_view name, std::string_view attributes, std::string* events);
  size_t bytes() const { return out_.size() + tail_.size(); }
  size_t spans() const { return spans_; }
  RequestBody Finish();
  void Clear();

 private:
  struct Prepared {
    std::string name;       // from its key to the start time's opening one
    std::string attribute;  // kNameHexKey, if it is needed
  };
  static Prepared Prepare(std::string_view name);

  std::string head_;       // up to the first span
  std::string tail_;       // from behind the last one
  std::string begin_;      // of a span, up to its id
  std::string link_;       // up to the id of the linked span
  std::array<std::string, kLinkTypeCount> link_ends_;  // from behind it
  NameCache<Prepared> names_;
  ByteBuffer out_;
  size_t spans_ = 0;
  size_t last_ = 0;  // where the latest span begins
  bool finished_ = false;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_JSON_ENCODER_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the encoders wrote, read by libprotobuf's own decoders, and what is asked of it.

#ifndef FERRET_TESTS_OTLP_DECODED_H_
#define FERRET_TESTS_OTLP_DECODED_H_

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span_encoder.h"
#include "runtime/text/json_text.h"
#include "trace.pb.h"

namespace ferret::otlp {

using Request = otlp_test::ExportTraceServiceRequest;
using DecodedSpan = otlp_test::Span;

inline constexpr int64_t kStartNs = 1757000000123456789;
inline constexpr char kRunId[] = "run1";

inline SessionInfo TestInfo() {
  SessionInfo info;
  info.start_ns = kStartNs;
  info.pid = 900;
  info.process_name = "train";
  info.host_name = "node-b";
  info.rank = 3;
  info.world_size = 8;
  return info;
}

// An encoder with all that it needs.
template <typename Encoder>
struct Encoding {
  explicit Encoding(const SessionInfo& info = TestInfo(), const ResourceEnvironment& environment = {},
                    const AttributeLimits& limits = {})
      : ids(KeyOf(info, kRunId)), encoder(ids.trace_id(), Resource(info, kRunId, "python3", environment)),
        spans(ids, &encoder, /*link_kernels=*/false, limits) {}

  void AddBatch(const EventBatch& batch) {
    spans.Note(batch);
    for (const FunctionEvent& event : batch.events) spans.AddEvent(event);
    if (!batch.instants.empty()) spans.AddInstants(batch.instants.data(), batch.instants.size());
    if (!batch.memory.empty()) spans.AddMemory(batch.memory.data(), batch.memory.size());
  }
  std::string Take() {
    std::string bytes(encoder.Finish().bytes);
    encoder.Clear();
    return bytes;
  }

  SpanIds ids;
  Encoder encoder;
  BatchSpans<Encoder> spans;
};

// Unknown fields would survive decoding: their bytes are counted.
inline bool HasUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (!reflection.GetUnknownFields(message).empty()) return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const google::protobuf::Message& inside = field->is_repeated()
                                                    ? reflection.GetRepeatedMessage(message, field, i)
                                                    : reflection.GetMessage(message, field);
      if (HasUnknownFields(inside)) return true;
    }
  }
  return false;
}

inline Request Decode(const std::string& bytes) {
  Request request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  EXPECT_FALSE(HasUnknownFields(request));
  return request;
}

inline std::string Unhex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// OTLP/JSON has ids in hex, where the decoder took them for base64: what it made of them is turned back.
inline std::string HexAgain(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i + 2 < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | static_cast<uint8_t>(bytes[i + k]);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[three >> shift & 63];
  }
  return text;
}

// The JSON decoder knows no lenience: an unknown key is an error to it.
inline Request DecodeJson(const std::string& text) {
  Request request;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &request);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << text.substr(0, 2000);
  const auto fix = [](std::string* id) {
    const std::string hex = HexAgain(*id);
    EXPECT_EQ(hex.size() / 4 * 3, id->size());
    *id = Unhex(hex);
  };
  for (auto& resource_spans : *request.mutable_resource_spans()) {
    for (auto& scope_spans : *resource_spans.mutable_scope_spans()) {
      for (DecodedSpan& span : *scope_spans.mutable_spans()) {
        fix(span.mutable_trace_id());
        fix(span.mutable_span_id());
        fix(span.mutable_parent_span_id());
        for (auto& link : *span.mutable_links()) {
          fix(link.mutable_trace_id());
          fix(link.mutable_span_id());
        }
      }
    }
  }
  return request;
}

// One in words: whole requests are too long to be read.
inline std::string Difference(const Request& proto, const Request& json) {
  if (proto.SerializeAsString() == json.SerializeAsString()) return "";
  const std::string a = proto.DebugString(), b = json.DebugString();
  size_t i = 0;
  while (i < std::min(a.size(), b.size()) && a[i] == b[i]) ++i;
  const size_t from = i < 200 ? 0 : i - 200;
  return a.substr(from, 300) + "\n--- and in JSON ---\n" + b.substr(from, 300);
}

inline std::vector<DecodedSpan> SpansOf(const Request& request) {
  std::vector<DecodedSpan> spans;
  for (const auto& resource_spans : request.resource_spans()) {
    for (const auto& scope_spans : resource_spans.scope_spans()) {
      spans.insert(spans.end(), scope_spans.spans().begin(), scope_spans.spans().end());
    }
  }
  return spans;
}

// Values as "i:3", "s:text", "b:1", "d:0.5", "a:[s:x,s:y]", by key. A key that is there twice is a failure.
inline std::string ValueText(const otlp_test::AnyValue& value) {
  switch (value.value_case()) {
    case otlp_test::AnyValue::kStringValue: return "s:" + value.string_value();
    case otlp_test::AnyValue::kBoolValue: return value.bool_value() ? "b:1" : "b:0";
    case otlp_test::AnyValue::kIntValue: return "i:" + std::to_string(value.int_value());
    case otlp_test::AnyValue::kDoubleValue: {
      char text[40];
      std::snprintf(text, sizeof(text), "d:%.17g", value.double_value());
      return text;
    }
    case otlp_test::AnyValue::kArrayValue: {
      std::string text;
      for (const auto& element : value.array_value().values()) text += (text.empty() ? "" : ",") + ValueText(element);
      return "a:[" + text + "]";
    }
    default: return "?";
  }
}

template <typename List>
std::map<std::string, std::string> AttributesOf(const List& list) {
  std::map<std::string, std::string> attributes;
  for (const auto& attribute : list) {
    EXPECT_TRUE(attributes.emplace(attribute.key(), ValueText(attribute.value())).second) << attribute.key();
  }
  return attributes;
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_DECODED_H_

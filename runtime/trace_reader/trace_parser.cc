// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_parser.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/trace_reader/json_builder.h"
#include "runtime/trace_reader/json_stream.h"

namespace ferret {
namespace {

using Kind = JsonValue::Kind;
using rapidjson::SizeType;

// The event itself is at depth 1; args of real traces end at 5.
constexpr size_t kMaxDepth = 64;

// What RapidJSON's parser calls. False ends the parse, with the reason in `status`.
class Handler {
 public:
  Handler(const JsonStream* stream, TraceVisitor* visitor) : stream_(stream), visitor_(visitor) {}

  bool Null() { return Scalar(Kind::kNull); }
  bool Bool(bool value) { return Scalar(Kind::kBool, {}, value); }
  bool RawNumber(const char* text, SizeType length, bool) { return Scalar(Kind::kNumber, {text, length}); }
  bool String(const char* text, SizeType length, bool) { return Scalar(Kind::kString, {text, length}); }
  bool StartObject() { return Start(Kind::kObject); }
  bool StartArray() { return Start(Kind::kArray); }
  bool EndObject(SizeType) { return End(); }
  bool EndArray(SizeType) { return End(); }
  bool Key(const char* text, SizeType length, bool) {
    if (building_) {
      builder_.Key({text, length});
    } else if (depth_ == 1) {
      key_.assign(text, length);
    }
    return true;
  }
  // Numbers come as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  const absl::Status& status() const { return status_; }
  size_t status_offset() const { return status_offset_; }
  uint64_t status_line() const { return status_line_; }
  bool is_array() const { return form_ == Form::kArray; }
  bool has_events() const { return events_depth_ != 0; }
  uint64_t events() const { return events_; }

 private:
  enum class Form { kUnknown, kArray, kObject };

  bool Fail(std::string why) {
    status_ = absl::InvalidArgumentError(std::move(why));
    status_offset_ = stream_->Tell();
    status_line_ = stream_->line();
    return false;
  }
  // Whether the next value is an element of the array of events.
  bool at_event() const { return in_events_ && depth_ == events_depth_; }

  bool Scalar(Kind kind, std::string_view text = {}, bool boolean = false) {
    if (building_) return builder_.Add(kind, text, boolean) || Fail("an event of too many values");
    if (form_ == Form::kUnknown) return Fail("not a trace: neither an object nor an array");
    if (at_event()) return Fail("an event that is not an object");
    if (form_ == Form::kObject && depth_ == 1) {
      if (key_ == kEventsKey) return Fail("\"traceEvents\" is not an array");
      JsonValue value;
      value.kind = kind;
      value.text = text;
      value.boolean = boolean;
      visitor_->OnHeader(key_, value);
    }
    return true;
  }

  bool Start(Kind kind) {
    if (depth_ == kMaxDepth) return Fail(absl::StrCat("values nested more than ", kMaxDepth, " deep"));
    if (building_) {
      ++depth_;
      return builder_.Add(kind) || Fail("an event of too many values");
    }
    if (at_event()) {
      if (kind != Kind::kObject) return Fail("an event that is not an object");
      building_ = true;
      builder_.Clear();
      builder_.Add(kind);
    } else if (form_ == Form::kUnknown) {
      form_ = kind == Kind::kArray ? Form::kArray : Form::kObject;
      if (kind == Kind::kArray) OpenEvents();
    } else if (form_ == Form::kObject && depth_ == 1 && key_ == kEventsKey) {
      if (kind != Kind::kArray) return Fail("\"traceEvents\" is not an array");
      if (has_events()) return Fail("a second \"traceEvents\"");
      OpenEvents();
    }
    ++depth_;
    return true;
  }

  bool End() {
    --depth_;
    if (building_) {
      if (!builder_.Close()) return true;
      building_ = false;
      TraceEvent event;
      absl::Status status = ReadTraceEvent(builder_.root(), &event);
      if (status.ok()) status = visitor_->OnEvent(event);
      if (!status.ok()) return Fail(std::string(status.message()));
      ++events_;
    } else if (in_events_ && depth_ < events_depth_) {
      in_events_ = false;
    }
    return true;
  }

  void OpenEvents() {
    in_events_ = true;
    events_depth_ = depth_ + 1;
  }

  static constexpr char kEventsKey[] = "traceEvents";

  const JsonStream* const stream_;
  TraceVisitor* const visitor_;
  Form form_ = Form::kUnknown;
  size_t depth_ = 0;
  size_t events_depth_ = 0;  // 0: there was no array of events yet
  bool in_events_ = false;
  bool building_ = false;
  std::string key_;  // of the outermost object
  JsonBuilder builder_;
  uint64_t events_ = 0;
  absl::Status status_;
  size_t status_offset_ = 0;
  uint64_t status_line_ = 0;
};

}  // namespace

absl::StatusOr<ParsedTrace> ParseTrace(ByteReader* reader, const std::string& file, TraceVisitor* visitor) {
  JsonStream stream(reader);
  Handler handler(&stream, visitor);
  rapidjson::Reader parser;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult result = parser.Parse<kFlags>(stream, handler);

  const auto error = [&](size_t offset, uint64_t line, std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": line ", line, ", byte ", offset,
                                                   reader->compressed() ? " of the uncompressed text: " : ": ",
                                                   std::string(why)));
  };
  if (!handler.status().ok()) {
    return error(handler.status_offset(), handler.status_line(), std::string(handler.status().message()));
  }
  // What the file itself has against being read goes before what the parser thinks of the place where that happened.
  const bool cut = stream.at_end() && (absl::IsDataLoss(stream.status()) || stream.status().ok());
  ParsedTrace parsed;
  parsed.events = handler.events();
  if (cut && handler.is_array() && (result.IsError() || !stream.status().ok())) {
    parsed.warning = absl::StrCat(file, ": the file ends early", stream.status().ok() ? "" : ": ", std::string(stream.status().message()),
                                  "; what is there was read");
    return parsed;
  }
  if (!stream.status().ok()) return error(stream.Tell(), stream.line(), std::string(stream.status().message()));
  if (result.IsError()) {
    if (stream.at_end() && stream.Tell() == 0) return error(0, 1, "the file is empty");
    if (stream.at_end()) return error(stream.Tell(), stream.line(), "the file ends early");
    return error(result.Offset(), stream.line(), rapidjson::GetParseError_En(result.Code()));
  }
  if (!handler.has_events()) return error(stream.Tell(), stream.line(), "not a trace: there are no \"traceEvents\"");
  return parsed;
}

}  // namespace ferret

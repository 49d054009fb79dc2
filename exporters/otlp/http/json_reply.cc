// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/json_reply.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <system_error>

namespace ferret::otlp {
namespace {

using rapidjson::SizeType;

// Called by RapidJSON for each part of the text; false stops it.
class Handler {
 public:
  explicit Handler(JsonReply* reply) : reply_(reply) {}

  bool Null() { return Other(); }
  bool Bool(bool) { return Other(); }
  bool Int(int) { return Other(); }
  bool Uint(unsigned) { return Other(); }
  bool Int64(int64_t) { return Other(); }
  bool Uint64(uint64_t) { return Other(); }
  bool Double(double) { return Other(); }
  bool RawNumber(const char* text, SizeType size, bool) { return depth_ > 0 && Number({text, size}); }
  bool String(const char* text, SizeType size, bool) { return depth_ > 0 && Text({text, size}); }
  bool Key(const char* text, SizeType size, bool) {
    if (depth_ == 1) outer_.assign(text, size);
    if (depth_ == 2) inner_.assign(text, size);
    return true;
  }
  bool StartObject() { return Open(false); }
  bool EndObject(SizeType) { return Close(); }
  bool StartArray() { return Open(true); }
  bool EndArray(SizeType) { return Close(); }

 private:
  static constexpr int kMostDepth = 64;

  bool Other() const { return depth_ > 0; }  // the whole must be an object
  bool Open(bool array) {
    if (array && depth_ == 0) return false;
    if (depth_ == 1) in_partial_success_ = !array && outer_ == "partialSuccess";
    ++depth_;
    inner_.clear();
    return depth_ <= kMostDepth;
  }
  bool Close() {
    --depth_;
    inner_.clear();
    return true;
  }
  bool IsCount() const {
    return depth_ == 2 && in_partial_success_ && (inner_ == "rejectedSpans" || inner_ == "rejectedDataPoints");
  }
  bool Number(std::string_view text) {
    if (!IsCount()) return true;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, reply_->rejected);
    return error == std::errc() && at == end;
  }
  bool Text(std::string_view text) {
    if (depth_ == 1 && outer_ == "message") reply_->status_message = text;
    if (depth_ == 2 && in_partial_success_ && inner_ == "errorMessage") reply_->error_message = text;
    return Number(text);  // 64-bit numbers are texts in protobuf's JSON
  }

  JsonReply* const reply_;
  int depth_ = 0;
  std::string outer_;  // the key at depth 1
  std::string inner_;  // the key at depth 2
  bool in_partial_success_ = false;
};

}  // namespace

bool ReadJsonReply(std::string_view text, JsonReply* reply) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  Handler handler(reply);
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag;
  return !reader.Parse<kFlags>(stream, handler).IsError();
}

}  // namespace ferret::otlp

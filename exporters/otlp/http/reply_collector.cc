// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/reply_collector.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace ferret::otlp {
namespace {

// "HTTP/1.1 503 Service Unavailable"; 0 if it is anything else.
int StatusOf(absl::string_view line) {
  const size_t space = line.find(' ');
  int status = 0;
  if (space == line.npos || !absl::SimpleAtoi(line.substr(space + 1, 3), &status)) return 0;
  return status;
}

}  // namespace

void ReplyCollector::Begin() {
  // The body's memory is kept for the next reply: replies are small, or this process has paid for a large one before.
  std::string body = std::move(reply_.body);
  body.clear();
  reply_ = {};
  reply_.body = std::move(body);
  header_bytes_ = 0;
  status_ = 0;
}

bool ReplyCollector::AddHeader(absl::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > HttpReply::kMostHeaderBytes) {
    reply_.end = HttpReply::End::kTooLarge;
    return false;
  }
  if (reply_.status != 0) return true;  // a trailer
  if (absl::StartsWith(line, "HTTP/")) {
    status_ = StatusOf(line);
    reply_.content_type.clear();
    reply_.retry_after.clear();
    return true;
  }
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  if (text.empty()) {
    if (status_ >= 200) reply_.status = status_;
    return true;
  }
  const size_t colon = text.find(':');
  if (colon == text.npos) return true;
  const absl::string_view name = text.substr(0, colon);
  const absl::string_view value = absl::StripAsciiWhitespace(text.substr(colon + 1));
  if (absl::EqualsIgnoreCase(name, "content-type")) reply_.content_type = std::string(value);
  if (absl::EqualsIgnoreCase(name, "retry-after")) reply_.retry_after = std::string(value);
  return true;
}

bool ReplyCollector::AddBody(absl::string_view piece) {
  if (piece.size() > HttpReply::kMostBodyBytes - reply_.body.size()) {
    reply_.end = HttpReply::End::kTooLarge;
    return false;
  }
  reply_.body.append(piece.data(), piece.size());
  return true;
}

// Anything but the whole number of bytes makes libcurl end the exchange.
size_t ReplyCollector::OnHeader(char* data, size_t size, size_t count, void* self) {
  return static_cast<ReplyCollector*>(self)->AddHeader({data, size * count}) ? size * count : 0;
}

size_t ReplyCollector::OnBody(char* data, size_t size, size_t count, void* self) {
  const size_t bytes = size * count;
  if (static_cast<ReplyCollector*>(self)->AddBody({data, bytes})) return bytes;
  return bytes == 0 ? 1 : 0;
}

}  // namespace ferret::otlp

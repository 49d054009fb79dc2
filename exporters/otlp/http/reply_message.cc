// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/reply_message.h"

#include "exporters/otlp/http/json_reply.h"
#include "exporters/otlp/http/wire_reader.h"

namespace ferret::otlp {
namespace {

bool ReadPartialSuccess(std::string_view bytes, PartialSuccess* out) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.type() == kVarint) out->rejected = static_cast<int64_t>(reader.number());
    if (reader.field() == 2 && reader.type() == kBytes) out->message = reader.bytes();
  }
  return reader.ok();
}

}  // namespace

std::optional<PartialSuccess> ParseExportResponse(Form form, std::string_view body) {
  PartialSuccess result;
  if (form == Form::kJson) {
    JsonReply json;
    if (!ReadJsonReply(body, &json)) return std::nullopt;
    result.rejected = json.rejected;
    result.message = std::move(json.error_message);
    return result;
  }
  WireReader reader(body);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.type() == kBytes && !ReadPartialSuccess(reader.bytes(), &result)) {
      return std::nullopt;
    }
  }
  if (!reader.ok()) return std::nullopt;
  return result;
}

std::optional<std::string> ParseStatusMessage(Form form, std::string_view body) {
  if (form == Form::kJson) {
    JsonReply json;
    if (!ReadJsonReply(body, &json)) return std::nullopt;
    return std::move(json.status_message);
  }
  std::string message;
  WireReader reader(body);
  while (reader.Next()) {
    if (reader.field() == 2 && reader.type() == kBytes) message = reader.bytes();
  }
  if (!reader.ok()) return std::nullopt;
  return message;
}

}  // namespace ferret::otlp

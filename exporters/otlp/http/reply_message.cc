// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/reply_message.h"

#include <utility>

#include "exporters/otlp/http/json_reply.h"

namespace ferret::otlp {

std::optional<PartialSuccess> ParseExportResponse(Form form, std::string_view body) {
  if (form == Form::kProtobuf) return ReadPartialSuccess(body);
  JsonReply json;
  if (!ReadJsonReply(body, &json) || json.rejected < 0) return std::nullopt;
  return PartialSuccess{static_cast<uint64_t>(json.rejected), std::move(json.error_message)};
}

std::optional<std::string> ParseStatusMessage(Form form, std::string_view body) {
  if (form == Form::kProtobuf) {
    std::optional<RpcStatus> status = ReadRpcStatus(body);
    if (!status.has_value()) return std::nullopt;
    return std::move(status->message);
  }
  JsonReply json;
  if (!ReadJsonReply(body, &json)) return std::nullopt;
  return std::move(json.status_message);
}

}  // namespace ferret::otlp

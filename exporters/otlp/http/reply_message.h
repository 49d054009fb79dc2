// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a receiver says in the body of a reply, in either encoding: an Export…ServiceResponse, or a google.rpc.Status.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_REPLY_MESSAGE_H_
#define FERRET_EXPORTERS_OTLP_HTTP_REPLY_MESSAGE_H_

#include <optional>
#include <string>
#include <string_view>

#include "exporters/otlp/replies/reply_proto.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

// Nothing if the bytes are no such message. Fields that are not known are passed over, of one that is there twice the last
// counts; an empty protobuf is a message with nothing in it. Any bytes are safe.
std::optional<PartialSuccess> ParseExportResponse(Form form, std::string_view body);

// The message of a google.rpc.Status.
std::optional<std::string> ParseStatusMessage(Form form, std::string_view body);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_REPLY_MESSAGE_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonReply: the few fields of a receiver's JSON that matter.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_JSON_REPLY_H_
#define FERRET_EXPORTERS_OTLP_HTTP_JSON_REPLY_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ferret::otlp {

struct JsonReply {
  int64_t rejected = 0;        // partialSuccess.rejectedSpans or .rejectedDataPoints
  std::string error_message;   // partialSuccess.errorMessage
  std::string status_message;  // message
};

// False if `text` is no JSON object, nests deeper than any receiver's, or has a count that is none. null is a field that
// is not there.
bool ReadJsonReply(std::string_view text, JsonReply* reply);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_JSON_REPLY_H_

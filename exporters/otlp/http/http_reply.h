// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HttpReply: what came back for one POST, before anybody judges it.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_HTTP_REPLY_H_
#define FERRET_EXPORTERS_OTLP_HTTP_HTTP_REPLY_H_

#include <curl/curl.h>

#include <cstddef>
#include <string>

namespace ferret::otlp {

struct HttpReply {
  // Bounds on what a receiver can make this process hold.
  static constexpr size_t kMostBodyBytes = size_t{4} << 20;
  static constexpr size_t kMostHeaderBytes = size_t{64} << 10;

  enum class End : uint8_t {
    kComplete,
    kFailed,    // `code` and `error` say how
    kTooLarge,  // more than the bounds
    kDeadline,
    kCancelled,
  };
  End end = End::kComplete;
  int status = 0;        // of the final response, once its headers were complete; else 0
  int proxy_status = 0;  // a proxy's answer to CONNECT, or 0
  std::string content_type;
  std::string retry_after;
  std::string body;  // decompressed; cut short unless kComplete
  CURLcode code = CURLE_OK;
  std::string error;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_HTTP_REPLY_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HttpPoster: posts the bodies of one signal to its URL, as its configuration says.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_HTTP_POSTER_H_
#define FERRET_EXPORTERS_OTLP_HTTP_HTTP_POSTER_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/otlp/http/curl_session.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/http_reply.h"
#include "exporters/otlp/http/reply_collector.h"
#include "exporters/otlp/config/otlp_config.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

class HttpPoster {
 public:
  // An error names what is wrong with the URL, a header or a file. `session` and `curl` outlive the poster.
  static absl::StatusOr<std::unique_ptr<HttpPoster>> Create(const CurlTable* curl, CurlSession* session,
                                                            const SignalConfig& config, Form form);
  ~HttpPoster();
  HttpPoster(const HttpPoster&) = delete;
  HttpPoster& operator=(const HttpPoster&) = delete;

  // `gzip`: the body is compressed. The reply is valid until the next call.
  const HttpReply& Post(std::string_view body, bool gzip, RunnerClock::Time deadline);

 private:
  HttpPoster(const CurlTable* curl, CurlSession* session) : curl_(curl), session_(session) {}
  absl::Status SetUp(const SignalConfig& config, Form form);
  absl::Status AddHeader(const std::string& line);

  const CurlTable* const curl_;
  CurlSession* const session_;
  CURL* easy_ = nullptr;
  curl_slist* plain_headers_ = nullptr;
  curl_slist* gzip_headers_ = nullptr;  // those, and Content-Encoding
  ReplyCollector collector_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_HTTP_POSTER_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CurlSession: runs one exchange after another, keeps their connections, and ends one at once when told so.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_CURL_SESSION_H_
#define FERRET_EXPORTERS_OTLP_HTTP_CURL_SESSION_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/http_reply.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

class CurlSession {
 public:
  static absl::StatusOr<std::unique_ptr<CurlSession>> Create(const CurlTable* curl);
  ~CurlSession();
  CurlSession(const CurlSession&) = delete;
  CurlSession& operator=(const CurlSession&) = delete;

  // Carries out what `easy` is set up for, and says in *reply how it ended, unless a callback of `easy` has said so.
  void Run(CURL* easy, RunnerClock::Time deadline, HttpReply* reply);

  // From any thread: ends the exchange that runs, and all to come.
  void Cancel();

 private:
  CurlSession(const CurlTable* curl, CURLM* multi) : curl_(curl), multi_(multi) {}
  void Drive(CURL* easy, RunnerClock::Time deadline, HttpReply* reply);
  bool Finished(CURL* easy, HttpReply* reply);

  const CurlTable* const curl_;
  CURLM* const multi_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_CURL_SESSION_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/curl_session.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace ferret::otlp {
namespace {

using End = HttpReply::End;

// For curl_multi_poll, rounded up, so that the time has come when it returns.
int MillisecondsLeft(RunnerClock::Time now, RunnerClock::Time deadline) {
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(1);
  return static_cast<int>(std::min(std::chrono::ceil<std::chrono::milliseconds>(deadline - now), kMost).count());
}

void Fail(const char* error, HttpReply* reply) {
  reply->end = End::kFailed;
  reply->code = CURLE_FAILED_INIT;
  reply->error = error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CurlSession>> CurlSession::Create(const CurlTable* curl) {
  CURLM* const multi = curl->multi_init();
  if (multi == nullptr) return absl::ResourceExhaustedError("libcurl has no memory or no file descriptors");
  // Without the descriptors that a wakeup needs, Cancel could not work. This one is used up by the first poll.
  if (curl->multi_wakeup(multi) != CURLM_OK) {
    curl->multi_cleanup(multi);
    return absl::ResourceExhaustedError("libcurl has no file descriptors");
  }
  return std::unique_ptr<CurlSession>(new CurlSession(curl, multi));
}

CurlSession::~CurlSession() { curl_->multi_cleanup(multi_); }

void CurlSession::Cancel() {
  cancelled_.store(true);
  curl_->multi_wakeup(multi_);
}

void CurlSession::Run(CURL* easy, RunnerClock::Time deadline, HttpReply* reply) {
  if (cancelled_.load()) {
    reply->end = End::kCancelled;
    return;
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    reply->end = End::kDeadline;
    return;
  }
  const CURLMcode added = curl_->multi_add_handle(multi_, easy);
  if (added != CURLM_OK) return Fail(curl_->multi_strerror(added), reply);
  Drive(easy, deadline, reply);
  curl_->multi_remove_handle(multi_, easy);
}

void CurlSession::Drive(CURL* easy, RunnerClock::Time deadline, HttpReply* reply) {
  while (true) {
    int running = 0;
    CURLMcode result = curl_->multi_perform(multi_, &running);
    if (result != CURLM_OK) return Fail(curl_->multi_strerror(result), reply);
    if (Finished(easy, reply)) return;
    if (cancelled_.load()) {
      reply->end = End::kCancelled;
      return;
    }
    const RunnerClock::Time now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      reply->end = End::kDeadline;
      return;
    }
    // Also returns when libcurl's own timers are due.
    result = curl_->multi_poll(multi_, nullptr, 0, MillisecondsLeft(now, deadline), nullptr);
    if (result != CURLM_OK) return Fail(curl_->multi_strerror(result), reply);
  }
}

bool CurlSession::Finished(CURL* easy, HttpReply* reply) {
  int left = 0;
  while (const CURLMsg* const message = curl_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE || message->easy_handle != easy) continue;
    reply->code = message->data.result;
    if (reply->code != CURLE_OK && reply->end == End::kComplete) reply->end = End::kFailed;
    return true;
  }
  return false;
}

}  // namespace ferret::otlp

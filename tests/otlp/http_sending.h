// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HttpSending: what the tests of HttpTransport share.

#ifndef FERRET_TESTS_OTLP_HTTP_SENDING_H_
#define FERRET_TESTS_OTLP_HTTP_SENDING_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "exporters/otlp/http/http_transport.h"
#include "tests/otlp/fault_server.h"

namespace ferret::otlp {

using Kind = SendOutcome::Kind;

inline RunnerClock::Time In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }
// For what should end by itself; only a failing test waits that long.
inline RunnerClock::Time Soon() { return In(std::chrono::seconds(60)); }

inline HttpTransport::Signals BothTo(const FaultServer& server) {
  HttpTransport::Signals signals;
  signals[0].url = server.Url("/v1/traces");
  signals[1].url = server.Url("/v1/metrics");
  return signals;
}

inline std::unique_ptr<HttpTransport> Make(const HttpTransport::Signals& signals, Form form = Form::kProtobuf) {
  absl::StatusOr<std::unique_ptr<HttpTransport>> transport = HttpTransport::Create(signals, form);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return transport.ok() ? std::move(*transport) : nullptr;
}

// One request for traces to a receiver that follows a script.
inline SendOutcome SendOnce(FaultServer::Script script, FaultServer::Options options = {},
                            Form form = Form::kProtobuf) {
  FaultServer server(std::move(script), std::move(options));
  return Make(BothTo(server), form)->Send(Signal::kTraces, "body", Soon());
}
inline SendOutcome SendOnce(const FaultReply& reply, Form form = Form::kProtobuf) {
  return SendOnce([&](const FaultRequest&) { return reply; }, {}, form);
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_HTTP_SENDING_H_

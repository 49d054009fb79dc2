// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Proxies of the environment.

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

// Sets a variable for a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

SendOutcome SendTo(const std::string& url) {
  HttpTransport::Signals signals;
  signals[0].url = url;
  signals[1].enabled = false;
  return Make(signals)->Send(Signal::kTraces, "body", Soon());
}

TEST(HttpProxyTest, GoesByTheProxyOfTheEnvironment) {
  FaultServer proxy([](const FaultRequest&) { return Answer(200); });
  const Variable variable("http_proxy", proxy.Url(""));
  EXPECT_EQ(SendTo("http://collector.invalid:4318/v1/traces").kind, Kind::kDelivered);
  EXPECT_EQ(proxy.Requests().at(0).line, "POST http://collector.invalid:4318/v1/traces HTTP/1.1");
}

TEST(HttpProxyTest, LeavesOutTheProxyForThoseThatNeedNone) {
  FaultServer proxy([](const FaultRequest&) { return Answer(503); });
  FaultServer receiver([](const FaultRequest&) { return Answer(200); });
  const Variable variable("http_proxy", proxy.Url(""));
  const Variable none("no_proxy", "127.0.0.1");
  EXPECT_EQ(SendTo(receiver.Url()).kind, Kind::kDelivered);
  EXPECT_EQ(proxy.connections(), 0);
}

TEST(HttpProxyTest, TellsAProxyThatIsBusyFromOneThatForbids) {
  for (const auto& [status, kind] : {std::pair(503, Kind::kRetryable), std::pair(403, Kind::kRefused),
                                     std::pair(413, Kind::kRefused), std::pair(404, Kind::kRefused)}) {
    FaultServer proxy([status = status](const FaultRequest&) { return Answer(status, "", "Retry-After: 9\r\n"); });
    const Variable variable("https_proxy", proxy.Url(""));
    const SendOutcome outcome = SendTo("https://collector.invalid/v1/traces");
    EXPECT_EQ(outcome.kind, kind) << outcome.message;
    EXPECT_EQ(outcome.message, "the proxy answers HTTP " + std::to_string(status));
    EXPECT_FALSE(outcome.retry_after.has_value());
  }
}

}  // namespace
}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/http_transport.h"

#include <gtest/gtest.h>

#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

FaultReply Fine(const FaultRequest&) { return Answer(200); }

TEST(HttpTransportTest, PostsTheBodyAsItIsWithTheHeadersOfItsEncoding) {
  FaultServer server(Fine);
  HttpTransport::Signals signals = BothTo(server);
  signals[0].headers = {{"api-key", "a secret"}, {"x-empty", " "}};
  const std::string body("\x0a\x00\xff body", 8);
  const SendOutcome outcome = Make(signals)->Send(Signal::kTraces, body, Soon());
  EXPECT_EQ(outcome.kind, Kind::kDelivered);
  EXPECT_EQ(outcome.message, "");
  ASSERT_EQ(server.Requests().size(), 1u);
  const FaultRequest request = server.Requests()[0];
  EXPECT_EQ(request.line, "POST /v1/traces HTTP/1.1");
  EXPECT_EQ(request.body, body);
  EXPECT_EQ(request.Header("content-type"), "application/x-protobuf");
  EXPECT_EQ(request.Header("user-agent").find("OTel-OTLP-Exporter-Ferret/"), 0u);
  EXPECT_EQ(request.Header("api-key"), "a secret");
  EXPECT_EQ(request.headers.count("x-empty"), 1u);
  EXPECT_EQ(request.headers.count("content-encoding"), 0u);
}

TEST(HttpTransportTest, NamesJsonWhereItSendsJson) {
  FaultServer server(Fine);
  const auto transport = Make(BothTo(server), Form::kJson);
  EXPECT_EQ(transport->form(), Form::kJson);
  EXPECT_EQ(transport->Send(Signal::kMetrics, "{}", Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(server.Requests().at(0).line, "POST /v1/metrics HTTP/1.1");
  EXPECT_EQ(server.Requests().at(0).Header("content-type"), "application/json");
}

TEST(HttpTransportTest, KeepsOneConnectionForAllRequestsOfBothSignals) {
  FaultServer server(Fine);
  const auto transport = Make(BothTo(server));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(transport->Send(i % 2 == 0 ? Signal::kTraces : Signal::kMetrics, "body", Soon()).kind,
              Kind::kDelivered);
  }
  EXPECT_EQ(server.Requests().size(), 10u);
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpTransportTest, ReconnectsUnnoticedWhereTheReceiverClosedAKeptConnection) {
  FaultServer server([](const FaultRequest&) {
    FaultReply reply = Answer(200);
    reply.then = FaultReply::Then::kClose;
    return reply;
  });
  const auto transport = Make(BothTo(server));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(server.Requests().size(), 3u);
}

TEST(HttpTransportTest, SendsLargeBodiesWithoutWaitingForConsent) {
  FaultServer server(Fine);
  const std::string body(3'500'000, 'x');
  EXPECT_EQ(Make(BothTo(server))->Send(Signal::kTraces, body, Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(server.Requests().at(0).headers.count("expect"), 0u);
  EXPECT_EQ(server.Requests().at(0).Header("content-length"), "3500000");
  EXPECT_TRUE(server.Requests().at(0).body == body);
}

TEST(HttpTransportTest, DoesNotSendASignalThatIsOff) {
  FaultServer server(Fine);
  HttpTransport::Signals signals = BothTo(server);
  signals[1] = {};
  signals[1].enabled = false;
  const auto transport = Make(signals);
  EXPECT_EQ(transport->Send(Signal::kMetrics, "body", Soon()).kind, Kind::kUnsupported);
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
}

TEST(HttpTransportTest, SignsInWithTheUserAndPasswordOfTheUrl) {
  FaultServer server(Fine);
  HttpTransport::Signals signals = BothTo(server);
  signals[0].url = "http://user:pass@127.0.0.1:" + std::to_string(server.port()) + "/v1/traces?x=1";
  EXPECT_EQ(Make(signals)->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(server.Requests().at(0).Header("authorization"), "Basic dXNlcjpwYXNz");
  EXPECT_EQ(server.Requests().at(0).line, "POST /v1/traces?x=1 HTTP/1.1");
}

TEST(HttpTransportTest, ShowsWhereItSendsWithoutWhatMayBeSecret) {
  HttpTransport::Signals signals;
  signals[0].url = "https://user:pass@host:4318/v1/traces?token=1";
  signals[1].enabled = false;
  EXPECT_EQ(Make(signals)->Destination(), "https://host:4318/v1/traces");
}

TEST(HttpTransportTest, KnowsWhereEachSignalGoesAndForAllNamesTheFirstThatIsSent) {
  HttpTransport::Signals signals;
  signals[0].url = "http://host:4318/v1/traces";
  signals[1].url = "http://other:4318/v1/metrics?token=1";
  EXPECT_EQ(Make(signals)->Destination(), "http://host:4318/v1/traces");
  EXPECT_EQ(Make(signals)->DestinationOf(Signal::kTraces), "http://host:4318/v1/traces");
  EXPECT_EQ(Make(signals)->DestinationOf(Signal::kMetrics), "http://other:4318/v1/metrics");
  signals[0].enabled = false;
  EXPECT_EQ(Make(signals)->Destination(), "http://other:4318/v1/metrics");
  EXPECT_EQ(Make(signals)->DestinationOf(Signal::kTraces), "");
}

// Creates a transport whose traces are as `change` leaves them; returns the error.
template <typename Change>
std::string ErrorOf(Change change) {
  HttpTransport::Signals signals;
  signals[0].url = "http://localhost:4318/v1/traces";
  signals[1].enabled = false;
  change(&signals[0]);
  return std::string(HttpTransport::Create(signals, Form::kProtobuf).status().message());
}

TEST(HttpTransportTest, RefusesUrlsThatItCannotPostTo) {
  for (const char* url :
       {"", "localhost:4318", "ftp://host/", "file:///etc/passwd", "http://", "http://a\r\nb/", "//x"}) {
    EXPECT_NE(ErrorOf([&](SignalConfig* config) { config->url = url; }).find("traces: '"), std::string::npos) << url;
  }
  EXPECT_EQ(ErrorOf([](SignalConfig* config) { config->url = "http://u:p@/x?y"; }).find("u:p"), std::string::npos);
}

TEST(HttpTransportTest, RefusesHeadersThatWouldBecomeOthersAndDoesNotShowTheirValues) {
  const auto error = [](const std::string& name, const std::string& value) {
    return ErrorOf([&](SignalConfig* config) { config->headers = {{name, value}}; });
  };
  for (const std::string& value : {std::string("a\r\nX-Other: b"), std::string("a\nb"), std::string("a\0b", 3),
                                   std::string("a\x7f"), std::string("\x1b[0m")}) {
    const std::string message = error("api-key", value);
    EXPECT_NE(message.find("control character"), std::string::npos);
    EXPECT_NE(message.find("api-key"), std::string::npos);
    EXPECT_EQ(message.find(value), std::string::npos);
  }
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a:"), std::string("a\nb"),
                                  std::string("a\0", 2), std::string("\xc3\xa4")}) {
    EXPECT_NE(error(name, "v").find("not a header's name"), std::string::npos) << name;
  }
  EXPECT_NE(error("Content-Type", "text/plain").find("exporter sets it"), std::string::npos);
  EXPECT_NE(error("transfer-encoding", "chunked").find("exporter sets it"), std::string::npos);
  EXPECT_EQ(error("api-key", "tab\tand \xc3\xa4"), "");
}

TEST(HttpTransportTest, NamesAFileThatCannotBeRead) {
  const auto error = [](const char* url, const char* ca, const char* key) {
    return ErrorOf([&](SignalConfig* config) {
      config->url = url;
      config->ca_file = ca;
      config->client_key_file = key;
    });
  };
  for (const char* url : {"https://localhost:4318/v1/traces", "HTTPS://localhost:4318/v1/traces"}) {
    EXPECT_NE(error(url, "/no/such/ca.pem", "").find("/no/such/ca.pem: No such"), std::string::npos);
    EXPECT_NE(error(url, "", "/dev/null").find("no client certificate"), std::string::npos);
  }
}

TEST(HttpTransportTest, SendsWithoutTlsWhateverIsWrongWithTheFilesOfTls) {
  FaultServer server(Fine);
  HttpTransport::Signals signals = BothTo(server);
  for (SignalConfig& signal : signals) {
    signal.ca_file = "/no/such/ca.pem";
    signal.client_key_file = "/no/such/key.pem";
  }
  EXPECT_EQ(Make(signals)->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
}

}  // namespace
}  // namespace ferret::otlp

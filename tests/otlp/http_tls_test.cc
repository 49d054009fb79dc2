// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Who is trusted over https. certs/ says where the certificates are from.

#include <gtest/gtest.h>

#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

std::string File(const std::string& name) { return "tests/otlp/certs/" + name; }

class HttpTlsTest : public testing::Test {
 protected:
  explicit HttpTlsTest(const std::string& client_ca = "")
      : tls_(File("server.pem"), File("server.key"), client_ca) {}

  FaultServer::Options Options() {
    FaultServer::Options options;
    options.tls = &tls_;
    return options;
  }
  SendOutcome Send(const HttpTransport::Signals& signals) {
    return Make(signals)->Send(Signal::kTraces, "body", Soon());
  }

  const TlsSide tls_;
  FaultServer server_{[](const FaultRequest&) { return Answer(200); }, Options()};
  HttpTransport::Signals signals_ = BothTo(server_);
};

class HttpClientCertificateTest : public HttpTlsTest {
 protected:
  HttpClientCertificateTest() : HttpTlsTest(File("ca.pem")) { signals_[0].ca_file = File("ca.pem"); }
};

TEST_F(HttpTlsTest, DeliversToAReceiverOfTheAuthorityThatItWasGiven) {
  signals_[0].ca_file = File("ca.pem");
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kDelivered) << outcome.message;
  EXPECT_EQ(server_.Requests().at(0).body, "body");
}

TEST_F(HttpTlsTest, KeepsTheConnectionOverTls) {
  signals_[0].ca_file = File("ca.pem");
  const auto transport = Make(signals_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(HttpTlsTest, SaysNothingToAReceiverOfAnotherAuthority) {
  signals_[0].ca_file = File("other_ca.pem");
  signals_[0].headers = {{"api-key", "secret"}};
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_NE(outcome.message.find("certificate"), std::string::npos) << outcome.message;
  EXPECT_EQ(server_.Requests().size(), 0u);
}

TEST_F(HttpTlsTest, SaysNothingToAReceiverOfAnotherName) {
  signals_[0].ca_file = File("ca.pem");
  signals_[0].url = "https://127.0.0.1:" + std::to_string(server_.port()) + "/v1/traces";
  EXPECT_EQ(Send(signals_).kind, Kind::kRefused);
  EXPECT_EQ(server_.Requests().size(), 0u);
}

TEST_F(HttpTlsTest, RefusesFilesThatHoldNoCertificates) {
  signals_[0].ca_file = File("make.sh");
  SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused) << outcome.message;
  signals_[0].ca_file = File("ca.pem");
  signals_[0].client_certificate_file = File("make.sh");
  outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused) << outcome.message;
}

TEST_F(HttpTlsTest, RefusesAReceiverThatSpeaksNoTls) {
  FaultServer::Options options;
  options.greeting = FaultReply();
  options.greeting->bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  options.greeting->then = FaultReply::Then::kHang;
  FaultServer plain([](const FaultRequest&) { return Answer(200); }, std::move(options));
  signals_[0].url = "https://localhost:" + std::to_string(plain.port()) + "/v1/traces";
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused) << outcome.message;
}

TEST_F(HttpTlsTest, RetriesWhereTheReceiverHangsUpInTheHandshake) {
  for (const auto then : {FaultReply::Then::kClose, FaultReply::Then::kReset}) {
    FaultServer::Options options;
    options.greeting = FaultReply();
    options.greeting->then = then;
    FaultServer gone([](const FaultRequest&) { return Answer(200); }, std::move(options));
    signals_[0].url = "https://localhost:" + std::to_string(gone.port()) + "/v1/traces";
    const SendOutcome outcome = Send(signals_);
    EXPECT_EQ(outcome.kind, Kind::kRetryable) << outcome.message;
  }
}

TEST_F(HttpTlsTest, EndsAHandshakeThatHangsByTheDeadline) {
  FaultServer::Options options;
  options.greeting = FaultReply();
  options.greeting->then = FaultReply::Then::kHang;
  FaultServer hanging([](const FaultRequest&) { return Answer(200); }, std::move(options));
  signals_[0].url = "https://localhost:" + std::to_string(hanging.port()) + "/v1/traces";
  const SendOutcome outcome = Make(signals_)->Send(Signal::kTraces, "body", In(std::chrono::milliseconds(50)));
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "no reply in time");
}

TEST_F(HttpClientCertificateTest, ShowsItsCertificate) {
  signals_[0].client_certificate_file = File("client.pem");
  signals_[0].client_key_file = File("client.key");
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kDelivered) << outcome.message;
}

TEST_F(HttpClientCertificateTest, IsRefusedWithoutOne) {
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused) << outcome.message;
  EXPECT_EQ(server_.Requests().size(), 0u);
}

TEST_F(HttpClientCertificateTest, RefusesAKeyThatIsEncrypted) {
  signals_[0].client_certificate_file = File("client.pem");
  signals_[0].client_key_file = File("client_encrypted.key");
  const SendOutcome outcome = Send(signals_);
  EXPECT_EQ(outcome.kind, Kind::kRefused) << outcome.message;
}

TEST_F(HttpClientCertificateTest, RefusesAKeyOfAnotherCertificate) {
  signals_[0].client_certificate_file = File("client.pem");
  signals_[0].client_key_file = File("server.key");
  EXPECT_EQ(Send(signals_).kind, Kind::kRefused);
}

}  // namespace
}  // namespace ferret::otlp

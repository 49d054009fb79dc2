// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compression of requests, and receivers that do not want it.

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "exporters/otlp/http/gzip_body.h"
#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

std::string Decompressed(std::string_view compressed, size_t most) {
  std::string text(most, '\0');
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);  // gzip only
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

HttpTransport::Signals Compressing(const FaultServer& server) {
  HttpTransport::Signals signals = BothTo(server);
  for (SignalConfig& signal : signals) signal.gzip = true;
  return signals;
}

TEST(GzipBodyTest, GivesBackAnyBytesFromOneBufferAgainAndAgain) {
  GzipBody gzip;
  uint32_t random = 1;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3'000'000}, size_t{10}, size_t{500'000}}) {
    std::string body;
    for (size_t i = 0; i < size; ++i) {
      random = random * 1664525 + 1013904223;
      body.push_back(static_cast<char>(random >> 24));
    }
    const auto compressed = gzip.Compress(body);
    ASSERT_TRUE(compressed.has_value());
    EXPECT_TRUE(Decompressed(*compressed, size + 1) == body) << size;
  }
}

TEST(HttpGzipTest, CompressesAndSaysSo) {
  FaultServer server([](const FaultRequest&) { return Answer(200); });
  const auto transport = Make(Compressing(server));
  const std::string body(100'000, 'x');
  for (int i = 0; i < 2; ++i) EXPECT_EQ(transport->Send(Signal::kTraces, body, Soon()).message, "");
  for (const FaultRequest& request : server.Requests()) {
    EXPECT_EQ(request.Header("content-encoding"), "gzip");
    EXPECT_LT(request.body.size(), 1000u);
    EXPECT_TRUE(Decompressed(request.body, body.size() + 1) == body);
  }
}

// What the receiver saw of each request: "gzip" or "plain".
std::vector<std::string> Encodings(FaultServer* server) {
  std::vector<std::string> encodings;
  for (const FaultRequest& request : server->Requests()) {
    encodings.push_back(request.Header("content-encoding") == "gzip" ? "gzip" : "plain");
  }
  return encodings;
}

TEST(HttpGzipTest, LeavesItOffForAReceiverThatRefusesIt) {
  for (int status : {415, 400}) {
    FaultServer server([&](const FaultRequest& request) {
      return Answer(request.Header("content-encoding").empty() ? 200 : status);
    });
    const auto transport = Make(Compressing(server));
    SendOutcome outcome = transport->Send(Signal::kTraces, "body", Soon());
    EXPECT_EQ(outcome.kind, Kind::kDelivered);
    EXPECT_EQ(outcome.message, "the receiver refuses gzip (HTTP " + std::to_string(status) +
                                   "): nothing is compressed any more");
    EXPECT_EQ(server.Requests().at(1).body, "body");
    outcome = transport->Send(Signal::kTraces, "body", Soon());
    EXPECT_EQ(outcome.kind, Kind::kDelivered);
    EXPECT_EQ(outcome.message, "");
    EXPECT_EQ(Encodings(&server), (std::vector<std::string>{"gzip", "plain", "plain"}));
  }
}

TEST(HttpGzipTest, KeepsItWhereTheReceiverMindsSomethingElse) {
  FaultServer server([&](const FaultRequest&) { return Answer(400, "bad", "Content-Type: text/plain\r\n"); });
  const auto transport = Make(Compressing(server));
  for (int i = 0; i < 2; ++i) {
    const SendOutcome outcome = transport->Send(Signal::kTraces, "body", Soon());
    EXPECT_EQ(outcome.kind, Kind::kRefused);
    EXPECT_EQ(outcome.message, "HTTP 400: bad");
  }
  EXPECT_EQ(Encodings(&server), (std::vector<std::string>{"gzip", "plain", "gzip"}));
}

TEST(HttpGzipTest, DoesNotDoubtAReceiverThatHasTakenIt) {
  int count = 0;
  FaultServer server([&](const FaultRequest&) { return Answer(++count == 1 ? 200 : 400); });
  const auto transport = Make(Compressing(server));
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kRefused);
  EXPECT_EQ(Encodings(&server), (std::vector<std::string>{"gzip", "gzip"}));
}

TEST(HttpGzipTest, ReadsCompressedReplies) {
  GzipBody gzip;
  const std::string body(*gzip.Compress("\x0a\x0c\x08\xac\x02\x12\x07too old"));
  const SendOutcome outcome = SendOnce(Answer(200, body, "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(outcome.rejected, 300u);
  EXPECT_EQ(outcome.message, "too old");
}

TEST(HttpGzipTest, DoesNotUnpackMoreThanFourMebibytesOfAReply) {
  GzipBody gzip;
  const std::string bomb(*gzip.Compress(std::string(200 << 20, '\0')));
  EXPECT_LT(bomb.size(), 1u << 20);
  const SendOutcome outcome = SendOnce(Answer(200, bomb, "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_NE(outcome.message.find("larger than 4 MiB"), std::string::npos);
}

}  // namespace
}  // namespace ferret::otlp

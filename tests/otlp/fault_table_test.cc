// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The table of delivery.md, row by row: a receiver that misbehaves, the whole exporter, and where every span went.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/fault_run.h"

namespace ferret::otlp {
namespace {

using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSoon[] = "timeout=300ms";  // what is not taken is given up
constexpr char kPatiently[] = "timeout=10m";

// A port on which nobody listens, for as long as it lives.
class ClosedPort {
 public:
  ClosedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~ClosedPort() { close(socket_); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  const int socket_;
  int port_ = 0;
};

uint64_t Total(const FaultRun& run) { return Produced(run.records()).size(); }

// A receiver that does the same to every request, and takes none.
void ExpectAllLost(const FaultReply& reply, const std::string& why, const std::string& parameters) {
  SpanLedger there;
  FaultServer server(there.Script([&](const FaultRequest&, size_t) { return reply; }));
  FaultRun run(server.Url(""), parameters + "&batch=100000");
  run.Record();
  run.WaitForLine();
  run.Close();
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
  ASSERT_THAT(run.lines(), SizeIs(Ge(1u)));
  EXPECT_THAT(run.lines().front(), HasSubstr(why));
}

TEST(FaultTable, AReceiverThatRefusesConnectionsIsTriedForTheTimeoutAndTheRestIsCounted) {
  const ClosedPort nobody;
  const SpanLedger there;
  FaultRun run(nobody.Url(), kSoon);
  run.Record();
  run.Close();
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
}

TEST(FaultTable, AReceiverThatRefusesConnectionsLeavesEverythingOnDisk) {
  const ClosedPort nobody;
  const SpanLedger there;
  const TempDir temp;
  FaultRun run(nobody.Url(), "timeout=300ms&batch=100000&spill=" + temp.path());
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there, temp.path());
  EXPECT_EQ(SpansOnDisk(temp.path()), Total(run));
  EXPECT_EQ(run.said_lost(), 0u);
}

TEST(FaultTable, AHostThatHasNoAddressIsTriedForTheTimeout) {
  const SpanLedger there;
  FaultRun run("http://receiver.invalid:4318", kSoon);
  run.Record();
  run.Close();
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
}

TEST(FaultTable, AResetWithinTheBodyIsTriedAgainForTheTimeout) {
  FaultReply reset;
  reset.then = FaultReply::Then::kReset;
  FaultServer::Options options;
  options.before_body = true;
  // In one request that no socket buffer holds.
  SpanLedger there;
  std::atomic<int> tries{0};
  FaultServer server(there.Script([&](const FaultRequest&, size_t) { return ++tries, FaultAnswer(reset); }), options);
  FaultRun run(server.Url(""), "timeout=3s&batch=100000");
  for (int i = 0; i < 400; ++i) run.Record();
  run.WaitForFailures(2);
  run.Close(absl::Milliseconds(500));
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
  EXPECT_GE(tries, 2);
}

// The first answer asks for time, all others take what comes. How long it was from the first request to the second.
std::chrono::steady_clock::duration PauseBefore(int status, const std::string& retry_after) {
  SpanLedger there;
  std::vector<std::chrono::steady_clock::time_point> times;
  FaultServer server(there.Script([&](const FaultRequest&, size_t) {
    times.push_back(std::chrono::steady_clock::now());
    return times.size() > 1 ? Taken() : FaultAnswer(Answer(status, "busy", "Retry-After: " + retry_after + "\r\n"));
  }));
  FaultRun run(server.Url(""), "timeout=10m");
  run.Record();
  run.Flush();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(there.delivered(), Total(run));
  EXPECT_EQ(there.ids(), Produced(1));
  EXPECT_THAT(run.lines(), IsEmpty());
  return times.at(1) - times.at(0);
}

TEST(FaultTable, ABusyReceiverGetsEverythingAfterTheSecondsItAskedFor) {
  for (const int status : {429, 503}) EXPECT_GE(PauseBefore(status, "1"), std::chrono::seconds(1));
}

TEST(FaultTable, ABusyReceiverGetsEverythingAfterTheDateItAskedFor) {
  for (const int status : {429, 503}) {
    const time_t date = time(nullptr) + 3;
    char text[64];
    tm utc;
    std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&date, &utc));
    PauseBefore(status, text);
    EXPECT_GE(absl::Now(), absl::FromTimeT(date));
  }
}

TEST(FaultTable, AReceiverThatWantsLongerThanTheTimeoutIsGivenUpAtOnce) {
  ExpectAllLost(Answer(503, "come tomorrow", "Retry-After: 86400\r\n"), "come tomorrow", kPatiently);
}

TEST(FaultTable, ABadRequestIsLostAndNotSentAgain) {
  SpanLedger there;
  FaultServer server(there.Script([&](const FaultRequest&, size_t) { return FaultAnswer(Answer(400, "no such thing")); }));
  FaultRun run(server.Url(""));
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
  uint64_t sent = 0;
  for (const FaultRequest& request : server.Requests()) sent += request.line == "POST /v1/traces HTTP/1.1";
  EXPECT_EQ(sent, (Total(run) + 47) / 48 + 1) << "the last span has a request of its own, all others are full ones";
  EXPECT_THAT(run.lines().front(), HasSubstr("HTTP 400: no such thing"));
}

TEST(FaultTable, AnUnauthorizedRunIsLostWithTheReceiversWord) {
  ExpectAllLost(Answer(401, "who are you"), "HTTP 401: who are you", kPatiently);
}

TEST(FaultTable, WhatIsTooLargeArrivesInParts) {
  SpanLedger there;
  FaultServer server(there.Script([&](const FaultRequest&, size_t spans) {
    return spans > 5 ? FaultAnswer(Answer(413)) : Taken();
  }));
  FaultRun run(server.Url(""));
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(there.ids(), Produced(1));
  EXPECT_THAT(run.lines(), IsEmpty());
}

TEST(FaultTable, ASingleSpanThatIsTooLargeIsLost) { ExpectAllLost(Answer(413), "HTTP 413", kPatiently); }

TEST(FaultTable, WhatAReceiverTakesInPartIsNotSentAgain) {
  SpanLedger there;
  // partial_success { rejected_spans: 2 error_message: "odd" }
  const std::string partial("\x0a\x07\x08\x02\x12\x03odd", 9);
  FaultServer server(there.Script([&](const FaultRequest&, size_t spans) {
    return spans < 3 ? Taken() : FaultAnswer(Answer(200, partial, "Content-Type: application/x-protobuf\r\n"), true, 2);
  }));
  FaultRun run(server.Url(""));
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_GT(there.rejected(), 0u);
  EXPECT_EQ(there.ids(), Produced(1));
  EXPECT_EQ(run.said_lost(), 0u);
}

TEST(FaultTable, AReceiverThatRefusesGzipGetsEverythingPlain) {
  SpanLedger there;
  FaultServer server(there.Script([&](const FaultRequest& request, size_t) {
    return request.Header("content-encoding") == "gzip" ? FaultAnswer(Answer(415)) : Taken();
  }));
  FaultRun run(server.Url(""), "compression=gzip");
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(there.ids(), Produced(1));
  ASSERT_THAT(run.lines(), SizeIs(1));
  EXPECT_THAT(run.lines()[0], HasSubstr("refuses gzip"));
}

TEST(FaultTable, HeadersThatComeByteByByteAreNoAnswer) {
  FaultReply slow;
  slow.bytes = "HTTP/1.1 200 OK\r\nX-Filler: " + std::string(60000, 'x');
  slow.pace = FaultReply::Pace::kDribble;
  ExpectAllLost(slow, "no reply in time", kSoon);
}

TEST(FaultTable, ABodyThatComesByteByByteIsCutShortAndItsStatusCounts) {
  SpanLedger there;
  FaultReply slow = Answer(200, std::string(60000, 'x'));
  slow.pace = FaultReply::Pace::kDribble;
  FaultServer server(there.Script([&](const FaultRequest&, size_t) { return FaultAnswer(slow, true); }));
  FaultRun run(server.Url(""), "timeout=3s&batch=100000");
  run.Record();
  run.Flush();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(there.ids(), Produced(1));
  EXPECT_THAT(run.lines().front(), HasSubstr("its reply was cut short"));
}

TEST(FaultTable, AReceiverThatNeverAnswersDelaysNothingButItsOwnSpans) {
  FaultReply silent;
  silent.then = FaultReply::Then::kHang;
  ExpectAllLost(silent, "no reply in time", kSoon);
}

TEST(FaultTable, AReceiverThatNeverAnswersLeavesEverythingOnDisk) {
  FaultReply silent;
  silent.then = FaultReply::Then::kHang;
  SpanLedger there;
  const TempDir temp;
  FaultServer server(there.Script([&](const FaultRequest&, size_t) { return FaultAnswer(silent); }));
  FaultRun run(server.Url(""), "timeout=10m&spill=" + temp.path());
  run.Record();
  run.Close(absl::Seconds(4));
  ExpectBalanced(run, there, temp.path());
  EXPECT_EQ(SpansOnDisk(temp.path()), Total(run));
}

TEST(FaultTable, AReceiverOfAnotherAuthorityGetsNothing) {
  const TlsSide tls("tests/otlp/certs/server.pem", "tests/otlp/certs/server.key", "");
  FaultServer::Options options;
  options.tls = &tls;
  SpanLedger there;
  FaultServer server(there.Script([](const FaultRequest&, size_t) { return Taken(); }), options);
  FaultRun run(server.Url(""), "certificate=tests/otlp/certs/other_ca.pem");
  run.Record();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(run.said_lost(), Total(run));
  EXPECT_THAT(run.lines().front(), HasSubstr("certificate"));
  EXPECT_THAT(server.Requests(), IsEmpty());
}

TEST(FaultTable, ARedirectIsNotFollowed) {
  SpanLedger elsewhere;
  FaultServer other(elsewhere.Script([](const FaultRequest&, size_t) { return Taken(); }));
  ExpectAllLost(Answer(307, "", "Location: " + other.Url() + "\r\n"), "redirect", kPatiently);
  EXPECT_EQ(other.connections(), 0);
}

TEST(FaultTable, AnAnswerOfTenMegabytesIsNotRead) {
  ExpectAllLost(Answer(200, std::string(size_t{10} << 20, 'x')), "larger than", kPatiently);
}

TEST(FaultTable, AReceiverThatIsStartedAgainGetsTheRestExactlyOnce) {
  SpanLedger there;
  const auto script = there.Script([](const FaultRequest&, size_t) { return Taken(); });
  auto server = std::make_unique<FaultServer>(script);
  FaultRun run(server->Url(""), "timeout=10m");
  run.Record();
  run.Flush();
  const uint64_t before = there.delivered();
  FaultServer::Options again;
  again.port = server->port();
  server.reset();
  run.Record();
  run.WaitForFailures(1);
  server = std::make_unique<FaultServer>(script, again);
  run.Record();
  run.Flush();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_GT(before, 0u);
  EXPECT_EQ(there.ids(), Produced(3));
  EXPECT_THAT(run.lines(), IsEmpty());
}

TEST(FaultTable, HundredsOfRequestsThatAreRefusedAreOneLineAndOneAtTheEnd) {
  SpanLedger there;
  FaultServer server(there.Script([](const FaultRequest&, size_t) { return FaultAnswer(Answer(400, "no")); }));
  FaultRun run(server.Url(""), "batch=1");
  for (int i = 0; i < 8; ++i) run.Record();
  run.Flush();
  run.Close(absl::Minutes(10));
  ExpectBalanced(run, there);
  EXPECT_EQ(server.Requests().size(), Total(run)) << "each span has a request of its own";
  EXPECT_EQ(run.said_lost(), Total(run));
}

}  // namespace
}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A Send ends by its deadline or when it is cancelled, whatever the receiver does meanwhile.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "exporters/otlp/http/outcome.h"
#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

using std::chrono::milliseconds;

// What a busy machine may need on top; far below what anything here would take that is not ended.
constexpr milliseconds kSlack = std::chrono::seconds(20);
constexpr milliseconds kShort(50);

FaultReply Never(std::string bytes = "", FaultReply::Pace pace = FaultReply::Pace::kAtOnce) {
  FaultReply reply;
  reply.bytes = std::move(bytes);
  reply.pace = pace;
  reply.then = FaultReply::Then::kHang;
  return reply;
}

// An endless reply: a head that never ends, a byte at a time.
FaultReply Dribbling() {
  return Never("HTTP/1.1 200 OK\r\nX-Header: " + std::string(60'000, 'x'), FaultReply::Pace::kDribble);
}

void ExpectEndsByTheDeadline(FaultServer* server) {
  const auto transport = Make(BothTo(*server));
  const auto start = std::chrono::steady_clock::now();
  const SendOutcome outcome = transport->Send(Signal::kTraces, "body", start + kShort);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "no reply in time");
  EXPECT_GE(took, kShort);
  EXPECT_LT(took, kShort + kSlack);
}

TEST(HttpDeadlineTest, EndsAWaitForAReceiverThatNeverAnswers) {
  FaultServer server([](const FaultRequest&) { return Never(); });
  ExpectEndsByTheDeadline(&server);
}

TEST(HttpDeadlineTest, EndsAReplyThatComesTooSlowly) {
  FaultServer server([](const FaultRequest&) { return Dribbling(); });
  ExpectEndsByTheDeadline(&server);
}

TEST(HttpDeadlineTest, EndsAnUploadThatTheReceiverDoesNotRead) {
  FaultServer::Options options;
  options.greeting = FaultReply();
  options.before_body = true;
  // Reads the head and then, by waiting inside the script, nothing more until the client has given up.
  std::mutex mutex;
  std::condition_variable changed;
  bool given_up = false;
  FaultServer server(
      [&](const FaultRequest&) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return given_up; });
        return Never();
      },
      std::move(options));
  const std::string body(64 << 20, 'x');  // more than two sockets' buffers hold
  const SendOutcome outcome = Make(BothTo(server))->Send(Signal::kTraces, body, In(kShort));
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "no reply in time");
  const std::lock_guard lock(mutex);
  given_up = true;
  changed.notify_all();
}

TEST(HttpDeadlineTest, GoesByTheStatusWhereTimeRunsOutInTheBody) {
  const absl::StatusOr<const CurlTable*> curl = LoadCurl();
  ASSERT_TRUE(curl.ok());
  HttpReply reply;
  reply.body = "half";
  for (const HttpReply::End end : {HttpReply::End::kDeadline, HttpReply::End::kCancelled}) {
    reply.end = end;
    reply.status = 200;
    EXPECT_EQ(Judge(**curl, reply, Signal::kTraces, Form::kProtobuf).kind, Kind::kDelivered);
    reply.status = 403;
    EXPECT_EQ(Judge(**curl, reply, Signal::kTraces, Form::kProtobuf).kind, Kind::kRefused);
    reply.status = 0;
    EXPECT_EQ(Judge(**curl, reply, Signal::kTraces, Form::kProtobuf).kind, Kind::kRetryable);
  }
}

TEST(HttpDeadlineTest, ConnectsToNothingWhenTheDeadlineHasPassed) {
  FaultServer server([](const FaultRequest&) { return Answer(200); });
  const SendOutcome outcome = Make(BothTo(server))->Send(Signal::kTraces, "body", In(milliseconds(-1)));
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "no reply in time");
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpDeadlineTest, SendsTheNextRequestOnAFreshConnectionAfterOneThatRanOutOfTime) {
  FaultServer server([](const FaultRequest& request) { return request.connection == 0 ? Never() : Answer(200); });
  const auto transport = Make(BothTo(server));
  EXPECT_EQ(transport->Send(Signal::kTraces, "first", In(kShort)).kind, Kind::kRetryable);
  EXPECT_EQ(transport->Send(Signal::kTraces, "second", Soon()).kind, Kind::kDelivered);
}

// Until a thread of this process waits for something, in Send for the network.
void WaitUntilAsleep(pid_t thread) {
  for (char state = 'R'; state != 'S'; std::this_thread::yield()) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const size_t name_end = stat.rfind(')');
    ASSERT_LT(name_end + 2, stat.size());
    state = stat[name_end + 2];
  }
}

// On a connection that was used before: none of the timers for connecting runs, by which libcurl might wake up itself.
void ExpectCancelEnds(const FaultReply& reply) {
  int count = 0;
  FaultServer server([&](const FaultRequest&) { return ++count == 1 ? Answer(200) : reply; });
  const auto transport = Make(BothTo(server));
  SendOutcome outcome = transport->Send(Signal::kTraces, "body", Soon());
  EXPECT_EQ(outcome.kind, Kind::kDelivered);
  std::atomic<pid_t> thread{0};
  std::thread sender([&] {
    thread = static_cast<pid_t>(syscall(SYS_gettid));
    outcome = transport->Send(Signal::kTraces, "body", In(std::chrono::hours(1)));
  });
  server.WaitForRequests(2);
  WaitUntilAsleep(thread);
  transport->Cancel();
  sender.join();
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "cancelled");
  // And for good.
  outcome = transport->Send(Signal::kTraces, "body", In(std::chrono::hours(1)));
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(server.Requests().size(), 2u);
}

TEST(HttpCancelTest, EndsAWaitForAReceiverThatNeverAnswers) { ExpectCancelEnds(Never()); }

TEST(HttpCancelTest, EndsAReplyThatComesTooSlowly) { ExpectCancelEnds(Dribbling()); }

TEST(HttpCancelTest, EndsAConnectionThatIsNotTakenUp) {
  // The first client occupies the receiver, so the second connects and waits.
  FaultServer server([](const FaultRequest&) { return Never(); });
  const auto first = Make(BothTo(server));
  std::thread occupying([&] { first->Send(Signal::kTraces, "body", In(std::chrono::hours(1))); });
  server.WaitForRequests(1);
  const auto second = Make(BothTo(server));
  std::thread waiting([&] {
    EXPECT_EQ(second->Send(Signal::kTraces, "body", In(std::chrono::hours(1))).kind, Kind::kRetryable);
  });
  second->Cancel();
  waiting.join();
  first->Cancel();
  occupying.join();
}

TEST(HttpCancelTest, NeverMissesACancelWhereverItFallsInASend) {
  FaultServer server([](const FaultRequest&) { return Never(); });
  for (int i = 0; i < 200; ++i) {
    const auto transport = Make(BothTo(server));
    std::thread canceller([&] { transport->Cancel(); });
    EXPECT_EQ(transport->Send(Signal::kTraces, "body", In(std::chrono::hours(1))).kind, Kind::kRetryable);
    canceller.join();
  }
}

}  // namespace
}  // namespace ferret::otlp

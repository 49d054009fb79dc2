// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a request, by what the receiver does.

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

constexpr char kJson[] = "Content-Type: application/json\r\n";
constexpr char kProtobuf[] = "Content-Type: application/x-protobuf\r\n";
constexpr char kText[] = "Content-Type: text/plain\r\n";
constexpr char kHtml[] = "Content-Type: text/html\r\n";

FaultReply Ending(FaultReply reply, FaultReply::Then then) {
  reply.then = then;
  return reply;
}

TEST(HttpOutcomeTest, CountsWhatWasNotTakenInBothEncodings) {
  // partial_success { rejected_spans: 300, error_message: "too old" }
  SendOutcome outcome = SendOnce(Answer(200, "\x0a\x0c\x08\xac\x02\x12\x07too old"));
  EXPECT_EQ(outcome.kind, Kind::kDelivered);
  EXPECT_EQ(outcome.rejected, 300u);
  EXPECT_EQ(outcome.message, "too old");
  for (const char* count : {"\"300\"", "300"}) {
    for (const char* field : {"rejectedSpans", "rejectedDataPoints"}) {
      const std::string body = std::string("{\"partialSuccess\":{\"") + field + "\":" + count +
                               ",\"errorMessage\":\"too old\"},\"later\":[1,{\"x\":null}]}";
      outcome = SendOnce(Answer(202, body, kJson), Form::kJson);
      EXPECT_EQ(outcome.kind, Kind::kDelivered);
      EXPECT_EQ(outcome.rejected, 300u) << body;
      EXPECT_EQ(outcome.message, "too old");
    }
  }
}

TEST(HttpOutcomeTest, TakesEmptyRepliesForFullSuccess) {
  for (const Form form : {Form::kProtobuf, Form::kJson}) {
    for (const FaultReply& reply :
         {Answer(200), Answer(204), Answer(200, "{}", kJson), Answer(200, "{\"partialSuccess\":null}", kJson),
          Answer(200, "{\"partialSuccess\":{\"rejectedSpans\":null,\"errorMessage\":null}}", kJson),
          Answer(200, "", kText)}) {
      const SendOutcome outcome = SendOnce(reply, form);
      EXPECT_EQ(outcome.kind, Kind::kDelivered);
      EXPECT_EQ(outcome.rejected, 0u);
      EXPECT_EQ(outcome.message, "") << reply.bytes;
    }
  }
}

TEST(HttpOutcomeTest, SaysThatASuccessWasNotUnderstoodButDoesNotSendItAgain) {
  for (const FaultReply& reply :
       {Answer(200, "OK", kText), Answer(200, "<html>welcome</html>", kHtml), Answer(200, "\x0a\x7f"),
        Answer(200, "[]", kJson), Answer(200, "{\"partialSuccess\":{\"rejectedSpans\":\"-5\"}}", kJson)}) {
    const SendOutcome outcome = SendOnce(reply);
    EXPECT_EQ(outcome.kind, Kind::kDelivered);
    EXPECT_EQ(outcome.rejected, 0u);
    EXPECT_NE(outcome.message.find("not understood"), std::string::npos) << reply.bytes;
  }
}

TEST(HttpOutcomeTest, RetriesWhatTheSpecificationSays) {
  for (int status : {429, 502, 503, 504}) {
    const SendOutcome outcome = SendOnce(Answer(status, "busy", kText));
    EXPECT_EQ(outcome.kind, Kind::kRetryable) << status;
    EXPECT_EQ(outcome.message, "HTTP " + std::to_string(status) + ": busy");
    EXPECT_FALSE(outcome.retry_after.has_value());
  }
  for (int status : {300, 304, 400, 401, 403, 404, 405, 408, 409, 418, 499, 500, 501, 505, 599}) {
    EXPECT_EQ(SendOnce(Answer(status)).kind, Kind::kRefused) << status;
  }
}

TEST(HttpOutcomeTest, HandsOnWhenTheReceiverWantsToBeAskedAgain) {
  const auto wish = [](const std::string& value) {
    return SendOnce(Answer(503, "", "Retry-After: " + value + "\r\n")).retry_after;
  };
  EXPECT_EQ(wish("7"), absl::Seconds(7));
  EXPECT_EQ(wish("0"), absl::ZeroDuration());
  EXPECT_EQ(wish("99999999999999999999"), absl::Hours(1));
  EXPECT_EQ(wish("Wed, 01 Jan 2120 00:00:00 GMT"), absl::Hours(1));
  EXPECT_EQ(wish("Fri, 31 Dec 1999 23:59:59 GMT"), absl::ZeroDuration());
  EXPECT_EQ(wish("soon"), std::nullopt);
  EXPECT_EQ(wish("-1"), std::nullopt);
  const std::string date =
      absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now() + absl::Minutes(10), absl::UTCTimeZone());
  EXPECT_GT(wish(date), absl::Minutes(8));
  EXPECT_LE(wish(date), absl::Minutes(10));
}

TEST(HttpOutcomeTest, TakesNothingFromTrailers) {
  FaultReply reply;
  reply.bytes =
      "HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nTransfer-Encoding: chunked\r\nTrailer: Retry-After\r\n\r\n"
      "0\r\nRetry-After: 9\r\n\r\n";
  EXPECT_EQ(SendOnce(reply).retry_after, absl::Seconds(2));
}

TEST(HttpOutcomeTest, KnowsARequestThatIsTooLarge) {
  EXPECT_EQ(SendOnce(Answer(413)).kind, Kind::kTooLarge);
  EXPECT_EQ(SendOnce(Answer(400, "http: request body too large\n", kText)).kind, Kind::kTooLarge);
  EXPECT_EQ(SendOnce(Answer(400, "\x12\x1chttp: request body too large", kProtobuf)).kind, Kind::kTooLarge);
}

TEST(HttpOutcomeTest, KnowsAReceiverThatAnswersBeforeTheBodyIsThere) {
  FaultServer::Options options;
  options.before_body = true;
  FaultServer server([](const FaultRequest&) { return Ending(Answer(413), FaultReply::Then::kHang); },
                     std::move(options));
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(Make(BothTo(server))->Send(Signal::kTraces, body, Soon()).kind, Kind::kTooLarge);
}

TEST(HttpOutcomeTest, KnowsAReceiverWithoutMetrics) {
  FaultServer server([](const FaultRequest&) { return Answer(404, "404 page not found", kText); });
  const auto transport = Make(BothTo(server));
  EXPECT_EQ(transport->Send(Signal::kMetrics, "body", Soon()).kind, Kind::kUnsupported);
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kRefused);
}

TEST(HttpOutcomeTest, ShowsTheMessageOfAStatusInBothEncodings) {
  EXPECT_EQ(SendOnce(Answer(400, "\x08\x03\x12\x07no name")).message, "HTTP 400: no name");
  EXPECT_EQ(SendOnce(Answer(400, "{\"code\":3,\"message\":\"no name\",\"details\":[]}", kJson), Form::kJson).message,
            "HTTP 400: no name");
  EXPECT_EQ(SendOnce(Answer(500, "<html>ugly</html>", kHtml)).message, "HTTP 500");
}

TEST(HttpOutcomeTest, MakesOneBoundedLineOfWhatTheReceiverSays) {
  const SendOutcome outcome =
      SendOnce(Answer(400, "a\r\n\tb\x1b[31m \xff\xc2\x9b" + std::string(5000, 'x'), kText));
  EXPECT_EQ(outcome.message.substr(0, 30), "HTTP 400: a b [31m \xef\xbf\xbd xxxxxxx");
  EXPECT_LT(outcome.message.size(), 300u);
}

TEST(HttpOutcomeTest, DoesNotFollowRedirects) {
  FaultServer other([](const FaultRequest&) { return Answer(200); });
  for (int status : {301, 302, 303, 307, 308}) {
    const SendOutcome outcome = SendOnce(Answer(status, "", "Location: " + other.Url() + "\r\n"));
    EXPECT_EQ(outcome.kind, Kind::kRefused);
    EXPECT_NE(outcome.message.find("redirect"), std::string::npos);
  }
  EXPECT_EQ(other.connections(), 0);
}

TEST(HttpOutcomeTest, RetriesWhereTheConnectionBreaksBeforeThereIsAStatus) {
  for (const auto then : {FaultReply::Then::kClose, FaultReply::Then::kReset}) {
    for (const char* bytes : {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 100 Continue\r\n\r\n"}) {
      FaultReply reply;
      reply.bytes = bytes;
      const SendOutcome outcome = SendOnce(Ending(reply, then));
      EXPECT_EQ(outcome.kind, Kind::kRetryable) << bytes;
      EXPECT_NE(outcome.message, "");
    }
  }
}

TEST(HttpOutcomeTest, GoesByTheStatusWhereTheConnectionBreaksAfterIt) {
  for (const auto then : {FaultReply::Then::kClose, FaultReply::Then::kReset}) {
    FaultReply reply;
    reply.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
    SendOutcome outcome = SendOnce(Ending(reply, then));
    EXPECT_EQ(outcome.kind, Kind::kDelivered);
    EXPECT_NE(outcome.message.find("cut short"), std::string::npos);
    reply.bytes = "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 100\r\n\r\nhalf";
    outcome = SendOnce(Ending(reply, then));
    EXPECT_EQ(outcome.kind, Kind::kRetryable);
    EXPECT_EQ(outcome.retry_after, absl::Seconds(3));
  }
}

TEST(HttpOutcomeTest, RetriesWhereNobodyListens) {
  std::string url;
  { url = FaultServer([](const FaultRequest&) { return Answer(200); }).Url(); }
  HttpTransport::Signals signals;
  signals[0].url = url;
  signals[1].enabled = false;
  const SendOutcome outcome = Make(signals)->Send(Signal::kTraces, "body", Soon());
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_NE(outcome.message, "");
}

TEST(HttpOutcomeTest, ReadsAReplyThatComesByteByByte) {
  FaultReply reply = Answer(503, "busy", "Retry-After: 2\r\nContent-Type: text/plain\r\n");
  reply.pace = FaultReply::Pace::kByteWise;
  EXPECT_EQ(SendOnce(reply).message, "HTTP 503: busy");
  reply.bytes = "HTTP/1.1 100 Continue\r\nRetry-After: 9\r\n\r\n" + reply.bytes;
  EXPECT_EQ(SendOnce(reply).retry_after, absl::Seconds(2));
}

TEST(HttpOutcomeTest, TakesNoMoreThanFourMebibytesOfAReply) {
  const SendOutcome small = SendOnce(Answer(200, std::string(4 << 20, 'x'), kText));
  EXPECT_EQ(small.kind, Kind::kDelivered);
  for (int status : {200, 503}) {
    const SendOutcome outcome = SendOnce(Answer(status, std::string(10 << 20, 'x'), kText));
    EXPECT_EQ(outcome.kind, Kind::kRefused);
    EXPECT_NE(outcome.message.find("larger than 4 MiB"), std::string::npos);
  }
}

TEST(HttpOutcomeTest, TakesNoMoreThanItsShareOfHeaders) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "X-Header: " + std::to_string(i) + "\r\n";
  EXPECT_EQ(SendOnce(Answer(200, "", many)).kind, Kind::kRefused);
}

TEST(HttpOutcomeTest, RefusesWhatIsNotHttp) {
  FaultReply reply;
  reply.bytes = "220 mail.example ESMTP\r\n";
  EXPECT_EQ(SendOnce(Ending(reply, FaultReply::Then::kClose)).kind, Kind::kRefused);
}

TEST(HttpOutcomeTest, TakesATransferEncodingThatItCannotReadByItsStatus) {
  const SendOutcome outcome = SendOnce(Answer(200, "not gzip", "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(outcome.kind, Kind::kDelivered);
  EXPECT_NE(outcome.message.find("cut short"), std::string::npos);
}

}  // namespace
}  // namespace ferret::otlp

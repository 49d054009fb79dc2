// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ferret::otlp {
namespace {

using Kind = SendOutcome::Kind;
using testing::HasSubstr;

// google.rpc.Status{details: [Any{RetryInfo{retry_delay: 2s}}]}
const std::string kRetryIn2s = std::string("\x1a\x30\x0a\x28") + "type.googleapis.com/google.rpc.RetryInfo" +
                               "\x12\x04\x0a\x02\x08\x02";

SendOutcome Read(int32_t code, const std::string& message = "", const std::string& details = "",
                 Signal signal = Signal::kTraces) {
  ferret_otlp_grpc_outcome outcome{};
  outcome.code = code;
  outcome.message = {message.data(), message.size()};
  outcome.details = {details.data(), details.size()};
  return ReadGrpcOutcome(signal, outcome);
}

SendOutcome ReadReply(const std::string& reply) {
  ferret_otlp_grpc_outcome outcome{};
  outcome.reply = {reply.data(), reply.size()};
  return ReadGrpcOutcome(Signal::kTraces, outcome);
}

TEST(GrpcOutcome, AnAnswerIsADelivery) {
  EXPECT_EQ(ReadReply("").kind, Kind::kDelivered);
  EXPECT_EQ(ReadReply("").message, "");
  const SendOutcome partial = ReadReply("\x0a\x08\x08\x07\x12\x04late");
  EXPECT_EQ(partial.kind, Kind::kDelivered);
  EXPECT_EQ(partial.rejected, 7u);
  EXPECT_EQ(partial.message, "late");
}

TEST(GrpcOutcome, AnAnswerThatCannotBeReadIsADeliveryWithAWarning) {
  const SendOutcome outcome = ReadReply("\x0a\x7f");
  EXPECT_EQ(outcome.kind, Kind::kDelivered);
  EXPECT_THAT(outcome.message, HasSubstr("not OTLP"));
}

TEST(GrpcOutcome, PassingTroubleIsRetryable) {
  for (int32_t code : {1, 4, 10, 11, 14, 15}) {
    EXPECT_EQ(Read(code).kind, Kind::kRetryable) << code;
    EXPECT_EQ(Read(code, "", kRetryIn2s).retry_after, absl::Seconds(2)) << code;
    EXPECT_FALSE(Read(code).retry_after) << code;
  }
}

TEST(GrpcOutcome, AllOtherTroubleIsARefusal) {
  for (int32_t code : {2, 3, 5, 6, 7, 9, 12, 13, 16, 17, 99, -1}) {
    const SendOutcome outcome = Read(code, "why", kRetryIn2s);
    EXPECT_EQ(outcome.kind, Kind::kRefused) << code;
    EXPECT_FALSE(outcome.retry_after) << code;
    EXPECT_THAT(outcome.message, HasSubstr("why"));
  }
}

TEST(GrpcOutcome, ExhaustedWithARetryInfoIsRetryableAndWithoutOneTooLarge) {
  EXPECT_EQ(Read(8, "slow down", kRetryIn2s).kind, Kind::kRetryable);
  EXPECT_EQ(Read(8, "slow down", kRetryIn2s).retry_after, absl::Seconds(2));
  EXPECT_EQ(Read(8, "grpc: received message larger than max").kind, Kind::kTooLarge);
  EXPECT_EQ(Read(8, "what", "not protobuf").kind, Kind::kTooLarge);
}

TEST(GrpcOutcome, AWishToBeLeftAloneIsNoLongerThanOverHttp) {
  // {retry_delay: 86400s}
  const std::string in_a_day = std::string("\x1a\x32\x0a\x28") + "type.googleapis.com/google.rpc.RetryInfo" +
                               "\x12\x06\x0a\x04\x08\x80\xa3\x05";
  EXPECT_EQ(Read(14, "away", in_a_day).retry_after, kLongestRetryAfter);
}

TEST(GrpcOutcome, AReplyThatIsTooLargeIsNoReasonToSendAgain) {
  ferret_otlp_grpc_outcome outcome{};
  outcome.code = 8;
  outcome.reply_too_large = 1;
  EXPECT_EQ(ReadGrpcOutcome(Signal::kTraces, outcome).kind, Kind::kRefused);
}

TEST(GrpcOutcome, OutOfRangeAboutTheSizeIsTooLarge) {
  EXPECT_EQ(
      Read(11, "Error, message length too large: found 5000014 bytes, the limit is: 4194304 bytes").kind,
      Kind::kTooLarge);
  EXPECT_EQ(Read(11, "offset out of range").kind, Kind::kRetryable);
}

TEST(GrpcOutcome, OnlyMetricsAreUnsupported) {
  EXPECT_EQ(Read(12, "", "", Signal::kMetrics).kind, Kind::kUnsupported);
  EXPECT_EQ(Read(12, "", "", Signal::kTraces).kind, Kind::kRefused);
}

TEST(GrpcOutcome, MessagesAreOneLineThatNamesTheStatus) {
  EXPECT_EQ(Read(14, "over\nloaded").message, "gRPC UNAVAILABLE: over loaded");
  EXPECT_EQ(Read(16).message, "gRPC UNAUTHENTICATED");
  EXPECT_EQ(Read(77, "x").message, "gRPC status 77: x");
}

}  // namespace
}  // namespace ferret::otlp

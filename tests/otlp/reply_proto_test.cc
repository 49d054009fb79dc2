// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/replies/reply_proto.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "exporters/otlp/replies/one_line.h"
#include "exporters/otlp/spans/wire.h"
#include "runtime/text/json_text.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

std::string Varint(uint32_t field, uint64_t value) {
  char bytes[kMaxVarintBytes];
  return std::string(1, Tag(field, kVarint)) + std::string(bytes, PutVarint(bytes, value));
}

std::string Bytes(uint32_t field, const std::string& value) {
  std::string bytes(FieldBytes(value.size()), '\0');
  PutField(bytes.data(), Tag(field, kBytes), value);
  return bytes;
}

std::string RetryInfo(int64_t seconds, int32_t nanos, const std::string& host = "type.googleapis.com") {
  const std::string delay =
      Varint(1, static_cast<uint64_t>(seconds)) + Varint(2, static_cast<uint64_t>(int64_t{nanos}));
  return Bytes(3, Bytes(1, host + "/google.rpc.RetryInfo") + Bytes(2, Bytes(1, delay)));
}

// All that can follow in a message and means nothing here.
std::string UnknownFields() {
  return Varint(9, 1) + Bytes(10, "abc") + std::string(1, Tag(11, kFixed64)) + "12345678" +
         std::string(1, Tag(12, kFixed32)) + "1234";
}

TEST(ReadPartialSuccess, AnEmptyAnswerMeansThatEverythingWasTaken) {
  const auto partial = ReadPartialSuccess("");
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 0u);
  EXPECT_EQ(partial->message, "");
}

TEST(ReadPartialSuccess, CountAndTextAreRead) {
  const auto partial = ReadPartialSuccess(Bytes(1, Varint(1, 300) + Bytes(2, "no room")));
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 300u);
  EXPECT_EQ(partial->message, "no room");
}

TEST(ReadPartialSuccess, UnknownFieldsAreSkippedAndTheLastOfAFieldCounts) {
  const auto partial = ReadPartialSuccess(UnknownFields() + Bytes(1, Varint(1, 3) + UnknownFields() + Varint(1, 4)) +
                                          Bytes(1, Bytes(2, "later")) + UnknownFields());
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 4u);
  EXPECT_EQ(partial->message, "later");
}

TEST(ReadPartialSuccess, ANegativeCountIsNone) {
  const auto partial = ReadPartialSuccess(Bytes(1, Varint(1, static_cast<uint64_t>(-5))));
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 0u);
}

TEST(ReadPartialSuccess, WhatIsNotProtobufIsRefused) {
  const std::vector<std::string> bad = {
      "<html>not OTLP</html>",
      std::string(1, Tag(1, kBytes)),                                // no length
      std::string(1, Tag(1, kBytes)) + "\x05" + "abcd",              // a length beyond the end
      std::string(1, Tag(1, kBytes)) + std::string(9, '\xff') + "\x01",  // 2^64 - 1 bytes
      std::string(1, Tag(1, kVarint)) + std::string(11, '\x80'),     // a number that does not end
      std::string(1, Tag(1, kVarint)) + std::string(9, '\xff') + "\x02",  // more than 64 bits
      std::string(1, Tag(9, kFixed64)) + "1234567",
      std::string(1, Tag(9, kFixed32)) + "123",
      std::string(1, '\x0b'),                         // a group
      std::string(2, '\0'),                           // field 0
      Bytes(1, std::string(1, Tag(2, kBytes)) + "\x05"),  // cut short inside
  };
  for (const std::string& bytes : bad) EXPECT_FALSE(ReadPartialSuccess(bytes)) << HexText(bytes);
}

TEST(ReadRpcStatus, CodeTextAndDelayAreRead) {
  const auto status = ReadRpcStatus(Varint(1, 14) + Bytes(2, "overloaded") + RetryInfo(3, 500'000'000));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 14);
  EXPECT_EQ(status->message, "overloaded");
  EXPECT_EQ(status->retry_delay, absl::Milliseconds(3500));
}

TEST(ReadRpcStatus, OtherDetailsAreSkipped) {
  const std::string bad_request = Bytes(3, Bytes(1, "type.googleapis.com/google.rpc.BadRequest") + Bytes(2, "\xff\xff"));
  const auto without = ReadRpcStatus(bad_request + UnknownFields());
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->retry_delay);
  const auto with = ReadRpcStatus(bad_request + RetryInfo(1, 0, "example.com/types") + bad_request);
  ASSERT_TRUE(with);
  EXPECT_EQ(with->retry_delay, absl::Seconds(1));
}

TEST(ReadRpcStatus, ARetryInfoWithoutADelayMeansAtOnce) {
  const auto status = ReadRpcStatus(Bytes(3, Bytes(1, "type.googleapis.com/google.rpc.RetryInfo")));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->retry_delay, absl::ZeroDuration());
}

TEST(ReadRpcStatus, ADetailThatCannotBeReadIsAsGoodAsNone) {
  const auto status = ReadRpcStatus(
      Varint(1, 14) + Bytes(3, Bytes(1, "type.googleapis.com/google.rpc.RetryInfo") + Bytes(2, "\x0a\x7f")));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 14);
  EXPECT_FALSE(status->retry_delay);
}

TEST(ReadRpcStatus, DelaysAreNeverNegativeNorBeyondAllBounds) {
  const auto delay = [](int64_t seconds, int32_t nanos) {
    const auto status = ReadRpcStatus(RetryInfo(seconds, nanos));
    return status ? status->retry_delay : std::nullopt;
  };
  EXPECT_EQ(delay(-1, -1), absl::ZeroDuration());
  EXPECT_EQ(delay(std::numeric_limits<int64_t>::min(), 0), absl::ZeroDuration());
  EXPECT_EQ(delay(std::numeric_limits<int64_t>::max(), 0), absl::Seconds(315'576'000'000));
  EXPECT_EQ(delay(0, 1), absl::Nanoseconds(1));
}

TEST(OneLine, ControlCharactersAndIllFormedBytesAreReplacedAndLongTextsAreCut) {
  EXPECT_EQ(OneLine("a\nb\tc\x7f" "d\r\n", kMostMessageBytes), "a b c d");
  EXPECT_TRUE(IsUtf8(OneLine("\xff\xfe broken", kMostMessageBytes)));
  EXPECT_EQ(OneLine("", kMostMessageBytes), "");
  EXPECT_EQ(OneLine(std::string(5000, 'x'), 400), std::string(400, 'x') + "...");
}

// Every cut and every change of a byte of good answers, and noise: read or refused, never more than that. The sanitizers
// watch the bounds; each input lies in a block of exactly its size.
TEST(ResponseProto, AnyBytesAreReadOrRefused) {
  const std::string good[] = {
      Bytes(1, Varint(1, 300) + Bytes(2, "no room")) + UnknownFields(),
      Varint(1, 14) + Bytes(2, "overloaded") + RetryInfo(3, 5) + UnknownFields(),
  };
  std::mt19937_64 random(20261130);
  size_t read = 0;
  size_t refused = 0;
  const auto feed = [&](const std::string& text) {
    const std::vector<char> block(text.begin(), text.end());
    const std::string_view bytes(block.data(), block.size());
    const auto partial = ReadPartialSuccess(bytes);
    const auto status = ReadRpcStatus(bytes);
    EXPECT_TRUE(!partial || partial->message.size() <= bytes.size());
    EXPECT_TRUE(!status || status->message.size() <= bytes.size());
    EXPECT_TRUE(!status || !status->retry_delay || *status->retry_delay >= absl::ZeroDuration());
    ++(partial || status ? read : refused);
  };
  for (const std::string& bytes : good) {
    for (size_t size = 0; size <= bytes.size(); ++size) feed(bytes.substr(0, size));
    for (int round = 0; round < 50'000; ++round) {
      std::string changed = bytes;
      for (uint64_t changes = random() % 3 + 1; changes > 0; --changes) {
        changed[random() % changed.size()] = static_cast<char>(random());
      }
      feed(changed);
    }
  }
  for (int round = 0; round < 50'000; ++round) {
    std::string noise(random() % 40, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    feed(noise);
  }
  EXPECT_GT(read, 10'000u);
  EXPECT_GT(refused, 10'000u);
}

}  // namespace
}  // namespace ferret::otlp

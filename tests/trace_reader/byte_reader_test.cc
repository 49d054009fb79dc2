// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/byte_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/trace_reader/trace_texts.h"

namespace ferret {
namespace {

struct ReadBack {
  std::string text;
  absl::Status status;
};

ReadBack ReadAll(std::string_view stored, size_t step) {
  ReadBack back;
  const auto reader = ByteReader::OfBytes(stored);
  std::string buffer(step, '\0');
  for (;;) {
    const absl::StatusOr<size_t> count = reader->Read(buffer.data(), buffer.size());
    if (!count.ok()) {
      back.status = count.status();
      return back;
    }
    if (*count == 0) return back;
    back.text.append(buffer, 0, *count);
  }
}

std::string Text(size_t lines) {
  std::string text;
  for (size_t i = 0; i < lines; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

TEST(ByteReader, GivesThePlainTextOfPlainAndOfCompressedBytes) {
  const std::string text = Text(40000);  // several buffers
  for (const size_t step : {1 << 10, 1 << 16, 1 << 20}) {
    EXPECT_EQ(ReadAll(text, step).text, text);
    const ReadBack back = ReadAll(Gzip(text), step);
    EXPECT_TRUE(back.status.ok()) << back.status;
    EXPECT_EQ(back.text, text);
  }
}

TEST(ByteReader, JoinsMembersAndSkipsPaddingBehindThem) {
  const std::string text = Text(20000);
  std::string stored;
  for (size_t at = 0; at < text.size(); at += 5000) stored += Gzip(std::string_view(text).substr(at, 5000));
  stored += Gzip("");
  stored += std::string(700, '\0');
  const ReadBack back = ReadAll(stored, 1 << 16);
  EXPECT_TRUE(back.status.ok()) << back.status;
  EXPECT_EQ(back.text, text);
}

TEST(ByteReader, SaysThatCompressedDataEndsEarlyAndGivesWhatIsBefore) {
  const std::string text = Text(20000);
  const std::string stored = Gzip(text);
  for (const size_t kept : {size_t{5}, stored.size() / 2, stored.size() - 1}) {
    const ReadBack back = ReadAll(std::string_view(stored).substr(0, kept), 1 << 10);
    EXPECT_TRUE(absl::IsDataLoss(back.status)) << kept << ": " << back.status;
    EXPECT_EQ(back.text, text.substr(0, back.text.size()));
    EXPECT_EQ(back.text.empty(), kept == 5);
  }
}

TEST(ByteReader, RefusesDamagedDataAndWhatFollowsIt) {
  std::string damaged = Gzip(Text(20000));
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // of the checksum
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(damaged, 1 << 16).status));
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Gzip("text") + "garbage", 1 << 16).status));
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(Gzip("text") + "\x1f", 1 << 16).status));
}

TEST(ByteReader, TakesAnythingWithoutTheMagicNumberForText) {
  for (const std::string text : {"", "\x1f", "{", "\x1fx"}) EXPECT_EQ(ReadAll(text, 16).text, text);
}

TEST(ByteReader, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(ByteReader::OpenFile("/nowhere/trace.json").status().message(), "No such file or directory");
  EXPECT_EQ(ByteReader::OpenFile("/").status().message(), "Is a directory");
}

}  // namespace
}  // namespace ferret

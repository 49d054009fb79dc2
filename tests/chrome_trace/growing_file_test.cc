// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/growing_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <random>

#include "runtime/export/file/document_file.h"
#include "runtime/export/file/unit_buffer.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

constexpr char kHead[] = "[\n";

// One JSON value and the comma behind it.
std::string Unit(std::mt19937* random) {
  return "{\"unit\": \"" + std::string((*random)() % 300, 'x') + "\"},\n";
}

// Grows now and then, as counts do.
std::string Tail(size_t units) { return "{\"units\": " + std::to_string(units) + "}\n]\n"; }

// The file in memory, with every state it goes through shown to an observer: after each page of a write, as the kernel
// would leave it if the writer were killed there.
class ObservedIo final : public FileIo {
 public:
  explicit ObservedIo(std::function<void(const std::string&)> observe) : observe_(std::move(observe)) {}

  ssize_t PWrite(int, const char* data, size_t size, int64_t offset) override {
    EXPECT_LE(size, kPieceBytes);
    const size_t end = static_cast<size_t>(offset) + size;
    for (size_t at = static_cast<size_t>(offset); at < end;) {
      const size_t stop = std::min(end, (at / kPageBytes + 1) * kPageBytes);
      if (image.size() < stop) image.resize(stop, '\0');
      image.replace(at, stop - at, data + (at - static_cast<size_t>(offset)), stop - at);
      at = stop;
      observe_(image);
    }
    return static_cast<ssize_t>(size);
  }
  int Truncate(int, int64_t size) override {
    image.resize(static_cast<size_t>(size));
    observe_(image);
    return 0;
  }

  std::string image;

 private:
  const std::function<void(const std::string&)> observe_;
};

bool IsDocument(const std::string& text) { return !ParseJson(text).HasParseError(); }

// A complete document and then a second end: what a kill in the one moment leaves in which the tail moves.
bool HasTwoTails(const std::string& text) {
  rapidjson::Document document;
  rapidjson::StringStream stream(text.c_str());
  document.ParseStream<rapidjson::kParseStopWhenDoneFlag>(stream);
  return !document.HasParseError() && !IsDocument(text);
}

TEST(GapFile, IsADocumentAfterEveryPageOfEveryWriteButWhileTheTailMoves) {
  std::mt19937 random(3);
  int two_tails = 0;
  int states = 0;
  ObservedIo io([&](const std::string& image) {
    ++states;
    if (IsDocument(image)) return;
    ++two_tails;
    EXPECT_TRUE(HasTwoTails(image)) << image.size();
  });
  std::unique_ptr<GrowingFile> file = NewGapFile(-1, io);
  size_t units = 0;
  ASSERT_TRUE(file->Append(kHead, Tail(0)).ok());
  UnitBuffer buffer([&] {
    ASSERT_TRUE(file->Append(buffer.piece(), Tail(units)).ok());
    buffer.Clear();
  });
  buffer.Reset(sizeof(kHead) - 1, true);
  std::string last;
  while (units < 2500) {
    const std::string unit = Unit(&random);
    char* at = buffer.Begin(unit.size());
    memcpy(at, unit.data(), unit.size());
    buffer.End(at + unit.size());
    ++units;
    if (random() % 20 == 0) {
      ASSERT_TRUE(file->Append(buffer.piece(), Tail(units)).ok());
      buffer.Clear();
    }
  }
  ASSERT_TRUE(file->Append(buffer.piece(), Tail(units)).ok());
  const int moves = two_tails;
  ASSERT_TRUE(file->Finish(Tail(units)).ok());
  EXPECT_GT(states, 300);
  EXPECT_GE(moves, 3);
  EXPECT_LE(moves, 10) << "the tail should move once per gap";
  const rapidjson::Document document = ParseJson(io.image);
  ASSERT_FALSE(document.HasParseError());
  EXPECT_EQ(document.Size(), units + 1);
  EXPECT_EQ(document[document.Size() - 1]["units"].GetUint64(), units);
  EXPECT_EQ(io.image.substr(io.image.size() - Tail(units).size()), Tail(units));
}

TEST(GapFile, ATailLongerThanItsPageStillCloses) {
  ObservedIo io([](const std::string&) {});
  std::unique_ptr<GrowingFile> file = NewGapFile(-1, io);
  ASSERT_TRUE(file->Append(kHead, "1]").ok());
  for (size_t length : {100, 5000, 20000, 10}) {
    ASSERT_TRUE(file->Append("2,\n", "\"" + std::string(length, 'x') + "\"]").ok());
    EXPECT_TRUE(IsDocument(io.image)) << length;
  }
  ASSERT_TRUE(file->Finish("3]").ok());
  EXPECT_EQ(io.image, "[\n2,\n2,\n2,\n2,\n3]");
}

// A disk of `limit` bytes: writes beyond it are cut short or fail.
class SmallDisk final : public FileIo {
 public:
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    if (offset + static_cast<int64_t>(size) > limit) {
      if (offset >= limit) {
        errno = ENOSPC;
        return -1;
      }
      size = static_cast<size_t>(limit - offset);
    }
    return FileIo::PWrite(fd, data, size, offset);
  }

  int64_t limit = 0;
};

class FullDisk : public testing::TestWithParam<bool> {};

TEST_P(FullDisk, LeavesADocumentAndTheRestFollowsWhenThereIsSpaceAgain) {
  const bool gzip = GetParam();
  TempDir folder;
  SmallDisk disk;
  disk.limit = 40000;
  DocumentFileOptions options;
  options.path = folder / "a.json";
  options.gzip = gzip;
  options.io = &disk;
  const std::string temporary = options.path + ".tmp";
  auto file = DocumentFile::Open(options);
  ASSERT_TRUE(file.ok()) << file.status();
  std::mt19937 random(5);
  std::string text = kHead;
  size_t units = 0;
  ASSERT_TRUE((*file)->Append(text, Tail(0)).ok());
  const auto append = [&] {
    std::string piece;
    for (int i = 0; i < 40; ++i) {
      // Random letters, so that gzip needs space as well.
      std::string unit = "\"";
      for (int k = 0; k < 200; ++k) unit += static_cast<char>('a' + random() % 26);
      piece += unit + "\",\n";
      ++units;
    }
    text += piece;
    return (*file)->Append(piece, Tail(units));
  };
  const auto read = [&] { return gzip ? Gunzip(ReadFile(temporary)).text : ReadFile(temporary); };

  absl::Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) {
    status = append();
    EXPECT_TRUE(IsDocument(read())) << i;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT((*file)->backlog_bytes(), 0u);
  EXPECT_FALSE(append().ok());
  EXPECT_TRUE(IsDocument(read()));
  EXPECT_FALSE((*file)->Finish(Tail(units)).ok());
  EXPECT_TRUE(IsDocument(read()));

  disk.limit = 10000000;
  ASSERT_TRUE((*file)->Retry().ok());
  EXPECT_EQ((*file)->backlog_bytes(), 0u);
  ASSERT_TRUE(append().ok());
  ASSERT_TRUE((*file)->Finish(Tail(units)).ok());
  const std::string bytes = ReadFile(options.path);
  EXPECT_EQ(gzip ? Gunzip(bytes).text : bytes, text + Tail(units));
}

INSTANTIATE_TEST_SUITE_P(PlainAndGzip, FullDisk, testing::Bool());

TEST(GzipFile, IsOneWholeMemberAfterEveryPiece) {
  TempDir folder;
  for (int level : {1, 6, 9}) {
    DocumentFileOptions options;
    options.path = folder / "a.json.gz";
    options.gzip = true;
    options.gzip_level = level;
    auto file = DocumentFile::Open(options);
    ASSERT_TRUE(file.ok()) << file.status();
    std::mt19937 random(11);
    std::string text;
    for (size_t units = 0; units < 200; ++units) {
      std::string piece = units == 0 ? kHead : Unit(&random);
      if (units % 50 == 49) piece += std::string(100000, ' ');
      text += piece;
      ASSERT_TRUE((*file)->Append(piece, Tail(units)).ok());
      const Inflated now = Gunzip(ReadFile(options.path + ".tmp"));
      ASSERT_TRUE(now.whole) << units;
      ASSERT_EQ(now.text, text + Tail(units));
    }
    ASSERT_TRUE((*file)->Finish(std::string(70000, ' ') + Tail(1)).ok());
    const Inflated last = Gunzip(ReadFile(options.path));
    EXPECT_TRUE(last.whole);
    EXPECT_EQ(last.text, text + std::string(70000, ' ') + Tail(1));
  }
}

TEST(StreamFile, WritesTheTailOnlyAtTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::unique_ptr<GrowingFile> file = NewStreamFile(ends[1], SystemFileIo());
  ASSERT_TRUE(file->Append("[1,", "0]").ok());
  ASSERT_TRUE(file->Append("2,", "0]").ok());
  ASSERT_TRUE(file->Finish("3]").ok());
  close(ends[1]);
  char text[64];
  EXPECT_EQ(std::string(text, static_cast<size_t>(read(ends[0], text, sizeof(text)))), "[1,2,3]");
  close(ends[0]);
}

TEST(StreamFile, NothingFollowsAPieceThatWasTakenInPartAndThenGivenUp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  std::unique_ptr<GrowingFile> file = NewStreamFile(ends[1], SystemFileIo());
  EXPECT_FALSE(file->Append(std::string(300000, 'x'), "").ok());
  file->GiveUp();
  char text[65536];
  size_t got = 0;
  for (ssize_t count; (count = read(ends[0], text, sizeof(text))) > 0;) got += static_cast<size_t>(count);
  EXPECT_GT(got, 0u);
  EXPECT_FALSE(file->Finish("]").ok());
  EXPECT_EQ(read(ends[0], text, sizeof(text)), -1) << "there is room, but a tail would close nothing";
  close(ends[0]);
  close(ends[1]);
}

TEST(StreamFile, AReaderThatWentAwayIsAnErrorAndNoSignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::unique_ptr<GrowingFile> file = NewStreamFile(ends[1], SystemFileIo());
  EXPECT_FALSE(file->Append("[1,", "0]").ok());  // SIGPIPE would end this test
  EXPECT_FALSE(file->Retry().ok());
  close(ends[1]);
}

TEST(StreamFile, ANonBlockingPipeGetsEachByteOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  std::unique_ptr<GrowingFile> file = NewStreamFile(ends[1], SystemFileIo());
  const std::string piece(300000, 'x');
  EXPECT_FALSE(file->Append(piece + "y", "").ok());
  std::string got;
  char text[65536];
  for (int i = 0; i < 100 && got.size() <= piece.size(); ++i) {
    for (ssize_t count; (count = read(ends[0], text, sizeof(text))) > 0;) got.append(text, static_cast<size_t>(count));
    if (got.size() <= piece.size()) file->Retry().IgnoreError();
  }
  EXPECT_EQ(got, piece + "y");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace ferret

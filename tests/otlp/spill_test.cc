// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "exporters/otlp/delivery/spill_lock.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret::otlp {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> paths;
  if (!std::filesystem::exists(directory)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Takes `room` bytes in all, then fails as a full disk does, with a short count first.
class FullDisk final : public FileIo {
 public:
  explicit FullDisk(size_t room_at_first) : room(room_at_first) {}
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    if (room == 0) {
      errno = ENOSPC;
      return -1;
    }
    const ssize_t count = pwrite(fd, data, std::min(size, room), offset);
    room -= static_cast<size_t>(count);
    return count;
  }
  int Truncate(int fd, int64_t size) override {
    if (truncates) return ftruncate(fd, size);
    errno = EIO;
    return -1;
  }
  size_t room;
  bool truncates = true;
};

class SpillTest : public ::testing::Test {
 protected:
  SpillOptions Options(uint64_t max_bytes = 1 << 20) { return {directory_, max_bytes, nullptr}; }
  absl::Status Append(Spill* spill, const std::string& body, uint64_t items = 1) {
    return spill->Append(Signal::kTraces, Form::kProtobuf, items, body);
  }
  std::string Pop(Spill* spill) {
    const auto request = spill->Front();
    EXPECT_TRUE(request.ok()) << request.status();
    spill->PopFront();
    return request.ok() ? request->body : "";
  }

  TempDir temp_;
  const std::string directory_ = temp_ / "spill";
};

TEST_F(SpillTest, MakesNothingBeforeThereIsSomethingToKeep) {
  { Spill spill(Options()); }
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(SpillTest, GivesBackWhatItGotInItsOrder) {
  Spill spill(Options());
  ASSERT_TRUE(spill.Append(Signal::kMetrics, Form::kJson, 7, "first").ok());
  ASSERT_TRUE(Append(&spill, "", 0).ok());
  ASSERT_TRUE(Append(&spill, std::string(100000, '\0'), 3).ok());
  EXPECT_EQ(spill.front_signal(), Signal::kMetrics);
  EXPECT_EQ(spill.front_items(), 7u);
  const auto first = spill.Front();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->signal, Signal::kMetrics);
  EXPECT_EQ(first->form, Form::kJson);
  EXPECT_EQ(first->items, 7u);
  EXPECT_EQ(first->body, "first");
  spill.PopFront();
  EXPECT_EQ(Pop(&spill), "");
  EXPECT_EQ(Pop(&spill), std::string(100000, '\0'));
  EXPECT_TRUE(spill.empty());
  EXPECT_EQ(spill.bytes(), 0u);
  EXPECT_THAT(FilesIn(directory_), IsEmpty());
}

TEST_F(SpillTest, ItsFilesAreForItsUserAlone) {
  Spill spill(Options());
  ASSERT_TRUE(Append(&spill, "x").ok());
  const auto files = FilesIn(directory_);
  ASSERT_THAT(files, SizeIs(1));
  struct stat about = {};
  ASSERT_EQ(stat(files[0].c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(SpillTest, TwoOfAProcessShareNoFile) {
  Spill a(Options()), b(Options());
  ASSERT_TRUE(Append(&a, "of a").ok());
  ASSERT_TRUE(Append(&b, "of b").ok());
  EXPECT_THAT(FilesIn(directory_), SizeIs(2));
  EXPECT_EQ(Pop(&a), "of a");
  EXPECT_EQ(Pop(&b), "of b");
}

TEST_F(SpillTest, AFileOfAProcessThatLivesIsLockedForOthers) {
  auto spill = std::make_unique<Spill>(Options());
  ASSERT_TRUE(Append(spill.get(), "x").ok());
  const std::string path = FilesIn(directory_).at(0);
  const auto locked = [&] {
    const pid_t child = fork();
    if (child == 0) _exit(absl::IsFailedPrecondition(LockSpillFile(open(path.c_str(), O_RDWR))) ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  };
  EXPECT_TRUE(locked());
  spill.reset();
  EXPECT_FALSE(locked());
}

TEST_F(SpillTest, TakesNoMoreThanItMayAndHasRoomAgainWhenFilesAreDone) {
  constexpr uint64_t kMost = 200'000;
  Spill spill(Options(kMost));
  const std::string body(10'000, 'x');
  int taken = 0;
  while (Append(&spill, body).ok()) ++taken;
  EXPECT_EQ(taken, 19);
  EXPECT_TRUE(absl::IsResourceExhausted(Append(&spill, body)));
  uint64_t on_disk = 0;
  for (const std::string& path : FilesIn(directory_)) on_disk += std::filesystem::file_size(path);
  EXPECT_EQ(on_disk, spill.bytes());
  EXPECT_LE(on_disk, kMost);
  const size_t files = FilesIn(directory_).size();
  EXPECT_GE(files, 3u);
  for (int i = 0; i < 7; ++i) Pop(&spill);  // the whole first file
  EXPECT_EQ(FilesIn(directory_).size(), files - 1);
  EXPECT_TRUE(Append(&spill, body).ok());
}

TEST_F(SpillTest, WhatDoesNotFitTheDiskIsAnErrorAndTheRestIsWhole) {
  for (const bool truncates : {true, false}) {
    FullDisk disk(200);
    disk.truncates = truncates;
    SpillOptions options = Options();
    options.directory += truncates ? "-a" : "-b";
    options.io = &disk;
    Spill spill(options);
    ASSERT_TRUE(Append(&spill, "before").ok());
    const absl::Status status = Append(&spill, std::string(1000, 'x'));
    EXPECT_TRUE(absl::IsUnavailable(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device"));
    disk.room = 10000;
    ASSERT_TRUE(Append(&spill, "after").ok());
    for (const std::string& path : FilesIn(options.directory)) {
      const auto contents = ReadSpillFile(ReadFile(path));
      ASSERT_TRUE(contents.ok());
      EXPECT_EQ(contents->damaged_bytes > 0, !truncates && contents->entries[0].size == kSpillRecordHead + 6);
    }
    EXPECT_EQ(Pop(&spill), "before");
    EXPECT_EQ(Pop(&spill), "after");
    EXPECT_THAT(FilesIn(options.directory), IsEmpty());
    EXPECT_EQ(spill.bytes(), 0u);
  }
}

TEST_F(SpillTest, ADirectoryThatCannotBeMadeIsAnErrorThatNamesIt) {
  WriteFile(directory_, "a file");
  Spill spill(Options());
  const absl::Status status = Append(&spill, "x");
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory_));
  EXPECT_TRUE(spill.empty());
}

TEST_F(SpillTest, WhatWasTakenOutIsMarkedInTheFileThatAProcessLeaves) {
  {
    Spill spill(Options());
    for (const char* body : {"one", "two", "three"}) ASSERT_TRUE(Append(&spill, body).ok());
    spill.PopFront();
  }
  const auto files = FilesIn(directory_);
  ASSERT_THAT(files, SizeIs(1));
  const std::string bytes = ReadFile(files[0]);
  const auto contents = ReadSpillFile(bytes);
  ASSERT_TRUE(contents.ok());
  ASSERT_THAT(contents->entries, SizeIs(3));
  EXPECT_TRUE(contents->entries[0].taken);
  EXPECT_FALSE(contents->entries[1].taken);
  const SpillEntry& entry = contents->entries[2];
  EXPECT_EQ(ParseSpillRecord(bytes.substr(entry.offset, entry.size))->body, "three");
}

TEST_F(SpillTest, AFileThatWasDamagedUnderItIsAnError) {
  Spill spill(Options());
  ASSERT_TRUE(Append(&spill, "one").ok());
  ASSERT_TRUE(Append(&spill, "two").ok());
  const std::string path = FilesIn(directory_).at(0);
  std::string bytes = ReadFile(path);
  bytes[kSpillHeadBytes + kSpillRecordHead] = 'x';
  bytes.pop_back();
  WriteFile(path, bytes);
  EXPECT_TRUE(absl::IsDataLoss(spill.Front().status()));
  spill.PopFront();
  EXPECT_TRUE(absl::IsDataLoss(spill.Front().status()));
}

std::string RecordOf(const std::string& body) {
  return SpillRecordHead(Signal::kTraces, Form::kJson, 5, body) + body;
}

TEST(SpillFormat, ATornLastRecordIsSkipped) {
  const std::string whole = SpillHead() + RecordOf("first") + RecordOf("second");
  const size_t first_end = (SpillHead() + RecordOf("first")).size();
  for (size_t size = first_end; size < whole.size(); ++size) {
    const auto contents = ReadSpillFile(whole.substr(0, size));
    ASSERT_TRUE(contents.ok());
    EXPECT_THAT(contents->entries, SizeIs(1));
    EXPECT_EQ(contents->damaged_bytes, size - first_end);
  }
}

TEST(SpillFormat, ForeignBytesBetweenRecordsCostNoRecord) {
  const std::string noise("\xf5SPL and something else \xf5", 25);
  const auto contents = ReadSpillFile(SpillHead() + noise + RecordOf("a") + noise + RecordOf("b") + noise);
  ASSERT_TRUE(contents.ok());
  EXPECT_THAT(contents->entries, SizeIs(2));
  EXPECT_EQ(contents->damaged_bytes, 3 * noise.size());
  EXPECT_EQ(contents->entries[1].items, 5u);
  EXPECT_EQ(contents->entries[1].form, Form::kJson);
}

// The head of a record of `size` bytes in all that has a wrong checksum.
std::string BadHeadOf(size_t size) {
  std::string head = SpillRecordHead(Signal::kTraces, Form::kJson, 1, "");
  const size_t length = size - kSpillRecordHead;
  for (size_t i = 0; i < 4; ++i) head[4 + i] = static_cast<char>(length >> 8 * i & 0xff);
  return head;
}

TEST(SpillFormat, BadRecordsInsideEachOtherTakeBoundedWorkAndHideNoGoodOneBehindThem) {
  for (const bool end_at_a_record : {true, false}) {
    constexpr size_t kHeads = 8000;
    constexpr size_t kTail = 500'000;  // a part of all of them: 4 GB
    std::string file = SpillHead();
    for (size_t i = kHeads; i > 0; --i) file += BadHeadOf(i * kSpillRecordHead + kTail - (end_at_a_record ? 0 : 1));
    file.append(kTail, 'x');
    file += RecordOf("a") + RecordOf("b") + BadHeadOf(100) + std::string(100 - kSpillRecordHead, 'x') + RecordOf("c");
    const auto contents = ReadSpillFile(file);
    ASSERT_TRUE(contents.ok());
    EXPECT_THAT(contents->entries, SizeIs(3));
    EXPECT_LE(contents->checked_bytes, file.size() + (uint64_t{64} << 20));
  }
}

TEST(SpillFormat, ARecordIsNotSummedUpTwice) {
  const std::string records = RecordOf("first") + RecordOf("second");
  EXPECT_EQ(ReadSpillFile(SpillHead() + records)->checked_bytes, records.size());
}

TEST(SpillFormat, OtherFilesAndOtherVersionsAreToldApart) {
  EXPECT_THAT(std::string(ReadSpillFile("").status().message()), HasSubstr("not a file of spilled requests"));
  EXPECT_FALSE(ReadSpillFile("{\"resourceSpans\":[]}").ok());
  std::string newer = SpillHead();
  newer[8] = 2;
  EXPECT_THAT(std::string(ReadSpillFile(newer).status().message()), HasSubstr("version 2"));
}

TEST(SpillFormat, NoByteOfARecordButItsStateCanChangeUnnoticed) {
  const std::string record = RecordOf("body");
  for (size_t at = 0; at < record.size(); ++at) {
    std::string changed = record;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(ParseSpillRecord(changed).ok(), at == kSpillStateAt) << at;
  }
}

TEST(SpillFormatFuzz, WhateverIsInAFileOnlyWhatWasWrittenIsRead) {
  std::mt19937_64 random(20261130);
  for (int round = 0; round < 3000; ++round) {
    std::string file = SpillHead();
    for (uint64_t i = 0; i < 5; ++i) file += RecordOf("body " + std::string(random() % 50, 'x'));
    for (uint64_t i = random() % 6; i > 0; --i) {
      const size_t at = kSpillHeadBytes + random() % (file.size() - kSpillHeadBytes);
      switch (random() % 3) {
        case 0: file[at] = static_cast<char>(random()); break;
        case 1: file.erase(at, random() % 30); break;
        default: file.insert(at, std::string(random() % 30, static_cast<char>(random()))); break;
      }
      if (file.size() <= kSpillHeadBytes) break;
    }
    const auto contents = ReadSpillFile(file);
    ASSERT_TRUE(contents.ok());
    uint64_t bytes = kSpillHeadBytes + contents->damaged_bytes;
    for (const SpillEntry& entry : contents->entries) {
      bytes += entry.size;
      const auto request = ParseSpillRecord(file.substr(entry.offset, entry.size));
      ASSERT_TRUE(request.ok());
      EXPECT_EQ(request->body.substr(0, 5), "body ");
    }
    EXPECT_EQ(bytes, file.size());
  }
}

}  // namespace
}  // namespace ferret::otlp

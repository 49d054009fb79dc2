// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The crash file itself: when it is there, whose it is, what is said when it cannot be had.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "ferret/internal/adapter.h"
#include "runtime/crash/crash_log.h"
#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

using internal::CrashContents;
using internal::CrashFile;
using internal::CrashHeader;
using internal::CrashLog;
using internal::CrashPart;
using internal::CrashPosition;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

using CrashFileOfSession = CrashSessionTest;

TEST_F(CrashFileOfSession, IsThereWhileTheSessionIsOn) {
  Start();
  EXPECT_THAT(Files(), ElementsAre(MatchesRegex("ferret-[0-9]+-0.crash")));
  const auto stamp = CrashContents::ReadStamp(Bytes());
  ASSERT_TRUE(stamp.ok()) << stamp.status();
  EXPECT_EQ(stamp->pid, getpid());
  EXPECT_TRUE(IsProcessRunning(*stamp));
  ASSERT_TRUE(Stop60().ok());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(CrashFileOfSession, StaysWhenItIsToBeKept) {
  options_.crash_keep = true;
  Start();
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(Files().size(), 1u);
}

// Threads still hold chunks of it, then.
TEST_F(CrashFileOfSession, ThatIsKeptHasNoWriterAnyMore) {
  options_.crash_keep = true;
  Start();
  { FERRET_SCOPE("scope"); }
  const std::string path = folder_ / Files()[0];
  EXPECT_TRUE(IsWriterRunning(internal::OwnProcessStamp(), path));
  ASSERT_TRUE(Stop60().ok());
  EXPECT_FALSE(IsWriterRunning(internal::OwnProcessStamp(), path));
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(flock(file, LOCK_EX | LOCK_NB), 0) << "whoever recovers it finds it free";
  close(file);
  const std::string kept = ReadFile(path);
  Start();
  { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(ReadFile(path), kept);
}

TEST_F(CrashFileOfSession, IsAnotherOneForEachSession) {
  options_.crash_keep = true;
  for (int i = 0; i < 3; ++i) {
    Start();
    { FERRET_SCOPE("scope"); }
    ASSERT_TRUE(Stop60().ok());
    EXPECT_EQ(collector_->Take().events.size(), 1u);
  }
  EXPECT_EQ(Files().size(), 3u);
}

TEST_F(CrashFileOfSession, NeverHasSparseBlocks) {
  Start();
  struct stat status;
  ASSERT_EQ(stat((folder_ / Files()[0]).c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, status.st_size);
}

TEST_F(CrashFileOfSession, ThatCannotBeMadeIsOneLineAndRecordingGoesOn) {
  options_.crash_dir = folder_ / "no such folder";
  testing::internal::CaptureStderr();
  Start();
  { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_THAT(err, HasSubstr("FERRET_CRASH_DIR: cannot create a file in"));
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_EQ(collector_->Take().events.size(), 1u);
}

// Where the process's files may have no more than that.
class LimitedFiles {
 public:
  explicit LimitedFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LimitedFiles() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

TEST_F(CrashFileOfSession, ShrinksToWhatFitsAndSaysSo) {
  options_.buffer_bytes = 64 << 20;
  testing::internal::CaptureStderr();
  {
    const LimitedFiles limited(32 << 20);
    Start();
  }
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_THAT(err, MatchesRegex("ferret: FERRET_CRASH_DIR: .* has room for a buffer of 2[0-9] MiB instead of 64 MiB\n"));
  ASSERT_EQ(Files().size(), 1u);
  for (int i = 0; i < 100'000; ++i) { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(collector_->Take().events.size(), 100'000u);
}

TEST_F(CrashFileOfSession, IsNotMadeForLessThanEightMegabytes) {
  options_.buffer_bytes = 64 << 20;
  testing::internal::CaptureStderr();
  {
    const LimitedFiles limited(10 << 20);
    Start();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("does not survive a kill"));
  EXPECT_THAT(Files(), IsEmpty());
  { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(collector_->Take().events.size(), 1u);
}

TEST_F(CrashFileOfSession, OfTheParentIsNothingThatAForkedChildWritesTo) {
  Start();
  gate_.Set(true);
  { const Scope scope("the parent's"); }
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) { const Scope scope("the child's scope"); }
    const bool named = internal::InternName("the child's name") != 0;
    _exit(named ? 7 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  { const Scope scope("the parent's second"); }
  EXPECT_EQ(Bytes().find("the child's"), std::string::npos);
  const auto contents = Contents();
  const Recovered recovered = ReplayOf(contents.get(), std::nullopt);
  EXPECT_EQ(recovered.counts.events, 2u);
  EXPECT_EQ(recovered.Count("the parent's second"), 1u);
}

TEST_F(CrashFileOfSession, GivesNamesBackWhenItIsGone) {
  const uint32_t id = internal::InternName("a name that comes before");
  Start();
  const uint32_t inside = internal::InternName("a name that comes inside");
  EXPECT_NE(Bytes().find("a name that comes before"), std::string::npos);
  EXPECT_NE(Bytes().find("a name that comes inside"), std::string::npos);
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(internal::InternName("a name that comes before"), id);
  EXPECT_EQ(internal::InternName("a name that comes inside"), inside);
  EXPECT_EQ(internal::NameTable::Global().Text(inside), "a name that comes inside");
}

TEST(ProcessStamps, TellAProcessFromALaterOneWithItsPid) {
  internal::ProcessStamp stamp = internal::OwnProcessStamp();
  EXPECT_TRUE(IsProcessRunning(stamp));
  stamp.start_time += 1;
  EXPECT_FALSE(IsProcessRunning(stamp));
  stamp = internal::OwnProcessStamp();
  stamp.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(IsProcessRunning(stamp));
}

TEST(ProcessStamps, ZombiesRecordNoMore) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  internal::ProcessStamp stamp = internal::OwnProcessStamp();
  stamp.pid = child;
  stamp.start_time = 0;
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(IsProcessRunning(stamp));
  waitpid(child, nullptr, 0);
}

class CrashLogTest : public testing::Test {
 protected:
  CrashLogTest() {
    CrashFile::Config config;
    config.directory = folder_.path();
    config.chunk_bytes = internal::kMinChunkBytes;
    config.chunks = config.min_chunks = 2;
    config.name_bytes = internal::NameTable::Global().BytesInFile(4096);
    config.outputs = 2;
    file_ = CrashFile::Create(config).value();
    log_ = std::make_unique<CrashLog>(file_);
    log_->MirrorClock(ClockMap(Anchor{1000, 1000, 0}, 1.0));
    EXPECT_TRUE(file_->Publish().ok());
  }
  ~CrashLogTest() override { file_->Remove(false); }

  std::unique_ptr<CrashContents> Contents() {
    return std::move(*CrashContents::Read(ReadFile(file_->path())));
  }

  TemporaryFolder folder_;
  CrashFile* file_;
  std::unique_ptr<CrashLog> log_;
};

TEST_F(CrashLogTest, KnowsHowFarEachThreadIsInEachBatch) {
  const uint32_t a = log_->AddThread(1, 11, "a");
  const uint32_t b = log_->AddThread(2, 22, "b");
  log_->Append(1, a, 1, CrashPosition(0, 200));
  log_->Append(1, b, 2, CrashPosition(0, 300));
  log_->Append(2, a, 1, CrashPosition(1, 128));
  for (bool settled : {false, true}) {
    if (settled) log_->Settle(1);
    const auto contents = Contents();
    EXPECT_EQ(contents->PositionAt(1, 1), CrashPosition(0, 200));
    EXPECT_EQ(contents->PositionAt(2, 1), CrashPosition(0, 300));
    EXPECT_EQ(contents->PositionAt(1, 2), CrashPosition(1, 128));
    EXPECT_EQ(contents->PositionAt(2, 2), CrashPosition(0, 300));
    EXPECT_EQ(contents->PositionAt(1, 0), settled ? CrashPosition(0, 200) : 0);
  }
}

TEST_F(CrashLogTest, IsSettledUpToWhatEveryOutputHas) {
  EXPECT_EQ(log_->Settled(), 0u);
  file_->SetOutput(0, {7, 100, 3, "/tmp/a.tmp", "/tmp/a"});
  EXPECT_EQ(log_->Settled(), 0u);
  file_->SetOutput(1, {5, 0, 0, "", ""});
  EXPECT_EQ(log_->Settled(), 5u);
  file_->SetOutput(1, {UINT64_MAX, 0, 0, "", ""});
  EXPECT_EQ(log_->Settled(), 7u);
  const auto contents = Contents();
  ASSERT_EQ(contents->outputs().size(), 2u);
  EXPECT_EQ(contents->outputs()[0].batch, 7u);
  EXPECT_EQ(contents->outputs()[0].bytes, 100u);
  EXPECT_EQ(contents->outputs()[0].path, "/tmp/a.tmp");
}

TEST_F(CrashLogTest, JournalIsARingThatRefusesToOverflow) {
  const uint32_t slot = log_->AddThread(1, 11, "a");
  for (uint64_t batch = 1; log_->HasRoom(1); ++batch) log_->Append(batch, slot, 1, CrashPosition(0, 128));
  EXPECT_FALSE(log_->HasRoom(1));
  log_->Settle(1000);
  EXPECT_TRUE(log_->HasRoom(1000));
  EXPECT_FALSE(log_->HasRoom(1001));
  log_->Append(1'000'000, slot, 1, CrashPosition(5, 128));
  EXPECT_EQ(Contents()->PositionAt(1, 1'000'000), CrashPosition(5, 128));
}

TEST_F(CrashLogTest, CarriedScopesReplaceThoseBefore) {
  const uint32_t slot = log_->AddThread(1, 11, "a");
  for (uint32_t round = 1; round < 2000; ++round) {
    std::vector<internal::CarriedScope> scopes(round % 40);
    for (size_t i = 0; i < scopes.size(); ++i) {
      scopes[i] = {};
      scopes[i].id = static_cast<int64_t>(i + 1);
      scopes[i].handle = static_cast<uint32_t>(2 * i + 3);
    }
    ASSERT_TRUE(log_->Carry(slot, 1, round, scopes)) << round;
  }
  const auto contents = Contents();
  const auto& thread = contents->threads().at(1);
  EXPECT_EQ(thread.after_sequence, 1999u);
  ASSERT_EQ(thread.carried.size(), 1999u % 40);
  EXPECT_EQ(thread.carried.back().handle, 2 * (1999u % 40) + 1);
}

TEST_F(CrashLogTest, WithoutBlocksNothingIsCarriedAndNothingChanges) {
  const uint32_t a = log_->AddThread(1, 11, "a");
  ASSERT_TRUE(log_->Carry(a, 1, 3, std::vector<internal::CarriedScope>(1)));
  const size_t too_many = internal::kCarriedBlocks * internal::CarriedBlock::kScopes;
  EXPECT_FALSE(log_->Carry(a, 1, 4, std::vector<internal::CarriedScope>(too_many)));
  EXPECT_TRUE(log_->Carry(a, 1, 4, {}));
  EXPECT_TRUE(log_->Carry(a, 1, 5, std::vector<internal::CarriedScope>(too_many)));
}

TEST_F(CrashLogTest, SlotsOfThreadsAreUsedAgain) {
  for (uint32_t thread = 1; thread < 3 * internal::kCrashThreads; ++thread) {
    const uint32_t slot = log_->AddThread(thread, 1, "short-lived");
    ASSERT_NE(slot, CrashLog::kNoSlot);
    log_->Append(thread, slot, thread, CrashPosition(0, 128));
    log_->ForgetThread(slot);
    log_->Settle(thread);
  }
  EXPECT_TRUE(Contents()->threads().empty());
}

}  // namespace
}  // namespace ferret

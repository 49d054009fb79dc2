// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Crash files whose making fails at every system call, that somebody else takes away, and that processes have left which
// were killed while they made them.

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/crash/crash_file.h"
#include "runtime/record/name_table.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/disk/faulty_disk.h"
#include "tests/session/session_kit.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using internal::CrashFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

struct Fault {
  const char* name;
  DiskFault::Kind kind;
  int error;
  int calls;
};

class EachCallForACrashFile : public testing::TestWithParam<Fault> {};

TEST_P(EachCallForACrashFile, MayFailAndRecordingGoesOn) {
  int failed = 0, calls = 0;
  for (int first = 1; first == 1 || first <= calls; ++first) {
    SCOPED_TRACE(testing::Message() << "call " << first);
    TempDir folder;
    Options options = TestOptions(256);
    options.crash_dir = folder.path();
    auto collector = std::make_shared<MemoryCollector>();
    testing::internal::CaptureStderr();
    size_t files = 0;
    {
      const FaultyDisk disk(folder.path(), {GetParam().kind, GetParam().error, first, GetParam().calls});
      ASSERT_TRUE(StartSession(options, Exporters().Memory(collector).Take()).ok());
      files = folder.Files().size();
      for (int i = 0; i < 1000; ++i) { FERRET_SCOPE("scope"); }
      ASSERT_TRUE(Stop60().ok());
      calls = disk.calls();
      failed += disk.failures() > 0;
    }
    const std::string err = testing::internal::GetCapturedStderr();
    EXPECT_EQ(collector->Take().events.size(), 1000u);
    EXPECT_EQ(Losses().total(), 0u);
    EXPECT_LE(std::count(err.begin(), err.end(), '\n'), 1) << err;
    if (files == 0) {
      EXPECT_THAT(err, HasSubstr("FERRET_CRASH_DIR: "));
    }
    if (GetParam().calls == 1) {
      // One that could not be taken away is for somebody else to do so.
      EXPECT_LE(folder.Files().size(), 1u);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(With, EachCallForACrashFile,
                         testing::Values(Fault{"OneError", DiskFault::Kind::kError, EIO, 1},
                                         Fault{"OnlyErrors", DiskFault::Kind::kError, EROFS, 0},
                                         Fault{"OnceNoSpace", DiskFault::Kind::kNoSpace, 0, 1},
                                         Fault{"NoSpace", DiskFault::Kind::kNoSpace, 0, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

class UnpublishedCrashFile : public testing::Test {
 protected:
  absl::StatusOr<CrashFile*> Create() {
    CrashFile::Config config;
    config.directory = folder_.path();
    config.chunk_bytes = internal::kMinChunkBytes;
    config.chunks = config.min_chunks = 2;
    config.name_bytes = internal::NameTable::Global().BytesInFile(4096);
    config.outputs = 1;
    return CrashFile::Create(config);
  }

  // A process that has made its file and not published it.
  pid_t StartAnother() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool made = Create().ok();
      const char mark = made ? 'y' : 'n';
      (void)!write(ends[1], &mark, 1);
      for (;;) pause();
    }
    char mark = 0;
    EXPECT_EQ(read(ends[0], &mark, 1), 1);
    EXPECT_EQ(mark, 'y');
    close(ends[0]);
    close(ends[1]);
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  TempDir folder_;
};

TEST_F(UnpublishedCrashFile, OfAKilledProcessIsRemovedByTheNextOne) {
  Kill(StartAnother());
  ASSERT_THAT(folder_.Files(), ElementsAre(MatchesRegex("ferret-[0-9]+-0.crash.tmp")));
  auto file = Create();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(folder_.Files(), ElementsAre("ferret-" + std::to_string(getpid()) + "-0.crash.tmp"));
  (*file)->Remove(false);
}

TEST_F(UnpublishedCrashFile, OfALivingProcessStays) {
  const pid_t other = StartAnother();
  auto file = Create();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(folder_.Files(), SizeIs(2));
  Kill(other);
  CrashFile::RemoveUnpublished(folder_.path());
  EXPECT_THAT(folder_.Files(), ElementsAre("ferret-" + std::to_string(getpid()) + "-0.crash.tmp"));
  (*file)->Remove(false);
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

// The lock is one with the file, also when it has another name.
TEST_F(UnpublishedCrashFile, IsWhatIsRemovedAndNothingElse) {
  Kill(StartAnother());
  for (const char* name : {"ferret-1-0.crash", "ferret-1-0.crash.tmp.bak", "other.crash.tmp", "notes"}) {
    WriteFile(folder_ / name, "somebody's");
  }
  ASSERT_EQ(symlink((folder_ / "notes").c_str(), (folder_ / "ferret-2-0.crash.tmp").c_str()), 0);
  CrashFile::RemoveUnpublished(folder_.path());
  EXPECT_THAT(folder_.Files(), ElementsAre("ferret-1-0.crash", "ferret-1-0.crash.tmp.bak", "ferret-2-0.crash.tmp", "notes",
                                           "other.crash.tmp"));
}

TEST_F(UnpublishedCrashFile, IsRemovedByRecoveringTheFolder) {
  Kill(StartAnother());
  const Outcome outcome = RunProgram({DataFile("tools/ferret"), "recover", folder_.path()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

// In another program: the second one ends.
class CrashFileInOtherHands : public testing::Test {
 protected:
  Outcome RunThat(const std::string& what) {
    return RunProgram({DataFile("tests/disk/disk_program"), "20000", what, folder_.path()},
                      {"FERRET_CRASH_DIR=" + folder_.path(), "FERRET_EXPORT=chrome_trace:" + (outputs_ / "t.json")});
  }
  TempDir folder_, outputs_;
};

TEST_F(CrashFileInOtherHands, ThatIsRemovedIsMissedByNobody) {
  const Outcome outcome = RunThat("remove");
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(folder_.Files(), IsEmpty());
  EXPECT_THAT(outputs_.Files(), ElementsAre("t.json"));
}

// As with every file that is mapped: nothing can be done about it that would not cost every record.
TEST_F(CrashFileInOtherHands, ThatIsCutShortEndsTheProgram) { EXPECT_EQ(RunThat("cut").signal, SIGBUS); }

}  // namespace
}  // namespace ferret

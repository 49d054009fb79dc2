// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Real file systems: small ones, read-only ones, folders that may not be written to. Mounted where only the program sees
// them, in namespaces of its own. Where that is not allowed these tests say so; what they confirm is tested without mounts in
// disk_faults_test, other_hands_test and crash_file_test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "absl/strings/str_cat.h"
#include "tests/disk/disk_run.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr char kProgram[] = "tests/disk/disk_program";

class MountedDisk : public testing::Test {
 protected:
  // Runs a script of sh in which $DISK is an empty folder, $KEPT another one and $PROGRAM the program.
  Outcome RunScript(const std::string& script, const std::string& namespaces = "-Urm") {
    const Outcome outcome =
        RunProgram({"unshare", namespaces, "sh", "-c", script},
                   {"DISK=" + disk_.path(), "KEPT=" + kept_.path(), "PROGRAM=" + DataFile(kProgram)});
    is_allowed_ = outcome.exit_status != kNotAllowed && outcome.err.find("unshare:") == std::string::npos;
    for (const auto& entry : std::filesystem::directory_iterator(kept_.path())) {
      files_.push_back(entry.path().filename());
    }
    return outcome;
  }
  static std::string Mount(const std::string& options) {
    return absl::StrCat("mount -t tmpfs -o ", options, " tmpfs $DISK || exit ", kNotAllowed, "\n");
  }

  // The line at the end has what the file has, and the sum is right.
  void ExpectCountedInFile(const Outcome& outcome, int attempts) {
    EXPECT_EQ(outcome.exit_status, 7) << outcome.err;
    EXPECT_EQ(outcome.out, absl::StrCat(attempts, "\n")) << "the program did as ever";
    std::smatch match;
    int events = attempts;  // unless it says otherwise
    if (std::regex_search(outcome.err, match, std::regex("(\\d+) events, (\\d+) lost\n"))) {
      events = std::stoi(match[1]);
      EXPECT_EQ(events + std::stoi(match[2]), attempts);
    }
    ASSERT_EQ(files_.size(), 1u);
    bool gzip_is_whole = false;
    const std::string text = TextOf(kept_ / files_[0], &gzip_is_whole);
    EXPECT_TRUE(gzip_is_whole);
    const bool spans = files_[0].find(".jsonl") != std::string::npos;
    EXPECT_TRUE(spans || !ParseJson(text).HasParseError());
    const std::string mark = spans ? "\"name\":\"scope\"" : "\"name\": \"scope\"";
    int scopes = 0;
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at) ++scopes;
    EXPECT_EQ(scopes, events);
    events_ = events;
  }
  static int Lines(const Outcome& outcome) {
    return static_cast<int>(std::count(outcome.err.begin(), outcome.err.end(), '\n'));
  }

  static constexpr int kNotAllowed = 77;
  TemporaryFolder disk_, kept_;
  bool is_allowed_ = true;
  std::vector<std::string> files_;
  int events_ = 0;
};

#define SKIP_WITHOUT_MOUNTS() \
  if (!is_allowed_) GTEST_SKIP() << "no file system can be mounted here: " << outcome.err

TEST_F(MountedDisk, ThatIsFullEndsTheTraceAndNothingElse) {
  for (const char* file : {"chrome_trace:$DISK/t.json", "chrome_trace:$DISK/t.json.gz", "otlp_file:$DISK/t.jsonl"}) {
    SCOPED_TRACE(file);
    files_.clear();
    // A gzipped event has few bytes.
    const bool gzipped = std::string(file).find(".gz") != std::string::npos;
    const int scopes = gzipped ? 40'000 : 5000;
    const Outcome outcome = RunScript(absl::StrCat(Mount("size=1m"), "export FERRET_EXPORT=", file, "\n$PROGRAM ", scopes,
                                                   "; status=$?; mv $DISK/* $KEPT; exit $status"));
    SKIP_WITHOUT_MOUNTS();
    ExpectCountedInFile(outcome, 4 * scopes);
    EXPECT_GT(events_, 0);
    EXPECT_LT(events_, 4 * scopes);
    EXPECT_EQ(Lines(outcome), 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
    for (const auto& kept : std::filesystem::directory_iterator(kept_.path())) std::filesystem::remove(kept);
  }
}

TEST_F(MountedDisk, ThatHasSpaceAgainIsWrittenToAgain) {
  const Outcome outcome = RunScript(Mount("size=3m") +
                                    "head -c 2200000 /dev/zero > $DISK/ballast\n"
                                    "FERRET_EXPORT=chrome_trace:$DISK/t.json $PROGRAM 2500 remove $DISK/ballast\n"
                                    "status=$?; mv $DISK/* $KEPT; exit $status");
  SKIP_WITHOUT_MOUNTS();
  ExpectCountedInFile(outcome, 10'000);
  EXPECT_GE(events_, 7500) << "what could not wait is lost, and no more";
  EXPECT_EQ(Lines(outcome), events_ < 10'000 ? 2 : 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
}

TEST_F(MountedDisk, ThatIsFullForATableLeavesTheProgramAlone) {
  const Outcome outcome = RunScript(Mount("size=8k,nr_inodes=8") +
                                    "head -c 8192 /dev/zero > $DISK/ballast\n"
                                    "FERRET_EXPORT=table:$DISK/t.txt $PROGRAM 100\n"
                                    "status=$?; rm $DISK/ballast; mv $DISK/* $KEPT; exit $status");
  SKIP_WITHOUT_MOUNTS();
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_THAT(files_, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
  EXPECT_THAT(outcome.err, HasSubstr(": 0 events, 400 lost"));
}

TEST_F(MountedDisk, ThatIsReadOnlyIsSaidInOneLineAtTheStart) {
  for (const char* target : {"chrome_trace:$DISK/t.json", "otlp_file:$DISK/t.jsonl", "table:$DISK/t.txt"}) {
    SCOPED_TRACE(target);
    const Outcome outcome = RunScript(absl::StrCat(Mount("ro"), "export FERRET_EXPORT=", target, "\n$PROGRAM 100"));
    SKIP_WITHOUT_MOUNTS();
    EXPECT_EQ(outcome.exit_status, 7);
    EXPECT_EQ(outcome.out, "400\n");
    EXPECT_THAT(outcome.err, HasSubstr("Read-only file system"));
    EXPECT_THAT(outcome.err, HasSubstr("0 events, 400 lost"));
    EXPECT_EQ(Lines(outcome), 2) << outcome.err;
  }
}

// Without a mapping of users even root has no rights but those that the bits of the folder give.
TEST_F(MountedDisk, OrAFolderThatMayNotBeWrittenToIsSaidInOneLine) {
  ASSERT_EQ(chmod(disk_.path().c_str(), 0555), 0);
  for (const char* target : {"chrome_trace:$DISK/t.json", "otlp_file:$DISK/t.jsonl", "table:$DISK/t.txt"}) {
    SCOPED_TRACE(target);
    const Outcome outcome = RunScript(absl::StrCat("export FERRET_EXPORT=", target, "\n$PROGRAM 100"), "-U");
    SKIP_WITHOUT_MOUNTS();
    EXPECT_EQ(outcome.exit_status, 7);
    EXPECT_EQ(outcome.out, "400\n");
    EXPECT_THAT(outcome.err, HasSubstr("Permission denied"));
    EXPECT_THAT(outcome.err, HasSubstr("0 events, 400 lost"));
    EXPECT_EQ(Lines(outcome), 2) << outcome.err;
  }
}

// Of crash files. The program's trace is written elsewhere.
class SmallCrashFolder : public MountedDisk {
 protected:
  Outcome RunWith(const std::string& script, const std::string& variables = "") {
    return RunScript(absl::StrCat(script, "export FERRET_CRASH_DIR=$DISK FERRET_EXPORT=chrome_trace:$KEPT/t.json ",
                                  variables, "\n$PROGRAM 20000; status=$?; ls -A $DISK >&2; exit $status"));
  }
  void ExpectRecorded(const Outcome& outcome) {
    ExpectCountedInFile(outcome, 80'000);
    EXPECT_EQ(events_, 80'000);
  }
};

TEST_F(SmallCrashFolder, MakesTheBufferSmallerAndSaysSo) {
  const Outcome outcome = RunWith(Mount("size=64m"));
  SKIP_WITHOUT_MOUNTS();
  ExpectRecorded(outcome);
  EXPECT_THAT(outcome.err, HasSubstr("has room for a buffer of 48"));
  EXPECT_THAT(outcome.err, HasSubstr(" MiB instead of 64 MiB\n"));
  EXPECT_EQ(Lines(outcome), 1) << "and nothing is left there: " << outcome.err;
}

TEST_F(SmallCrashFolder, OfLessThanEightMegabytesIsNotUsedAndThatIsSaid) {
  for (const char* size : {"size=8m", "size=4m", "size=64k"}) {
    SCOPED_TRACE(size);
    files_.clear();
    const Outcome outcome = RunWith(Mount(size));
    SKIP_WITHOUT_MOUNTS();
    ExpectRecorded(outcome);
    EXPECT_THAT(outcome.err, HasSubstr("No space left on device; what is recorded does not survive a kill\n"));
    EXPECT_EQ(Lines(outcome), 1) << "and nothing is left there: " << outcome.err;
  }
}

TEST_F(SmallCrashFolder, ThatIsReadOnlyOrMissingOrForbiddenIsNotUsedAndThatIsSaid) {
  const Outcome read_only = RunWith(Mount("ro"));
  {
    const Outcome& outcome = read_only;
    SKIP_WITHOUT_MOUNTS();
    ExpectRecorded(outcome);
    EXPECT_THAT(outcome.err, HasSubstr("Read-only file system; what is recorded does not survive a kill\n"));
    EXPECT_EQ(Lines(outcome), 1) << outcome.err;
  }
  files_.clear();
  const Outcome missing = RunScript("export FERRET_CRASH_DIR=$DISK/none FERRET_EXPORT=chrome_trace:$KEPT/t.json\n$PROGRAM 20000");
  ExpectRecorded(missing);
  EXPECT_THAT(missing.err, HasSubstr("No such file or directory; what is recorded does not survive a kill\n"));
  EXPECT_EQ(Lines(missing), 1) << missing.err;

  files_.clear();
  ASSERT_EQ(chmod(disk_.path().c_str(), 0555), 0);
  const Outcome forbidden = RunScript("export FERRET_CRASH_DIR=$DISK FERRET_EXPORT=chrome_trace:$KEPT/t.json\n$PROGRAM 20000", "-U");
  ExpectRecorded(forbidden);
  EXPECT_THAT(forbidden.err, HasSubstr("Permission denied; what is recorded does not survive a kill\n"));
  EXPECT_EQ(Lines(forbidden), 1) << forbidden.err;
}

// Every page that is written to has its block from the start: what fills the disk afterwards is nothing to it.
TEST_F(SmallCrashFolder, ThatIsFilledByOthersMeanwhileIsNoSignal) {
  const Outcome outcome = RunScript(Mount("size=64m") +
                                    "export FERRET_CRASH_DIR=$DISK FERRET_EXPORT=chrome_trace:$KEPT/t.json\n"
                                    "$PROGRAM 20000 fill $DISK/ballast");
  SKIP_WITHOUT_MOUNTS();
  ExpectRecorded(outcome);
}

}  // namespace
}  // namespace ferret

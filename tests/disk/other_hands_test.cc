// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Somebody else removes the file that is being written, cuts it short, moves it, or puts something in its place.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/disk/disk_run.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kScopes = 700;

struct Output {
  const char* name;
  const char* spec;  // what follows the folder
  const char* file;
};

class Files : public testing::TestWithParam<Output> {
 protected:
  std::string Spec() const {
    const std::string spec = GetParam().spec;
    const size_t colon = spec.find(':');
    return spec.substr(0, colon + 1) + folder_.path() + "/" + spec.substr(colon + 1);
  }
  std::string File() const { return folder_.path() + "/" + GetParam().file; }
  std::string Growing() const { return File() + ".tmp"; }
  bool IsSpans() const { return absl::StartsWith(GetParam().spec, "otlp_file"); }

  // Three rounds, and `what` after the first one.
  DiskRun RunWhile(const std::function<void()>& what) {
    return RunOnDisk(folder_.path(), Spec(), 3, kScopes, [&](int round) {
      if (round == 0) what();
    });
  }

  // How many scopes the file has; it is whole.
  uint64_t ScopesIn(const std::string& path) const {
    bool gzip_is_whole = false;
    std::string text = TextOf(path, &gzip_is_whole);
    EXPECT_TRUE(gzip_is_whole);
    EXPECT_TRUE(IsSpans() || !ParseJson(text).HasParseError());
    const std::string mark = IsSpans() ? "\"name\":\"scope\"" : "\"name\": \"scope\"";
    uint64_t count = 0;
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++count;
    return count;
  }

  // What was written before is lost, counted and said; what comes later is in a document of its own.
  void ExpectBegunAnew(const DiskRun& run, const std::string& because) const {
    ExpectCounted(run);
    EXPECT_THAT(run.files, ElementsAre(GetParam().file));
    EXPECT_EQ(ScopesIn(File()), run.counts.exported);
    // The round that finds out may be lost, too, but not the one after it.
    EXPECT_GE(run.counts.exported, static_cast<uint64_t>(kScopes));
    EXPECT_GE(run.lost(), static_cast<uint64_t>(kScopes));
    EXPECT_EQ(run.lines(), 1u) << run.err;
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat(Growing(), ": was ", because, " by somebody else")));
  }

  TempDir folder_;
};

TEST_P(Files, ThatIsRemovedIsBegunAnew) {
  ExpectBegunAnew(RunWhile([&] { ASSERT_EQ(unlink(Growing().c_str()), 0); }), "removed");
}

TEST_P(Files, ThatIsCutToNothingIsBegunAnew) {
  ExpectBegunAnew(RunWhile([&] { ASSERT_EQ(truncate(Growing().c_str(), 0), 0); }), "cut short");
}

TEST_P(Files, ThatIsCutInTheMiddleIsBegunAnew) {
  ExpectBegunAnew(RunWhile([&] { ASSERT_EQ(truncate(Growing().c_str(), 5000), 0); }), "cut short");
}

TEST_P(Files, WhoseFolderIsRemovedIsMadeAgainWithIt) {
  ExpectBegunAnew(RunWhile([&] { std::filesystem::remove_all(folder_.path()); }), "removed");
}

TEST_P(Files, ThatIsRemovedAfterTheLastRecordIsLostAndCounted) {
  const DiskRun run = RunOnDisk(folder_.path(), Spec(), 2, kScopes, [&](int round) {
    if (round == 1) {
      ASSERT_EQ(unlink(Growing().c_str()), 0);
    }
  });
  ExpectCounted(run);
  EXPECT_EQ(run.counts.exported, 0u);
  EXPECT_THAT(run.files, IsEmpty());
  EXPECT_EQ(run.lines(), 1u) << run.err;
}

TEST_P(Files, ThatIsMovedAwayHasEverythingWhereItIs) {
  const std::string elsewhere = folder_ / "elsewhere.json.gz";
  const std::string moved = absl::EndsWith(File(), ".gz") ? elsewhere : folder_ / "elsewhere.json";
  const DiskRun run = RunWhile([&] { ASSERT_EQ(rename(Growing().c_str(), moved.c_str()), 0); });
  ExpectCounted(run);
  EXPECT_EQ(run.counts.exported, run.attempts);
  EXPECT_EQ(ScopesIn(moved), run.attempts);
  EXPECT_EQ(run.files.size(), 1u);
  EXPECT_EQ(run.lines(), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("t.json"));
  EXPECT_THAT(run.err, HasSubstr("was moved or removed by somebody else"));
}

TEST_P(Files, ThatIsReplacedIsNotTakenForItsOwn) {
  const DiskRun run = RunWhile([&] {
    ASSERT_EQ(unlink(Growing().c_str()), 0);
    WriteFile(Growing(), "a note\n");
  });
  ExpectCounted(run);
  EXPECT_EQ(ScopesIn(File()), run.counts.exported);
  // What lay there is somebody's, and is kept: as what a process left that died.
  ASSERT_EQ(run.files.size(), 2u);
  const std::string other = run.files[run.files[0] == GetParam().file ? 1 : 0];
  EXPECT_EQ(ReadFile(folder_ / other), "a note\n");
}

TEST_P(Files, ThatMayNotBecomeAnyLargerEndsThereAndNoSignalComes) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const DiskRun run = RunOnDisk(folder_.path(), Spec(), 3, kScopes, [&](int round) {
    const rlimit limit{std::filesystem::file_size(Growing()) + 5000, before.rlim_max};
    if (round == 0) setrlimit(RLIMIT_FSIZE, &limit);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  ExpectCounted(run);
  EXPECT_GE(run.counts.exported, static_cast<uint64_t>(kScopes));
  EXPECT_GT(run.lost(), 0u);
  EXPECT_THAT(run.files, ElementsAre(GetParam().file));
  EXPECT_EQ(ScopesIn(File()), run.counts.exported);
  EXPECT_EQ(run.lines(), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("File too large"));
}

INSTANTIATE_TEST_SUITE_P(Of, Files,
                         testing::Values(Output{"Trace", "chrome_trace:t.json", "t.json"},
                                         Output{"GzippedTrace", "chrome_trace:t.json.gz", "t.json.gz"},
                                         Output{"Spans", "otlp_file:t.jsonl", "t.jsonl"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Each report is a whole one, so that nothing is lost.
class TableFile : public testing::Test {
 protected:
  void ExpectWholeAfter(const std::function<void(const std::string& growing)>& what) {
    const std::string file = folder_ / "t.txt";
    const DiskRun run = RunOnDisk(folder_.path(), absl::StrCat("table:", file, "?format=json"), 3, kScopes, [&](int round) {
      if (round == 0) what(file + ".tmp");
    });
    EXPECT_EQ(run.counts.exported, run.attempts);
    EXPECT_EQ(run.err, "");
    EXPECT_THAT(run.files, ElementsAre("t.txt"));
    const auto document = ParseJson(ReadFile(file));
    ASSERT_FALSE(document.HasParseError());
    EXPECT_THAT(ReadFile(file), HasSubstr(std::to_string(run.attempts)));
  }
  TempDir folder_;
};

TEST_F(TableFile, ThatIsRemovedIsWrittenAgain) {
  ExpectWholeAfter([](const std::string& growing) { ASSERT_EQ(unlink(growing.c_str()), 0); });
}

TEST_F(TableFile, ThatIsCutShortIsWrittenAgain) {
  ExpectWholeAfter([](const std::string& growing) { ASSERT_EQ(truncate(growing.c_str(), 0), 0); });
}

TEST_F(TableFile, WhoseFolderIsRemovedIsWrittenAgain) {
  ExpectWholeAfter([this](const std::string&) { std::filesystem::remove_all(folder_.path()); });
}

// The file of histograms beside the one of spans.
TEST(MetricsFile, ThatIsRemovedIsMadeAgainAndTheSpansGoOn) {
  TempDir folder;
  const DiskRun run =
      RunOnDisk(folder.path(), absl::StrCat("otlp_file:", folder / "t.jsonl", "?metrics=on"), 3, kScopes, [&](int round) {
        if (round == 0) {
          ASSERT_EQ(unlink((folder / "t.metrics.jsonl.tmp").c_str()), 0);
        }
      });
  ExpectCounted(run);
  EXPECT_EQ(run.counts.exported, run.attempts);
  EXPECT_THAT(run.files, ElementsAre("t.jsonl", "t.metrics.jsonl"));
  EXPECT_THAT(ReadFile(folder / "t.metrics.jsonl"), HasSubstr(absl::StrCat("\"count\":\"", run.attempts, "\"")));
  EXPECT_EQ(run.lines(), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("t.metrics.jsonl.tmp: was removed by somebody else"));
}

// As a program that has too many files open.
TEST(Descriptors, ThatRunOutCostWhatIsRecordedUntilThereIsOneAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own runtime needs descriptors";
#endif
  TempDir folder;
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  std::vector<int> held;
  const DiskRun run = RunOnDisk(folder.path(), "chrome_trace:" + folder.path() + "/t.json", 3, kScopes, [&](int round) {
    if (round == 1) {
      for (int fd : held) close(fd);
      setrlimit(RLIMIT_NOFILE, &before);
    }
  }, [&] {
    const rlimit few{64, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) held.push_back(fd);
  });
  ExpectCounted(run);
  EXPECT_EQ(run.lost(), 2u * kScopes);
  EXPECT_EQ(run.lines(), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Too many open files"));
  EXPECT_THAT(run.files, ElementsAre("t.json"));
  EXPECT_FALSE(ParseJson(ReadFile(folder / "t.json")).HasParseError());
}

}  // namespace
}  // namespace ferret

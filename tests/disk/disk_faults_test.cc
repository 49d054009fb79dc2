// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Every system call that an exporter makes for its files fails, in every way that there is: the program goes on, what did
// not come to be in a file is counted, what is left is a whole document, and one line says why.

#include <errno.h>
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/disk/disk_run.h"
#include "tests/disk/faulty_disk.h"

namespace ferret {
namespace {

constexpr int kRounds = 3;

struct Fault {
  const char* name;
  DiskFault::Kind kind;
  int error;
  int calls;
};

constexpr Fault kOneError{"OneError", DiskFault::Kind::kError, EIO, 1};
constexpr Fault kOnlyErrors{"OnlyErrors", DiskFault::Kind::kError, EROFS, 0};
constexpr Fault kFullForAWhile{"FullForAWhile", DiskFault::Kind::kNoSpace, 0, 5};
constexpr Fault kFull{"Full", DiskFault::Kind::kNoSpace, 0, 0};
constexpr Fault kShortWrite{"ShortWrite", DiskFault::Kind::kShort, 0, 1};
constexpr Fault kInterrupted{"Interrupted", DiskFault::Kind::kInterrupted, 0, 3};

struct Output {
  const char* name;
  const char* spec;  // with FOLDER
  int scopes;        // in each round
};

constexpr Output kTrace{"Trace", "chrome_trace:FOLDER/t.json", 450};
constexpr Output kGzippedTrace{"GzippedTrace", "chrome_trace:FOLDER/t.json.gz", 450};
constexpr Output kSplitTrace{"SplitTrace", "chrome_trace:FOLDER/t.json?split=1MB", 1800};
constexpr Output kSpans{"Spans", "otlp_file:FOLDER/t.jsonl", 450};
constexpr Output kTable{"Table", "table:FOLDER/t.txt?format=json", 450};

std::string Name(const testing::TestParamInfo<std::tuple<Output, Fault>>& tested) {
  return std::string(std::get<0>(tested.param).name) + std::get<1>(tested.param).name;
}

uint64_t CountOf(const std::string& text, const std::string& piece) {
  uint64_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + piece.size())) ++count;
  return count;
}

// A complete document, and after it the end of one: the closing text was on its way to another place when the disk began to
// refuse everything, so that neither the new one nor the old one could be taken away.
bool HasTwoTails(const std::string& text) {
  rapidjson::Document document;
  rapidjson::StringStream stream(text.c_str());
  document.ParseStream<rapidjson::kParseStopWhenDoneFlag>(stream);
  return !document.HasParseError();
}

bool AreLines(const std::string& text) {
  if (!text.empty() && text.back() != '\n') return false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (ParseJson(text.substr(at, end - at)).HasParseError()) return false;
    at = end + 1;
  }
  return true;
}

class DiskFaults : public testing::TestWithParam<std::tuple<Output, Fault>> {
 protected:
  // Runs once with the fault from call `first` on; returns how many calls there were.
  int RunWithFaultAt(int first) {
    const auto& [output, fault] = GetParam();
    const std::string spec = absl::StrReplaceAll(output.spec, {{"FOLDER", folder_.path()}});
    const FaultyDisk disk(folder_.path(), {fault.kind, fault.error, first, fault.calls});
    run_ = RunOnDisk(folder_.path(), spec, kRounds, output.scopes);
    failures_ = disk.failures();
    return disk.calls();
  }

  bool Is(const Fault& fault) const { return std::get<1>(GetParam()).name == fault.name; }
  bool Is(const Output& output) const { return std::get<0>(GetParam()).name == output.name; }

  void ExpectWhole(const std::string& file, const std::string& text) const {
    const bool lines = Is(kSpans);
    if (lines ? AreLines(text) : !ParseJson(text).HasParseError()) return;
    EXPECT_TRUE(Is(kOnlyErrors)) << file << " is no whole document";
    EXPECT_TRUE(text.empty() || (!lines && HasTwoTails(text))) << file << " is nothing that can be read";
  }

  void ExpectNames() const {
    for (const std::string& file : run_.files) {
      const std::string path = folder_.path() + "/" + file;
      if (!absl::EndsWith(file, ".tmp")) continue;
      // Only where it could not be renamed, or be taken away.
      EXPECT_TRUE(Is(kOnlyErrors) || absl::StrContains(run_.err, "cannot rename") || Is(kTable)) << file;
    }
  }

  void ExpectOneLine() const {
    EXPECT_LE(run_.lines(), 1u) << run_.err;
    if (run_.lost() > 0) {
      EXPECT_EQ(run_.lines(), 1u);
    }
    if (run_.lines() == 0) return;
    const char* const reason = Is(kOneError)     ? "Input/output error"
                               : Is(kOnlyErrors) ? "Read-only file system"
                                                 : "No space left on device";
    EXPECT_TRUE(absl::StrContains(run_.err, reason)) << run_.err;
    EXPECT_TRUE(absl::StrContains(run_.err, folder_.path())) << "the line says which file: " << run_.err;
  }

  // What is exported is in the files, and nothing else is.
  void ExpectContents() const {
    uint64_t scopes = 0;
    for (const std::string& file : run_.files) {
      bool gzip_is_whole = false;
      const std::string text = TextOf(folder_.path() + "/" + file, &gzip_is_whole);
      EXPECT_TRUE(gzip_is_whole || Is(kOnlyErrors)) << file;
      ExpectWhole(file, text);
      scopes += CountOf(text, Is(kSpans) ? "\"name\":\"scope\"" : "\"name\": \"scope\"");
      if (Is(kTrace) && file == "t.json" && !Is(kOnlyErrors)) {
        EXPECT_TRUE(absl::StrContains(text, "\"total\": " + std::to_string(run_.lost()) + "}")) << "what it has not";
      }
    }
    if (!Is(kTable)) {
      EXPECT_EQ(scopes, run_.counts.exported);
    }
  }

  TempDir folder_;
  DiskRun run_;
  int failures_ = 0;
};

class EachCall : public DiskFaults {};

TEST_P(EachCall, ThatFailsLeavesAWholeDocumentAndTheRestIsCounted) {
  const Output& output = std::get<0>(GetParam());
  const bool harmless = Is(kShortWrite) || Is(kInterrupted);
  int failed = 0, calls = 0;
  for (int first = 1; first == 1 || first <= calls; ++first) {
    SCOPED_TRACE(testing::Message() << "call " << first);
    calls = RunWithFaultAt(first);
    failed += failures_ > 0;
    ExpectCounted(run_);
    ExpectNames();
    ExpectContents();
    ExpectOneLine();
    if (failures_ == 0 || harmless) {
      EXPECT_EQ(run_.lost() + run_.lines(), 0u) << run_.err;
    }
    // A single error costs the batches of one round at most. Nobody can tell how much of a run is in half a table.
    if (Is(kOneError) && !Is(kTable)) {
      EXPECT_LE(run_.lost(), static_cast<uint64_t>(output.scopes));
    }
    if (Is(kFullForAWhile) && first + 5 <= calls && !Is(kTable)) {
      EXPECT_GT(run_.counts.exported, 0u);
    }
    std::filesystem::remove_all(folder_.path());
    std::filesystem::create_directory(folder_.path());
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, 3) << "the fault is one that this output can have";
}

INSTANTIATE_TEST_SUITE_P(Of, EachCall,
                         testing::Combine(testing::Values(kTrace, kGzippedTrace, kSpans, kTable),
                                          testing::Values(kOneError, kOnlyErrors, kFullForAWhile, kFull, kShortWrite,
                                                          kInterrupted)),
                         Name);
INSTANTIATE_TEST_SUITE_P(OfParts, EachCall,
                         testing::Combine(testing::Values(kSplitTrace), testing::Values(kOneError)), Name);

}  // namespace
}  // namespace ferret

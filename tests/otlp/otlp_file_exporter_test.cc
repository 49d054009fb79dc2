// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/file/otlp_file_exporter.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/export/file/document_head.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/decoded.h"
#include "tests/otlp/decoded_metrics.h"

namespace ferret {
namespace {

using otlp::DecodedSpan;

constexpr absl::Time kNoDeadline = absl::InfiniteFuture();

OtlpFileOptions Target(const std::string& target) {
  OtlpFileOptions options;
  options.target = target;
  options.run_id = "run1";
  return options;
}

// The spans of all whole lines; each line is a message by itself.
std::vector<DecodedSpan> SpansOfLines(const std::string& text) {
  std::vector<DecodedSpan> spans;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 100'000u);
    for (const DecodedSpan& span : otlp::SpansOf(otlp::DecodeJson(line))) spans.push_back(span);
  }
  return spans;
}

std::vector<DecodedSpan> SpansOfFile(const std::string& path) { return SpansOfLines(ReadFile(path)); }

EventBatch Batch(size_t events) {
  EventBatch batch;
  for (size_t i = 0; i < events; ++i) {
    const int64_t start = static_cast<int64_t>(i) * 100;
    batch.events.push_back(TestEvent("aten::add", start, start + 90));
  }
  return batch;
}

std::string AttributeOf(const DecodedSpan& span, const std::string& key) {
  return otlp::AttributesOf(span.attributes())[key];
}

absl::StatusOr<OtlpFileOptions> Parse(const std::string& text) {
  return ParseOtlpFileOptions((*ParseExporterSpecs(text))[0]);
}

TEST(OtlpFileOptions, AreTargetLevelAndSize) {
  EXPECT_EQ(Parse("otlp_file")->target, "traces.jsonl");
  EXPECT_EQ(Parse("otlp_file")->max_part_bytes, 0u);
  const OtlpFileOptions options = *Parse("otlp_file:run-%r.jsonl.gz?size=20MB&level=6");
  EXPECT_EQ(options.target, "run-%r.jsonl.gz");
  EXPECT_EQ(options.max_part_bytes, 20'000'000u);
  EXPECT_EQ(options.gzip_level, 6);
}

TEST(OtlpFileOptions, ErrorsNameTheValueAndWhatIsAllowed) {
  const auto error = [](const std::string& text) { return std::string(Parse(text).status().message()); };
  EXPECT_EQ(error("otlp_file?split=1MB"), "exporter otlp_file has no parameter \"split\"; it takes level, metrics, size");
  EXPECT_EQ(error("otlp_file?size=12"),
            "otlp_file: size=12 is not a size from 1MB on; allowed are whole numbers with kB, MB, GB, KiB, MiB, GiB or "
            "no unit, and 0 for one file");
  EXPECT_NE(error("otlp_file:x-%q.jsonl").find("\"%q\""), std::string::npos);
  EXPECT_NE(error("otlp_file?level=11").find("level=11"), std::string::npos);
  EXPECT_EQ(error("otlp_file?metrics=yes"), "otlp_file: metrics=\"yes\" is neither on nor off");
  EXPECT_EQ(error("otlp_file?metrics=%0Aon"), "otlp_file: metrics=\"\\non\" is neither on nor off");
}

TEST(OtlpFileExporter, WritesTheRunTheEventsAndTheRecord) {
  TempDir folder;
  OtlpFileExporter exporter(Target(folder / "t.jsonl"));
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  EventBatch batch = Batch(3);
  batch.instants.resize(200);  // more than one span carries
  for (InstantEvent& instant : batch.instants) instant.name = "mark";
  batch.memory.resize(2);
  ASSERT_TRUE(exporter.Export(batch).ok());
  ExportProgress progress;
  progress.events_built = batch.count();
  progress.lost[LossReason::kMemoryCap] = 4;
  ASSERT_TRUE(exporter.Close(progress, kNoDeadline).ok());
  EXPECT_EQ(exporter.NotDelivered(), 0u);
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"t.jsonl"});

  const std::vector<DecodedSpan> spans = SpansOfFile(folder / "t.jsonl");
  ASSERT_EQ(spans.size(), 1u + 3 + 2 + 1 + 1);
  EXPECT_EQ(spans[0].name(), "Ferret Run");
  EXPECT_EQ(spans[1].name(), "aten::add");
  EXPECT_EQ(spans[4].events_size() + spans[5].events_size(), 200);
  EXPECT_EQ(spans[4].events_size(), 128);
  EXPECT_EQ(spans[6].events_size(), 2);
  EXPECT_EQ(spans[7].name(), "Ferret Record");
  EXPECT_EQ(AttributeOf(spans[7], "ferret.events"), "i:205");
  EXPECT_EQ(AttributeOf(spans[7], "ferret.lost.memory_cap"), "i:4");
}

TEST(OtlpFileExporter, DurationsAreInAFileOfTheirOwnALineForEachMinuteOfTheRun) {
  TempDir folder;
  OtlpFileOptions options = Target(folder / "t.jsonl");
  options.metrics = true;
  OtlpFileExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  ASSERT_TRUE(exporter.Export(Batch(3)).ok());
  ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
  EventBatch late = Batch(2);
  late.events[1].end_ns += 61'000'000'000;
  ASSERT_TRUE(exporter.Export(late).ok());
  ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
  ASSERT_TRUE(exporter.Export(Batch(1)).ok());
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  EXPECT_EQ(folder.Files(), (std::vector<std::string>{"t.jsonl", "t.metrics.jsonl"}));

  std::istringstream lines(ReadFile(folder / "t.metrics.jsonl"));
  std::vector<uint64_t> counts;
  for (std::string line; std::getline(lines, line);) {
    for (const otlp_test::Metric& metric : otlp::MetricsOf(otlp::DecodeMetricsJson(line))) {
      EXPECT_EQ(metric.name(), "ferret.op.duration");
      for (const auto& point : metric.exponential_histogram().data_points()) counts.push_back(point.count());
    }
  }
  EXPECT_EQ(counts, (std::vector<uint64_t>{5, 1}));
}

TEST(OtlpFileExporter, TheFileOfDurationsIsNamedAfterTheOther) {
  EXPECT_EQ(otlp::MetricsPath("a/run-3.jsonl"), "a/run-3.metrics.jsonl");
  EXPECT_EQ(otlp::MetricsPath("run.jsonl.gz"), "run.metrics.jsonl.gz");
  EXPECT_EQ(otlp::MetricsPath("run.txt"), "run.txt.metrics");
}

TEST(OtlpFileExporter, AfterAFlushTheGrowingFileHasEverythingInWholeLines) {
  TempDir folder;
  OtlpFileExporter exporter(Target(folder / "t.jsonl"));
  std::vector<std::string> told;
  SessionInfo info = TestSession();
  info.file_opened = [&](const std::string& temporary, const std::string& path) { told = {temporary, path}; };
  ASSERT_TRUE(exporter.Open(info).ok());
  EXPECT_EQ(folder.Files(), std::vector<std::string>()) << "a process that records nothing leaves no file";
  for (size_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(exporter.Export(Batch(500)).ok());
    ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
    const std::string text = ReadFile(folder / "t.jsonl.tmp");
    EXPECT_EQ(text.back(), '\n');
    EXPECT_EQ(SpansOfLines(text).size(), 1 + round * 500);
  }
  EXPECT_EQ(told, (std::vector<std::string>{folder / "t.jsonl.tmp", folder / "t.jsonl"}));
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
}

TEST(OtlpFileExporter, IsSplitBySizeIntoFilesThatTheirReadersCanTellApart) {
  TempDir folder;
  OtlpFileOptions options = Target(folder / "t.jsonl");
  options.max_part_bytes = 200'000;
  OtlpFileExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  for (int round = 0; round < 5; ++round) ASSERT_TRUE(exporter.Export(Batch(500)).ok());
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());

  const std::vector<std::string> files = folder.Files();
  ASSERT_GE(files.size(), 3u);
  std::set<std::string> beginnings, ids;
  size_t events = 0, records = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i], "t-part" + std::to_string(i + 1) + ".jsonl");
    const std::string text = ReadFile(folder / files[i]);
    EXPECT_LT(text.size(), 200'000u + 2 * kPieceBytes);
    EXPECT_TRUE(beginnings.insert(text.substr(0, 1000)).second);
    const DocumentHead head = ReadDocumentHead(folder / files[i]);
    EXPECT_EQ(head.run_id, "run1");
    EXPECT_EQ(head.pid, 900);
    for (const DecodedSpan& span : SpansOfLines(text)) {
      EXPECT_TRUE(ids.insert(span.span_id()).second);
      events += span.name() == "aten::add";
      records += span.name() == "Ferret Record";
    }
  }
  EXPECT_EQ(events, 2500u);
  EXPECT_EQ(records, 1u);
}

TEST(OtlpFileExporter, AFileOfTheSameRunIsKeptAndOneOfAnEarlierRunReplaced) {
  TempDir folder;
  for (const char* run : {"run1", "run2", "run2"}) {
    OtlpFileOptions options = Target(folder / "t.jsonl");
    options.run_id = run;
    OtlpFileExporter exporter(options);
    ASSERT_TRUE(exporter.Open(TestSession()).ok());
    ASSERT_TRUE(exporter.Export(Batch(1)).ok());
    ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  }
  const std::vector<std::string> files = folder.Files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1], "t.jsonl");
  for (const std::string& file : files) EXPECT_EQ(ReadDocumentHead(folder / file).run_id, "run2");
}

TEST(OtlpFileExporter, RanksDoNotShareAFileAndGzipIsByName) {
  TempDir folder;
  SessionInfo info = TestSession();
  info.has_rank = true;
  info.rank = 3;
  OtlpFileExporter exporter(Target(folder / "t.jsonl.gz"));
  ASSERT_TRUE(exporter.Open(info).ok());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(exporter.Export(Batch(400)).ok());
    ASSERT_TRUE(exporter.Flush({}, kNoDeadline).ok());
  }
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  ASSERT_EQ(folder.Files(), std::vector<std::string>{"t-rank3.jsonl.gz"});
  const Inflated text = Gunzip(ReadFile(folder / "t-rank3.jsonl.gz"));
  EXPECT_TRUE(text.whole);
  EXPECT_EQ(SpansOfLines(text.text).size(), 1u + 1200 + 1);
}

TEST(OtlpFileExporter, DisabledByOpenTelemetrysSwitchItSaysSoAndWritesNothing) {
  TempDir folder;
  OtlpFileOptions options = Target(folder / "t.jsonl");
  options.environment.disabled = true;
  options.environment.warnings = {"a warning"};
  std::vector<std::string> lines;
  options.diagnostic = [&](const std::string& line) { lines.push_back(line); };
  OtlpFileExporter exporter(options);
  EXPECT_EQ(exporter.Open(TestSession()).message(), "OTEL_SDK_DISABLED=true: nothing is written");
  EXPECT_EQ(lines, std::vector<std::string>{"a warning"});
  EXPECT_EQ(folder.Files(), std::vector<std::string>());
}

// Takes nothing beyond a size.
class SmallDisk final : public FileIo {
 public:
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    if (offset + static_cast<int64_t>(size) <= limit) return FileIo::PWrite(fd, data, size, offset);
    errno = ENOSPC;
    return -1;
  }
  int64_t limit = 0;
};

TEST(OtlpFileExporter, OnAFullDiskEachBatchIsEitherRefusedOrInTheFileInTheEnd) {
  TempDir folder;
  SmallDisk disk;
  disk.limit = 300'000;
  OtlpFileOptions options = Target(folder / "t.jsonl");
  options.io = &disk;
  OtlpFileExporter exporter(options);
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 40; ++round) {
    if (round == 30) disk.limit = 100'000'000;
    (exporter.Export(Batch(100)).ok() ? accepted : refused) += 100;
  }
  ASSERT_TRUE(exporter.Close({}, kNoDeadline).ok());
  EXPECT_GT(refused, 500u);
  EXPECT_EQ(exporter.NotDelivered(), 0u);
  EXPECT_EQ(SpansOfFile(folder / "t.jsonl").size(), 1 + accepted + 1);
}

TEST(OtlpFileExporter, WhatADiskThatStaysFullNeverTookIsCounted) {
  for (const int64_t room_at_the_end : {0, 4000}) {
    TempDir folder;
    SmallDisk disk;
    disk.limit = 200'000;
    OtlpFileOptions options = Target(folder / "t.jsonl");
    options.io = &disk;
    OtlpFileExporter exporter(options);
    ASSERT_TRUE(exporter.Open(TestSession()).ok());
    size_t accepted = 0;
    for (int round = 0; round < 20; ++round) accepted += exporter.Export(Batch(100)).ok() ? 100 : 0;
    disk.limit = static_cast<int64_t>(ReadFile(folder / "t.jsonl.tmp").size()) + room_at_the_end;
    EXPECT_EQ(exporter.Close({}, kNoDeadline).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_GT(exporter.NotDelivered(), 0u);
    EXPECT_EQ(folder.Files(), std::vector<std::string>{"t.jsonl"});
    size_t written = 0, records = 0;
    for (const DecodedSpan& span : SpansOfFile(folder / "t.jsonl")) {
      written += span.name() == "aten::add";
      if (span.name() != "Ferret Record") continue;
      ++records;
      EXPECT_EQ(AttributeOf(span, "ferret.events"), "i:" + std::to_string(accepted - exporter.NotDelivered()));
      EXPECT_EQ(AttributeOf(span, "ferret.lost.exporter_failed"), "i:" + std::to_string(exporter.NotDelivered()));
    }
    EXPECT_EQ(written, accepted - exporter.NotDelivered());
    EXPECT_EQ(records, room_at_the_end > 0 ? 1u : 0u);
  }
}

TEST(OtlpFileExporter, ADirectoryInThePlaceOfTheFileIsAnErrorAtOnce) {
  TempDir folder;
  OtlpFileExporter exporter(Target(folder.path()));
  EXPECT_FALSE(exporter.Open(TestSession()).ok());
}

TEST(OtlpFileExporter, APipeGetsTheLinesAsTheyCome) {
  OtlpFileExporter exporter(Target("/dev/null"));
  ASSERT_TRUE(exporter.Open(TestSession()).ok());
  ASSERT_TRUE(exporter.Export(Batch(1000)).ok());
  EXPECT_TRUE(exporter.Close({}, kNoDeadline).ok());
  EXPECT_EQ(exporter.Destination(), "/dev/null");
}

}  // namespace
}  // namespace ferret

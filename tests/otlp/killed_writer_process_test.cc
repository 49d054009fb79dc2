// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A process that is killed while it writes: what is in the file is whole lines, but for the last one.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "exporters/otlp/file/otlp_file_exporter.h"
#include "runtime/export/file/document_head.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/decoded.h"

namespace ferret {
namespace {

OtlpFileOptions Target(const std::string& target, const std::string& run_id) {
  OtlpFileOptions options;
  options.target = target;
  options.run_id = run_id;
  options.diagnostic = [](const std::string&) {};
  return options;
}

EventBatch Batch(int events) {
  EventBatch batch;
  for (int i = 0; i < events; ++i) batch.events.push_back(TestEvent("aten::add", i * 100, i * 100 + 90));
  return batch;
}

[[noreturn]] void WriteForever(const std::string& path) {
  OtlpFileExporter exporter(Target(path, "killed"));
  const EventBatch batch = Batch(100);
  if (!exporter.Open(TestSession()).ok()) _exit(1);
  while (exporter.Export(batch).ok() && exporter.Flush({}, absl::InfiniteFuture()).ok()) {
  }
  _exit(1);
}

TEST(KilledOtlpWriter, LeavesWholeLinesAndTheNextWriterKeepsThem) {
  TempDir folder;
  const std::string growing = folder / "t.jsonl.tmp";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) WriteForever(folder / "t.jsonl");
  struct stat status = {};
  while (stat(growing.c_str(), &status) != 0 || status.st_size < 1'000'000) {
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the writer ended by itself";
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  const std::string text = ReadFile(growing);
  size_t spans = 0;
  for (size_t from = 0, end = text.find('\n'); end != std::string::npos; from = end + 1, end = text.find('\n', from)) {
    spans += otlp::SpansOf(otlp::DecodeJson(text.substr(from, end - from))).size();
  }
  EXPECT_GT(spans, 2000u);
  EXPECT_EQ(ReadDocumentHead(growing).run_id, "killed");

  OtlpFileExporter next(Target(folder / "t.jsonl", "next"));
  ASSERT_TRUE(next.Open(TestSession()).ok());
  ASSERT_TRUE(next.Export(Batch(1)).ok());
  ASSERT_TRUE(next.Close({}, absl::InfiniteFuture()).ok());
  EXPECT_EQ(folder.Files(), (std::vector<std::string>{"t-900.jsonl", "t.jsonl"}));
  EXPECT_EQ(ReadFile(folder / "t-900.jsonl"), text);
  EXPECT_EQ(ReadDocumentHead(folder / "t.jsonl").run_id, "next");
}

}  // namespace
}  // namespace ferret

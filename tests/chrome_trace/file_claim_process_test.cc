// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Several processes, one target.

#include "runtime/export/file/file_claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/export/file/document_file.h"
#include "runtime/export/file/document_head.h"
#include "runtime/export/file/run_id.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

std::string Head(const std::string& run_id, int64_t pid = getpid()) {
  return "{\n  \"ferret_run_id\": \"" + run_id + "\",\n  \"ferret_pid\": " + std::to_string(pid) + ",\n  \"events\": [\n";
}

constexpr char kTail[] = "  0]\n}\n";

// Another process that runs `body` and then waits to be told to go on, or is killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void(const std::function<void()>& wait)>& body) {
    EXPECT_EQ(pipe(ready_), 0);
    EXPECT_EQ(pipe(go_on_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ready_[0]);
      close(go_on_[1]);
      body([this] {
        EXPECT_EQ(write(ready_[1], "r", 1), 1);
        char byte;
        EXPECT_GE(read(go_on_[0], &byte, 1), 0);
      });
      _exit(0);
    }
    close(ready_[1]);
    close(go_on_[0]);
    char byte;
    EXPECT_EQ(read(ready_[0], &byte, 1), 1) << "the other process ended early";
  }
  ~OtherProcess() {
    if (pid_ > 0) Kill();
  }

  void LetGoOn() {
    close(go_on_[1]);
    Reap();
  }
  void Kill() {
    kill(pid_, SIGKILL);
    close(go_on_[1]);
    Reap();
  }
  pid_t pid() const { return pid_; }

 private:
  void Reap() {
    int status;
    waitpid(pid_, &status, 0);
    close(ready_[0]);
    pid_ = -1;
  }

  int ready_[2];
  int go_on_[2];
  pid_t pid_;
};

std::unique_ptr<DocumentFile> Open(const std::string& path, const std::string& run_id, std::string* said = nullptr) {
  DocumentFileOptions options;
  options.path = path;
  options.gzip = path.size() > 3 && path.substr(path.size() - 3) == ".gz";
  options.run_id = run_id;
  if (said != nullptr) options.diagnostic = [said](const std::string& line) { *said += line + "\n"; };
  auto file = DocumentFile::Open(options);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : nullptr;
}

TEST(FileClaim, TwoLiveProcessesWriteTwoFiles) {
  TempDir folder;
  OtherProcess other([&](const auto& wait) {
    auto file = Open(folder / "t.json", "run1");
    file->Append(Head("run1"), kTail).IgnoreError();
    wait();
    file->Finish(kTail).IgnoreError();
  });
  const pid_t other_pid = other.pid();
  auto mine = Open(folder / "t.json", "run1");
  const std::string my_name = "t-" + std::to_string(getpid()) + ".json";
  EXPECT_EQ(mine->path(), folder / my_name);
  ASSERT_TRUE(mine->Append(Head("run1"), kTail).ok());
  other.LetGoOn();
  ASSERT_TRUE(mine->Finish(kTail).ok());
  EXPECT_EQ(folder.Files(), (std::vector<std::string>{my_name, "t.json"}));
  EXPECT_EQ(ReadDocumentHead(folder / "t.json").pid, other_pid);
  EXPECT_EQ(ReadDocumentHead(folder / my_name).pid, getpid());
}

TEST(FileClaim, TwoExportersOfOneProcessWriteTwoFiles) {
  TempDir folder;
  auto first = Open(folder / "t.json", "run1");
  auto second = Open(folder / "t.json", "run1");
  auto third = Open(folder / "t.json", "run1");
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(second->path(), folder / ("t-" + pid + ".json"));
  EXPECT_EQ(third->path(), folder / ("t-" + pid + "-2.json"));
}

TEST(FileClaim, AProcessThatStartsWhenAnotherOfItsRunHasFinishedDoesNotReplaceItsFile) {
  for (const char* name : {"t.json", "t.json.gz"}) {
    TempDir folder;
    for (int i = 0; i < 3; ++i) {
      auto file = Open(folder / name, "run1");
      ASSERT_TRUE(file->Append(Head("run1"), kTail).ok());
      ASSERT_TRUE(file->Finish(kTail).ok());
    }
    EXPECT_EQ(folder.Files().size(), 3u);
  }
}

TEST(FileClaim, AFileOfAnEarlierRunIsReplacedOnlyWhenTheNewOneIsFinished) {
  TempDir folder;
  for (const std::string& earlier : {Head("run1") + kTail, std::string("not even JSON")}) {
    WriteFile(folder / "t.json", earlier);
    auto file = Open(folder / "t.json", "run2");
    ASSERT_TRUE(file->Append(Head("run2"), kTail).ok());
    EXPECT_EQ(ReadFile(folder / "t.json"), earlier);
    ASSERT_TRUE(file->Finish(kTail).ok());
    EXPECT_EQ(ReadFile(folder / "t.json"), Head("run2") + kTail);
  }
  EXPECT_EQ(folder.Files(), std::vector<std::string>{"t.json"});
}

TEST(FileClaim, WhatAKilledProcessRecordedIsKeptUnderItsPid) {
  for (const char* name : {"t.json", "t.json.gz"}) {
    TempDir folder;
    pid_t dead;
    {
      OtherProcess other([&](const auto& wait) {
        auto file = Open(folder / name, "run1");
        file->Append(Head("run1"), kTail).IgnoreError();
        wait();
      });
      dead = other.pid();
      other.Kill();
    }
    EXPECT_EQ(folder.Files(), std::vector<std::string>{std::string(name) + ".tmp"});
    std::string said;
    auto mine = Open(folder / name, "run2", &said);
    EXPECT_EQ(mine->path(), folder / name);
    ASSERT_TRUE(mine->Append(Head("run2"), kTail).ok());
    ASSERT_TRUE(mine->Finish(kTail).ok());
    const std::string kept = std::string("t-") + std::to_string(dead) + (name + 1);
    EXPECT_EQ(folder.Files(), (std::vector<std::string>{kept, name}));
    EXPECT_EQ(ReadDocumentHead(folder / kept).pid, dead);
    EXPECT_EQ(said, "process " + std::to_string(dead) + " died while it wrote " + (folder / name) +
                        "; what it recorded is in " + (folder / kept) + "\n");
  }
}

TEST(FileClaim, ATemporaryFileOfSomebodyElseIsKeptToo) {
  TempDir folder;
  WriteFile(folder / "t.json.tmp", "mine");
  auto file = Open(folder / "t.json", "run1");
  EXPECT_EQ(ReadFile(folder / "t-0.json"), "mine");
}

TEST(FileClaim, AForkedChildNeitherWritesNorHoldsTheName) {
  TempDir folder;
  auto file = Open(folder / "t.json", "run1");
  ASSERT_TRUE(file->Append(Head("run1"), kTail).ok());
  const std::string before = ReadFile(folder / "t.json.tmp");
  OtherProcess child([&](const auto& wait) {
    const bool refused = !file->Append("1,\n", kTail).ok() && !file->Finish(kTail).ok();
    // Whatever gets the number of the closed descriptor must survive the child's copy of the object.
    const int reused = open("/dev/null", O_RDONLY);
    file.reset();
    if (!refused || fcntl(reused, F_GETFD) < 0) _exit(1);
    wait();
  });
  EXPECT_EQ(ReadFile(folder / "t.json.tmp"), before);
  file.reset();  // as if this process had died while its child lives on
  auto next = Open(folder / "t.json", "run2");
  EXPECT_EQ(next->path(), folder / "t.json");
}

TEST(FileClaim, MissingDirectoriesAreMade) {
  TempDir folder;
  auto file = Open(folder / "a/b/t.json", "run1");
  ASSERT_TRUE(file->Append(Head("run1"), kTail).ok());
  ASSERT_TRUE(file->Finish(kTail).ok());
  EXPECT_EQ(ReadFile(folder / "a/b/t.json"), Head("run1") + kTail);
}

TEST(DocumentFile, AFileSizeLimitIsAnErrorAndDoesNotEndTheProgram) {
  for (const char* name : {"t.json", "t.json.gz"}) {
    TempDir folder;
    OtherProcess limited([&](const auto& wait) {
      const rlimit limit = {100000, 100000};
      setrlimit(RLIMIT_FSIZE, &limit);
      auto file = Open(folder / name, "run1");
      absl::Status status = file->Append(Head("run1"), kTail);
      uint32_t random = 1;
      for (int i = 0; i < 100 && status.ok(); ++i) {
        std::string piece;
        for (int k = 0; k < 2000; ++k) piece += std::to_string(random = random * 1664525 + 1013904223) + ",\n";
        status = file->Append(piece, kTail);
      }
      if (status.code() == absl::StatusCode::kResourceExhausted) wait();
    });
    const std::string bytes = ReadFile(folder / (std::string(name) + ".tmp"));
    const std::string text = bytes[0] == '\x1f' ? Gunzip(bytes).text : bytes;
    EXPECT_FALSE(ParseJson(text).HasParseError()) << name;
    EXPECT_GT(text.size(), 20000u);
  }
}

TEST(RunId, IsInheritedByProcessesThatAreSpawnedAfterItWasPublished) {
  PublishRunId();
  EXPECT_EQ(getenv(kRunIdVariable), RunId());
  EXPECT_EQ(RunId().size(), 16u);
}

}  // namespace
}  // namespace ferret

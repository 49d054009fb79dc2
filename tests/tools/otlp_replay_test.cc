// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/otlp_replay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "exporters/otlp/delivery/spill.h"
#include "exporters/otlp/delivery/spill_lock.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret {
namespace {

using otlp::Delivered;
using otlp::Form;
using otlp::NotTaken;
using otlp::Receiver;
using otlp::Signal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kOwnFailure = 125;  // as of tools/run.h

class OtlpReplayTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = OtlpReplay(
        pointers.data(),
        [this](const std::string& endpoint, const std::string& protocol,
               otlp::DeliveryOptions*) -> absl::StatusOr<std::unique_ptr<otlp::Transport>> {
          endpoint_ = endpoint;
          protocol_ = protocol;
          if (!no_transport_.ok()) return no_transport_;
          return std::make_unique<otlp::FakeTransport>(rig_.receiver);
        },
        rig_.options);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return status;
  }

  // The path of a file with these requests.
  std::string Spilled(const std::vector<std::string>& bodies) {
    otlp::SpillOptions options;
    options.directory = temp_ / ("spill" + std::to_string(++spills_));
    otlp::Spill spill(options);
    for (const std::string& body : bodies) EXPECT_TRUE(spill.Append(Signal::kTraces, Form::kJson, 3, body).ok());
    return std::filesystem::directory_iterator(options.directory)->path().string();
  }

  TempDir temp_;
  otlp::Rig rig_;
  absl::Status no_transport_;
  std::string endpoint_, protocol_, out_, err_;
  int spills_ = 0;
};

TEST_F(OtlpReplayTest, SendsWhatASpillFileHasAndLeavesTheFile) {
  const std::string path = Spilled({"one", "two"});
  EXPECT_EQ(Run({"--endpoint=http://there", path, "--protocol", "http/json"}), 0);
  EXPECT_EQ(endpoint_, "http://there");
  EXPECT_EQ(protocol_, "http/json");
  EXPECT_THAT(rig_.receiver->bodies(), ElementsAre("one", "two"));
  EXPECT_EQ(out_, path + ": 2 requests (6 items) delivered, 0 items rejected, 0 requests (0 items) left\n");
  EXPECT_EQ(err_, "");
  EXPECT_EQ(Run({path}), 0);
  EXPECT_THAT(rig_.receiver->calls(), SizeIs(4));
}

TEST_F(OtlpReplayTest, WithRemoveAFileOfWhichNothingIsLeftGoesAway) {
  const std::string path = Spilled({"one", "two"});
  EXPECT_EQ(Run({"--remove", path}), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(OtlpReplayTest, WithRemoveWhatWasDeliveredIsNotSentASecondTime) {
  const std::string path = Spilled({"one", "two", "three"});
  rig_.receiver->on_send = [](const Receiver::Call& call) {
    return call.body == "two" ? NotTaken(otlp::SendOutcome::Kind::kRefused, "HTTP 400") : Delivered();
  };
  EXPECT_EQ(Run({"--remove", path}), 1);
  EXPECT_THAT(out_, HasSubstr("2 requests (6 items) delivered, 0 items rejected, 1 request (3 items) left"));
  EXPECT_THAT(rig_.lines->all()[0], HasSubstr("HTTP 400"));
  rig_.receiver->on_send = [](const Receiver::Call&) { return Delivered(); };
  EXPECT_EQ(Run({"--remove", path}), 0);
  EXPECT_THAT(rig_.receiver->bodies(), ElementsAre("one", "two", "three", "two"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(OtlpReplayTest, WhatAReceiverRejectsIsNotASuccessAndNotSentAgain) {
  const std::string path = Spilled({"one"});
  rig_.receiver->on_send = [](const Receiver::Call&) { return Delivered(2, "two bad spans"); };
  EXPECT_EQ(Run({"--remove", path}), 1);
  EXPECT_THAT(out_, HasSubstr("1 request (1 item) delivered, 2 items rejected, 0 requests"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(OtlpReplayTest, AReceiverThatIsAwayIsWaitedForOnce) {
  const std::string a = Spilled({"one", "two"}), b = Spilled({"three"});
  rig_.receiver->on_send = [](const Receiver::Call&) { return otlp::Retryable(); };
  EXPECT_EQ(Run({a, b}), 1);
  for (const std::string& body : rig_.receiver->bodies()) EXPECT_EQ(body, "one");
  EXPECT_THAT(out_, HasSubstr("all: 0 requests (0 items) delivered, 0 items rejected, 3 requests (9 items) left"));
}

TEST_F(OtlpReplayTest, LinesOfJsonAreRequestsAlsoGzipped) {
  const std::string span = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{}]}]}]}";
  const std::string metric = "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"sum\":{\"dataPoints\":[{}]}}]}]}]}";
  const std::string text = span + "\n\n" + metric + "\n{\"resourceSpans\":[]}\n" + span;
  WriteFile(temp_ / "a.jsonl", text);
  EXPECT_EQ(Run({temp_ / "a.jsonl", "--remove"}), 0);
  EXPECT_THAT(rig_.receiver->bodies(), ElementsAre(span, metric, span));
  EXPECT_EQ(rig_.receiver->calls()[1].signal, Signal::kMetrics);
  EXPECT_THAT(out_, HasSubstr("3 requests (5 items) delivered"));
  EXPECT_TRUE(std::filesystem::exists(temp_ / "a.jsonl"));

  const std::string command = "gzip -c '" + (temp_ / "a.jsonl") + "' > '" + (temp_ / "a.jsonl.gz") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(Run({temp_ / "a.jsonl.gz"}), 0);
  EXPECT_THAT(rig_.receiver->calls(), SizeIs(6));
}

TEST_F(OtlpReplayTest, ALineThatIsCutShortIsSaidAndTheOthersAreSent) {
  const std::string span = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{}]}]}]}";
  WriteFile(temp_ / "a.jsonl", span + "\n" + span.substr(0, 30));
  EXPECT_EQ(Run({temp_ / "a.jsonl"}), 1);
  EXPECT_THAT(rig_.receiver->calls(), SizeIs(1));
  EXPECT_THAT(err_, HasSubstr("line 2 is no request in OTLP/JSON"));
}

TEST_F(OtlpReplayTest, LinesLongerThanTheReadersBufferAreWhole) {
  std::string long_line = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"";
  long_line += std::string(300'000, 'x') + "\"}]}]}]}";
  WriteFile(temp_ / "a.jsonl", long_line + "\n" + long_line);
  EXPECT_EQ(Run({temp_ / "a.jsonl"}), 0);
  EXPECT_THAT(rig_.receiver->bodies(), ElementsAre(long_line, long_line));
}

TEST_F(OtlpReplayTest, ATransportOfAnotherFormSendsNothingAndSaysWhichOneWould) {
  const std::string path = Spilled({"one"});
  rig_.receiver->form = Form::kProtobuf;
  EXPECT_EQ(Run({path}), 1);
  EXPECT_THAT(rig_.receiver->calls(), IsEmpty());
  EXPECT_THAT(err_, HasSubstr("only --protocol http/json can send"));
}

TEST_F(OtlpReplayTest, ADamagedFileGivesWhatIsWholeAndStays) {
  const std::string path = Spilled({"one", "two"});
  std::string bytes = ReadFile(path);
  bytes.pop_back();
  WriteFile(path, bytes);
  EXPECT_EQ(Run({"--remove", path}), 1);
  EXPECT_THAT(rig_.receiver->bodies(), ElementsAre("one"));
  EXPECT_THAT(err_, HasSubstr("26 bytes belong to no whole request"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(OtlpReplayTest, AFileOfAProcessThatRunsIsLeftAlone) {
  const std::string path = Spilled({"one"});
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool locked = otlp::LockSpillFile(open(path.c_str(), O_RDWR)).ok();
    char byte = locked ? 'y' : 'n';
    if (write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  for (const char* option : {"--remove", "--protocol=http/json"}) {
    EXPECT_EQ(Run({option, path}), 1);
    EXPECT_THAT(err_, HasSubstr(path + ": it belongs to a process that is running"));
  }
  EXPECT_THAT(rig_.receiver->calls(), IsEmpty());
  ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(Run({path}), 0);
  for (int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(fd);
}

TEST_F(OtlpReplayTest, FilesThatCannotBeReadAreNamed) {
  WriteFile(temp_ / "text", "hello\n");
  EXPECT_EQ(Run({temp_ / "missing", temp_.path(), temp_ / "text"}), 1);
  EXPECT_THAT(err_, HasSubstr("missing: No such file or directory"));
  EXPECT_THAT(err_, HasSubstr(temp_.path() + ": Is a directory"));
  EXPECT_THAT(err_, HasSubstr("text: line 1 is no request"));
}

TEST_F(OtlpReplayTest, BadArgumentsAreNamed) {
  EXPECT_EQ(Run({}), kOwnFailure);
  EXPECT_THAT(err_, HasSubstr("no file"));
  EXPECT_EQ(Run({"--fast", "x"}), kOwnFailure);
  EXPECT_THAT(err_, HasSubstr("unknown option --fast"));
  EXPECT_EQ(Run({"--protocol=smtp", "x"}), kOwnFailure);
  EXPECT_THAT(err_, HasSubstr("\"smtp\" is not one of: http/protobuf, http/json, grpc"));
  EXPECT_EQ(Run({"x", "--endpoint"}), kOwnFailure);
  EXPECT_THAT(err_, HasSubstr("--endpoint needs a value"));
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("usage: ferret otlp-replay"));
  no_transport_ = absl::InvalidArgumentError("no such endpoint");
  EXPECT_EQ(Run({"x"}), kOwnFailure);
  EXPECT_THAT(err_, HasSubstr("no such endpoint"));
}

}  // namespace
}  // namespace ferret

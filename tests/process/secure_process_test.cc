// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Programs that run with more rights than their caller take no orders from the caller's environment. Each test runs the
// program as it is, too: what it must not do there, it does here.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kAtSecure = DataFile("tests/process/at_secure");
const std::string kProgram = DataFile("tests/process/secure_program");

Outcome RunAsItIs(std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  arguments.insert(arguments.begin(), kProgram);
  return RunProgram(arguments, environment);
}

Outcome RunSecure(std::vector<std::string> arguments, const std::vector<std::string>& environment) {
  arguments.insert(arguments.begin(), {kAtSecure, kProgram});
  return RunProgram(arguments, environment);
}

class SecureProgram : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome = RunSecure({}, {});
    if (outcome.exit_status == 77) GTEST_SKIP() << "no process may be traced here: " << outcome.err;
    ASSERT_THAT(outcome.out, HasSubstr("secure 1\n")) << outcome.err;
    ASSERT_THAT(RunAsItIs({}, {}).out, HasSubstr("secure 0\n"));
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  // A library under a name that the program looks for among what it has loaded.
  std::string EvilLibrary() const {
    const std::string path = folder_ / "evil.so";
    std::filesystem::copy_file(DataFile("tests/process/libevil.so"), path);
    return path;
  }

  const TemporaryFolder folder_;
};

constexpr int kPatienceMs = 60'000;

// A port that nobody answers on, and which knows whether anybody came.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Waits for somebody.
  bool SomebodyComes() {
    pollfd waiting{socket_, POLLIN, 0};
    return poll(&waiting, 1, kPatienceMs) == 1;
  }
  bool SomebodyCame() {
    const int connection = accept(socket_, nullptr, nullptr);
    if (connection >= 0) close(connection);
    return connection >= 0;
  }

 private:
  const int socket_;
  int port_ = 0;
};

TEST_F(SecureProgram, IsNotRecordedByItself) {
  const std::vector<std::string> environment = {"FERRET_EXPORT=chrome_trace:" + folder_ / "trace.json",
                                                "FERRET_CRASH_DIR=" + folder_.path()};
  const Outcome secure = RunSecure({}, environment);
  EXPECT_EQ(secure.exit_status, 7);
  EXPECT_THAT(secure.out, HasSubstr("recording 0\n"));
  EXPECT_EQ(secure.err, "");
  EXPECT_TRUE(Files().empty());
  EXPECT_THAT(RunAsItIs({}, environment).out, HasSubstr("recording 1\n"));
  EXPECT_EQ(Files(), std::vector<std::string>{"trace.json"});
}

TEST_F(SecureProgram, ThatStartsASessionHasTheDefaults) {
  const std::vector<std::string> environment = {"FERRET_BUFFER_SIZE=nonsense", "FERRET_LOG=nonsense"};
  const Outcome secure = RunSecure({"chrome_trace:" + folder_ / "secure.json"}, environment);
  EXPECT_THAT(secure.out, HasSubstr("start \"\"\n"));
  EXPECT_EQ(secure.err, "");
  EXPECT_EQ(Files(), std::vector<std::string>{"secure.json"});
  EXPECT_THAT(RunAsItIs({"chrome_trace:" + folder_ / "plain.json"}, environment).out,
              HasSubstr("start \"FERRET_BUFFER_SIZE=\"nonsense\""));
}

TEST_F(SecureProgram, LoadsNoLibraryThatTheEnvironmentNames) {
  const std::string evil = EvilLibrary();
  for (const char* variable : {"FERRET_EXPORTERS=", "FERRET_CUDA_LIBRARY="}) {
    SCOPED_TRACE(variable);
    const std::vector<std::string> environment = {variable + evil, "FERRET_CUDA=annotations"};
    const Outcome secure = RunSecure({"table:" + folder_ / "secure.txt"}, environment);
    EXPECT_THAT(secure.out, HasSubstr("start \"\"\n"));
    EXPECT_THAT(secure.out + secure.err, Not(HasSubstr("evil")));
    // Loaded, or refused with a line that names it.
    const Outcome plain = RunAsItIs({"table:" + folder_ / "plain.txt"}, environment);
    EXPECT_THAT(plain.out + plain.err, HasSubstr("evil"));
  }
}

TEST_F(SecureProgram, BelongsToNoRunAndHasNoRankThatTheEnvironmentNames) {
  const std::vector<std::string> environment = {"FERRET_RUN_ID=chosen-by-the-caller", "RANK=3", "WORLD_SIZE=8"};
  const std::string target = "chrome_trace:" + folder_ / "rank-%r.json";
  RunAsItIs({target}, environment);
  ASSERT_EQ(Files(), std::vector<std::string>{"rank-3.json"});
  EXPECT_THAT(ReadFile(folder_ / "rank-3.json"), HasSubstr("chosen-by-the-caller"));
  std::filesystem::remove(folder_ / "rank-3.json");
  EXPECT_THAT(RunSecure({target}, environment).out, HasSubstr("start \"\"\n"));
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_NE(files[0], "rank-3.json");
  EXPECT_THAT(ReadFile(folder_ / files[0]), Not(HasSubstr("chosen-by-the-caller")));
}

TEST_F(SecureProgram, SendsNothingToWhereTheEnvironmentSays) {
  for (const char* variable : {"OTEL_EXPORTER_OTLP_ENDPOINT=", "http_proxy="}) {
    SCOPED_TRACE(variable);
    Listener listener;
    // Nobody listens on port 1. A variable for all signals does not change what a session was given.
    const bool proxy = variable == std::string("http_proxy=");
    const std::string target = proxy ? "otlp:http://127.0.0.1:1" : "otlp";
    const std::vector<std::string> environment = {variable + listener.url(), "no_proxy=", "NO_PROXY="};
    // A collector that does not answer is not waited for.
    EXPECT_THAT(RunSecure({target, "500"}, environment).out, HasSubstr("start \"\"\n"));
    EXPECT_FALSE(listener.SomebodyCame());
    // However slow it is; it would wait for an answer.
    Program plain({kProgram, target, std::to_string(kPatienceMs)}, environment);
    EXPECT_TRUE(listener.SomebodyComes());
    kill(plain.pid(), SIGKILL);
    plain.Wait();
  }
}

}  // namespace
}  // namespace ferret

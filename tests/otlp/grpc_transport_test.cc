// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GrpcTransport where nobody answers. Receivers that do: grpc_receiver_test.py.

#include "exporters/otlp/grpc/grpc_transport.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "exporters/otlp/grpc/grpc_library.h"

// LeakSanitizer asks this. GCC 12's crashes on the thread-local storage of gRPC's threads, which are there until the end;
// all other checks go on.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
int __lsan_is_turned_off() { return 1; }

namespace ferret::otlp {
namespace {

using Kind = SendOutcome::Kind;
using testing::HasSubstr;

constexpr char kLibrary[] = "libferret_otlp_grpc.so";  // in the folder that tests start in

// A port of the loopback, that the kernel chose. The kernel takes connections on it, up to the first, and nobody reads.
class SilentServer {
 public:
  explicit SilentServer(bool listening = true) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
    if (listening && listen(socket_, 16) != 0) std::abort();
    if (getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) std::abort();
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(socket_); }

  // Returns when somebody has connected.
  void Accept() { connection_ = accept(socket_, nullptr, nullptr); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int connection_ = -1;
  int port_ = 0;
};

GrpcTransport::Signals Signals(const std::string& url) {
  SignalConfig config;
  config.protocol = Protocol::kGrpc;
  config.url = url;
  return {config, config};
}

class GrpcTransportTest : public testing::Test {
 protected:
  std::unique_ptr<GrpcTransport> Open(const GrpcTransport::Signals& signals) {
    auto transport = GrpcTransport::Open(signals, &clock_, std::string("./") + kLibrary);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return transport.ok() ? *std::move(transport) : nullptr;
  }
  RunnerClock clock_;
};

TEST_F(GrpcTransportTest, ASilentReceiverHoldsASendUpToItsDeadline) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  const RunnerClock::Time deadline = clock_.After(absl::Milliseconds(300));
  const SendOutcome outcome = transport->Send(Signal::kTraces, "abc", deadline);
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_THAT(outcome.message, HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_GE(clock_.Now(), deadline - std::chrono::milliseconds(5));
  EXPECT_LT(clock_.Now(), deadline + std::chrono::seconds(20));
}

TEST_F(GrpcTransportTest, ADeadlineThatHasPassedIsOverAtOnce) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  EXPECT_EQ(transport->Send(Signal::kMetrics, "abc", clock_.Now() - std::chrono::hours(1)).kind, Kind::kRetryable);
  EXPECT_EQ(transport->Send(Signal::kMetrics, "abc", RunnerClock::Time::min()).kind, Kind::kRetryable);
}

TEST_F(GrpcTransportTest, CancelEndsASendThatHasNoDeadline) {
  SilentServer server;
  const auto transport = Open(Signals(server.url()));
  std::thread canceller([&] {
    server.Accept();
    transport->Cancel();
  });
  const SendOutcome outcome = transport->Send(Signal::kTraces, "abc", RunnerClock::Time::max());
  canceller.join();
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_THAT(outcome.message, HasSubstr("CANCELLED"));
}

TEST_F(GrpcTransportTest, WhatComesAfterCancelIsOverAtOnceForBothSignals) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  transport->Cancel();
  for (const Signal signal : {Signal::kTraces, Signal::kMetrics}) {
    EXPECT_EQ(transport->Send(signal, "abc", RunnerClock::Time::max()).kind, Kind::kRetryable);
  }
}

// Wherever Cancel falls in a call's start, Send returns; no deadline would save it.
TEST_F(GrpcTransportTest, CancelMayComeAtAnyMomentOfASend) {
  const SilentServer server;
  for (int round = 0; round < 50; ++round) {
    const auto transport = Open(Signals(server.url()));
    std::thread canceller([&] { transport->Cancel(); });
    EXPECT_EQ(transport->Send(Signal::kTraces, std::string(round * 1000, 'x'), RunnerClock::Time::max()).kind,
              Kind::kRetryable);
    canceller.join();
  }
}

TEST_F(GrpcTransportTest, ARefusedConnectionIsSaidAtOnce) {
  const SilentServer closed(false);
  const auto transport = Open(Signals(closed.url()));
  const SendOutcome outcome = transport->Send(Signal::kTraces, "abc", RunnerClock::Time::max());
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_THAT(outcome.message, HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(outcome.message, HasSubstr("refused"));
}

TEST_F(GrpcTransportTest, ASignalOfAnotherProtocolIsNotSent) {
  const SilentServer server;
  GrpcTransport::Signals signals = Signals(server.url());
  signals[1].protocol = Protocol::kHttpProtobuf;
  const auto transport = Open(signals);
  EXPECT_EQ(transport->Send(Signal::kMetrics, "abc", RunnerClock::Time::max()).kind, Kind::kRefused);
  EXPECT_EQ(transport->Destination(), server.url() + " (gRPC)");
  EXPECT_EQ(transport->form(), Form::kProtobuf);
}

TEST_F(GrpcTransportTest, ABadEndpointIsAnErrorOfOpen) {
  const auto transport = GrpcTransport::Open(Signals("http://collector:4318/v1/traces"), &clock_);
  EXPECT_EQ(transport.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(GrpcTransportTest, AnEndpointThatGrpcDoesNotTakeIsAnErrorOfOpen) {
  const auto transport =
      GrpcTransport::Open(Signals("unix:/" + std::string(200, 'x')), &clock_, std::string("./") + kLibrary);
  EXPECT_EQ(transport.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(GrpcTransportTest, AForkedChildNeitherSendsNorCloses) {
  const SilentServer server;
  auto transport = Open(Signals(server.url()));
  transport->Send(Signal::kTraces, "abc", clock_.After(absl::Milliseconds(50)));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = transport->Send(Signal::kTraces, "abc", RunnerClock::Time::max()).kind == Kind::kRefused;
    transport->Cancel();
    transport.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(transport->Send(Signal::kTraces, "abc", clock_.After(absl::Milliseconds(50))).kind, Kind::kRetryable);
}

// It would wait for locks and threads that only the parent has.
TEST_F(GrpcTransportTest, AForkedChildOfAProcessThatUsesGrpcOpensNone) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  const pid_t child = fork();
  if (child == 0) {
    const auto own = GrpcTransport::Open(Signals(server.url()), &clock_, std::string("./") + kLibrary);
    const bool says = std::string(own.status().message()).find("http/protobuf") != std::string::npos;
    _exit(own.status().code() == absl::StatusCode::kFailedPrecondition && says ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(GrpcLibrary, AMissingFileIsAnErrorThatSaysWhereItBelongs) {
  const auto api = LoadGrpcLibrary("/nowhere/libferret_otlp_grpc.so");
  EXPECT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("beside libferret.so"));
}

TEST(GrpcLibrary, AFileThatTheLinkerRefusesIsAnErrorThatNamesThePackage) {
  const std::string path = testing::TempDir() + "/libferret_otlp_grpc.so";
  std::ofstream(path) << "no library at all";
  const auto api = LoadGrpcLibrary(path);
  EXPECT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("libgrpc++1.51"));
}

TEST(GrpcLibrary, AnotherLibraryOfThatNameIsRefused) {
  const auto api = LoadGrpcLibrary("libdl.so.2");
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("not of this version"));
}

TEST(GrpcLibrary, AnotherVersionIsRefused) {
  void* const library = dlopen((std::string("./") + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto entry = reinterpret_cast<ferret_otlp_grpc_entry_function>(dlsym(library, "ferret_otlp_grpc_entry"));
  ASSERT_NE(entry, nullptr);
  EXPECT_NE(entry(FERRET_OTLP_GRPC_ABI_VERSION), nullptr);
  EXPECT_EQ(entry(FERRET_OTLP_GRPC_ABI_VERSION + 1), nullptr);
}

TEST_F(GrpcTransportTest, TheHostSeesNoSymbolOfIt) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  ASSERT_NE(transport, nullptr);
  for (const char* name : {"ferret_otlp_grpc_entry", "grpc_init", "gpr_log"}) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
  }
}

TEST_F(GrpcTransportTest, GrpcsThreadsLeaveTheHostsSignalsToTheHost) {
  const SilentServer server;
  const auto transport = Open(Signals(server.url()));
  transport->Send(Signal::kTraces, "abc", clock_.After(absl::Milliseconds(100)));
  size_t others = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(getpid())) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGPROF, SIGCHLD}) {
        EXPECT_TRUE(blocked >> (signal - 1) & 1) << entry.path() << " takes signal " << signal;
      }
      ++others;
    }
  }
  EXPECT_GT(others, 0u);
  sigset_t own;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &own), 0);
  EXPECT_FALSE(sigismember(&own, SIGTERM)) << "the caller's mask was not restored";
}

}  // namespace
}  // namespace ferret::otlp

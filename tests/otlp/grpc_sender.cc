// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that sends what it is told to: grpc_sender LIBRARY NAME=VALUE...
//
// Names: url, insecure, gzip, ca, key, certificate, header (NAME:VALUE). Then a line of standard input for each request,
// answered by a line of JSON:
//   send traces|metrics BYTES MILLISECONDS    zeros
//   file traces|metrics PATH MILLISECONDS
//   repeat COUNT BYTES                        one line for all of them
//   cancel                                    a request without a deadline, that the line after this one cancels
// What a program may do at its end:
//   exit      returns from main while a request without a deadline runs on another thread
//   at_exit   returns from main, and sends one request from a function that exit calls, registered before gRPC was there

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include "exporters/otlp/grpc/grpc_transport.h"
#include "runtime/text/json_text.h"

namespace ferret::otlp {
namespace {

using Clock = std::chrono::steady_clock;

RunnerClock* TheClock() {
  static RunnerClock* const clock = new RunnerClock;
  return clock;
}

// Never deleted, as a transport may still run when the process exits; close comes from AtExit in one case.
GrpcTransport* transport = nullptr;
bool send_at_exit = false;

void Print(const SendOutcome& outcome, Clock::time_point start) {
  static constexpr const char* kKinds[] = {"delivered", "retryable", "refused", "too large", "unsupported"};
  const auto ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::cout << "{\"kind\":\"" << kKinds[static_cast<size_t>(outcome.kind)] << "\",\"rejected\":" << outcome.rejected
            << ",\"retry_after\":";
  if (outcome.retry_after) {
    std::cout << absl::ToDoubleSeconds(*outcome.retry_after);
  } else {
    std::cout << "null";
  }
  std::cout << ",\"message\":" << QuotedJson(outcome.message) << ",\"ms\":" << ms << "}" << std::endl;
}

void Send(const std::string& signal, const std::string& body, int64_t milliseconds) {
  const Clock::time_point start = Clock::now();
  const RunnerClock::Time deadline =
      milliseconds < 0 ? RunnerClock::Time::max() : TheClock()->After(absl::Milliseconds(milliseconds));
  Print(transport->Send(signal == "metrics" ? Signal::kMetrics : Signal::kTraces, body, deadline), start);
}

void AtExit() {
  if (!send_at_exit) return;
  Send("traces", "at exit", 10'000);
  delete transport;
}

SignalConfig ReadConfig(int argc, char** argv) {
  SignalConfig config;
  config.protocol = Protocol::kGrpc;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (name == "url") config.url = value;
    if (name == "insecure") config.insecure = value == "1";
    if (name == "gzip") config.gzip = value == "1";
    if (name == "ca") config.ca_file = value;
    if (name == "key") config.client_key_file = value;
    if (name == "certificate") config.client_certificate_file = value;
    const size_t colon = value.find(':');
    if (name == "header") config.headers.emplace_back(value.substr(0, colon), value.substr(colon + 1));
  }
  return config;
}

int Run(int argc, char** argv) {
  std::atexit(&AtExit);
  const SignalConfig config = ReadConfig(argc, argv);
  const Clock::time_point start = Clock::now();
  auto opened = GrpcTransport::Open({config, config}, TheClock(), argv[1]);
  if (!opened.ok()) {
    std::cerr << opened.status() << "\n";
    return 1;
  }
  transport = opened->release();
  std::cout << "{\"open_ms\":" << std::chrono::duration<double, std::milli>(Clock::now() - start).count() << "}"
            << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, signal, path;
    size_t bytes = 0;
    int64_t milliseconds = 0;
    words >> command;
    if (command == "send" && words >> signal >> bytes >> milliseconds) {
      Send(signal, std::string(bytes, '\0'), milliseconds);
    } else if (command == "file" && words >> signal >> path >> milliseconds) {
      std::ifstream file(path, std::ios::binary);
      Send(signal, std::string(std::istreambuf_iterator<char>(file), {}), milliseconds);
    } else if (size_t count = 0; command == "repeat" && words >> count >> bytes) {
      const std::string body(bytes, '\x55');
      const Clock::time_point first = Clock::now();
      SendOutcome outcome;
      for (size_t i = 0; i < count; ++i) {
        outcome = transport->Send(Signal::kTraces, body, TheClock()->After(absl::Seconds(60)));
        if (outcome.kind != SendOutcome::Kind::kDelivered) break;
      }
      Print(outcome, first);
    } else if (command == "cancel") {
      std::thread sending([] { Send("traces", "hang", -1); });
      std::getline(std::cin, line);
      transport->Cancel();
      sending.join();
    } else if (command == "exit") {
      // The receiver says when it has the request; then a second line comes.
      std::thread([] { Send("traces", "hang", -1); }).detach();
      std::getline(std::cin, line);
      return 0;
    } else if (command == "at_exit") {
      send_at_exit = true;
      return 0;
    } else {
      std::cerr << "what is \"" << line << "\"?\n";
      return 2;
    }
  }
  delete transport;
  return 0;
}

}  // namespace
}  // namespace ferret::otlp

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return ferret::otlp::Run(argc, argv);
}

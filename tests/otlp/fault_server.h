// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FaultServer: an HTTP receiver on loopback that misbehaves as a test tells it to. One connection at a time.

#ifndef FERRET_TESTS_OTLP_FAULT_SERVER_H_
#define FERRET_TESTS_OTLP_FAULT_SERVER_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/otlp/tls_side.h"

namespace ferret::otlp {

struct FaultRequest {
  int connection = 0;  // the first is 0
  std::string line;    // "POST /v1/traces HTTP/1.1"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct FaultReply {
  enum class Pace { kAtOnce, kByteWise, kDribble };  // kDribble: a byte every few milliseconds, until the client leaves
  enum class Then { kNextRequest, kClose, kReset, kHang };
  std::string bytes;
  Then then = Then::kNextRequest;
  Pace pace = Pace::kAtOnce;
};

// A whole reply, with Content-Length. `headers`: lines with their ends.
FaultReply Answer(int status, std::string_view body = "", std::string_view headers = "");

class FaultServer {
 public:
  using Script = std::function<FaultReply(const FaultRequest&)>;
  struct Options {
    std::optional<FaultReply> greeting;  // sent, and acted on, before anything is read
    bool before_body = false;            // the script is asked when the headers are in; the body is not read
    const TlsSide* tls = nullptr;
    int port = 0;  // of a receiver that was there before and is gone; 0: one that the kernel chooses
  };

  explicit FaultServer(Script script) : FaultServer(std::move(script), Options()) {}
  FaultServer(Script script, Options options);
  ~FaultServer();

  int port() const { return port_; }
  std::string Url(std::string_view path = "/v1/traces") const;

  // All so far, in their order.
  std::vector<FaultRequest> Requests();
  int connections();
  // Until so many requests were read, or so many connections accepted.
  void WaitForRequests(size_t count);
  void WaitForConnections(int count);

 private:
  class Connection;
  void Serve();
  void Talk(Connection* connection, int number);
  bool Act(Connection* connection, const FaultReply& reply);

  const Script script_;
  const Options options_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FaultRequest> requests_;
  int connections_ = 0;
  int current_ = -1;  // the socket of the connection that is open
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_FAULT_SERVER_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/otlp/fault_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace ferret::otlp {
namespace {

constexpr int kDribbleMilliseconds = 2;

[[noreturn]] void Die(const char* call) {
  std::perror(call);
  std::abort();
}

// The request line and headers, of a head that ends in an empty line.
FaultRequest ParseHead(std::string_view head) {
  FaultRequest request;
  request.line = head.substr(0, head.find("\r\n"));
  for (size_t at = request.line.size() + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at);
    if (end == head.npos || end == at) break;
    const std::string_view line = head.substr(at, end - at);
    const size_t colon = line.find(':');
    std::string name(line.substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string_view value = colon == line.npos ? "" : line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    request.headers[name] = value;
    at = end + 2;
  }
  return request;
}

}  // namespace

FaultReply Answer(int status, std::string_view body, std::string_view headers) {
  FaultReply reply;
  reply.bytes = "HTTP/1.1 " + std::to_string(status) + " Reason\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n" + std::string(headers) + "\r\n" + std::string(body);
  return reply;
}

class FaultServer::Connection {
 public:
  Connection(int socket, const TlsSide* tls) : socket_(socket), is_tls_(tls != nullptr) {
    if (is_tls_) tls_ = tls->Accept(socket);
  }
  ~Connection() {
    if (tls_ != nullptr) TlsSide::Free(tls_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Hard: the client sees a reset.
  void Close(bool hard) {
    if (hard) {
      const linger at_once = {1, 0};
      setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    } else if (tls_ != nullptr) {
      TlsSide::SayGoodbye(tls_);
    }
  }
  bool good() const { return !is_tls_ || tls_ != nullptr; }
  // After a handshake that failed. A close with bytes unread would be a reset, which could outrun what TLS has said.
  void WaitForTheClientToLeave() const {
    shutdown(socket_, SHUT_WR);
    char data[16384];
    while (recv(socket_, data, sizeof(data), 0) > 0) continue;
  }
  bool Read(std::string* more) {
    char data[16384];
    const long got = is_tls_ ? TlsSide::Read(tls_, data, sizeof(data)) : recv(socket_, data, sizeof(data), 0);
    if (got > 0) more->append(data, static_cast<size_t>(got));
    return got > 0;
  }
  bool Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const long sent = is_tls_ ? TlsSide::Write(tls_, bytes.data(), bytes.size())
                                : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // False once the client has left.
  bool Pause() const {
    pollfd entry = {socket_, POLLIN | POLLRDHUP, 0};
    return poll(&entry, 1, kDribbleMilliseconds) == 0;
  }
  // What was read beyond a request is the beginning of the next.
  std::string unread;

 private:
  const int socket_;
  const bool is_tls_;
  void* tls_ = nullptr;
};

FaultServer::FaultServer(Script script, Options options) : script_(std::move(script)), options_(std::move(options)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(options_.port));
  socklen_t size = sizeof(address);
  // Connections of a receiver before this one may not be over in the kernel's eyes.
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0) Die("bind");
  if (listen(listener_, 16) != 0) Die("listen");
  if (getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) Die("getsockname");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

FaultServer::~FaultServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (current_ >= 0) shutdown(current_, SHUT_RDWR);
    shutdown(listener_, SHUT_RDWR);
  }
  thread_.join();
  close(listener_);
}

std::string FaultServer::Url(std::string_view path) const {
  return (options_.tls == nullptr ? "http://127.0.0.1:" : "https://localhost:") + std::to_string(port_) +
         std::string(path);
}

std::vector<FaultRequest> FaultServer::Requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int FaultServer::connections() {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void FaultServer::WaitForRequests(size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void FaultServer::WaitForConnections(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return connections_ >= count; });
}

void FaultServer::Serve() {
  // Raised where libssl writes to a client that has left.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  for (int number = 0;; ++number) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int now = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_) current_ = socket;
      if (stopping_) shutdown(socket, SHUT_RDWR);
      ++connections_;
      changed_.notify_all();
    }
    Connection connection(socket, options_.tls);
    if (connection.good()) {
      Talk(&connection, number);
    } else {
      connection.WaitForTheClientToLeave();
    }
    const std::lock_guard lock(mutex_);
    current_ = -1;
    close(socket);
  }
}

void FaultServer::Talk(Connection* connection, int number) {
  if (options_.greeting.has_value() && !Act(connection, *options_.greeting)) return;
  while (true) {
    std::string& text = connection->unread;
    size_t end;
    while ((end = text.find("\r\n\r\n")) == text.npos) {
      if (!connection->Read(&text)) return connection->Close(false);
    }
    FaultRequest request = ParseHead(std::string_view(text).substr(0, end + 2));
    request.connection = number;
    text.erase(0, end + 4);
    if (!options_.before_body) {
      const size_t size = static_cast<size_t>(std::atol(request.Header("content-length").c_str()));
      while (text.size() < size) {
        if (!connection->Read(&text)) return connection->Close(false);
      }
      request.body = text.substr(0, size);
      text.erase(0, size);
    }
    const FaultReply reply = script_(request);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
      changed_.notify_all();
    }
    if (!Act(connection, reply)) return;
  }
}

bool FaultServer::Act(Connection* connection, const FaultReply& reply) {
  bool there = true;
  if (reply.pace == FaultReply::Pace::kAtOnce) {
    there = connection->Write(reply.bytes);
  } else {
    for (size_t i = 0; there && i < reply.bytes.size(); ++i) {
      there = connection->Write(std::string_view(reply.bytes).substr(i, 1)) &&
              (reply.pace == FaultReply::Pace::kByteWise || connection->Pause());
    }
  }
  if (there && reply.then == FaultReply::Then::kNextRequest) return true;
  if (there && reply.then == FaultReply::Then::kHang) {
    std::string ignored;
    while (connection->Read(&ignored)) ignored.clear();
  }
  connection->Close(reply.then == FaultReply::Then::kReset);
  return false;
}

}  // namespace ferret::otlp

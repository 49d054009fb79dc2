// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DiscardingReceiver: an HTTP receiver on loopback that reads requests, forgets them, and says that all is well.
//
// One connection at a time, on a thread of its own; of a request only Content-Length is understood.

#ifndef FERRET_BENCH_DISCARDING_RECEIVER_H_
#define FERRET_BENCH_DISCARDING_RECEIVER_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ferret::otlp {

class DiscardingReceiver {
 public:
  DiscardingReceiver() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 4) != 0 || getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::perror("a socket to listen on");
      std::exit(1);
    }
    address_ = address;
    thread_ = std::thread([this] { Serve(); });
  }
  // After its clients have closed their connections.
  ~DiscardingReceiver() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  const sockaddr_in& address() const { return address_; }
  std::string Url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/v1/traces"; }
  // Of bodies, as they were sent.
  uint64_t body_bytes() const { return body_bytes_; }

 private:
  void Serve() {
    for (int client; (client = accept(listener_, nullptr, nullptr)) >= 0; close(client)) {
      std::string head;
      while (ReadHead(client, &head) && SkipBody(client, &head) && Answer(client)) {
      }
    }
  }
  // Until the empty line.
  bool ReadHead(int client, std::string* head) {
    while (head->find("\r\n\r\n") == head->npos) {
      const ssize_t got = recv(client, buffer_.data(), buffer_.size(), 0);
      if (got <= 0) return false;
      head->append(buffer_.data(), static_cast<size_t>(got));
    }
    return true;
  }
  // What was read beyond it stays in `head`.
  bool SkipBody(int client, std::string* head) {
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t at = head->find(kLength);
    if (at == head->npos) return false;
    size_t left = std::strtoull(head->c_str() + at + kLength.size(), nullptr, 10);
    body_bytes_ += left;
    head->erase(0, head->find("\r\n\r\n") + 4);
    const size_t here = std::min(left, head->size());
    head->erase(0, here);
    for (left -= here; left > 0;) {
      const ssize_t got = recv(client, buffer_.data(), std::min(left, buffer_.size()), 0);
      if (got <= 0) return false;
      left -= static_cast<size_t>(got);
    }
    return true;
  }
  static bool Answer(int client) {
    constexpr std::string_view kReply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    return send(client, kReply.data(), kReply.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kReply.size());
  }

  int listener_ = -1;
  sockaddr_in address_ = {};
  std::vector<char> buffer_ = std::vector<char>(size_t{1} << 18);
  std::atomic<uint64_t> body_bytes_{0};
  std::thread thread_;
};

}  // namespace ferret::otlp

#endif  // FERRET_BENCH_DISCARDING_RECEIVER_H_

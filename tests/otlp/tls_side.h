// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TlsSide: the server's side of TLS for tests, by the libssl that libcurl brings; loaded, since its headers need not be
// there.

#ifndef FERRET_TESTS_OTLP_TLS_SIDE_H_
#define FERRET_TESTS_OTLP_TLS_SIDE_H_

#include <cstddef>
#include <string>

namespace ferret::otlp {

// One for all connections of a server. Dies with a message if there is no libssl.so.3 or no such file.
class TlsSide {
 public:
  // PEM files. With `client_ca_file` a client must show a certificate of that authority.
  TlsSide(const std::string& certificate_file, const std::string& key_file, const std::string& client_ca_file);
  ~TlsSide();
  TlsSide(const TlsSide&) = delete;
  TlsSide& operator=(const TlsSide&) = delete;

  // Null if the handshake failed.
  void* Accept(int socket) const;
  // As read and write, of a connection that Accept gave.
  static long Read(void* connection, char* data, size_t size);
  static long Write(void* connection, const char* data, size_t size);
  static void SayGoodbye(void* connection);
  static void Free(void* connection);

 private:
  void* context_ = nullptr;
};

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_TLS_SIDE_H_

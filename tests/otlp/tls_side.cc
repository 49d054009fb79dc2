// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/otlp/tls_side.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace ferret::otlp {
namespace {

constexpr int kPem = 1;
constexpr int kAskForCertificate = 1 | 2;  // SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT

[[noreturn]] void Die(const char* why) {
  std::fprintf(stderr, "tls_side: %s\n", why);
  std::abort();
}

template <typename Function>
Function* Find(const char* name) {
  static void* const library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) Die(dlerror());
  return reinterpret_cast<Function*>(function);
}

}  // namespace

TlsSide::TlsSide(const std::string& certificate_file, const std::string& key_file,
                 const std::string& client_ca_file) {
  context_ = Find<void*(const void*)>("SSL_CTX_new")(Find<const void*()>("TLS_server_method")());
  if (Find<int(void*, const char*)>("SSL_CTX_use_certificate_chain_file")(context_, certificate_file.c_str()) != 1 ||
      Find<int(void*, const char*, int)>("SSL_CTX_use_PrivateKey_file")(context_, key_file.c_str(), kPem) != 1) {
    Die("the server's certificate or key does not load");
  }
  if (client_ca_file.empty()) return;
  if (Find<int(void*, const char*, const char*)>("SSL_CTX_load_verify_locations")(context_, client_ca_file.c_str(),
                                                                                  nullptr) != 1) {
    Die("the authority of clients does not load");
  }
  Find<void(void*, int, void*)>("SSL_CTX_set_verify")(context_, kAskForCertificate, nullptr);
}

TlsSide::~TlsSide() { Find<void(void*)>("SSL_CTX_free")(context_); }

void* TlsSide::Accept(int socket) const {
  void* const connection = Find<void*(void*)>("SSL_new")(context_);
  Find<int(void*, int)>("SSL_set_fd")(connection, socket);
  if (Find<int(void*)>("SSL_accept")(connection) == 1) return connection;
  Free(connection);
  return nullptr;
}

long TlsSide::Read(void* connection, char* data, size_t size) {
  return Find<int(void*, void*, int)>("SSL_read")(connection, data, static_cast<int>(size));
}

long TlsSide::Write(void* connection, const char* data, size_t size) {
  return Find<int(void*, const void*, int)>("SSL_write")(connection, data, static_cast<int>(size));
}

void TlsSide::SayGoodbye(void* connection) { Find<int(void*)>("SSL_shutdown")(connection); }

void TlsSide::Free(void* connection) { Find<void(void*)>("SSL_free")(connection); }

}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/curl_table.h"

#include <dlfcn.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferret::otlp {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// OpenSSL, if that is what this libcurl uses and nobody did before, clears its tables when the process exits: while requests
// are still being sent, since its handler comes later and so runs before ours. Here it is told not to.
void KeepOpenSslUntilTheEnd(void* library) {
  constexpr uint64_t kNoAtExit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT
  int (*init)(uint64_t options, const void* settings);
  if (Find(library, "OPENSSL_init_crypto", &init)) init(kNoAtExit, nullptr);
}

}  // namespace

absl::StatusOr<CurlTable> LoadCurlFrom(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const error = dlerror();
    return absl::NotFoundError(absl::StrCat("sending over HTTP needs libcurl, which could not be loaded (",
                                            error == nullptr ? library : error,
                                            "): install it, on Debian and Ubuntu the package libcurl4"));
  }
  CurlTable table;
#define FERRET_CURL_FIND(name)                                                                                        \
  if (!Find(handle, "curl_" #name, &table.name)) {                                                                    \
    return absl::NotFoundError(                                                                                       \
        absl::StrCat(library, " has no curl_" #name ": sending over HTTP needs libcurl 7.68 or later"));              \
  }
  FERRET_CURL_FUNCTIONS(FERRET_CURL_FIND)
#undef FERRET_CURL_FIND
  KeepOpenSslUntilTheEnd(handle);
  // Counted by libcurl, so a host that does the same is not disturbed.
  const CURLcode result = table.global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) {
    return absl::InternalError(absl::StrCat("libcurl does not start: ", table.easy_strerror(result)));
  }
  return table;
}

absl::StatusOr<const CurlTable*> LoadCurl() {
  static const auto* const loaded = new absl::StatusOr<CurlTable>(LoadCurlFrom(kCurlLibrary));
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

}  // namespace ferret::otlp

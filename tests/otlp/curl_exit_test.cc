// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What libcurl's own libraries do when the process exits.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "exporters/otlp/http/curl_table.h"

namespace ferret::otlp {
namespace {

[[noreturn]] void LoadAndExit() {
  if (!LoadCurl().ok()) std::_Exit(3);
  void* const crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
  if (crypto == nullptr) std::_Exit(4);
  using AtExit = int (*)(void (*handler)());
  const auto at_exit = reinterpret_cast<AtExit>(dlsym(crypto, "OPENSSL_atexit"));
  if (at_exit == nullptr || at_exit([] { std::_Exit(5); }) != 1) std::_Exit(6);
  std::exit(0);
}

// A sender thread may be using it until Ferret's own exit handler is done, which runs later.
TEST(CurlExitDeathTest, OpenSslClearsNothingThatASenderMayStillUse) {
  EXPECT_EXIT(LoadAndExit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ferret::otlp

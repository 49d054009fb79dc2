// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libcurl as it is loaded in a process that has no other use for it.

#include "exporters/otlp/http/curl_table.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

TEST(CurlTableTest, KeepsLibcurlOutOfSightOfTheProcess) {
  FaultServer server([](const FaultRequest&) { return Answer(200); });
  EXPECT_EQ(Make(BothTo(server))->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  EXPECT_NE(dlopen(kCurlLibrary, RTLD_NOW | RTLD_NOLOAD), nullptr);  // it is there
  for (const char* name : {"curl_easy_init", "curl_global_init", "SSL_new", "nghttp2_session_del"}) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
  }
}

TEST(CurlTableTest, LoadsOnce) {
  const auto first = LoadCurl();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, *LoadCurl());
}

TEST(CurlTableTest, SaysWhatToInstallWhereThereIsNone) {
  const absl::Status status = LoadCurlFrom("libno-such-curl.so.4").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("the package libcurl4"), absl::string_view::npos);
}

TEST(CurlTableTest, SaysWhichFunctionALibraryLacks) {
  const absl::Status status = LoadCurlFrom("libz.so.1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("libz.so.1 has no curl_"), absl::string_view::npos);
}

}  // namespace
}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that is linked to libcurl and uses it, while Ferret uses it as well.

#include <curl/curl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "exporters/otlp/http/curl_table.h"
#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

FaultReply Fine(const FaultRequest&) { return Answer(200); }

CURLcode Get(const std::string& url) {
  CURL* const easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  const CURLcode result = curl_easy_perform(easy);
  curl_easy_cleanup(easy);
  return result;
}

TEST(CurlBesideTest, UsesTheLibraryThatTheProgramHas) {
  const absl::StatusOr<const CurlTable*> curl = LoadCurl();
  ASSERT_TRUE(curl.ok());
  EXPECT_EQ((*curl)->easy_init, &curl_easy_init);
}

TEST(CurlBesideTest, BothGoOnWhenTheOtherIsDone) {
  FaultServer ours(Fine), theirs(Fine);
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
  auto transport = Make(BothTo(ours));
  EXPECT_EQ(Get(theirs.Url()), CURLE_OK);
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  // The program believes to be the last one.
  curl_global_cleanup();
  EXPECT_EQ(transport->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  transport.reset();
  EXPECT_EQ(Make(BothTo(ours))->Send(Signal::kTraces, "body", Soon()).kind, Kind::kDelivered);
  ASSERT_EQ(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
  EXPECT_EQ(Get(theirs.Url()), CURLE_OK);
}

}  // namespace
}  // namespace ferret::otlp

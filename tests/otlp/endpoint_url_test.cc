// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/endpoint_url.h"

#include <gtest/gtest.h>

#include <string>

namespace ferret::otlp {
namespace {

std::string Below(const std::string& text, Signal signal = Signal::kTraces) {
  const auto endpoint = ParseHttpEndpoint(text);
  return endpoint.ok() ? UrlBelow(*endpoint, signal) : "error: " + std::string(endpoint.status().message());
}
std::string AsItIs(const std::string& text) {
  const auto endpoint = ParseHttpEndpoint(text);
  return endpoint.ok() ? UrlAsItIs(*endpoint) : "error: " + std::string(endpoint.status().message());
}
std::string Grpc(const std::string& text) {
  const auto endpoint = ParseGrpcEndpoint(text);
  return endpoint.ok() ? GrpcTarget(*endpoint) : "error: " + std::string(endpoint.status().message());
}

TEST(EndpointUrl, ABaseGetsTheSignalsPathAfterItsOwn) {
  EXPECT_EQ(Below("http://c:4318"), "http://c:4318/v1/traces");
  EXPECT_EQ(Below("http://c:4318/"), "http://c:4318/v1/traces");
  EXPECT_EQ(Below("http://c:4318/my"), "http://c:4318/my/v1/traces");
  EXPECT_EQ(Below("http://c:4318/my/"), "http://c:4318/my/v1/traces");
  EXPECT_EQ(Below("http://c:4318/my/", Signal::kMetrics), "http://c:4318/my/v1/metrics");
  EXPECT_EQ(Below("http://c/my?tenant=7"), "http://c/my/v1/traces?tenant=7");
}

TEST(EndpointUrl, ASignalsOwnIsLeftAsItIsAndHasAtLeastASlash) {
  EXPECT_EQ(AsItIs("http://c:4318/my"), "http://c:4318/my");
  EXPECT_EQ(AsItIs("http://c:4318/my//x/"), "http://c:4318/my//x/");
  EXPECT_EQ(AsItIs("http://c:4318"), "http://c:4318/");
  EXPECT_EQ(AsItIs("https://c?a=/b"), "https://c/?a=/b");
}

TEST(EndpointUrl, HostAndPortAreKeptAndNoPortIsAddedOnlyTheSchemeIsInLowerCase) {
  EXPECT_EQ(Below("HTTPS://Node-1.Example.com"), "https://Node-1.Example.com/v1/traces");
  EXPECT_EQ(Below("http://[fd00::1]:80"), "http://[fd00::1]:80/v1/traces");
  EXPECT_EQ(Below("http://[::1]"), "http://[::1]/v1/traces");
  EXPECT_EQ(Below("http://10.0.0.7:65535"), "http://10.0.0.7:65535/v1/traces");
  EXPECT_EQ(Below("http://under_score:1"), "http://under_score:1/v1/traces");
}

TEST(EndpointUrl, HttpNeedsItsScheme) {
  for (const char* text : {"c:4318", "localhost:4318", "//c", "ftp://c", "unix:/run/x", "://c", "http:/c", "c", ""}) {
    EXPECT_EQ(Below(text), "error: it has to begin with http:// or https://") << text;
  }
}

TEST(EndpointUrl, WhatNoUrlCanBeIsAnErrorThatSaysWhy) {
  EXPECT_EQ(Below("http://"), "error: there is no host");
  EXPECT_EQ(Below("http:///v1"), "error: there is no host");
  EXPECT_EQ(Below("http://:4318"), "error: there is no host");
  for (const char* text : {"http://c:", "http://c:0", "http://c:65536", "http://c:99999999999999999999", "http://c:x",
                           "http://c:-1", "http://c:+1", "http://::1:80", "http://[::1]80", "http://c:80:80"}) {
    const std::string expected = std::string(text) == "http://::1:80" ? "error: there is no host"
                                                                      : "error: the port is not a number from 1 to 65535";
    EXPECT_EQ(Below(text), expected) << text;
  }
  EXPECT_EQ(Below("http://[::1"), "error: a '[' has no ']'");
  EXPECT_EQ(Below("http://[::g]"), "error: what is in brackets is no IPv6 address");
  EXPECT_EQ(Below("http://c#x"), "error: a '#' is not allowed");
  for (const char* text : {"http://c /x", " http://c", "http://c\n", "http://c/\x7f", "http://c/\xc3\xa4"}) {
    EXPECT_EQ(Below(text), "error: spaces and other characters that do not print are not allowed") << text;
  }
  EXPECT_EQ(Below("http://a$b"), "error: the host may have letters, digits, '-', '.' and '_', or be [IPv6]");
}

TEST(EndpointUrl, AUserNameIsRefusedAndNotRepeated) {
  for (const char* text : {"http://me:secret@c:4318", "http://secret@c"}) {
    EXPECT_EQ(Below(text), "error: a user name is not allowed; credentials go into headers");
    EXPECT_EQ(Grpc(text), "error: a user name is not allowed; credentials go into headers");
  }
}

TEST(EndpointUrl, GrpcTakesHttpHttpsUnixOrNoScheme) {
  EXPECT_EQ(Grpc("c:4317"), "c:4317");
  EXPECT_EQ(Grpc("localhost"), "localhost");
  EXPECT_EQ(Grpc("[::1]:4317"), "[::1]:4317");
  EXPECT_EQ(Grpc("http://c:4317"), "http://c:4317");
  EXPECT_EQ(Grpc("HTTPS://c/"), "https://c");
  EXPECT_EQ(Grpc("http://c:4317/v1/traces"), "http://c:4317");
  EXPECT_EQ(Grpc("unix:run/otlp.sock"), "unix:run/otlp.sock");
  EXPECT_EQ(Grpc("unix:/run/otlp.sock"), "unix:/run/otlp.sock");
  EXPECT_EQ(Grpc("unix:///run/otlp.sock"), "unix:/run/otlp.sock");
  EXPECT_EQ(Grpc("unix://run/otlp.sock"), "error: after unix:// the path has to begin with /");
  EXPECT_EQ(Grpc("unix:"), "error: there is no path of a socket");
  EXPECT_EQ(Grpc("dns:///c:4317"), "error: the scheme may be http, https or unix, or be left out");
  EXPECT_EQ(Grpc("c:4317?x=1"), "error: gRPC has no use for a query");
  EXPECT_EQ(Grpc(""), "error: there is no host");
}

TEST(EndpointUrl, LoopbackIsKnownByNameAndByAddress) {
  for (const char* text : {"localhost", "LocalHost:1", "localhost.:1", "a.localhost", "127.0.0.1:4317", "127.1.2.3",
                           "[::1]:1", "[::ffff:127.0.0.1]", "https://localhost", "unix:/run/x"}) {
    EXPECT_TRUE(IsLoopback(*ParseGrpcEndpoint(text))) << text;
  }
  for (const char* text : {"c", "localhost.com", "notlocalhost", "128.0.0.1", "10.0.0.1", "0.0.0.0", "127.example.com",
                           "[::2]", "[fd00::1]:1", "[::ffff:10.0.0.1]"}) {
    EXPECT_FALSE(IsLoopback(*ParseGrpcEndpoint(text))) << text;
  }
}

}  // namespace
}  // namespace ferret::otlp

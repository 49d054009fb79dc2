// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace ferret::otlp {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Written(const GrpcEndpoint& endpoint) { return endpoint.target + (endpoint.tls ? " TLS" : " plain"); }

std::string Read(const std::string& url, bool insecure = false) {
  const auto endpoint = ReadGrpcEndpoint(url, insecure);
  return endpoint.ok() ? Written(*endpoint) : std::string(endpoint.status().message());
}

TEST(GrpcEndpoint, TheSchemeSaysWhetherItIsTls) {
  EXPECT_EQ(Read("http://collector:4317"), "dns:///collector:4317 plain");
  EXPECT_EQ(Read("HTTPS://collector:4317/"), "dns:///collector:4317 TLS");
  EXPECT_EQ(Read("https://collector:4317", true), "dns:///collector:4317 TLS");
  EXPECT_EQ(Read("http://collector"), "dns:///collector:80 plain");
  EXPECT_EQ(Read("https://collector"), "dns:///collector:443 TLS");
}

TEST(GrpcEndpoint, WithoutASchemeItIsTlsUnlessInsecure) {
  EXPECT_EQ(Read("collector:1234"), "dns:///collector:1234 TLS");
  EXPECT_EQ(Read("collector:1234", true), "dns:///collector:1234 plain");
  EXPECT_EQ(Read("collector", true), "dns:///collector:4317 plain");
}

TEST(GrpcEndpoint, AddressesOfBothKindsAreTaken) {
  EXPECT_EQ(Read("http://127.0.0.1:4317"), "dns:///127.0.0.1:4317 plain");
  EXPECT_EQ(Read("http://[::1]:4317"), "dns:///%5B::1%5D:4317 plain");
  EXPECT_EQ(Read("[::1]", true), "dns:///%5B::1%5D:4317 plain");
}

TEST(GrpcEndpoint, GrpcsOwnFormsAreTaken) {
  EXPECT_EQ(Read("unix:/run/agent.sock"), "unix:/run/agent.sock plain");
  EXPECT_EQ(Read("unix:///run/agent.sock"), "unix:///run/agent.sock plain");
  EXPECT_EQ(Read("dns:///collector:4317"), "dns:///collector:4317 TLS");
  EXPECT_EQ(Read("ipv4:10.0.0.1:4317", true), "ipv4:10.0.0.1:4317 plain");
}

TEST(GrpcEndpoint, WhatIsNoEndpointIsAnErrorThatSaysWhy) {
  EXPECT_THAT(Read(""), HasSubstr("empty"));
  EXPECT_THAT(Read("http://"), HasSubstr("no host"));
  EXPECT_THAT(Read("http://:4317"), HasSubstr("no host"));
  EXPECT_THAT(Read("unix:"), HasSubstr("no path"));
  EXPECT_THAT(Read("unix:///"), HasSubstr("no path"));
  EXPECT_THAT(Read("ftp://collector:21"), HasSubstr("scheme"));
  EXPECT_THAT(Read("http://collector:4318/v1/traces"), HasSubstr("no path"));
  EXPECT_THAT(Read("http://collector:4317?x=1"), HasSubstr("no path"));
  for (const char* port : {"", "0", "65536", "-1", "+1", "x", "1x", "99999999999"}) {
    EXPECT_THAT(Read("http://collector:" + std::string(port)), HasSubstr("port")) << port;
  }
  EXPECT_THAT(Read("http://::1:4317"), HasSubstr("no host"));
  EXPECT_THAT(Read("http://[::1"), HasSubstr("]"));
  EXPECT_THAT(Read("http://[::1]x"), HasSubstr("]"));
  EXPECT_THAT(Read("http://collec tor:4317"), HasSubstr("blank"));
  EXPECT_THAT(Read("http://collector:4317\n"), HasSubstr("control"));
}

TEST(GrpcEndpoint, APasswordIsRefusedWithoutBeingShown) {
  EXPECT_THAT(Read("http://me:secret@collector:4317"), Not(HasSubstr("secret")));
  EXPECT_THAT(Read("http://me:secret@collector:4317"), HasSubstr("headers"));
}

SignalConfig Config(const std::string& url) {
  SignalConfig config;
  config.protocol = Protocol::kGrpc;
  config.url = url;
  return config;
}

std::string Error(const SignalConfig& config) {
  const auto read = GrpcConfig::From(config);
  return read.ok() ? "no error" : std::string(read.status().message());
}

TEST(GrpcConfig, HeadersGetLowerCaseNames) {
  SignalConfig config = Config("http://collector:4317");
  config.headers = {{"Authorization", "Bearer abc"}, {"x-b3", ""}};
  const auto read = GrpcConfig::From(config);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->headers,
              testing::ElementsAre(testing::Pair("authorization", "Bearer abc"), testing::Pair("x-b3", "")));
}

TEST(GrpcConfig, HeadersThatWouldStopGrpcAreRefusedWithoutTheirValues) {
  const std::pair<std::string, std::string> bad[] = {
      {"", "secret"},           {"a b", "secret"},       {"a\n", "secret"},        {"a:b", "secret"},
      {"\xc3\xa4", "secret"},   {"ok", "secret\n"},      {"ok", "secret\x7f"},     {"ok", "secret\xc3\xa4"},
      {"grpc-timeout", "secret"}, {"Content-Type", "secret"}, {"te", "secret"},
      {"ok", std::string("secret\0", 7)},
  };
  for (const auto& header : bad) {
    SignalConfig config = Config("http://collector:4317");
    config.headers = {header};
    EXPECT_THAT(Error(config), HasSubstr("header"));
    EXPECT_THAT(Error(config), Not(HasSubstr("secret")));
  }
}

class PemFiles : public testing::Test {
 protected:
  static std::string File(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  const std::string certificate_ = File("c.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n");
  const std::string key_ = File("k.pem", "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n");
};

TEST_F(PemFiles, AreReadForTls) {
  SignalConfig config = Config("https://collector:4317");
  config.ca_file = certificate_;
  config.client_key_file = key_;
  config.client_certificate_file = certificate_;
  const auto read = GrpcConfig::From(config);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->ca, HasSubstr("CERTIFICATE"));
  EXPECT_THAT(read->client_key, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(read->client_certificate, HasSubstr("CERTIFICATE"));
}

TEST_F(PemFiles, MeanNothingToAPlainConnection) {
  SignalConfig config = Config("http://collector:4317");
  config.ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(Error(config), "no error");
}

TEST_F(PemFiles, ThatCannotBeReadAreErrorsThatNameThem) {
  SignalConfig config = Config("https://collector:4317");
  config.ca_file = "/nowhere/ca.pem";
  EXPECT_THAT(Error(config), HasSubstr("/nowhere/ca.pem"));
  config.ca_file = testing::TempDir();
  EXPECT_THAT(Error(config), HasSubstr("cannot be read"));
  config.ca_file = key_;
  EXPECT_THAT(Error(config), HasSubstr("BEGIN CERTIFICATE"));
}

TEST_F(PemFiles, OfAClientComeInPairs) {
  SignalConfig config = Config("https://collector:4317");
  config.client_key_file = key_;
  EXPECT_THAT(Error(config), HasSubstr("go together"));
  config.client_key_file = "";
  config.client_certificate_file = certificate_;
  EXPECT_THAT(Error(config), HasSubstr("go together"));
}

}  // namespace
}  // namespace ferret::otlp

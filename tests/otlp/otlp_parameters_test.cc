// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What FERRET_EXPORT=otlp[:endpoint][?key=value&…] says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exporters/otlp/config/otlp_config.h"
#include "tests/otlp/variables.h"

namespace ferret::otlp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

absl::StatusOr<OtlpConfig> TryRead(const std::string& entry, const Variables& variables = {}) {
  const auto specs = ParseExporterSpecs(entry);
  EXPECT_TRUE(specs.ok()) << specs.status();
  if (!specs.ok()) return specs.status();
  return ReadOtlpConfig((*specs)[0], Environment(variables));
}
OtlpConfig Read(const std::string& entry, const Variables& variables = {}) {
  const auto config = TryRead(entry, variables);
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}
std::string ErrorOf(const std::string& entry) {
  const auto config = TryRead(entry);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << entry;
  return std::string(config.status().message());
}
const SignalConfig& Traces(const OtlpConfig& config) { return config.signals[static_cast<size_t>(Signal::kTraces)]; }
const SignalConfig& Metrics(const OtlpConfig& config) { return config.signals[static_cast<size_t>(Signal::kMetrics)]; }

TEST(OtlpParameters, GoBeforeAllVariables) {
  const Variables variables = {
      {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other/x"}, {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"},
      {"OTEL_EXPORTER_OTLP_TIMEOUT", "1"},                      {"OTEL_BSP_EXPORT_TIMEOUT", "1"},
      {"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},                    {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"},
      {"OTEL_EXPORTER_OTLP_CERTIFICATE", "other.pem"},          {"OTEL_TRACES_EXPORTER", "none"},
      {"OTEL_TRACES_SAMPLER", "always_off"},                    {"OTEL_BSP_SCHEDULE_DELAY", "1"},
      {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1"},                  {"OTEL_METRIC_EXPORT_INTERVAL", "1"}};
  const OtlpConfig config = Read(
      "otlp:http://c:4318/my?protocol=http/json&timeout=5s&headers=b=x%2Cc=y%2520z&compression=none&certificate=ca.pem&"
      "traces=on&metrics=off&delay=2s&batch=300&interval=10s",
      variables);
  EXPECT_EQ(Traces(config).url, "http://c:4318/my/v1/traces");
  EXPECT_EQ(Metrics(config).url, "http://c:4318/my/v1/metrics");
  EXPECT_EQ(Traces(config).protocol, Protocol::kHttpJson);
  EXPECT_EQ(Traces(config).timeout, absl::Seconds(5));
  EXPECT_THAT(Traces(config).headers, ElementsAre(Pair("b", "x"), Pair("c", "y z")));
  EXPECT_FALSE(Traces(config).gzip);
  EXPECT_EQ(Traces(config).ca_file, "ca.pem");
  EXPECT_TRUE(Traces(config).enabled);
  EXPECT_FALSE(Metrics(config).enabled);
  EXPECT_EQ(config.delivery.schedule_delay, absl::Seconds(2));
  EXPECT_EQ(config.delivery.batch_spans, 300u);
  EXPECT_EQ(config.metric_interval, absl::Seconds(10));
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(OtlpParameters, GrpcTakesItsOwnKindsOfTargets) {
  EXPECT_EQ(Traces(Read("otlp:c:4317?protocol=grpc&insecure=on")).url, "c:4317");
  EXPECT_TRUE(Traces(Read("otlp:c:4317?protocol=grpc&insecure=on")).insecure);
  EXPECT_TRUE(Traces(Read("otlp:c:4317?protocol=grpc")).gzip);
  EXPECT_EQ(Metrics(Read("otlp:unix:/run/x?protocol=grpc")).url, "unix:/run/x");
  EXPECT_EQ(ErrorOf("otlp:http://c/x?protocol=grpc"), "otlp: \"http://c/x\" is no endpoint: gRPC has no use for a path");
}

TEST(OtlpParameters, ATargetIsTheBaseOfAllSignals) {
  EXPECT_EQ(ErrorOf("otlp:c:4318"), "otlp: \"c:4318\" is no endpoint: it has to begin with http:// or https://");
  for (const char* path : {"/v1/traces", "/v1/metrics", "/my/v1/traces"}) {
    EXPECT_THAT(ErrorOf(std::string("otlp:http://c") + path), HasSubstr("it is the base of all signals")) << path;
  }
}

TEST(OtlpParameters, SayWhatIsSentOfOperatorsAndKernels) {
  const OtlpConfig config = Read("otlp?every=10&steps=5-7&slow=2&hold=100MB&launch=link");
  EXPECT_EQ(config.sampling.detail, Detail::kSampled);
  EXPECT_EQ(config.sampling.every, 10);
  EXPECT_EQ(config.sampling.first_step, 5);
  EXPECT_EQ(config.sampling.last_step, 7);
  EXPECT_EQ(config.sampling.slow, 2);
  EXPECT_EQ(config.sampling.held_bytes, 100000000u);
  EXPECT_TRUE(config.link_kernels);
  EXPECT_EQ(Read("otlp?steps=9").sampling.last_step, 9);
  EXPECT_EQ(Read("otlp?detail=none").sampling.detail, Detail::kNone);
  EXPECT_EQ(Read("otlp?detail=all&launch=parent").sampling.detail, Detail::kAll);
  EXPECT_EQ(Read("otlp?every=0&slow=0").sampling.slow, 0);
  const SamplingConfig absent = Read("otlp").sampling;
  EXPECT_LT(absent.last_step, absent.first_step);
}

TEST(OtlpParameters, SayWhatIsKeptUntilItIsSent) {
  const OtlpConfig config = Read("otlp?queue=16MiB&spill=/var/spool/ferret&spill_size=2GB");
  EXPECT_EQ(config.delivery.queue_bytes, uint64_t{16} << 20);
  EXPECT_EQ(config.delivery.spill_directory, "/var/spool/ferret");
  EXPECT_EQ(config.delivery.spill_bytes, 2000000000u);
  EXPECT_EQ(Read("otlp").delivery.spill_directory, "");
}

TEST(OtlpParameters, ATimeoutOfZeroIsNoLimit) {
  EXPECT_EQ(Traces(Read("otlp?timeout=0")).timeout, absl::InfiniteDuration());
  EXPECT_EQ(Traces(Read("otlp?timeout=1m30s")).timeout, absl::Seconds(90));
}

TEST(OtlpParameters, ABadOneIsAnErrorThatNamesItAndWhatIsAllowed) {
  EXPECT_EQ(ErrorOf("otlp?protocol=http"), "otlp: protocol=http is not allowed; allowed is http/protobuf, http/json, grpc");
  EXPECT_EQ(ErrorOf("otlp?compression=zstd"), "otlp: compression=zstd is not allowed; allowed is none, gzip");
  EXPECT_EQ(ErrorOf("otlp?insecure=true"), "otlp: insecure=true is not allowed; allowed is off, on");
  EXPECT_EQ(ErrorOf("otlp?launch=child"), "otlp: launch=child is not allowed; allowed is parent, link");
  EXPECT_EQ(ErrorOf("otlp?detail=some"), "otlp: detail=some is not allowed; allowed is none, sampled, all");
  for (const char* time : {"5", "-1s", "1us", "25h", "inf", "x", ""}) {
    EXPECT_EQ(ErrorOf(std::string("otlp?timeout=") + time), std::string("otlp: timeout=") + time +
              " is not allowed; allowed is a time from 1ms to 24h, like 500ms or 5s, or 0");
  }
  EXPECT_THAT(ErrorOf("otlp?delay=0"), HasSubstr("delay=0 is not allowed"));
  EXPECT_THAT(ErrorOf("otlp?interval=0"), HasSubstr("interval=0 is not allowed"));
  EXPECT_THAT(ErrorOf("otlp?every=-1"), HasSubstr("every=-1 is not a number from 0 to 2147483647"));
  EXPECT_THAT(ErrorOf("otlp?batch=0"), HasSubstr("batch=0 is not a number from 1 to 100000"));
  for (const char* steps : {"", "-", "5-", "-5", "7-5", "a-b", "1-2-3", "1 -2", "99999999999999999999"}) {
    EXPECT_EQ(ErrorOf(std::string("otlp?steps=") + steps), std::string("otlp: steps=") + steps +
              " is not allowed; allowed is one step, like 10, or from one to another, like 10-20");
  }
  for (const char* slow : {"0.5", "-1", "nan", "inf", "1e9", "x", ""}) {
    EXPECT_EQ(ErrorOf(std::string("otlp?slow=") + slow), std::string("otlp: slow=") + slow +
              " is not allowed; allowed is a factor from 1 to 1000, or 0 for off");
  }
  for (const char* key : {"hold", "queue", "spill=d&spill_size"}) {
    EXPECT_THAT(ErrorOf(std::string("otlp?") + key + "=1kB"), HasSubstr("=1kB is not a size from ")) << key;
  }
  EXPECT_THAT(ErrorOf("otlp?endpoint=x"), HasSubstr("exporter otlp has no parameter \"endpoint\"; it takes protocol, "));
}

TEST(OtlpParameters, ThatMeanNothingTogetherAreErrors) {
  EXPECT_EQ(ErrorOf("otlp?traces=off&metrics=off"), "otlp: with traces=off and metrics=off there is nothing to send");
  for (const char* key : {"every=1", "steps=1-2", "slow=2", "hold=64MB"}) {
    EXPECT_THAT(ErrorOf(std::string("otlp?detail=all&") + key), HasSubstr("means something only with detail=sampled"));
    EXPECT_THAT(ErrorOf(std::string("otlp?detail=none&") + key), HasSubstr("means something only with detail=sampled"));
  }
  EXPECT_EQ(ErrorOf("otlp?spill_size=1GB"), "otlp: spill_size means something only with spill=DIR");
  EXPECT_EQ(ErrorOf("otlp?spill="), "otlp: spill= is not allowed; allowed is a directory");
  EXPECT_EQ(ErrorOf("otlp?client_key=k.pem"), "otlp: client_key needs a client_certificate");
}

TEST(OtlpParameters, CredentialsAreInNoError) {
  EXPECT_EQ(ErrorOf("otlp:http://me:secret@c"),
            "otlp: (not shown) is no endpoint: a user name is not allowed; credentials go into headers");
  EXPECT_THAT(ErrorOf("otlp?headers=a=secret%250a"), HasSubstr("otlp: headers: header 1 has a control character"));
  EXPECT_THAT(ErrorOf("otlp?headers=secret"), Not(HasSubstr("secret")));
  EXPECT_THAT(ErrorOf("otlp?protocol=grpc&headers=a!=secret"), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace ferret::otlp

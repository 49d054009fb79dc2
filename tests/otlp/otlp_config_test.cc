// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the OTEL_* variables say of an `otlp` exporter.

#include "exporters/otlp/config/otlp_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "tests/otlp/variables.h"

namespace ferret::otlp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

OtlpConfig Read(const Variables& variables) {
  ExporterSpec spec;
  spec.name = "otlp";
  const absl::StatusOr<OtlpConfig> config = ReadOtlpConfig(spec, Environment(variables));
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

const SignalConfig& Traces(const OtlpConfig& config) { return config.signals[static_cast<size_t>(Signal::kTraces)]; }
const SignalConfig& Metrics(const OtlpConfig& config) { return config.signals[static_cast<size_t>(Signal::kMetrics)]; }

TEST(OtlpConfig, WithoutVariablesIsOpenTelemetrysDefault) {
  const OtlpConfig config = Read({});
  EXPECT_EQ(Traces(config).url, "http://localhost:4318/v1/traces");
  EXPECT_EQ(Metrics(config).url, "http://localhost:4318/v1/metrics");
  for (const SignalConfig& signal : config.signals) {
    EXPECT_TRUE(signal.enabled);
    EXPECT_EQ(signal.protocol, Protocol::kHttpProtobuf);
    EXPECT_EQ(signal.timeout, absl::Seconds(10));
    EXPECT_FALSE(signal.gzip);
    EXPECT_FALSE(signal.insecure);
    EXPECT_THAT(signal.headers, IsEmpty());
    EXPECT_EQ(signal.ca_file + signal.client_key_file + signal.client_certificate_file, "");
  }
  EXPECT_EQ(config.metric_interval, absl::Seconds(60));
  EXPECT_FALSE(config.remote.has_value());
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(OtlpConfig, EmptyVariablesAreAsGoodAsNone) {
  Variables variables;
  for (const char* what : {"ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_KEY",
                           "CLIENT_CERTIFICATE", "INSECURE"}) {
    for (const char* signal : {"", "TRACES_", "METRICS_"}) {
      variables[std::string("OTEL_EXPORTER_OTLP_") + signal + what] = "";
    }
  }
  for (const char* name : {"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_CONFIG_FILE",
                           "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
                           "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT",
                           "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", "TRACEPARENT"}) {
    variables[name] = "";
  }
  const OtlpConfig config = Read(variables);
  EXPECT_EQ(Traces(config).url, "http://localhost:4318/v1/traces");
  EXPECT_TRUE(Traces(config).enabled);
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(OtlpConfig, TheCommonEndpointIsABaseAndASignalsOwnIsTakenAsItIs) {
  const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/my/"},
                                  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/in"}});
  EXPECT_EQ(Traces(config).url, "https://t/in");
  EXPECT_EQ(Metrics(config).url, "http://c:4318/my/v1/metrics");
  EXPECT_EQ(Metrics(Read({{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m"}})).url, "http://m/");
}

TEST(OtlpConfig, ABadEndpointIsIgnoredForTheNextBestWithOneWarning) {
  const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318"},
                                  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:x"}});
  EXPECT_EQ(Traces(config).url, "http://localhost:4318/v1/traces");
  EXPECT_THAT(
      config.warnings,
      ElementsAre("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=\"http://t:x\" is ignored: the port is not a number from 1 to 65535",
                  "OTEL_EXPORTER_OTLP_ENDPOINT=\"c:4318\" is ignored: it has to begin with http:// or https://"));
}

TEST(OtlpConfig, CredentialsInAnEndpointAreNeverShown) {
  for (const char* text : {"http://me:secret@c", "c:1?key=secret", "http://c:x/?key=secret"}) {
    const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", text}});
    EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT=")));
    EXPECT_THAT(config.warnings[0], ::testing::Not(HasSubstr("secret")));
  }
}

TEST(OtlpConfig, EachSignalHasItsOwnProtocolAndGrpcItsOwnPort) {
  const OtlpConfig config =
      Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "GRPC"}, {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/JSON"}});
  EXPECT_EQ(Traces(config).protocol, Protocol::kGrpc);
  EXPECT_EQ(Traces(config).url, "http://localhost:4317");
  EXPECT_EQ(Metrics(config).protocol, Protocol::kHttpJson);
  EXPECT_EQ(Metrics(config).url, "http://localhost:4318/v1/metrics");
  EXPECT_EQ(Traces(Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}})).protocol, Protocol::kHttpProtobuf);
  EXPECT_THAT(Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http"}}).warnings,
              ElementsAre("OTEL_EXPORTER_OTLP_PROTOCOL=\"http\" is ignored: allowed is http/protobuf, http/json, grpc"));
}

TEST(OtlpConfig, AGrpcEndpointLosesItsPathWithAWarning) {
  const OtlpConfig config =
      Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317/v1/traces"}});
  EXPECT_EQ(Traces(config).url, "http://c:4317");
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("the path in OTEL_EXPORTER_OTLP_ENDPOINT is ignored")));
  const OtlpConfig socket =
      Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", "unix:///run/otlp.sock"}});
  EXPECT_EQ(Traces(socket).url, "unix:/run/otlp.sock");
  EXPECT_THAT(socket.warnings, IsEmpty());
}

TEST(OtlpConfig, HeadersAreDecodedAndTheSignalsOwnReplaceTheOthers) {
  const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_HEADERS", " Api-Key = a%20b%2Cc , x=1=2,,X=3"},
                                  {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "only=this"}});
  EXPECT_THAT(Traces(config).headers, ElementsAre(Pair("Api-Key", "a b,c"), Pair("X", "3")));
  EXPECT_THAT(Metrics(config).headers, ElementsAre(Pair("only", "this")));
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(OtlpConfig, GrpcHeadersHaveLowerCaseKeys) {
  EXPECT_THAT(Traces(Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=A"}})).headers,
              ElementsAre(Pair("api-key", "A")));
  for (const char* bad : {"a!=secret", "grpc-timeout=secret", "a=secret%C3%A4"}) {
    const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, {"OTEL_EXPORTER_OTLP_HEADERS", bad}});
    EXPECT_THAT(Traces(config).headers, IsEmpty());
    EXPECT_THAT(config.warnings, ElementsAre(StartsWith("OTEL_EXPORTER_OTLP_HEADERS is ignored: header 1 has a ")));
    EXPECT_THAT(config.warnings[0], ::testing::Not(HasSubstr("secret")));
  }
}

TEST(OtlpConfig, BadHeadersAreIgnoredWithAWarningThatShowsNoValue) {
  const std::string form = "; allowed is key=value,key=value with values percent-encoded";
  const Variables reasons = {{"a=1,secret", "header 2 is not key=value"},
                             {"Bearer secret=", "header 1 has a key that no header can have"},
                             {"=secret", "header 1 has a key that no header can have"},
                             {"a=secret%", "header 1 has a % without two hex digits behind it"},
                             {"a=secret%0d%0aX: y", "header 1 has a control character in its value"},
                             {"a=secret%00", "header 1 has a control character in its value"},
                             {"a=secret;p=1", "header 1 has a ';', where properties are not known and a value has %3B"},
                             {"Content-Type=secret", "header 1 is Content-Type, which is Ferret's to set"}};
  for (const auto& [value, reason] : reasons) {
    const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_HEADERS", value}});
    EXPECT_THAT(Traces(config).headers, IsEmpty()) << value;
    EXPECT_THAT(config.warnings, ElementsAre("OTEL_EXPORTER_OTLP_HEADERS is ignored: " + reason + form));
  }
}

TEST(OtlpConfig, TimeoutIsInMillisecondsAndZeroIsNoLimit) {
  const OtlpConfig config =
      Read({{"OTEL_EXPORTER_OTLP_TIMEOUT", "2500"}, {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "0"}});
  EXPECT_EQ(Traces(config).timeout, absl::Milliseconds(2500));
  EXPECT_EQ(Metrics(config).timeout, absl::InfiniteDuration());
  for (const char* bad : {"5s", "-1", "+1", "1.5", " 1", "2147483648", "99999999999999999999"}) {
    const OtlpConfig ignored = Read({{"OTEL_EXPORTER_OTLP_TIMEOUT", bad}});
    EXPECT_EQ(Traces(ignored).timeout, absl::Seconds(10));
    EXPECT_THAT(ignored.warnings, ElementsAre(std::string("OTEL_EXPORTER_OTLP_TIMEOUT=\"") + bad +
                                              "\" is ignored: allowed is a whole number from 0 to 2147483647"));
  }
}

TEST(OtlpConfig, TheTimeoutsAroundAnExportEndItIfTheyAreShorter) {
  const OtlpConfig config = Read({{"OTEL_BSP_EXPORT_TIMEOUT", "3000"}, {"OTEL_METRIC_EXPORT_TIMEOUT", "30000"}});
  EXPECT_EQ(Traces(config).timeout, absl::Seconds(3));
  EXPECT_EQ(Metrics(config).timeout, absl::Seconds(10));
  EXPECT_EQ(Traces(Read({{"OTEL_BSP_EXPORT_TIMEOUT", "0"}})).timeout, absl::Seconds(10));
}

TEST(OtlpConfig, CompressionIsOnForOtherMachinesUnlessSaid) {
  EXPECT_TRUE(Traces(Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}})).gzip);
  EXPECT_FALSE(Traces(Read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"}})).gzip);
  const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"},
                                  {"OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "None"},
                                  {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c/"}});
  EXPECT_TRUE(Traces(config).gzip);
  EXPECT_FALSE(Metrics(config).gzip);
  const OtlpConfig ignored = Read({{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}});
  EXPECT_FALSE(Traces(ignored).gzip);
  EXPECT_THAT(ignored.warnings,
              ElementsAre("OTEL_EXPORTER_OTLP_COMPRESSION=\"zstd\" is ignored: allowed is none, gzip"));
}

TEST(OtlpConfig, PemFilesAreTakenAndAKeyNeedsItsCertificate) {
  const OtlpConfig config = Read({{"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"},
                                  {"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "other.pem"},
                                  {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"},
                                  {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "chain.pem"}});
  EXPECT_EQ(Traces(config).ca_file, "ca.pem");
  EXPECT_EQ(Metrics(config).ca_file, "other.pem");
  EXPECT_EQ(Traces(config).client_key_file, "key.pem");
  EXPECT_EQ(Traces(config).client_certificate_file, "chain.pem");
  const OtlpConfig alone = Read({{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"}});
  EXPECT_EQ(Traces(alone).client_key_file, "");
  EXPECT_THAT(alone.warnings, ElementsAre(HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_KEY is ignored")));
}

TEST(OtlpConfig, InsecureCountsOnlyForGrpcWithoutAScheme) {
  const auto insecure = [](const char* protocol, const char* endpoint, const char* value) {
    return Traces(Read({{"OTEL_EXPORTER_OTLP_PROTOCOL", protocol},
                        {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint},
                        {"OTEL_EXPORTER_OTLP_INSECURE", value}}))
        .insecure;
  };
  EXPECT_TRUE(insecure("grpc", "c:4317", "TRUE"));
  EXPECT_FALSE(insecure("grpc", "c:4317", "false"));
  EXPECT_FALSE(insecure("grpc", "https://c:4317", "true"));
  EXPECT_FALSE(insecure("http/json", "http://c:4317", "true"));
  EXPECT_THAT(Read({{"OTEL_EXPORTER_OTLP_INSECURE", "1"}}).warnings,
              ElementsAre("OTEL_EXPORTER_OTLP_INSECURE=\"1\" is taken for false; only true is true"));
}

TEST(OtlpConfig, ASignalIsSwitchedOffByNoneAndOnlyByNone) {
  EXPECT_FALSE(Traces(Read({{"OTEL_TRACES_EXPORTER", "None"}})).enabled);
  EXPECT_TRUE(Metrics(Read({{"OTEL_TRACES_EXPORTER", "none"}})).enabled);
  EXPECT_FALSE(Metrics(Read({{"OTEL_METRICS_EXPORTER", "none"}})).enabled);
  EXPECT_TRUE(Traces(Read({{"OTEL_TRACES_EXPORTER", "otlp"}})).enabled);
  const OtlpConfig config = Read({{"OTEL_TRACES_EXPORTER", "otlp, console"}, {"OTEL_METRICS_EXPORTER", "prometheus"}});
  EXPECT_TRUE(Traces(config).enabled);
  EXPECT_TRUE(Metrics(config).enabled);
  EXPECT_THAT(config.warnings, ElementsAre(StartsWith("OTEL_TRACES_EXPORTER=\"console\" is ignored: allowed is otlp, none"),
                                           StartsWith("OTEL_METRICS_EXPORTER=\"prometheus\" is ignored: ")));
}

TEST(OtlpConfig, ASamplerDecidesWhetherThereAreTracesAndRatiosAreNotHonoured) {
  const std::string ids = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  const auto enabled = [&](const char* sampler, const std::string& flags) {
    return Traces(Read({{"OTEL_TRACES_SAMPLER", sampler}, {"TRACEPARENT", flags.empty() ? "" : ids + flags}})).enabled;
  };
  EXPECT_TRUE(enabled("", "00")) << "FERRET_EXPORT asks for it";
  EXPECT_TRUE(enabled("always_on", "00"));
  EXPECT_FALSE(enabled("always_off", "01"));
  EXPECT_TRUE(enabled("parentbased_always_on", ""));
  EXPECT_TRUE(enabled("parentbased_always_on", "03"));
  EXPECT_FALSE(enabled("ParentBased_always_on", "02"));
  EXPECT_FALSE(enabled("parentbased_always_off", ""));
  EXPECT_TRUE(enabled("parentbased_always_off", "01"));
  EXPECT_FALSE(enabled("parentbased_traceidratio", "00"));
  EXPECT_TRUE(enabled("traceidratio", "00"));
  EXPECT_TRUE(enabled("jaeger_remote", "00"));
  EXPECT_THAT(Read({{"OTEL_TRACES_SAMPLER", "always_off"}}).warnings,
              ElementsAre("no traces are sent: OTEL_TRACES_SAMPLER is always_off"));
  EXPECT_TRUE(Metrics(Read({{"OTEL_TRACES_SAMPLER", "always_off"}})).enabled);
  for (const char* name : {"traceidratio", "parentbased_traceidratio", "jaeger_remote"}) {
    EXPECT_THAT(Read({{"OTEL_TRACES_SAMPLER", name}, {"OTEL_TRACES_SAMPLER_ARG", "0.1"}}).warnings,
                ElementsAre(StartsWith(std::string("OTEL_TRACES_SAMPLER=\"") + name + "\" is ignored: ")));
  }
}

TEST(OtlpConfig, TheBatchProcessorsDelayAndBatchAreOursAndItsQueueIsNot) {
  const OtlpConfig config = Read({{"OTEL_BSP_SCHEDULE_DELAY", "250"},
                                  {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512"},
                                  {"OTEL_BSP_MAX_QUEUE_SIZE", "2048"}});
  EXPECT_EQ(config.delivery.schedule_delay, absl::Milliseconds(250));
  EXPECT_EQ(config.delivery.batch_spans, 512u);
  EXPECT_EQ(config.delivery.queue_bytes, DeliveryConfig().queue_bytes);
  EXPECT_THAT(config.warnings, ElementsAre(StartsWith("OTEL_BSP_MAX_QUEUE_SIZE=\"2048\" is ignored: ")));
  EXPECT_EQ(Read({{"OTEL_BSP_SCHEDULE_DELAY", "0"}}).delivery.schedule_delay, absl::Milliseconds(1));
  EXPECT_THAT(Read({{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0"}}).warnings,
              ElementsAre("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=\"0\" is ignored: allowed is a whole number from 1 to 2147483647"));
  EXPECT_EQ(Read({{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2147483647"}}).delivery.batch_spans, 100000u);
}

TEST(OtlpConfig, LimitsOfSpansGoBeforeGeneralLimits) {
  const OtlpConfig config = Read({{"OTEL_ATTRIBUTE_COUNT_LIMIT", "10"},
                                  {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "20"},
                                  {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "30"},
                                  {"OTEL_SPAN_EVENT_COUNT_LIMIT", "40"}});
  EXPECT_EQ(config.most_attributes, 20u);
  EXPECT_EQ(config.most_value_chars, 30u);
  EXPECT_EQ(config.most_events, 40u);
  EXPECT_EQ(Read({{"OTEL_ATTRIBUTE_COUNT_LIMIT", "10"}, {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "x"}}).most_attributes, 10u);
  EXPECT_EQ(Read({{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "0"}}).most_value_chars, 0u);
  EXPECT_EQ(Read({{"OTEL_SPAN_EVENT_COUNT_LIMIT", "1000"}}).most_events, 128u);
  EXPECT_EQ(Read({{"OTEL_SPAN_EVENT_COUNT_LIMIT", "0"}}).most_events, 128u);
  EXPECT_FALSE(Read({}).most_value_chars.has_value());
}

TEST(OtlpConfig, LimitsOnWhatIsAlwaysFewAreWarnedOfIfTheyAreLower) {
  for (const char* name :
       {"OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"}) {
    EXPECT_THAT(Read({{name, "128"}}).warnings, IsEmpty());
    EXPECT_THAT(Read({{name, "1"}}).warnings, ElementsAre(StartsWith(std::string(name) + "=\"1\" is ignored: there are at")));
  }
}

TEST(OtlpConfig, MetricsAreSentEachInterval) {
  EXPECT_EQ(Read({{"OTEL_METRIC_EXPORT_INTERVAL", "5000"}}).metric_interval, absl::Seconds(5));
  const OtlpConfig config = Read({{"OTEL_METRIC_EXPORT_INTERVAL", "0"}});
  EXPECT_EQ(config.metric_interval, absl::Seconds(60));
  EXPECT_THAT(config.warnings, ElementsAre(StartsWith("OTEL_METRIC_EXPORT_INTERVAL=\"0\" is ignored: ")));
}

TEST(OtlpConfig, WhatConcernsTheResourceIsReadToo) {
  const OtlpConfig config = Read({{"OTEL_SDK_DISABLED", "true"},
                                  {"OTEL_SERVICE_NAME", "llm"},
                                  {"OTEL_RESOURCE_ATTRIBUTES", "bad"},
                                  {"OTEL_CONFIG_FILE", "/etc/otel.yaml"}});
  EXPECT_TRUE(config.resource.disabled);
  EXPECT_EQ(config.resource.service_name, "llm");
  EXPECT_THAT(config.resource.warnings, IsEmpty()) << "they are among the others";
  EXPECT_THAT(config.warnings,
              ElementsAre(StartsWith("OTEL_RESOURCE_ATTRIBUTES is ignored: "),
                          "OTEL_CONFIG_FILE=\"/etc/otel.yaml\" is ignored: the file is not read; other variables count"));
}

TEST(OtlpConfig, IsReadFromTheProcessesOwnEnvironment) {
  ASSERT_EQ(setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318", 1), 0);
  ExporterSpec spec;
  spec.name = "otlp";
  const absl::StatusOr<OtlpConfig> config = ReadOtlpConfig(spec, ProcessEnvironment());
  ASSERT_EQ(unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT"), 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(Traces(*config).url, "http://c:4318/v1/traces");
}

TEST(OtlpConfig, TheSpanThatStartedTheProcessIsReadFromTraceparent) {
  const OtlpConfig config = Read({{"TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}});
  ASSERT_TRUE(config.remote.has_value());
  EXPECT_EQ(config.remote->span_id, 0xb7ad6b7169203331u);
}

}  // namespace
}  // namespace ferret::otlp

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whatever is in the variables: there is a configuration that can be used, and no warning that could not be shown.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "exporters/otlp/config/otlp_config.h"
#include "runtime/text/utf8_text.h"
#include "tests/otlp/variables.h"

namespace ferret::otlp {
namespace {

constexpr int kRounds = 5000;

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {
        "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_MAX_QUEUE_SIZE",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
        "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME",
        "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER", "OTEL_CONFIG_FILE", "TRACEPARENT", "TRACESTATE"};
    for (const char* signal : {"", "TRACES_", "METRICS_"}) {
      for (const char* what : {"ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_KEY",
                               "CLIENT_CERTIFICATE", "INSECURE"}) {
        list.push_back(std::string("OTEL_EXPORTER_OTLP_") + signal + what);
      }
    }
    return list;
  }();
  return names;
}

// Pieces of good values and any bytes, so that parsers are left at every place.
std::string RandomValue(std::mt19937_64* random) {
  static const std::vector<std::string> pieces = {
      "http://", "https://", "unix:", "//", "/", "localhost", "127.0.0.1", "[::1]", "[", "]", ":", "4318", "@", "?", "#",
      "grpc", "http/json", "gzip", "none", "otlp", "true", "false", "always_off", "parentbased_always_on", "key", "=", ",",
      ";", "%", "%2C", "%0A", " ", "0", "1", "99999999999999999999", "-", "00-0af7651916cd43dd8448eb211c80319c",
      "-b7ad6b7169203331-01", "x"};
  std::string value;
  for (uint64_t i = (*random)() % 8; i > 0; --i) {
    if ((*random)() % 8 == 0) {
      value += static_cast<char>(1 + (*random)() % 255);
    } else {
      value += pieces[(*random)() % pieces.size()];
    }
  }
  return value;
}

TEST(OtlpConfigFuzz, AnyVariablesGiveAConfigurationThatCanBeUsed) {
  std::mt19937_64 random(20261130);
  ExporterSpec spec;
  spec.name = "otlp";
  int warned = 0, compressed = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    Variables variables;
    for (const std::string& name : Names()) {
      if (random() % 4 == 0) variables[name] = RandomValue(&random);
    }
    const absl::StatusOr<OtlpConfig> config = ReadOtlpConfig(spec, Environment(variables));
    ASSERT_TRUE(config.ok()) << config.status();
    for (const SignalConfig& signal : config->signals) {
      ASSERT_FALSE(signal.url.empty());
      ASSERT_GT(signal.timeout, absl::ZeroDuration());
      for (const auto& [key, value] : signal.headers) {
        ASSERT_FALSE(key.empty());
        ASSERT_EQ((key + value).find_first_of(std::string("\r\n\0", 3)), std::string::npos);
      }
      compressed += signal.gzip ? 1 : 0;
    }
    ASSERT_GT(config->delivery.batch_spans, 0u);
    ASSERT_GT(config->delivery.schedule_delay, absl::ZeroDuration());
    ASSERT_GT(config->metric_interval, absl::ZeroDuration());
    ASSERT_GT(config->most_events, 0u);
    for (const std::string& warning : config->warnings) {
      ASSERT_TRUE(IsUtf8(warning));
      ASSERT_EQ(warning.find_first_of("\r\n"), std::string::npos);
      ASSERT_LT(warning.size(), 1000u);
    }
    warned += config->warnings.empty() ? 0 : 1;
  }
  // Both kinds of values were among them.
  EXPECT_GT(warned, kRounds / 2);
  EXPECT_GT(compressed, 0);
}

TEST(OtlpConfigFuzz, AnyParametersGiveAConfigurationOrAnInvalidArgument) {
  std::mt19937_64 random(20261130);
  const std::vector<std::string> keys = {"protocol", "timeout", "headers", "compression", "client_key", "insecure",
                                         "traces",   "metrics", "detail",  "every",       "steps",      "slow",
                                         "hold",     "launch",  "batch",   "delay",       "queue",      "spill_size"};
  const Variables none;
  int taken = 0, refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    ExporterSpec spec;
    spec.name = "otlp";
    if (random() % 2 == 0) spec.target = RandomValue(&random);
    for (const std::string& key : keys) {
      if (random() % 16 == 0) spec.parameters.emplace_back(key, RandomValue(&random));
    }
    const absl::StatusOr<OtlpConfig> config = ReadOtlpConfig(spec, Environment(none));
    if (config.ok()) {
      ++taken;
    } else {
      ASSERT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << config.status();
      ++refused;
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace ferret::otlp

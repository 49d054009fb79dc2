// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OTEL_*, TRACEPARENT and the parameters of `otlp` as a fuzz target: a configuration that can be used, with warnings that
// can be shown, or an error about a parameter. The input is FERRET_EXPORT's value and the environment after it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/otlp/config/endpoint_url.h"
#include "exporters/otlp/config/header_list.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/config/trace_context.h"
#include "runtime/export/export_spec.h"
#include "tests/fuzz/environment_text.h"
#include "tests/fuzz/property.h"

namespace {

using ferret::fuzz::EnvironmentText;
using ferret::fuzz::IsOneLine;
using ferret::otlp::OtlpConfig;

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

void CheckHeaders(const ferret::otlp::Headers& headers) {
  for (const auto& [key, value] : headers) {
    FUZZ_PROPERTY(!key.empty() && IsOneLine(key));
    FUZZ_PROPERTY(value.find_first_of(std::string_view("\r\n\0", 3)) == value.npos);
  }
}

void CheckConfig(const OtlpConfig& config) {
  for (const std::string& warning : config.warnings) FUZZ_PROPERTY(!warning.empty() && IsOneLine(warning));
  for (const ferret::otlp::SignalConfig& signal : config.signals) {
    CheckHeaders(signal.headers);
    FUZZ_PROPERTY(IsOneLine(signal.url));
    FUZZ_PROPERTY(signal.timeout > absl::ZeroDuration());
  }
  FUZZ_PROPERTY(config.delivery.batch_spans > 0 && config.delivery.batch_bytes > 0 && config.delivery.queue_bytes > 0);
  FUZZ_PROPERTY(config.metric_interval > absl::ZeroDuration());
  FUZZ_PROPERTY(config.most_events >= 1 && config.most_events <= 128);
  if (!config.remote.has_value()) return;
  FUZZ_PROPERTY(config.remote->span_id != 0);
  const auto& trace = config.remote->trace_id;
  FUZZ_PROPERTY(std::any_of(trace.begin(), trace.end(), [](auto byte) { return byte != 0; }));
  FUZZ_PROPERTY(config.remote->state.empty() || ferret::otlp::IsTracestate(config.remote->state));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\0'), size);
  const EnvironmentText environment(text.substr(std::min(end + 1, size)));
  const ferret::otlp::GetEnv get = [&environment](const char* name) { return environment.Get(name); };

  const auto specs = ferret::ParseExporterSpecs(text.substr(0, end));
  ferret::ExporterSpec spec;
  spec.name = "otlp";
  if (specs.ok() && !specs->empty()) spec = (*specs)[0];
  const absl::StatusOr<OtlpConfig> config = ferret::otlp::ReadOtlpConfig(spec, get);
  if (config.ok()) {
    CheckConfig(*config);
  } else {
    FUZZ_PROPERTY(IsOneLine(View(config.status().message())));
  }

  const char* const endpoint = environment.Get("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (endpoint == nullptr) return 0;
  // What is posted to is an endpoint, too, and the same one.
  const auto url = ferret::otlp::ParseHttpEndpoint(endpoint);
  if (url.ok()) {
    const auto again = ferret::otlp::ParseHttpEndpoint(UrlBelow(*url, ferret::otlp::Signal::kTraces));
    FUZZ_PROPERTY(again.ok() && again->authority == url->authority && again->scheme == url->scheme);
    FUZZ_PROPERTY(IsLoopback(*again) == IsLoopback(*url) && url->authority.find('@') == url->authority.npos);
  } else {
    FUZZ_PROPERTY(IsOneLine(View(url.status().message())));
  }
  const auto grpc = ferret::otlp::ParseGrpcEndpoint(endpoint);
  FUZZ_PROPERTY(grpc.ok() ? !GrpcTarget(*grpc).empty() : IsOneLine(View(grpc.status().message())));
  return 0;
}

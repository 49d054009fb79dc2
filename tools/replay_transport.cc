// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/replay_transport.h"

#include <cstdio>

#include "exporters/otlp/make_transport.h"
#include "exporters/otlp/config/otlp_config.h"
#include "runtime/export/export_spec.h"

namespace ferret {

absl::StatusOr<std::unique_ptr<otlp::Transport>> ReplayTransport(const std::string& endpoint, const std::string& protocol,
                                                                 otlp::DeliveryOptions* options) {
  ExporterSpec spec;
  spec.name = "otlp";
  spec.target = endpoint;
  if (!protocol.empty()) spec.parameters.emplace_back("protocol", protocol);
  absl::StatusOr<otlp::OtlpConfig> config = otlp::ReadOtlpConfig(spec, otlp::ProcessEnvironment());
  if (!config.ok()) return config.status();
  for (const std::string& warning : config->warnings) std::fprintf(stderr, "ferret: %s\n", warning.c_str());
  // One connection carries what the files hold of both; a signal of another protocol would need another form.
  for (size_t i = 0; i < otlp::kSignalCount; ++i) options->timeouts[i] = config->signals[i].timeout;
  static RunnerClock* const clock = new RunnerClock;
  return otlp::MakeTransport(*config, config->signals[static_cast<size_t>(otlp::Signal::kTraces)].protocol, clock);
}

}  // namespace ferret

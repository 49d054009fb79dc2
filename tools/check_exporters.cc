// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/check_exporters.h"

#include "exporters/builtin.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/registry.h"

namespace ferret {

absl::Status CheckExporters(const std::string& exporters, bool has_plugins) {
  const auto specs = ParseExporterSpecs(exporters);
  if (!specs.ok()) return specs.status();
  ExporterRegistry registry;
  RegisterBuiltinExporters(registry);
  for (const ExporterSpec& spec : *specs) {
    const absl::Status status = registry.Create(spec).status();
    if (!status.ok() && !(absl::IsNotFound(status) && has_plugins)) return status;
  }
  return absl::OkStatus();
}

}  // namespace ferret

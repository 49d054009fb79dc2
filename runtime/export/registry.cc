// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferret {

ExporterRegistry& ExporterRegistry::Global() {
  static ExporterRegistry* const registry = new ExporterRegistry;  // leaked: a session may start while statics are gone
  return *registry;
}

absl::Status ExporterRegistry::Register(const std::string& name, ExporterFactory factory) {
  if (!IsExporterName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("exporter name \"", name,
                     "\" is not a lower-case letter followed by lower-case letters, digits, '_' and '-'"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (!factories_.emplace(name, std::move(factory)).second) {
    return absl::AlreadyExistsError(absl::StrCat("there already is an exporter named \"", name, "\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Exporter>> ExporterRegistry::Create(const ExporterSpec& spec) const {
  ExporterFactory factory;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = factories_.find(spec.name);
    if (found != factories_.end()) factory = found->second;
  }
  if (factory) return factory(spec);
  const std::vector<std::string> names = Names();
  return absl::NotFoundError(absl::StrCat("there is no exporter \"", spec.name, "\"; there ",
                                          names.empty() ? "are none" : "are " + absl::StrJoin(names, ", ")));
}

std::vector<std::string> ExporterRegistry::Names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : factories_) names.push_back(entry.first);
  return names;
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/plugin_loader.h"

#include <dlfcn.h>

#include <exception>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ferret/exporter_plugin.h"
#include "runtime/export/plugin_exporter.h"

namespace ferret {
namespace {

constexpr char kEntryName[] = "ferret_exporter_plugin_entry";

absl::Status Refuse(const std::string& path, absl::string_view reason) {
  return absl::FailedPreconditionError(absl::StrCat("exporter plug-in ", path, ": ", reason));
}

// Fails with the name of the first member that is null. abi_version and struct_size are right.
absl::Status CheckMembers(const std::string& path, const ferret_exporter_plugin& plugin) {
  const char* missing = plugin.name == nullptr           ? "name"
                        : plugin.create == nullptr       ? "create"
                        : plugin.open == nullptr         ? "open"
                        : plugin.export_batch == nullptr ? "export_batch"
                        : plugin.flush == nullptr        ? "flush"
                        : plugin.close == nullptr        ? "close"
                        : plugin.destroy == nullptr      ? "destroy"
                                                         : nullptr;
  if (missing == nullptr) return absl::OkStatus();
  return Refuse(path, absl::StrCat("\"", missing, "\" is null; all members are required"));
}

}  // namespace

absl::Status LoadExporterPlugin(const std::string& path, ExporterRegistry& registry) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Refuse(path, absl::StrCat("cannot be loaded: ", reason != nullptr ? reason : "unknown reason"));
  }
  using Entry = const ferret_exporter_plugin* (*)(uint32_t);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntryName));
  if (entry == nullptr) return Refuse(path, absl::StrCat("does not define ", kEntryName));

  const ferret_exporter_plugin* plugin = nullptr;
  try {
    plugin = entry(FERRET_EXPORTER_ABI_VERSION);
  } catch (...) {
    return Refuse(path, absl::StrCat(kEntryName, " threw an exception"));
  }
  if (plugin == nullptr) {
    return Refuse(path, absl::StrCat("refuses version ", FERRET_EXPORTER_ABI_VERSION, " of the exporter ABI"));
  }
  if (plugin->abi_version != FERRET_EXPORTER_ABI_VERSION) {
    return Refuse(path, absl::StrCat("has version ", plugin->abi_version, " of the exporter ABI, but this Ferret has ",
                                     FERRET_EXPORTER_ABI_VERSION));
  }
  if (plugin->struct_size < sizeof(ferret_exporter_plugin)) {
    return Refuse(path, absl::StrCat("its struct_size is ", plugin->struct_size, ", but must be at least ",
                                     sizeof(ferret_exporter_plugin)));
  }
  absl::Status status = CheckMembers(path, *plugin);
  if (!status.ok()) return status;
  status = registry.Register(plugin->name,
                             [plugin](const ExporterSpec& spec) { return PluginExporter::Create(plugin, spec); });
  return status.ok() ? status : Refuse(path, status.message());
}

std::vector<absl::Status> LoadExporterPlugins(std::string_view paths, ExporterRegistry& registry) {
  std::vector<absl::Status> errors;
  for (absl::string_view path :
       absl::StrSplit(absl::string_view(paths.data(), paths.size()), ':', absl::SkipWhitespace())) {
    absl::Status status = LoadExporterPlugin(std::string(path), registry);
    if (!status.ok()) errors.push_back(std::move(status));
  }
  return errors;
}

}  // namespace ferret

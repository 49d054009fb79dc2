// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Loads exporters from shared libraries, as FERRET_EXPORTERS names them. What a library has to define is in
// include/ferret/exporter_plugin.h.

#ifndef FERRET_RUNTIME_EXPORT_PLUGIN_LOADER_H_
#define FERRET_RUNTIME_EXPORT_PLUGIN_LOADER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/export/registry.h"

namespace ferret {

// Loads the library and registers its exporter. An error names the path and the reason. The library stays loaded
// whatever happens: it may have started threads or registered handlers. Any thread; the library's initialisers run on
// it.
absl::Status LoadExporterPlugin(const std::string& path, ExporterRegistry& registry);

// The same for each path in a list separated by ':'. Returns the errors; one plug-in's does not keep the others out.
std::vector<absl::Status> LoadExporterPlugins(std::string_view paths, ExporterRegistry& registry);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_PLUGIN_LOADER_H_

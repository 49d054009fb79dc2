// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// PluginExporter: an instance of a plug-in (include/ferret/exporter_plugin.h) as an Exporter.
//
// Converts what exporters get into the C structures. The arrays keep their memory from batch to batch. Threads: as
// Exporter says.

#ifndef FERRET_RUNTIME_EXPORT_PLUGIN_EXPORTER_H_
#define FERRET_RUNTIME_EXPORT_PLUGIN_EXPORTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ferret/exporter_plugin.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"

namespace ferret {

class PluginExporter final : public Exporter {
 public:
  // A factory for ExporterRegistry. `plugin` was checked by the loader and lives as long as the process.
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(const ferret_exporter_plugin* plugin,
                                                          const ExporterSpec& spec);

  PluginExporter(const ferret_exporter_plugin* plugin, void* self) : plugin_(plugin), self_(self) {}
  ~PluginExporter() override { plugin_->destroy(self_); }

  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;

 private:
  const ferret_exporter_plugin* const plugin_;
  void* const self_;
  std::vector<ferret_exporter_event> events_;
  std::vector<ferret_exporter_instant> instants_;
  std::vector<ferret_exporter_link> links_;
  std::vector<ferret_exporter_thread> threads_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_PLUGIN_EXPORTER_H_

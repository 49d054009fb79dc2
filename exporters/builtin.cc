// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/builtin.h"

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "exporters/memory/memory_exporter.h"
#include "exporters/otlp/otlp_exporter.h"
#include "exporters/otlp/file/otlp_file_exporter.h"
#include "exporters/table/table_exporter.h"

namespace ferret {

void RegisterBuiltinExporters(ExporterRegistry& registry) {
  // The names are valid and different, so registering them cannot fail.
  (void)registry.Register("chrome_trace", &ChromeTraceExporter::Create);
  (void)registry.Register("memory", &CreateMemoryExporter);
  (void)registry.Register("otlp", &OtlpExporter::Create);
  (void)registry.Register("otlp_file", &OtlpFileExporter::Create);
  (void)registry.Register("table", &TableExporter::Create);
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TableExporter: key_averages of a whole run, in flat memory, printed at the end and, if asked, every so often.
//
//   FERRET_EXPORT=table                                    on standard error
//   FERRET_EXPORT="table:out-%r.txt?sort_by=count&every=10s"
//   FERRET_EXPORT="table:out.json?format=json&group_by_input_shapes=1"

#ifndef FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_H_
#define FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "exporters/table/aggregate.h"
#include "exporters/table/report_output.h"
#include "exporters/table/table_exporter_options.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"

namespace ferret {

class TableExporter final : public Exporter {
 public:
  using Now = std::function<absl::Time()>;

  explicit TableExporter(TableExporterOptions options, Now now = absl::Now);

  // Factory for ExporterRegistry, name "table".
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(const ExporterSpec& spec);

  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;
  uint64_t NotDelivered() const override { return not_delivered_; }
  std::string Destination() const override { return destination_; }

  const table::Aggregate& aggregate() const { return aggregate_; }

 private:
  absl::Status OpenOutput();
  absl::Status Print(const ExportProgress& progress);

  const TableExporterOptions options_;
  const Now now_;
  SessionInfo info_;
  std::string target_;  // with a directory
  table::Aggregate aggregate_;
  std::unique_ptr<table::ReportOutput> output_;  // from the first report on
  std::string destination_;
  int64_t end_ns_ = 0;
  uint64_t attempts_ = 0;  // as EventBatch::count() counts
  uint64_t not_delivered_ = 0;
  absl::Time printed_;
};

}  // namespace ferret

#endif  // FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_H_

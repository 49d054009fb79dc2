// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/recovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "exporters/builtin.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/file/document_head.h"
#include "runtime/export/file/output_path.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/registry.h"
#include "runtime/session/crash_session.h"
#include "tools/crash_hold.h"
#include "tools/crash_replay.h"

namespace ferret {
namespace {

using internal::CrashContents;

constexpr uint64_t kDisabled = CrashContents::Output::kDisabled;

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// What the killed process wrote, out of the way of the file that is written now.
class Aside {
 public:
  static std::string PathOf(const std::string& path) { return path + ".recovering"; }
  // Empty if the file is not there. It is what `of` wrote.
  static std::optional<Aside> Take(const std::string& path, const DocumentHead& of) {
    const std::string aside = PathOf(path);
    // Left by a recovery that was itself killed: that is the older one. There is none that is still at it (crash_hold.h).
    if (Exists(aside)) {
      // What it had come to would be found and kept. But another process may have taken the name since then.
      const DocumentHead head = ReadDocumentHead(path);
      if (head.run_id == of.run_id && head.pid == of.pid) unlink(path.c_str());
      return Aside(aside, path);
    }
    if (rename(path.c_str(), aside.c_str()) != 0) return std::nullopt;
    return Aside(aside, path);
  }
  const std::string& path() const { return aside_; }
  void Drop() const { unlink(aside_.c_str()); }
  void PutBack() const { (void)!rename(aside_.c_str(), path_.c_str()); }

 private:
  Aside(std::string aside, std::string path) : aside_(std::move(aside)), path_(std::move(path)) {}
  std::string aside_;
  std::string path_;
};

absl::Status Export(CrashContents* contents, Exporter* exporter, const SessionInfo& info,
                    std::optional<uint64_t> settled, bool with_flops, absl::Duration limit, ReplayCounts* counts) {
  if (absl::Status status = exporter->Open(info); !status.ok()) return status;
  absl::Status status = ReplayCrash(
      contents, settled, with_flops, [&](const EventBatch& batch) { return exporter->Export(batch); }, counts);
  ExportProgress progress;
  progress.events_built = info.continued.events + counts->events;
  progress.lost = contents->lost();
  progress.links_made = counts->links;
  const absl::Time deadline = absl::Now() + limit;
  status.Update(exporter->Flush(progress, deadline));
  status.Update(exporter->Close(progress, deadline));
  return status;
}

std::string Outcome(const std::string& where, const ReplayCounts& counts, const SessionInfo& info) {
  std::string line = absl::StrCat(where, ": ", counts.events, counts.events == 1 ? " event" : " events", " recovered");
  if (info.continued.events != 0) absl::StrAppend(&line, " after ", info.continued.events);
  if (counts.truncated != 0) absl::StrAppend(&line, ", ", counts.truncated, " of them cut short");
  return line;
}

class Recovery {
 public:
  Recovery(CrashContents* contents, const RecoverRequest& request, std::vector<std::string>* lines)
      : contents_(contents), request_(request), lines_(lines), session_(ParseCrashSession(contents->session())) {
    RegisterBuiltinExporters(registry_);
    // Before anybody asks for it: files of the run belong together.
    if (!session_.run_id.empty()) setenv(kRunIdVariable, session_.run_id.c_str(), 1);
    session_.info.pid = contents->stamp().pid;
  }

  absl::Status IntoOwnOutputs() {
    const absl::StatusOr<std::vector<ExporterSpec>> specs = ParseExporterSpecs(session_.exporters);
    if (!specs.ok()) return specs.status();
    const size_t outputs = std::min(session_.outputs.size(), contents_->outputs().size());
    if (specs->size() > outputs) return absl::DataLossError("what the process exported to is damaged");
    const size_t made_by_program = outputs - specs->size();
    if (!session_.directory.empty() && chdir(session_.directory.c_str()) != 0) {
      lines_->push_back(absl::StrCat("the program's folder is gone: ", absl::CHexEscape(session_.directory)));
    }
    absl::Status status;
    for (size_t i = 0; i < outputs; ++i) {
      const CrashContents::Output& output = contents_->outputs()[i];
      const std::string& name = session_.outputs[i];
      if (i < made_by_program || name == "memory" || (name == "table" && !session_.flight)) {
        // Another one would show a part as if it were the whole.
        lines_->push_back(absl::StrCat(absl::CHexEscape(name), ": skipped, what it had died with the process"));
      } else if (output.batch == kDisabled) {
        lines_->push_back(absl::StrCat(absl::CHexEscape(name), ": skipped, it was disabled"));
      } else {
        status.Update(GoOn((*specs)[i - made_by_program], output));
      }
    }
    return status;
  }

  absl::Status IntoNew(const std::string& exporters, std::string* named) {
    const absl::StatusOr<std::vector<ExporterSpec>> specs = ParseExporterSpecs(exporters);
    if (!specs.ok()) return specs.status();
    // What any exporter of the process has not.
    std::optional<uint64_t> settled;
    for (const CrashContents::Output& output : contents_->outputs()) {
      if (output.batch != kDisabled) settled = std::min(settled.value_or(kDisabled), output.batch);
    }
    if (request_.all) settled.reset();
    const std::string label = FreeLabel(named);
    absl::Status status;
    for (const ExporterSpec& spec : *specs) {
      SessionInfo info = session_.info;
      if (!absl::StrContains(spec.target, "%p")) info.label = label;
      status.Update(Run(spec, info, settled));
    }
    return status;
  }

  size_t done() const { return done_; }

 private:
  // What tells this process's outputs from those that the command has written for other ones, which may be of other runs:
  // nothing, or its pid. What a name has anyhow (output_path.h) does that, too.
  std::string FreeLabel(std::string* named) const {
    const SessionInfo& info = session_.info;
    std::string own = absl::StrCat("rank", info.rank);
    if (info.in_forked_child) absl::StrAppend(&own, "-", info.pid);
    std::string label;
    for (int i = 1; request_.named.count(*named = own + "-" + label) != 0; ++i) {
      label = i == 1 ? absl::StrCat(info.pid) : absl::StrCat(info.pid, "-", i);
    }
    return label;
  }

  absl::Status GoOn(const ExporterSpec& spec, const CrashContents::Output& output) {
    const std::optional<uint64_t> settled = output.batch;
    SessionInfo info = session_.info;
    // What a flight recorder kept is an output of its own, beside its dumps.
    if (session_.flight) info.label = "recovered";
    if (output.path.empty()) return Run(spec, info, settled);
    for (const std::string& path : {output.path, Aside::PathOf(output.path)}) {
      if (absl::Status own = CheckIsOwn(path); !own.ok()) {
        lines_->push_back(absl::StrCat(absl::CHexEscape(path), ": ", std::string(own.message())));
        return own;
      }
    }
    const std::optional<Aside> aside = Aside::Take(output.path, {session_.run_id, session_.info.pid});
    if (!aside && contents_->IsComplete(output.batch)) {
      ++done_;
      lines_->push_back(absl::StrCat(absl::CHexEscape(output.final_path), ": complete"));
      return absl::OkStatus();
    }
    if (!aside) {
      info.continued.path = output.path;
      info.continued.final_path = output.final_path;
      if (output.bytes != 0) {
        // Somebody has put it elsewhere, with everything up to there and perhaps some more.
        info.continued.final_path = InsertBeforeExtension(output.final_path, "-recovered");
        lines_->push_back(absl::StrCat(absl::CHexEscape(output.path), " is gone"));
      }
      return Run(spec, info, settled);
    }
    info.continued = {aside->path(), output.final_path, output.bytes, output.events};
    const absl::Status status = Run(spec, info, settled);
    status.ok() ? aside->Drop() : aside->PutBack();
    return status;
  }

  absl::Status Run(const ExporterSpec& spec, const SessionInfo& info, std::optional<uint64_t> settled) {
    absl::StatusOr<std::unique_ptr<Exporter>> exporter = registry_.Create(spec);
    if (!exporter.ok()) return Failed(spec, exporter.status());
    ReplayCounts counts;
    const absl::Status status = Export(contents_, exporter->get(), info, settled, session_.with_flops, request_.limit,
                                       &counts);
    if (!status.ok()) return Failed(spec, status);
    ++done_;
    std::string where = (*exporter)->Destination();
    if (where.empty()) where = spec.name;
    lines_->push_back(Outcome(absl::CHexEscape(where), counts, info));
    return absl::OkStatus();
  }

  absl::Status Failed(const ExporterSpec& spec, const absl::Status& status) {
    lines_->push_back(absl::StrCat(spec.name, ": ", absl::CHexEscape(std::string(status.message()))));
    return status;
  }

  CrashContents* const contents_;
  const RecoverRequest& request_;
  std::vector<std::string>* const lines_;
  CrashSession session_;
  ExporterRegistry registry_;
  size_t done_ = 0;
};

}  // namespace

absl::StatusOr<size_t> RecoverContents(CrashContents* contents, const RecoverRequest& request,
                                       std::vector<std::string>* lines, std::string* named) {
  Recovery recovery(contents, request, lines);
  const absl::Status status =
      request.exporters.empty() ? recovery.IntoOwnOutputs() : recovery.IntoNew(request.exporters, named);
  if (!status.ok()) return status;
  return recovery.done();
}

}  // namespace ferret

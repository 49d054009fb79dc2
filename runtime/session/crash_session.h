// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a crash file says of its session, besides what was recorded: everything that exporters are told, and which they
// were, so that somebody else can go on with their outputs.
//
// Lines of tab-separated, C-escaped fields: a name and its values. Names that are not known are skipped.

#ifndef FERRET_RUNTIME_SESSION_CRASH_SESSION_H_
#define FERRET_RUNTIME_SESSION_CRASH_SESSION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/export/exporter.h"

namespace ferret {

struct CrashSession {
  SessionInfo info;
  std::string run_id;
  std::string exporters;             // as in FERRET_EXPORT
  std::vector<std::string> outputs;  // names of the exporters: in front, those that FERRET_EXPORT does not name
  std::string directory;             // the program's when the session started
  bool with_flops = false;
  bool flight = false;  // a flight recorder's: its outputs had been written to for no longer than a dump takes
};

std::string CrashSessionText(const CrashSession& session);
// Believes nothing: what is wrong is left out.
CrashSession ParseCrashSession(absl::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_CRASH_SESSION_H_

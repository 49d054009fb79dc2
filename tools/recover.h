// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret recover`: completes the outputs of processes that were killed, from their crash files.

#ifndef FERRET_TOOLS_RECOVER_H_
#define FERRET_TOOLS_RECOVER_H_

#include <set>
#include <string>

#include "absl/time/time.h"

namespace ferret {

struct RecoverRequest {
  std::string exporters;  // as in FERRET_EXPORT; empty: what the process had, going on with its files
  bool all = false;       // also what is exported already
  bool live = false;      // also of processes that live
  bool keep = false;      // leave the crash file where it is
  bool quiet = false;     // say what became of the outputs, not what was found
  // What an output may take to have everything, once it was handed over.
  absl::Duration limit = absl::Hours(1);
  // With `exporters`: what the names of outputs have that were written for it, so that no later file's replace them.
  std::set<std::string> named = {};
};

enum class RecoverOutcome {
  kRecovered,  // what was there is in its outputs
  kLeft,       // it is not to be recovered now: its process lives, or somebody else is at it
  kFailed,     // something that was there could not be recovered
};

// In a process of its own, so that no file spoils what comes after it. Prints to standard error, also why a file was left.
// Adds to request->named.
RecoverOutcome RecoverFile(const std::string& path, RecoverRequest* request);

// `arguments` is what follows "recover", ending with null. Returns an exit status.
int Recover(char** arguments);

extern const char kRecoverUsage[];

}  // namespace ferret

#endif  // FERRET_TOOLS_RECOVER_H_

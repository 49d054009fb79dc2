// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library with what records, and no more of Ferret. tls_record() is 1 if the calling thread can record.

#include "ferret/scope.h"
#include "runtime/record/recorder.h"

extern "C" FERRET_EXPORT_SYMBOL int tls_record();
extern "C" int tls_record() {
  using ferret::internal::Recorder;
  static Recorder* const recorder = [] {
    Recorder* const made = Recorder::Create({});
    made->Start(false);
    return made;
  }();
  FERRET_SCOPE("scope");
  return recorder != nullptr && ferret::ThreadId() != 0;
}

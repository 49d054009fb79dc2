// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library that records, to be loaded and unloaded. PLUG_NAME is what its scopes are called.

#include "ferret/c_api.h"
#include "ferret/scope.h"

namespace {

struct RecordsWhenDestroyed {
  ~RecordsWhenDestroyed() {
    if (armed) { FERRET_SCOPE(PLUG_NAME " thread_local"); }
  }
  bool armed = false;
};
thread_local RecordsWhenDestroyed t_records_when_destroyed;

}  // namespace

extern "C" FERRET_API void plug_record(int count);
extern "C" void plug_record(int count) {
  t_records_when_destroyed.armed = true;
  for (int i = 0; i < count; ++i) { FERRET_SCOPE(PLUG_NAME); }
}

// Of the copy that this library's calls go to.
extern "C" FERRET_API int plug_start(const char* exporters, char* error, size_t error_size);
extern "C" int plug_start(const char* exporters, char* error, size_t error_size) {
  return ferret_start(exporters, error, error_size);
}

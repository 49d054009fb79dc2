// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled several times: BAD says what is wrong with the plug-in.

#include "ferret/exporter_plugin.h"

#define NO_ENTRY 1
#define REFUSES 2
#define OTHER_VERSION 3
#define TOO_SMALL 4
#define NULL_FUNCTION 5
#define BAD_NAME 6

static int Create(const char* target, const char* const* keys, const char* const* values, size_t count, void** self,
                  char* error, size_t error_size) {
  (void)target, (void)keys, (void)values, (void)count, (void)self, (void)error, (void)error_size;
  return 0;
}
static int Open(void* self, const ferret_exporter_session* session, char* error, size_t error_size) {
  (void)self, (void)session, (void)error, (void)error_size;
  return 0;
}
static int ExportBatch(void* self, const ferret_exporter_batch* batch, char* error, size_t error_size) {
  (void)self, (void)batch, (void)error, (void)error_size;
  return 0;
}
static int Flush(void* self, const ferret_exporter_progress* progress, int64_t deadline_ns, char* error,
                 size_t error_size) {
  (void)self, (void)progress, (void)deadline_ns, (void)error, (void)error_size;
  return 0;
}
static void Destroy(void* self) { (void)self; }

const ferret_exporter_plugin g_bad_plugin = {
    .abi_version = BAD == OTHER_VERSION ? FERRET_EXPORTER_ABI_VERSION + 1 : FERRET_EXPORTER_ABI_VERSION,
    .struct_size = BAD == TOO_SMALL ? 16 : sizeof(ferret_exporter_plugin),
    .name = BAD == BAD_NAME ? "Not A Name" : "bad",
    .create = Create,
    .open = Open,
    .export_batch = ExportBatch,
    .flush = Flush,
    .close = BAD == NULL_FUNCTION ? NULL : Flush,
    .destroy = Destroy,
};

#if BAD != NO_ENTRY
const ferret_exporter_plugin* ferret_exporter_plugin_entry(uint32_t abi_version) {
  (void)abi_version;
  return BAD == REFUSES ? NULL : &g_bad_plugin;
}
#endif

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An exporter in C that writes down, one line each, all that it is given: the test compares it with what was sent.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ferret/exporter_plugin.h"

static FILE* g_file;

static int Fail(const char* text, char* error, size_t error_size) {
  snprintf(error, error_size, "%s", text);
  return 1;
}

static void Text(const char* label, ferret_exporter_text text) {
  fprintf(g_file, " %s=%.*s", label, (int)text.size, text.data);
}

static int Create(const char* target, const char* const* keys, const char* const* values, size_t count, void** self,
                  char* error, size_t error_size) {
  if (target[0] == '\0') return Fail("needs a file as target", error, error_size);
  g_file = fopen(target, "w");
  if (g_file == NULL) return Fail("cannot write the target", error, error_size);
  fprintf(g_file, "create");
  for (size_t i = 0; i < count; ++i) fprintf(g_file, " %s=%s", keys[i], values[i]);
  fprintf(g_file, "\n");
  *self = g_file;
  return 0;
}

static int Open(void* self, const ferret_exporter_session* session, char* error, size_t error_size) {
  if (self != g_file) return Fail("not myself", error, error_size);
  fprintf(g_file, "open pid=%d start=%" PRId64 " has_rank=%d rank=%d world_size=%d", session->pid, session->start_ns,
          session->has_rank, session->rank, session->world_size);
  Text("process", session->process_name);
  Text("host", session->host_name);
  Text("backend", session->backend);
  Text("job", session->job_id);
  for (uint32_t i = 0; i < session->option_count; ++i) {
    Text("option", session->option_names[i]);
    Text("value", session->option_values[i]);
  }
  fprintf(g_file, "\n");
  return 0;
}

static int ExportBatch(void* self, const ferret_exporter_batch* batch, char* error, size_t error_size) {
  (void)self;
  (void)error;
  (void)error_size;
  const ferret_exporter_thread* thread = batch->threads;
  for (uint64_t i = 0; i < batch->thread_count; ++i) {
    fprintf(g_file, "thread %u previous=%u os_tid=%d", thread->thread, thread->previous_thread, thread->os_tid);
    Text("name", thread->name);
    fprintf(g_file, "\n");
    thread = FERRET_EXPORTER_NEXT(ferret_exporter_thread, thread);
  }
  const ferret_exporter_event* event = batch->events;
  for (uint64_t i = 0; i < batch->event_count; ++i) {
    fprintf(g_file, "event %" PRId64 " parent=%" PRId64 " flags=%u", event->id, event->parent_id, event->flags);
    Text("name", event->name);
    fprintf(g_file, " ns=%" PRId64 "..%" PRId64 " self=%" PRId64 " seq=%" PRId64 " forward=%" PRId64, event->start_ns,
            event->end_ns, event->self_ns, event->sequence_nr, event->forward_id);
    fprintf(g_file, " thread=%u fwd_thread=%u resource=%d name_id=%u scope=%d device=%d:%d\n", event->thread,
            event->fwd_thread, event->device_resource_id, event->name_id, event->scope, event->device_type,
            event->device_index);
    event = FERRET_EXPORTER_NEXT(ferret_exporter_event, event);
  }
  const ferret_exporter_instant* instant = batch->instants;
  for (uint64_t i = 0; i < batch->instant_count; ++i) {
    fprintf(g_file, "instant kind=%d", instant->kind);
    Text("name", instant->name);
    fprintf(g_file, " ns=%" PRId64 " since=%" PRId64 " value=%g thread=%u resource=%d name_id=%u\n", instant->time_ns,
            instant->since_ns, instant->value, instant->thread, instant->device_resource_id, instant->name_id);
    instant = FERRET_EXPORTER_NEXT(ferret_exporter_instant, instant);
  }
  const ferret_exporter_link* link = batch->links;
  for (uint64_t i = 0; i < batch->link_count; ++i) {
    fprintf(g_file, "link %" PRId64 " %" PRId64 "@%" PRId64 "/%d -> %" PRId64 "@%" PRId64 "/%d\n", link->flow_id,
            link->forward_id, link->forward_start_ns, link->forward_os_tid, link->backward_id, link->backward_start_ns,
            link->backward_os_tid);
    link = FERRET_EXPORTER_NEXT(ferret_exporter_link, link);
  }
  return 0;
}

static void Progress(const char* label, const ferret_exporter_progress* progress, int64_t deadline_ns) {
  fprintf(g_file, "%s deadline=%" PRId64 " built=%" PRIu64, label, deadline_ns, progress->events_built);
  fprintf(g_file, " links=%" PRIu64 "/%" PRIu64 "/%" PRIu64, progress->links_made, progress->links_evicted,
          progress->links_unmatched);
  fprintf(g_file, " ends=%" PRIu64 " inline=%" PRIu64 " backward=%" PRIu64, progress->remote_ends_unmatched,
          progress->names_inline, progress->clock_backward);
  for (uint32_t i = 0; i < progress->loss_count; ++i) {
    if (progress->losses[i] != 0) fprintf(g_file, " %s=%" PRIu64, progress->loss_reasons[i], progress->losses[i]);
  }
  fprintf(g_file, "\n");
}

static int Flush(void* self, const ferret_exporter_progress* progress, int64_t deadline_ns, char* error,
                 size_t error_size) {
  (void)self;
  Progress("flush", progress, deadline_ns);
  return fflush(g_file) == 0 ? 0 : Fail("cannot write", error, error_size);
}

static int Close(void* self, const ferret_exporter_progress* progress, int64_t deadline_ns, char* error,
                 size_t error_size) {
  (void)self;
  (void)error;
  (void)error_size;
  Progress("close", progress, deadline_ns);
  return 0;
}

static void Destroy(void* self) {
  (void)self;
  fprintf(g_file, "destroy\n");
  fclose(g_file);
}

static const ferret_exporter_plugin g_plugin = {
    .abi_version = FERRET_EXPORTER_ABI_VERSION,
    .struct_size = sizeof(ferret_exporter_plugin),
    .name = "journal",
    .create = Create,
    .open = Open,
    .export_batch = ExportBatch,
    .flush = Flush,
    .close = Close,
    .destroy = Destroy,
};

const ferret_exporter_plugin* ferret_exporter_plugin_entry(uint32_t abi_version) {
  return abi_version == FERRET_EXPORTER_ABI_VERSION ? &g_plugin : NULL;
}

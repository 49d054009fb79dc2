// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a shared library implements to be an exporter: plain C (C11 and C++17), this header alone, nothing to link.
//
//     FERRET_EXPORTERS=/path/libmine.so[:/path/libother.so] FERRET_EXPORT=mine:target?key=value
//
// The library defines ferret_exporter_plugin_entry. Ferret calls create on any thread and everything else on a thread
// that belongs to this exporter alone, one call at a time: open, then any number of export_batch and flush, then close
// once (not if open failed), then destroy. A call may block: only this exporter's events are then dropped, counted, and
// the recorded program never waits. An instance that hangs when recording stops is never called again.
//
// Every function that can fail returns 0 for success, and otherwise writes one line, NUL-terminated, of at most
// error_size bytes to `error`. No exception may leave a function. Whatever a pointer argument leads to is valid only
// during the call. Times are Unix nanoseconds.
//
// Growth: a structure begins with its size as the one who filled it knows it. New members are only ever added at its
// end, so look at struct_size before you read a member that is newer than the first version, and step through arrays
// with FERRET_EXPORTER_NEXT.

#ifndef FERRET_EXPORTER_PLUGIN_H_
#define FERRET_EXPORTER_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Raised when a structure changes in any other way than by growing.
#define FERRET_EXPORTER_ABI_VERSION 1u

// Text that is not NUL-terminated.
typedef struct ferret_exporter_text {
  const char* data;
  uint64_t size;
} ferret_exporter_text;

// The element that follows `element` in an array of these structures.
#define FERRET_EXPORTER_NEXT(type, element) ((const type*)((const char*)(element) + (element)->struct_size))

// What does not change while recording is on.
typedef struct ferret_exporter_session {
  uint32_t struct_size;
  int32_t pid;
  int64_t start_ns;
  ferret_exporter_text process_name;
  ferret_exporter_text host_name;
  ferret_exporter_text backend;  // of torch.distributed; empty if unknown
  ferret_exporter_text job_id;   // empty if unknown
  int32_t has_rank;              // whether a launcher's environment named the rank
  int32_t rank;
  int32_t world_size;
  uint32_t option_count;
  const ferret_exporter_text* option_names;
  const ferret_exporter_text* option_values;
} ferret_exporter_session;

#define FERRET_EXPORTER_EVENT_ASYNC 1u            // began and ended on different threads: no parent, no self time
#define FERRET_EXPORTER_EVENT_USER_ANNOTATION 2u
#define FERRET_EXPORTER_EVENT_TRUNCATED 4u        // still open when its thread or the recording ended
#define FERRET_EXPORTER_EVENT_SYNTHESIZED 8u      // made by Ferret from other events
#define FERRET_EXPORTER_EVENT_LEGACY 16u          // one pair of marks on the device around a scope and its children

// One finished scope, or, where device_type is not 0, what a scope took on a device: it comes later than the scope, under
// the same name. What each member means is said in ferret/function_event.h.
typedef struct ferret_exporter_event {
  uint32_t struct_size;
  uint32_t flags;  // FERRET_EXPORTER_EVENT_*
  int64_t id;
  int64_t parent_id;  // 0: none
  ferret_exporter_text name;
  int64_t start_ns;
  int64_t end_ns;
  int64_t self_ns;
  int64_t sequence_nr;  // -1: none
  int64_t forward_id;   // 0: none
  uint32_t thread;
  uint32_t fwd_thread;         // > 0 exactly for backward ops
  int32_t device_resource_id;  // OS thread id, or the stream of a device event
  uint32_t name_id;            // equal and not 0: equal names; 0: unknown
  int32_t scope;               // at::RecordScope
  int32_t device_type;         // c10::DeviceType
  int32_t device_index;
  uint32_t reserved;
} ferret_exporter_event;

#define FERRET_EXPORTER_INSTANT 0
#define FERRET_EXPORTER_COUNTER 1
#define FERRET_EXPORTER_LOSS 2

typedef struct ferret_exporter_instant {
  uint32_t struct_size;
  int32_t kind;  // FERRET_EXPORTER_INSTANT, _COUNTER or _LOSS
  ferret_exporter_text name;
  int64_t time_ns;
  int64_t since_ns;  // loss: when the first scope was lost
  double value;      // counter: its value; loss: how many scopes were lost just before
  uint32_t thread;
  int32_t device_resource_id;
  uint32_t name_id;
  uint32_t reserved;
} ferret_exporter_instant;

// One forward -> backward arrow.
typedef struct ferret_exporter_link {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t flow_id;
  int64_t forward_id;
  int64_t backward_id;
  int64_t forward_start_ns;
  int64_t backward_start_ns;
  int32_t forward_os_tid;
  int32_t backward_os_tid;
} ferret_exporter_link;

// Comes before the first event of a thread, and again when its name or logical id changes.
typedef struct ferret_exporter_thread {
  uint32_t struct_size;
  uint32_t thread;
  uint32_t previous_thread;  // != 0: events delivered under this id belong to `thread` too
  int32_t os_tid;
  ferret_exporter_text name;  // empty if never named
} ferret_exporter_thread;

typedef struct ferret_exporter_batch {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t event_count;
  const ferret_exporter_event* events;
  uint64_t instant_count;
  const ferret_exporter_instant* instants;
  uint64_t link_count;
  const ferret_exporter_link* links;
  uint64_t thread_count;
  const ferret_exporter_thread* threads;  // to be read before the events
} ferret_exporter_batch;

// Cumulative, since recording was turned on. What each member means is said in ferret::ExportProgress.
typedef struct ferret_exporter_progress {
  uint32_t struct_size;
  uint32_t loss_count;                // how many reasons there are
  const uint64_t* losses;             // by reason, this exporter's own included
  const char* const* loss_reasons;    // NUL-terminated, for example "pool_exhausted"
  uint64_t events_built;
  uint64_t links_made;
  uint64_t links_evicted;
  uint64_t links_unmatched;
  uint64_t remote_ends_unmatched;
  uint64_t names_inline;
  uint64_t clock_backward;
} ferret_exporter_progress;

// All pointers are required.
typedef struct ferret_exporter_plugin {
  uint32_t abi_version;  // FERRET_EXPORTER_ABI_VERSION
  uint32_t struct_size;  // sizeof(ferret_exporter_plugin)
  // As FERRET_EXPORT spells it: a lower-case letter, then lower-case letters, digits, '_' and '-'.
  const char* name;
  // Makes an instance. The target is "" if none was given; keys are unique. Must not block. *self may be NULL.
  int (*create)(const char* target, const char* const* keys, const char* const* values, size_t count, void** self,
                char* error, size_t error_size);
  int (*open)(void* self, const ferret_exporter_session* session, char* error, size_t error_size);
  int (*export_batch)(void* self, const ferret_exporter_batch* batch, char* error, size_t error_size);
  // Make everything exported so far durable. Called about once a second.
  int (*flush)(void* self, const ferret_exporter_progress* progress, int64_t deadline_ns, char* error,
               size_t error_size);
  int (*close)(void* self, const ferret_exporter_progress* progress, int64_t deadline_ns, char* error,
               size_t error_size);
  void (*destroy)(void* self);
} ferret_exporter_plugin;

#define FERRET_EXPORTER_PLUGIN_EXPORT __attribute__((visibility("default")))

// Returns the plug-in, which must live as long as the process, or NULL if it cannot work with this version of the ABI.
FERRET_EXPORTER_PLUGIN_EXPORT const ferret_exporter_plugin* ferret_exporter_plugin_entry(uint32_t abi_version);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // FERRET_EXPORTER_PLUGIN_H_

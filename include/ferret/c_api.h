/* Copyright The Ferret Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ferret for C and for everything that can call C. The same powers, thread rules and costs as ferret/scope.h and
 * ferret/session.h, whose comments hold here too; a call of a function instead of inlined code adds one or two ns.
 *
 *     ferret_scope scope = ferret_scope_begin("forward", FERRET_STRLEN);
 *     ...
 *     ferret_scope_end(scope);
 *
 * Stable: functions are added, never changed; FERRET_API_VERSION counts the additions. Names may hold any bytes; with
 * FERRET_STRLEN as length they end at the first NUL. A null name is the empty one.
 */
#ifndef FERRET_C_API_H_
#define FERRET_C_API_H_

#include <stddef.h>
#include <stdint.h>

#define FERRET_API_VERSION 4
#define FERRET_API __attribute__((visibility("default")))
#define FERRET_STRLEN ((size_t)-1)
#define FERRET_NEXT_STEP UINT64_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* The FERRET_API_VERSION that the library was built with. */
FERRET_API uint32_t ferret_api_version(void);

/* ---- Sessions. 0 is success; otherwise one line of English is put into error (cut to error_size bytes with the final
 * NUL; error may be null). exporters is as in FERRET_EXPORT. A deadline < 0 is the default (FERRET_STOP_DEADLINE). */
FERRET_API int ferret_start(const char* exporters, char* error, size_t error_size);
/* The same with a schedule, see ferret/schedule.h: in steps, or in milliseconds if by_time is not 0. (Version 2.) */
typedef struct ferret_schedule {
  int by_time;
  int skip_first_wait;
  uint64_t skip_first, wait, warmup, active, repeat;
} ferret_schedule;
FERRET_API int ferret_start_scheduled(const char* exporters, const ferret_schedule* schedule, char* error,
                                      size_t error_size);
FERRET_API int ferret_stop(int64_t deadline_ms, char* error, size_t error_size);
FERRET_API int ferret_flush(int64_t deadline_ms, char* error, size_t error_size);
FERRET_API int ferret_is_recording(void);
/* How much the current session lost while recording, or the last one, for the reason with that name (see ferret/loss.h, for example
 * "pool_exhausted"); a null reason is the sum of all, an unknown one gives 0. */
FERRET_API uint64_t ferret_lost(const char* reason);

/* ---- Scopes. A refused begin, or one while recording is off, gives {0}, whose end does nothing. End a scope once, on
 * the thread that began it, innermost first. */
typedef struct ferret_scope {
  uint64_t word;
} ferret_scope;

FERRET_API ferret_scope ferret_scope_begin(const char* name, size_t length);
FERRET_API ferret_scope ferret_annotation_begin(const char* name, size_t length);
/* An operator: sequence_nr < 0 is none; fwd_thread > 0 makes it a backward op, of the forward op with that number on the
 * thread with that id (ferret_thread_id); record_scope is at::RecordScope (0 function, 1 backward function, ...). */
FERRET_API ferret_scope ferret_op_begin(const char* name, size_t length, int64_t sequence_nr, uint32_t fwd_thread,
                                        uint8_t record_scope);
FERRET_API void ferret_scope_end(ferret_scope scope);

/* For call sites that record the same name again and again: look it up once, with any thread. 0 when the name table is
 * full; a begin with 0 records the empty name. */
FERRET_API uint32_t ferret_name_id(const char* name, size_t length);
FERRET_API ferret_scope ferret_scope_begin_id(uint32_t name_id);

/* A scope that may end on another thread. */
typedef struct ferret_async {
  uint32_t thread;
  uint32_t handle;
} ferret_async;

FERRET_API ferret_async ferret_async_begin(const char* name, size_t length);
FERRET_API void ferret_async_end(ferret_async scope);

/* ---- Moments and numbers. */
FERRET_API void ferret_instant(const char* name, size_t length);
FERRET_API void ferret_counter(const char* name, size_t length, double value);
/* The step on this thread ends here; FERRET_NEXT_STEP counts from 0. */
FERRET_API void ferret_step(uint64_t number);
FERRET_API void ferret_thread_name(const char* name, size_t length);
/* The calling thread's logical id, from 1; 0 while recording is off. */
FERRET_API uint32_t ferret_thread_id(void);

/* ---- Since version 2: what is known of a scope beyond its name and time (see ferret/scope_details.h).
 *
 *     if (ferret_wants_shapes()) {
 *       ferret_details_tensor(details, "float", FERRET_STRLEN, sizes, 2, NULL);
 *       ferret_details_attach(details);
 *     }
 *
 * Whether the session was started with the option: 0 or 1. */
FERRET_API int ferret_wants_shapes(void);
FERRET_API int ferret_wants_stacks(void);
FERRET_API int ferret_wants_memory(void);

/* A buffer to be used again and again, by one thread at a time; NULL without memory. Every function takes NULL. */
typedef struct ferret_details ferret_details;
FERRET_API ferret_details* ferret_details_new(void);
FERRET_API void ferret_details_free(ferret_details* details);
/* Inputs, in order. strides may be NULL. A list of more than 30 integers counts as empty. */
FERRET_API void ferret_details_tensor(ferret_details* details, const char* dtype, size_t length, const int64_t* sizes,
                                      size_t dimensions, const int64_t* strides);
FERRET_API void ferret_details_int(ferret_details* details, int64_t value);
FERRET_API void ferret_details_double(ferret_details* details, double value);
FERRET_API void ferret_details_bool(ferret_details* details, int value);
FERRET_API void ferret_details_text(ferret_details* details, const char* text, size_t length);
FERRET_API void ferret_details_int_list(ferret_details* details, const int64_t* values, size_t count);
FERRET_API void ferret_details_none(ferret_details* details);
/* Shown under their own names. */
FERRET_API void ferret_details_keyword_int(ferret_details* details, const char* key, int64_t value);
FERRET_API void ferret_details_keyword_double(ferret_details* details, const char* key, double value);
FERRET_API void ferret_details_keyword_text(ferret_details* details, const char* key, const char* text, size_t length);
FERRET_API void ferret_details_overload(ferret_details* details, const char* name, size_t length);
/* Of the stack, innermost first. */
FERRET_API void ferret_details_frame(ferret_details* details, const char* frame, size_t length);
FERRET_API void ferret_details_module(ferret_details* details, const char* hierarchy, size_t length);
FERRET_API void ferret_details_flops(ferret_details* details, int64_t operations);
FERRET_API void ferret_details_node(ferret_details* details, int64_t node_id, int is_remote);
/* Gives them to the innermost open scope of the calling thread, and empties the buffer. */
FERRET_API void ferret_details_attach(ferret_details* details);

/* What an allocator did on this thread; bytes < 0 is a free. device_type is c10::DeviceType (0 CPU, 1 CUDA), device_index
 * -1 for the CPU, totals 0 if unknown. */
FERRET_API void ferret_allocation(const void* address, int64_t bytes, int64_t total_allocated, int64_t total_reserved,
                                  int device_type, int device_index);
FERRET_API void ferret_out_of_memory(int64_t bytes, int64_t total_allocated, int64_t total_reserved, int device_type,
                                     int device_index);

/* ---- Since version 3: scopes that are timed on a CUDA device, too (see ferret/cuda.h). stream is a CUstream or a
 * cudaStream_t; for a default stream say which one, since a null one is not timed. */
#define FERRET_CUDA_STREAM_LEGACY ((void*)1)
#define FERRET_CUDA_STREAM_PER_THREAD ((void*)2)

/* The mark's fields are the library's own. */
typedef struct ferret_cuda_scope {
  ferret_scope scope;
  uint64_t session;
  void* stream;
  uint32_t pair;
  uint32_t place;
} ferret_cuda_scope;

FERRET_API ferret_cuda_scope ferret_cuda_scope_begin(void* stream, const char* name, size_t length);
/* The same as a user annotation. Either is ended by: */
FERRET_API ferret_cuda_scope ferret_cuda_annotation_begin(void* stream, const char* name, size_t length);
FERRET_API void ferret_cuda_scope_end(ferret_cuda_scope scope);
/* What the innermost open scope of the calling thread launches. NULL and bytes < 0: not given. */
FERRET_API void ferret_cuda_describe_launch(const uint32_t grid[3], const uint32_t block[3], int64_t bytes);
/* Has markers made for the stream's context and waits for them, at most 100 ms: 1, or 0 if scopes on this stream cannot be
 * timed now. */
FERRET_API int ferret_cuda_prepare(void* stream);
/* How many scopes of the current session, or of the last one, have their time on a device; and how many have not, for the
 * reason with that name (see ferret/device_loss.h, for example "no_context"); a null reason is the sum of all, an unknown
 * one gives 0. */
FERRET_API uint64_t ferret_device_timed(void);
FERRET_API uint64_t ferret_device_lost(const char* reason);

/* ---- Since version 4: has a flight recorder (FERRET_FLIGHT) write what it keeps, and returns without waiting for it. Not
 * for signal handlers. */
FERRET_API int ferret_dump(char* error, size_t error_size);

/* ---- Since version 4: in signal handlers, without ever allocating, locking or waiting (see ferret/signal.h). name_id is
 * ferret_name_id's, asked for before the handler is installed; what is recorded under 0 is dropped and counted. */
FERRET_API void ferret_instant_from_signal(uint32_t name_id);
FERRET_API ferret_scope ferret_scope_begin_from_signal(uint32_t name_id);
FERRET_API void ferret_scope_end_from_signal(ferret_scope scope);

#ifdef __cplusplus
}
#endif

#endif /* FERRET_C_API_H_ */

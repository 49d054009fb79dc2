/* Copyright The Ferret Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The boundary between Ferret and libferret_otlp_grpc.so, the only file that links gRPC. Plain C on purpose: nothing of
 * C++ crosses it, so that gRPC's idea of the standard library and Abseil never meets another one's.
 *
 * The library exports one function, ferret_otlp_grpc_entry. It is never unloaded, and used in the process that loaded it
 * only, never in a forked child.
 *
 * gRPC's threads start in open and send, and inherit the signal mask of whoever calls: call them with the host's signals
 * blocked.
 */

#ifndef FERRET_EXPORTERS_OTLP_GRPC_GRPC_PLUGIN_H_
#define FERRET_EXPORTERS_OTLP_GRPC_GRPC_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FERRET_OTLP_GRPC_ABI_VERSION 1

/* Bytes, not ended by a zero. data may be null if size is 0. */
typedef struct ferret_otlp_grpc_bytes {
  const char* data;
  size_t size;
} ferret_otlp_grpc_bytes;

/* Of metadata: printable ASCII, keys in lower case. gRPC aborts on others, so that the caller has checked them. */
typedef struct ferret_otlp_grpc_header {
  ferret_otlp_grpc_bytes key;
  ferret_otlp_grpc_bytes value;
} ferret_otlp_grpc_header;

/* What it points to is used during open only. */
typedef struct ferret_otlp_grpc_config {
  ferret_otlp_grpc_bytes target; /* in gRPC's terms: "dns:///localhost:4317", "unix:/run/agent" */
  ferret_otlp_grpc_bytes user_agent;
  int tls;
  int gzip;
  int quiet; /* gRPC prints nothing, unless GRPC_VERBOSITY is set. Of the whole process, and for good */
  /* PEM, of TLS. Without a CA the machine's own are used. */
  ferret_otlp_grpc_bytes ca;
  ferret_otlp_grpc_bytes client_key;
  ferret_otlp_grpc_bytes client_certificate;
  const ferret_otlp_grpc_header* headers;
  size_t header_count;
} ferret_otlp_grpc_config;

/* How a call ended. The bytes are the handle's, until its next send or close. */
typedef struct ferret_otlp_grpc_outcome {
  int32_t code;                   /* a gRPC status code; 0: answered */
  int32_t reply_too_large;        /* the receiver answered, with more than is read */
  ferret_otlp_grpc_bytes message; /* of a code that is not 0 */
  ferret_otlp_grpc_bytes details; /* google.rpc.Status, from the trailer grpc-status-details-bin */
  ferret_otlp_grpc_bytes reply;   /* of code 0 */
} ferret_otlp_grpc_outcome;

typedef struct ferret_otlp_grpc_handle ferret_otlp_grpc_handle;

/* None of these throws. */
typedef struct ferret_otlp_grpc_api {
  uint32_t abi_version;

  /* Makes a channel; the connection is made by the first send. Null for an error, with its text in `error`, cut to
     error_size bytes with the zero at its end. */
  ferret_otlp_grpc_handle* (*open)(const ferret_otlp_grpc_config* config, char* error, size_t error_size);

  /* One unary call of `method` ("/package.Service/Method"), and its outcome. One call at a time. Returns by the timeout
     (none if negative), or soon after cancel. */
  void (*send)(ferret_otlp_grpc_handle* handle, const char* method, ferret_otlp_grpc_bytes request, int64_t timeout_ns,
               ferret_otlp_grpc_outcome* outcome);

  /* From any thread, until close is called: the call that runs ends soon, and each that is yet to come at once, with
     CANCELLED. */
  void (*cancel)(ferret_otlp_grpc_handle* handle);

  /* No call may run. Once the process has begun to exit, the channel is left as it is: what it needs may be gone. */
  void (*close)(ferret_otlp_grpc_handle* handle);
} ferret_otlp_grpc_api;

/* Null if the library does not have this version. */
typedef const ferret_otlp_grpc_api* (*ferret_otlp_grpc_entry_function)(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif /* FERRET_EXPORTERS_OTLP_GRPC_GRPC_PLUGIN_H_ */

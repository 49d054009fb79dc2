/* Copyright The Ferret Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every function of the C API. Built by a plain C compiler. */

#include <stdio.h>
#include <string.h>

#include "ferret/c_api.h"

int main(int argc, char** argv) {
  char error[200];
  if (ferret_api_version() < FERRET_API_VERSION) return 2;
  if (ferret_is_recording()) return 3;
  if (ferret_start("nothing_of_that_name", error, sizeof(error)) == 0) return 4;
  if (strstr(error, "nothing_of_that_name") == NULL) return 5;
  ferret_scope_end(ferret_scope_begin("while off", FERRET_STRLEN));
  if (ferret_start(argc > 1 ? argv[1] : "memory", error, sizeof(error)) != 0) {
    fprintf(stderr, "%s\n", error);
    return 6;
  }
  ferret_thread_name("main of C", FERRET_STRLEN);
  ferret_scope outer = ferret_scope_begin("outer", FERRET_STRLEN);
  ferret_scope_end(ferret_annotation_begin("note and more", 4));
  ferret_scope_end(ferret_op_begin("mul", 3, 7, 0, 0));
  ferret_scope_end(ferret_op_begin("MulBackward0", FERRET_STRLEN, 7, ferret_thread_id(), 1));
  ferret_scope_end(ferret_scope_begin_id(ferret_name_id("by id", FERRET_STRLEN)));
  ferret_scope_end(ferret_scope_begin_id(1u << 30));
  ferret_scope_end(ferret_scope_begin(NULL, FERRET_STRLEN));
  ferret_async async = ferret_async_begin("async", FERRET_STRLEN);
  ferret_async_end(async);
  ferret_instant("instant", FERRET_STRLEN);
  ferret_counter("counter", FERRET_STRLEN, 2.5);
  const uint32_t signalled = ferret_name_id("from a signal", FERRET_STRLEN);
  ferret_instant_from_signal(signalled);
  ferret_scope_end_from_signal(ferret_scope_begin_from_signal(signalled));
  if (ferret_cuda_prepare(FERRET_CUDA_STREAM_LEGACY)) return 10;
  const uint32_t grid[3] = {4, 2, 1};
  ferret_cuda_scope timed = ferret_cuda_scope_begin(FERRET_CUDA_STREAM_LEGACY, "no context", FERRET_STRLEN);
  ferret_cuda_describe_launch(grid, NULL, 512);
  ferret_cuda_scope_end(timed);
  ferret_cuda_scope_end(ferret_cuda_scope_begin(NULL, "no stream and more", 9));
  ferret_scope_end(outer);
  ferret_step(FERRET_NEXT_STEP);
  if (ferret_flush(-1, error, sizeof(error)) != 0) return 7;
  if (ferret_stop(-1, error, sizeof(error)) != 0) return 8;
  if (ferret_lost(NULL) != 0 || ferret_lost("pool_exhausted") != 0 || ferret_lost("no such reason") != 0) return 9;
  if (ferret_device_timed() != 0 || ferret_device_lost(NULL) != 2) return 11;
  if (ferret_device_lost("bad_stream") != 1 || ferret_device_lost("no such reason") != 0) return 12;
  printf("ok\n");
  return 0;
}

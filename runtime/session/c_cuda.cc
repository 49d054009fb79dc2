// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the C API that is about scopes that are timed on CUDA devices.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ferret/c_api.h"
#include "ferret/cuda.h"
#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

ferret_cuda_scope WithMark(ferret_scope scope, void* stream) {
  ferret_cuda_scope begun{};
  begun.scope = scope;
  // Also where the scope was refused: it asked for device time all the same.
  if (!ferret::internal::Enabled()) return begun;
  const ferret::internal::DeviceMark mark =
      ferret::internal::BeginCudaMark(static_cast<ferret::cuda::Stream>(stream), begun.scope.word != 0);
  begun.session = mark.session;
  begun.stream = mark.stream;
  begun.pair = mark.pair;
  begun.place = mark.place;
  return begun;
}

}  // namespace

extern "C" {

ferret_cuda_scope ferret_cuda_scope_begin(void* stream, const char* name, size_t length) {
  return WithMark(ferret_scope_begin(name, length), stream);
}

ferret_cuda_scope ferret_cuda_annotation_begin(void* stream, const char* name, size_t length) {
  return WithMark(ferret_annotation_begin(name, length), stream);
}

void ferret_cuda_scope_end(ferret_cuda_scope scope) {
  if (scope.pair != 0) {
    ferret::internal::EndCudaMark(
        {scope.session, static_cast<ferret::cuda::Stream>(scope.stream), scope.pair, scope.place});
  }
  ferret_scope_end(scope.scope);
}

void ferret_cuda_describe_launch(const uint32_t grid[3], const uint32_t block[3], int64_t bytes) {
  ferret::cuda::Launch launch;
  if (grid != nullptr) std::copy_n(grid, 3, launch.grid);
  if (block != nullptr) std::copy_n(block, 3, launch.block);
  launch.bytes = bytes;
  ferret::cuda::DescribeLaunch(launch);
}

int ferret_cuda_prepare(void* stream) { return ferret::cuda::Prepare(static_cast<ferret::cuda::Stream>(stream)); }

uint64_t ferret_device_timed(void) { return ferret::DeviceLosses().timed; }

uint64_t ferret_device_lost(const char* reason) {
  const ferret::DeviceCounts counts = ferret::DeviceLosses();
  if (reason == nullptr) return counts.total_lost();
  for (size_t i = 0; i < ferret::kDeviceLossCount; ++i) {
    if (std::strcmp(reason, ferret::DeviceLossText(static_cast<ferret::DeviceLoss>(i))) == 0) return counts.lost[i];
  }
  return 0;
}

}  // extern "C"

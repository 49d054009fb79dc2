// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/activity_kind.h"

#include <algorithm>
#include <iterator>

namespace ferret {
namespace {

struct Category {
  std::string_view name;
  ActivityKind kind;
};

constexpr Category kCategories[] = {
    {"cpu_op", {ActivityType::kCpuOp, false, false}},
    {"user_annotation", {ActivityType::kUserAnnotation, false, false}},
    {"python_function", {ActivityType::kPythonFunction, false, false}},
    {"cuda_runtime", {ActivityType::kCudaRuntime, false, false}},
    {"cuda_driver", {ActivityType::kCudaDriver, false, false}},
    {"kernel", {ActivityType::kKernel, true, false}},
    {"gpu_memcpy", {ActivityType::kGpuMemcpy, true, false}},
    {"gpu_memset", {ActivityType::kGpuMemset, true, false}},
    {"gpu_user_annotation", {ActivityType::kGpuUserAnnotation, true, false}},
    {"overhead", {ActivityType::kOverhead, false, false}},
    {"cuda_sync", {ActivityType::kCudaSync, true, true}},
    {"cuda_event", {ActivityType::kCudaEvent, true, true}},
    {"Trace", {ActivityType::kOther, false, true}},
    // Before 2022.
    {"Operator", {ActivityType::kCpuOp, false, false}},
    {"operator", {ActivityType::kCpuOp, false, false}},
    {"Runtime", {ActivityType::kCudaRuntime, false, false}},
    {"runtime", {ActivityType::kCudaRuntime, false, false}},
    {"Kernel", {ActivityType::kKernel, true, false}},
    {"Memcpy", {ActivityType::kGpuMemcpy, true, false}},
    {"Memset", {ActivityType::kGpuMemset, true, false}},
    // Other devices than NVIDIA's: their calls launch as CUDA's do.
    {"xpu_runtime", {ActivityType::kCudaRuntime, false, false}},
    {"xpu_driver", {ActivityType::kCudaDriver, false, false}},
    {"mtia_runtime", {ActivityType::kCudaRuntime, false, false}},
    {"privateuse1_runtime", {ActivityType::kCudaRuntime, false, false}},
    {"privateuse1_driver", {ActivityType::kCudaDriver, false, false}},
    {"xpu_sync", {ActivityType::kCudaSync, true, true}},
};

constexpr std::string_view kHidden[] = {
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
};

}  // namespace

ActivityKind KindOfCategory(std::string_view category) {
  const auto* const found = std::find_if(std::begin(kCategories), std::end(kCategories),
                                         [category](const Category& known) { return known.name == category; });
  return found == std::end(kCategories) ? ActivityKind() : found->kind;
}

bool IsHiddenName(std::string_view name) { return std::find(std::begin(kHidden), std::end(kHidden), name) != std::end(kHidden); }

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/steps.h"

#include <atomic>

#include "ferret/internal/adapter.h"
#include "ferret/internal/hot_path.h"
#include "runtime/record/recorder.h"

namespace ferret::internal {
namespace {

// Release when a schedule starts, acquired by a thread that ends a step: what the hook uses is ready.
std::atomic<StepHook> g_hook{nullptr};

void WriteStep(uint32_t payload, uint64_t number) {
  const Recorder::Place place = Recorder::Enter(kStepBytes, Recorder::Room::kNote);
  if (!place) return;
  Put(place.at, 0, RecordHeader(RecordType::kStep, kStepBytes, kNoFlags, payload));
  Put(place.at, 2, number);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kStepBytes);
}

}  // namespace

void TellStep(StepSource source, uint64_t number) {
  const StepHook hook = g_hook.load(std::memory_order_acquire);
  if (hook != nullptr) hook(source, number);
}

void SetStepHook(StepHook hook) {
  g_hook.store(hook, std::memory_order_release);
  g_switch.counts_steps.store(hook != nullptr, std::memory_order_relaxed);
}

void RecordStepBegin(uint64_t number) { WriteStep(kStepBegins, number); }

void RecordStep(uint64_t number) {
  WriteStep(kStepEnds, number);
  TellStep(StepSource::kProgram, number);
}

void OptimizerStepped() { TellStep(StepSource::kOptimizer, kNextStep); }

}  // namespace ferret::internal

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where training steps end, as recording threads say it: to the drain by a record, and to the session's schedule by a
// call, which it needs at once and also while recording is paused.

#ifndef FERRET_RUNTIME_RECORD_STEPS_H_
#define FERRET_RUNTIME_RECORD_STEPS_H_

#include <cstdint>

namespace ferret::internal {

enum class StepSource : uint8_t { kProgram, kOptimizer };

// Called on the thread whose step ended, after the records of the step; may pause and resume recording.
using StepHook = void (*)(StepSource source, uint64_t number);

// From here on every end of a step is told to `hook`; nullptr tells nobody. A late thread may call the last one once
// more.
void SetStepHook(StepHook hook);

// Has the present hook told of a step's end.
void TellStep(StepSource source, uint64_t number);

// Records that the step of that number begins here, on this thread.
void RecordStepBegin(uint64_t number);

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_STEPS_H_

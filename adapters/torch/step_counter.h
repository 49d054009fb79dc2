// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tells the session's schedule where optimizers end their steps: by a callback of its own that PyTorch calls for
// annotations only, and only while a schedule counts steps. Operators have no callback then, unless they are recorded.

#ifndef FERRET_ADAPTERS_TORCH_STEP_COUNTER_H_
#define FERRET_ADAPTERS_TORCH_STEP_COUNTER_H_

namespace ferret::torch_adapter {

// Once, after the observer that registers the recording callback has been added: PyTorch calls in the order of
// registration, and a step's end is to be recorded before it is counted.
void InstallStepCounter();

// From here on PyTorch's list of callbacks is not touched any more.
void RemoveStepCounterForGood();

// In a forked child: nothing is counted in it before it starts a session; `for_good`: nor then.
void ForgetStepCounterInChild(bool for_good);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_STEP_COUNTER_H_

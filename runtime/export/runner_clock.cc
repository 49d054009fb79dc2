// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/runner_clock.h"

#include "runtime/threads/never_destroyed.h"

namespace ferret {
namespace {

NeverDestroyed<RunnerClock> g_real_clock;  // threads that were left behind may read it until the process is gone

}  // namespace

RunnerClock* RealRunnerClock() { return &g_real_clock.object; }

}  // namespace ferret

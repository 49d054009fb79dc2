// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/details.h"

#include "adapters/torch/inputs.h"
#include "adapters/torch/stacks.h"
#include "ferret/internal/detail_format.h"
#include "ferret/internal/hot_path.h"

namespace ferret::torch_adapter {

bool NeedsInputs(uint32_t wants) { return (wants & (internal::kWantShapes | internal::kWantFlops)) != 0; }

bool NeedsDetails(uint32_t wants) { return NeedsInputs(wants) || (wants & internal::kWantStacks) != 0; }

void RecordDetailsOf(const at::RecordFunction& fn) {
  const uint32_t wants = internal::g_switch.wants.load(std::memory_order_relaxed);
  // On the stack and not the thread's own: asking a tensor for its sizes may run operators, which come here as well.
  char buffer[internal::kMaxDetailBytes];
  internal::DetailWriter writer(buffer, sizeof(buffer));
  bool complete = true;
  if (NeedsInputs(wants)) {
    complete &= WriteInputs(fn.inputs(), writer);
    const char* const overload = fn.overload_name();
    if (*overload != '\0') {
      writer.BeginItem(internal::DetailKind::kOverloadName);
      writer.Text(overload);
      writer.EndItem();
    }
  }
  if ((wants & internal::kWantStacks) != 0) complete &= WriteStack(writer);
  const bool cut = writer.cut() || !complete;
  if (!writer.bytes().empty() || cut) internal::RecordDetails(writer.bytes(), cut);
}

}  // namespace ferret::torch_adapter

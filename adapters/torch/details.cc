// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/details.h"

#include <cstring>

#include "adapters/torch/inputs.h"
#include "adapters/torch/stacks.h"
#include "adapters/torch/text_words.h"
#include "ferret/internal/detail_format.h"
#include "ferret/internal/hot_path.h"

namespace ferret::torch_adapter {

bool NeedsInputs(uint32_t wants) { return (wants & (internal::kWantShapes | internal::kWantFlops)) != 0; }

bool NeedsDetails(uint32_t wants) { return NeedsInputs(wants) || (wants & internal::kWantStacks) != 0; }

namespace {

constexpr uint64_t kEachByte = 0x0101010101010101;
constexpr std::ptrdiff_t kShortOverloadBytes = internal::kDetailHeaderBytes + 1 + sizeof(uint64_t);

void WriteOverload(const char* overload, internal::DetailWriter& writer) {
  if (*overload == '\0') return;
  // "Tensor", "Scalar", "out" and most others end within the first word, in the lowest zero byte.
  char* const at = writer.at();
  if (MayReadWords(overload, 1) && writer.limit() - at >= kShortOverloadBytes) {
    const uint64_t word = WordAt(overload);
    const uint64_t zeros = (word - kEachByte) & ~word & kEachByte << 7;
    if (FERRET_LIKELY(zeros != 0)) {
      const uint32_t length = static_cast<uint32_t>(__builtin_ctzll(zeros)) / 8;
      const uint32_t payload = length + 1;
      at[0] = static_cast<char>(internal::DetailKind::kOverloadName);
      std::memcpy(at + 1, &payload, sizeof(payload));
      at[internal::kDetailHeaderBytes] = static_cast<char>(length);
      std::memcpy(at + internal::kDetailHeaderBytes + 1, &word, sizeof(word));
      writer.Advance(at + internal::kDetailHeaderBytes + payload);
      return;
    }
  }
  writer.BeginItem(internal::DetailKind::kOverloadName);
  writer.Text(overload);
  writer.EndItem();
}

}  // namespace

void RecordDetailsOf(const at::RecordFunction& fn) {
  const uint32_t wants = internal::g_switch.wants.load(std::memory_order_relaxed);
  // On the stack and not the thread's own: asking a tensor for its sizes may run operators, which come here as well.
  char buffer[internal::kMaxDetailBytes];
  internal::DetailWriter writer(buffer, sizeof(buffer));
  bool complete = true;
  if (NeedsInputs(wants)) {
    complete &= WriteInputs(fn.inputs(), writer);
    WriteOverload(fn.overload_name(), writer);
  }
  if ((wants & internal::kWantStacks) != 0) complete &= WriteStack(writer);
  const bool cut = writer.cut() || !complete;
  if (!writer.bytes().empty() || cut) internal::RecordDetails(writer.bytes(), cut);
}

}  // namespace ferret::torch_adapter

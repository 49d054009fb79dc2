// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ScopeDetails: what a program knows of a scope beyond its name and time: the operator's inputs, its overload, where it
// was called from, its FLOPs.
//
//     FERRET_OP_SCOPE("mm", ferret::ForwardOp(n));
//     ferret::Attach(ferret::ScopeDetails().Tensor("float", {64, 32}).Tensor("float", {32, 16}).Overload("out"));
//
// Attach gives them to the innermost scope that is open on the calling thread; asynchronous scopes (BeginAsync) are none
// of these, and have no details. Everything is copied. Costs tens to
// hundreds of nanoseconds by length: where it matters, ask WantsShapes() and its like first, which say whether the
// session was started with the option. Nothing allocates and nothing throws; what is longer than 16 KiB is left out
// item by item, counted in the output.

#ifndef FERRET_SCOPE_DETAILS_H_
#define FERRET_SCOPE_DETAILS_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ferret/internal/detail_format.h"
#include "ferret/internal/hot_path.h"
#include "ferret/record_scope.h"

namespace ferret {

// A view of integers, as of sizes and strides.
struct Ints {
  constexpr Ints() = default;
  constexpr Ints(const int64_t* values, size_t count) : data(values), size(count) {}
  // For arguments only: the list lives to the end of the call.
  constexpr Ints(std::initializer_list<int64_t> list) {
    data = list.begin();
    size = list.size();
  }
  const int64_t* data = nullptr;
  size_t size = 0;
};

class ScopeDetails {
 public:
  ScopeDetails() : writer_(buffer_, sizeof(buffer_)) {}
  ScopeDetails(const ScopeDetails&) = delete;
  ScopeDetails& operator=(const ScopeDetails&) = delete;

  // The operator's arguments, in order. Other calls may not come between them.
  ScopeDetails& Tensor(std::string_view dtype, Ints sizes, Ints strides = {});
  ScopeDetails& Scalar(int64_t value);
  ScopeDetails& Scalar(double value);
  ScopeDetails& Scalar(bool value);
  ScopeDetails& Scalar(std::string_view value);
  ScopeDetails& Scalar(const char* value) { return Scalar(std::string_view(value)); }
  ScopeDetails& Scalar(int value) { return Scalar(int64_t{value}); }
  ScopeDetails& ScalarList(Ints values);  // beyond 30 elements it counts as empty
  ScopeDetails& None();

  // Keyword arguments; they are shown under their own names.
  ScopeDetails& Keyword(std::string_view key, int64_t value);
  ScopeDetails& Keyword(std::string_view key, double value);
  ScopeDetails& Keyword(std::string_view key, bool value);
  ScopeDetails& Keyword(std::string_view key, std::string_view value);
  ScopeDetails& Keyword(std::string_view key, const char* value) { return Keyword(key, std::string_view(value)); }
  ScopeDetails& Keyword(std::string_view key, int value) { return Keyword(key, int64_t{value}); }

  ScopeDetails& Overload(std::string_view name);
  // One call for each frame, innermost first.
  ScopeDetails& Frame(std::string_view frame);
  ScopeDetails& Module(std::string_view hierarchy);
  ScopeDetails& Flops(int64_t operations);
  ScopeDetails& Node(int64_t node_id, bool is_remote);

  // Empties it for the next scope.
  void Clear() {
    writer_.Clear();
    open_ = {};
  }

  std::string_view bytes();
  bool cut() const { return writer_.cut(); }

 private:
  // Goes on with the item if it is the open one.
  void Open(internal::DetailKind kind);
  void Close();
  void Put(int64_t value);
  void Put(double value);
  void Put(bool value);
  void Put(std::string_view value);
  template <typename T>
  ScopeDetails& PutInput(T value);
  template <typename T>
  ScopeDetails& PutKeyword(std::string_view key, T value);

  internal::DetailWriter writer_;
  internal::DetailKind open_{};  // 0: none
  char buffer_[internal::kMaxDetailBytes];
};

// Gives the details to the innermost open scope of the calling thread; without one they are ignored.
inline void Attach(ScopeDetails& details) {
  if (internal::Enabled()) internal::RecordDetails(details.bytes(), details.cut());
}
inline void Attach(ScopeDetails&& details) { Attach(details); }

// Whether the session asks for inputs (FERRET_RECORD_SHAPES, FERRET_WITH_FLOPS), for stacks (FERRET_WITH_STACK), for
// allocations (FERRET_PROFILE_MEMORY). False while recording is off.
inline bool WantsShapes() { return internal::Wants(internal::kWantShapes); }
inline bool WantsStacks() { return internal::Wants(internal::kWantStacks); }
inline bool WantsMemory() { return internal::Wants(internal::kWantMemory); }

// What an allocator did on the calling thread.
struct Allocation {
  const void* address = nullptr;
  int64_t bytes = 0;  // negative: freed
  int64_t total_allocated = 0;  // by the allocator, after it; 0 if it does not say
  int64_t total_reserved = 0;
  DeviceType device_type = DeviceType::kCpu;
  int device_index = -1;  // -1 for the CPU
};
// Shown as `[memory]` and added to the scopes open on the calling thread.
inline void RecordAllocation(const Allocation& allocation) {
  if (internal::Enabled()) internal::RecordMemory(internal::MemoryFields{
      reinterpret_cast<uint64_t>(allocation.address), allocation.bytes, allocation.total_allocated,
      allocation.total_reserved, static_cast<int8_t>(allocation.device_type),
      static_cast<int16_t>(allocation.device_index), false});
}
// An allocation of so many bytes that failed: shown as `[OutOfMemory]`.
inline void RecordOutOfMemory(const Allocation& wanted) {
  if (internal::Enabled()) internal::RecordMemory(internal::MemoryFields{
      0, wanted.bytes, wanted.total_allocated, wanted.total_reserved, static_cast<int8_t>(wanted.device_type),
      static_cast<int16_t>(wanted.device_index), true});
}

}  // namespace ferret

#include "ferret/internal/scope_details_inline.h"

#endif  // FERRET_SCOPE_DETAILS_H_

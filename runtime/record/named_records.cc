// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records whose name has to be looked up first, and the rare kinds of record: the out-of-line part of hot_path.h.
//
// The place is reserved before the name is looked up, so that the gate is closed while the name table's locks are
// held: a signal handler of the same thread is then refused instead of waiting for itself.

#include <algorithm>
#include <cstring>

#include "ferret/internal/adapter.h"
#include "ferret/internal/detail_format.h"
#include "ferret/scope.h"
#include "runtime/record/name_table.h"
#include "runtime/record/recorder.h"

namespace ferret::internal {
namespace {

using Place = Recorder::Place;
using Room = Recorder::Room;

uint32_t InlineBytes(std::string_view name) {
  const uint32_t length = static_cast<uint32_t>(std::min<size_t>(name.size(), kMaxInlineName));
  return 8 + (length + 7) / 8 * 8;
}

// Reserves room for the record with its name inline, the worst case.
Place EnterNamed(uint32_t bytes, std::string_view name, Room room = Room::kBegin) {
  return Recorder::Enter(bytes + InlineBytes(name), room);
}

// Writes header and, when the table has no room, the text behind the `bytes` of the record. Returns the final size.
uint32_t PutNamedHeader(char* at, RecordType type, uint32_t bytes, uint8_t flags, uint32_t name_id,
                        std::string_view name) {
  if (name_id != 0) {
    Put(at, 0, RecordHeader(type, bytes, flags, name_id));
    return bytes;
  }
  const uint32_t total = bytes + InlineBytes(name);
  const uint64_t length = std::min<size_t>(name.size(), kMaxInlineName);
  Put(at, 0, RecordHeader(type, total, flags | kInlineName, 0));
  std::memset(at + total - 8, 0, 8);
  Put(at, bytes / 8, length);
  std::memcpy(at + bytes + 8, name.data(), length);
  return total;
}

void PutOp(char* at, const OpFields& op) {
  Put(at, 2, static_cast<uint64_t>(op.sequence_nr));
  Put(at, 3, uint64_t{op.scope} << 32 | op.fwd_thread);
}

ScopeEnd NextEnd(const Place& place) { return {place.state->end_word += kNextHandle}; }

ScopeEnd FinishBegin(const Place& place, uint32_t name_id, std::string_view name, uint8_t flags) {
  const uint32_t bytes = PutNamedHeader(place.at, RecordType::kScopeBegin, kBeginBytes, flags, name_id, name);
  const ScopeEnd end = NextEnd(place);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
  return end;
}

ScopeEnd FinishBeginOp(const Place& place, uint32_t name_id, std::string_view name, uint8_t flags,
                       const OpFields& op) {
  const uint32_t bytes = PutNamedHeader(place.at, RecordType::kOpBegin, kOpBeginBytes, flags, name_id, name);
  const ScopeEnd end = NextEnd(place);
  PutOp(place.at, op);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
  return end;
}

// Interns the site's name on its first use, inside the closed gate. Two threads may both do so: they get the same id.
uint32_t LookUp(const Place& place, Site& site) {
  const uint32_t id = Recorder::NameId(place.state, site.name);
  const uint32_t bytes = site.type == RecordType::kOpBegin ? kOpBeginBytes : kBeginBytes;
  if (id != 0) site.header.store(RecordHeader(site.type, bytes, site.flags, id), std::memory_order_release);
  return id;
}

}  // namespace

ScopeEnd BeginScopeCold(uint64_t header) {
  const Place place = Recorder::Enter(kBeginBytes, Room::kBegin);
  if (!place) return {};
  const ScopeEnd end = NextEnd(place);
  Put(place.at, 0, header);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kBeginBytes);
  return end;
}

ScopeEnd BeginOpCold(uint64_t header, const OpFields& op) {
  const Place place = Recorder::Enter(kOpBeginBytes, Room::kBegin);
  if (!place) return {};
  const ScopeEnd end = NextEnd(place);
  Put(place.at, 0, header);
  PutOp(place.at, op);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kOpBeginBytes);
  return end;
}

void EndScopeCold(ScopeEnd end) {
  // First of all: what follows may take its time, which is not the scope's.
  const uint64_t ticks = Recorder::ReadTicks();
  const Place place = Recorder::Enter(kEndBytes, Room::kEnd);
  if (!place) return;
  Put(place.at, 0, end.word);
  // A loss record that was written on the way here is not to be later than what follows it.
  Put(place.at, 1, std::max(ticks, place.state->loss_ticks));
  Recorder::Commit(place, kEndBytes);
}

ScopeEnd BeginFirst(Site& site) {
  const Place place = EnterNamed(kBeginBytes, site.name);
  return place ? FinishBegin(place, LookUp(place, site), site.name, site.flags) : ScopeEnd{};
}

ScopeEnd BeginOpFirst(Site& site, const OpFields& op) {
  const Place place = EnterNamed(kOpBeginBytes, site.name);
  return place ? FinishBeginOp(place, LookUp(place, site), site.name, site.flags, op) : ScopeEnd{};
}

ScopeEnd BeginNamed(std::string_view name, uint8_t flags) {
  const Place place = EnterNamed(kBeginBytes, name);
  return place ? FinishBegin(place, Recorder::NameId(place.state, name), name, flags) : ScopeEnd{};
}

ScopeEnd BeginOpNamed(std::string_view name, uint8_t flags, const OpFields& op) {
  const Place place = EnterNamed(kOpBeginBytes, name);
  return place ? FinishBeginOp(place, Recorder::NameId(place.state, name), name, flags, op) : ScopeEnd{};
}

void EndRemote(uint32_t thread, uint32_t handle) {
  if (handle == 0) return;
  const uint64_t ticks = Recorder::ReadTicks();
  const Place place = Recorder::Enter(kRemoteEndBytes, Room::kRemoteEnd);
  if (!place) return;
  Put(place.at, 0, RecordHeader(RecordType::kRemoteEnd, kRemoteEndBytes, kNoFlags, handle));
  Put(place.at, 1, std::max(ticks, place.state->loss_ticks));
  Put(place.at, 2, thread);
  Recorder::Commit(place, kRemoteEndBytes);
}

void RecordInstant(std::string_view name) {
  const Place place = EnterNamed(kInstantBytes, name);
  if (!place) return;
  const uint32_t id = Recorder::NameId(place.state, name);
  const uint32_t bytes = PutNamedHeader(place.at, RecordType::kInstant, kInstantBytes, kNoFlags, id, name);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
}

void RecordCounter(std::string_view name, double value) {
  const Place place = EnterNamed(kCounterBytes, name);
  if (!place) return;
  const uint32_t id = Recorder::NameId(place.state, name);
  const uint32_t bytes = PutNamedHeader(place.at, RecordType::kCounter, kCounterBytes, kNoFlags, id, name);
  uint64_t bits;
  static_assert(sizeof(bits) == sizeof(value), "a double fills the value word");
  std::memcpy(&bits, &value, sizeof(bits));
  Put(place.at, 2, bits);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
}

void RecordThreadName(std::string_view name) {
  const Place place = EnterNamed(kThreadNameBytes, name, Room::kNote);
  if (!place) return;
  const uint32_t id = Recorder::NameId(place.state, name);
  const uint32_t bytes = PutNamedHeader(place.at, RecordType::kThreadName, kThreadNameBytes, kNoFlags, id, name);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
}

namespace {

// The same for a thread with room in its chunk, and a clock that is the cycle counter: like the begins in hot_path.h.
bool RecordDetailsHot(std::string_view details) {
  const size_t bytes = kDetailsBytes + (details.size() + 7) / 8 * 8;
  Writer* const w = t_writer;
  // Unlike a begin it may be called with recording off.
  const uint32_t epoch = CurrentEpoch();
  if (FERRET_UNLIKELY(w->gate.load(std::memory_order_relaxed) != epoch || epoch == 0)) return false;
  CloseGate(w);
  char* const at = w->cursor;
  // The limit is that of a record of kOpBeginBytes. Numbers, since a pointer may not leave the chunk, or be null.
  if (FERRET_UNLIKELY(reinterpret_cast<uintptr_t>(at) + bytes >=
                      reinterpret_cast<uintptr_t>(w->begin_limit) + kOpBeginBytes || w->begin_limit == nullptr)) {
    OpenGate(w);
    return false;
  }
  Put(at, 0, RecordHeader(RecordType::kDetails, static_cast<uint32_t>(bytes), kNoFlags,
                          static_cast<uint32_t>(details.size())));
  Put(at, static_cast<uint32_t>(bytes / 8 - 1), 0);
  std::memcpy(at + kDetailsBytes, details.data(), details.size());
  Put(at, 1, ReadCycleCounter());
  Publish(w, at, static_cast<uint32_t>(bytes));
  OpenGate(w);
  return true;
}

}  // namespace

void RecordDetails(std::string_view details, bool cut) {
  if (FERRET_LIKELY(!cut && details.size() - 1 < kMaxDetailBytes) && RecordDetailsHot(details)) return;
  if (cut) Recorder::CountLostDetails();
  if (details.empty()) return;
  const uint32_t bytes = kDetailsBytes + static_cast<uint32_t>((details.size() + 7) / 8 * 8);
  if (details.size() > kMaxDetailBytes || !Recorder::CanEverFit(bytes)) {
    Recorder::CountLostDetails();
    return;
  }
  const Place place = Recorder::Enter(bytes, Room::kNote);
  if (!place) {
    // Not of a thread that records nothing, nor of a moment in which nobody does.
    if (Enabled() && t_writer->kind == WriterKind::kLive) Recorder::CountLostDetails();
    return;
  }
  Put(place.at, 0, RecordHeader(RecordType::kDetails, bytes, kNoFlags, static_cast<uint32_t>(details.size())));
  Put(place.at, bytes / 8 - 1, 0);
  std::memcpy(place.at + kDetailsBytes, details.data(), details.size());
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, bytes);
}

void RecordMemory(const MemoryFields& memory) {
  const Place place = Recorder::Enter(kMemoryBytes, Room::kBegin);
  if (!place) return;
  const uint32_t payload = static_cast<uint8_t>(memory.device_type) | uint32_t{memory.out_of_memory} << 8;
  Put(place.at, 0, RecordHeader(RecordType::kMemory, kMemoryBytes, kNoFlags, payload));
  Put(place.at, 2, memory.address);
  Put(place.at, 3, static_cast<uint64_t>(memory.bytes));
  Put(place.at, 4, static_cast<uint64_t>(memory.total_allocated));
  Put(place.at, 5, static_cast<uint64_t>(memory.total_reserved));
  Put(place.at, 6, static_cast<uint64_t>(int64_t{memory.device_index}));
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kMemoryBytes);
}

uint32_t InternName(std::string_view name) { return Recorder::NameIdOutsideOfRecord(name); }

bool IsNameId(uint32_t name_id) { return name_id != 0 && name_id <= NameTable::Global().size(); }

void SetThreadIdProvider(uint64_t (*current_thread_id)()) { Recorder::SetThreadIdProvider(current_thread_id); }

}  // namespace ferret::internal

namespace ferret {

uint32_t ThreadId() {
  using internal::Recorder;
  using internal::t_writer;
  if (!internal::Enabled()) return 0;
  if (t_writer->kind == internal::WriterKind::kLive) return t_writer->thread;
  // Attach the thread; the place is given back unused.
  if (const Recorder::Place place = Recorder::Enter(internal::kBeginBytes, Recorder::Room::kEnd)) {
    Recorder::Commit(place, 0);
  }
  return t_writer->thread;
}

}  // namespace ferret

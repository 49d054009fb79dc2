// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The recording thread's side of ferret/cuda.h: a mark in the stream and a record of it, at each end of a scope.

#include <time.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ferret/cuda.h"
#include "ferret/internal/detail_format.h"
#include "runtime/device/cuda/cuda_switch.h"
#include "runtime/device/cuda/cuda_timer.h"
#include "runtime/device/device_counter.h"
#include "runtime/record/recorder.h"

namespace ferret {
namespace {

constexpr int64_t kPreparePatienceNs = 100'000'000;
constexpr long kPrepareNapNs = 200'000;

}  // namespace

namespace internal {
namespace {

using Place = Recorder::Place;
using Room = Recorder::Room;

// What keeps the calling thread from marking a stream now; has the device thread started if it is wanted for the first
// time.
std::optional<DeviceLoss> Ready() {
  CudaSwitch& cuda = CudaSwitch::Global();
  CudaState state = cuda.state.load(std::memory_order_acquire);
  switch (state) {
    case CudaState::kReady:
      return std::nullopt;
    case CudaState::kOff:
      return cuda.OffReason();
    case CudaState::kUnused:
      // The drain sees it, and starts the thread.
      if (cuda.state.compare_exchange_strong(state, CudaState::kStarting, std::memory_order_acq_rel)) {
        Recorder::WakeDrain();
      }
      return DeviceLoss::kPoolExhausted;
    case CudaState::kStarting:
      return DeviceLoss::kPoolExhausted;
  }
  return DeviceLoss::kDisabled;
}

std::optional<DeviceLoss> Mark(CUstream_st* stream, uint64_t session, DeviceMark* mark) {
  if (stream == nullptr) return DeviceLoss::kBadStream;
  if (const auto loss = Ready()) return loss;
  CudaSwitch& cuda = CudaSwitch::Global();
  if (!cuda.rate.Allow(Recorder::ReadTicks())) return DeviceLoss::kRateLimited;
  CudaTimer& timer = CudaTimer::Global();
  // Before the mark is put: the device cannot have got to it earlier.
  const uint64_t ticks = Recorder::ReadTicks();
  CudaTimer::Begun begun;
  if (const auto loss = timer.Begin(stream, t_writer->thread, &begun)) return loss;
  // The driver may have kept the thread for long: another session's drain knows nothing of this scope.
  if (cuda.session.load(std::memory_order_acquire) != session) {
    timer.GiveUp(begun.pair);
    return DeviceLoss::kAbandonedAtStop;
  }
  const Place place = Recorder::Enter(kDeviceBeginBytes, Room::kNote);
  if (!place) {
    timer.GiveUp(begun.pair);
    return DeviceLoss::kScopeLost;
  }
  Put(place.at, 0, RecordHeader(RecordType::kDeviceBegin, kDeviceBeginBytes, kNoFlags, begun.pair));
  Put(place.at, 1, std::max(ticks, place.state->loss_ticks));
  Recorder::Commit(place, kDeviceBeginBytes);
  *mark = {session, stream, begun.pair, begun.place};
  return std::nullopt;
}

}  // namespace

DeviceMark BeginCudaMark(CUstream_st* stream, bool scope_recorded) {
  DeviceMark mark;
  const uint64_t session = CudaSwitch::Global().session.load(std::memory_order_acquire);
  DeviceCounter& counter = DeviceCounter::OfSession(session);
  counter.Asked();
  const std::optional<DeviceLoss> loss = scope_recorded ? Mark(stream, session, &mark) : DeviceLoss::kScopeLost;
  if (loss) counter.Lost(*loss);
  return mark;
}

// What becomes of a scope whose first mark was recorded the drain counts: here nothing is counted.
void EndCudaMark(const DeviceMark& mark) {
  CudaTimer& timer = CudaTimer::Global();
  const CudaSwitch& cuda = CudaSwitch::Global();
  if (mark.session != cuda.session.load(std::memory_order_acquire) || !Enabled()) {
    timer.GiveUp(mark.pair);
    return;
  }
  const uint64_t ticks = Recorder::ReadTicks();
  std::optional<DeviceLoss> loss;
  if (cuda.state.load(std::memory_order_acquire) == CudaState::kReady) {
    loss = timer.End(mark.stream, mark.pair);
  } else {  // the process is about to end
    timer.GiveUp(mark.pair);
    loss = DeviceLoss::kAbandonedAtStop;
  }
  // Not among the ends, for which room is kept: it may fail, they may not.
  const Place place = Recorder::Enter(kDeviceEndBytes, Room::kNote);
  if (!place) {
    if (!loss) timer.GiveUp(mark.pair);
    return;
  }
  const uint64_t outcome = loss ? kDevicePairLost + static_cast<uint64_t>(*loss) : kDevicePairComplete;
  Put(place.at, 0, RecordHeader(RecordType::kDeviceEnd, kDeviceEndBytes, kNoFlags, mark.pair));
  Put(place.at, 1, std::max(ticks, place.state->loss_ticks));
  Put(place.at, 2, outcome << 32 | mark.place);
  Recorder::Commit(place, kDeviceEndBytes);
}

void AbandonCudaMark(const DeviceMark& mark) { CudaTimer::Global().GiveUp(mark.pair); }

}  // namespace internal

namespace cuda {

void DescribeLaunch(const Launch& launch) {
  if (!internal::Enabled()) return;
  using internal::DetailKind;
  using internal::ValueTag;
  std::array<char, 160> buffer;
  internal::DetailWriter out(buffer.data(), buffer.size());
  out.BeginItem(DetailKind::kMetadata);
  const auto dims = [&out](std::string_view name, const uint32_t (&sizes)[3]) {
    if (sizes[0] == 0) return;
    out.Text(name);
    out.Tag(ValueTag::kIntList);
    out.Varint(3);
    for (uint32_t size : sizes) out.Signed(size);
  };
  dims("grid", launch.grid);
  dims("block", launch.block);
  if (launch.bytes >= 0) {
    out.Text("bytes");
    out.Tag(ValueTag::kInt);
    out.Signed(launch.bytes);
  }
  out.EndItem();
  internal::RecordDetails(out.bytes(), false);
}

bool Prepare(Stream stream) {
  using internal::CudaTimer;
  for (int64_t waited = 0; internal::Enabled() && waited <= kPreparePatienceNs; waited += kPrepareNapNs) {
    bool has_pairs = false;
    std::optional<DeviceLoss> loss = internal::Ready();
    if (!loss) loss = CudaTimer::Global().Look(stream, internal::t_writer->thread, &has_pairs);
    if (has_pairs) return true;
    if (loss && *loss != DeviceLoss::kPoolExhausted) return false;
    const timespec nap{0, kPrepareNapNs};
    nanosleep(&nap, nullptr);
  }
  return false;
}

}  // namespace cuda
}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The interaction modes of captures.
#include "tests/device/fake_cuda/captures.h"

#include <algorithm>

namespace fake_cuda {
namespace {

// Also across Reset. Guarded by the driver's mutex.
uint64_t next_id = 1;

}  // namespace

int Captures::Begin(size_t stream, int mode, const ThreadState& me) {
  Stream& target = streams_.At(stream);
  if (mode < kGlobal || mode > kRelaxed) return kInvalidValue;
  if (target.legacy) return kCaptureUnsupported;
  if (target.capture.status != kNoCapture) return kInvalidValue;
  target.capture = Capture{kCaptureActive, mode, me.tid, next_id++};
  capturing_.push_back(stream);
  return kSuccess;
}

int Captures::End(size_t stream) {
  const int status = streams_.At(stream).capture.status;
  if (status == kNoCapture) return kInvalidValue;
  Forget(stream);
  return status == kCaptureBroken ? kCaptureInvalidated : kSuccess;
}

void Captures::Forget(size_t stream) {
  streams_.At(stream).capture = Capture{};
  capturing_.erase(std::remove(capturing_.begin(), capturing_.end(), stream), capturing_.end());
}

bool Captures::Forbids(const Capture& capture, const ThreadState& me) const {
  if (me.capture_mode == kRelaxed || capture.mode == kRelaxed) return false;
  return capture.tid == me.tid || (me.capture_mode == kGlobal && capture.mode == kGlobal);
}

void Captures::Violate(Capture& capture) {
  if (violations_invalidate && capture.status == kCaptureActive) {
    capture.status = kCaptureBroken;
    ++invalidated;
  }
}

int Captures::CheckUnsafe(const ThreadState& me) {
  bool forbidden = false;
  for (const size_t stream : capturing_) {
    Capture& capture = streams_.At(stream).capture;
    if (!Forbids(capture, me)) continue;
    forbidden = true;
    Violate(capture);
  }
  if (!forbidden) return kSuccess;
  ++violations;
  return kCaptureUnsupported;
}

int Captures::CheckWait(size_t stream) {
  Capture& capture = streams_.At(stream).capture;
  if (capture.status != kNoCapture) {
    ++violations;
    Violate(capture);
    return kCaptureUnsupported;
  }
  return CheckWork(stream);
}

int Captures::CheckImplicit(size_t stream) const {
  const Stream& legacy = streams_.At(stream);
  if (!legacy.legacy) return kSuccess;
  for (const size_t other : capturing_) {
    const Stream& capturing = streams_.At(other);
    if (capturing.context == legacy.context && capturing.Blocking()) return kCaptureImplicit;
  }
  return kSuccess;
}

int Captures::CheckWork(size_t stream) {
  const int status = streams_.At(stream).capture.status;
  if (status == kCaptureActive) return kNodeOfGraph;
  if (status == kCaptureBroken) return kCaptureInvalidated;
  const int implicit = CheckImplicit(stream);
  if (implicit == kSuccess) return kSuccess;
  ++violations;
  for (const size_t other : capturing_) {
    Stream& capturing = streams_.At(other);
    if (capturing.context == streams_.At(stream).context && capturing.Blocking()) Violate(capturing.capture);
  }
  return implicit;
}

}  // namespace fake_cuda

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a test steers the fake CUDA driver. The driver is a shared library, libcuda.so.1, that exports the real driver's
// functions over a model with a virtual clock; this class is the other side of it. All functions are virtual, so that
// who loads the library with dlopen (fake_cuda_loader.h) links nothing:
//
//   FakeCuda& fake = fake_cuda::Load().fake;
//   fake.Reset();
//   void* const context = fake.NewContext(0);
//   fake.MakeCurrent(context);
//   void* const stream = fake.NewStream(context);
//   fake.Kernel(stream, 5000);       // the stream is busy for 5 µs from now
//   fake.AdvanceNs(5000);            // now it is not
//
// Handles are void* here: every declaration of CUDA's own types converts to it. Functions are named as cuda.h names
// them ("cuEventRecord"), with or without suffix (_v2, _ptsz); the variants of a function are one function here.
// Results are CUDA's codes. Every member may be called from every thread. Calls of this class are not calls of the
// driver: they are not counted, take no time and meet no capture rule.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_H_

#include <cstddef>
#include <cstdint>

namespace fake_cuda {

// What the driver has seen since Reset. Everything under "mistakes" is zero in a well-behaved program.
struct Counts {
  uint64_t events_created;
  uint64_t events_destroyed;
  uint64_t events_alive;  // created, neither destroyed nor gone with their context
  uint64_t events_alive_max;
  uint64_t records;                // successful, outside of captures
  uint64_t records_into_captures;  // no time comes of them

  // Mistakes.
  uint64_t double_destroys;               // of events and streams
  uint64_t uses_after_destroy;            // of events, other than destroying them again
  uint64_t records_on_destroyed_streams;  // succeed, and their events are never ready
  uint64_t rerecords_of_unread;           // recorded again before an elapsed time was asked of the record before
  uint64_t elapsed_on_pending;
  uint64_t capture_violations;    // calls refused since a capture was on
  uint64_t captures_invalidated;  // by such calls
  uint64_t forbidden_calls;       // by threads named to ForbidThread
};

class FakeCuda {
 public:
  // Everything as after loading: virtual clock at one second, one device, driver 13.0, not initialised, nothing
  // created, no failure, no latency. Releases hanging calls. All handles of before are invalid from here on. No other
  // thread may be in a call of the driver that does not hang.
  virtual void Reset() = 0;

  // ---- Clocks ----------------------------------------------------------------------------------------------------
  // The CPU's clock. Virtual: moves by AdvanceNs, by latencies, and by the synchronising calls, which advance it to the
  // end of what they wait for. Otherwise it is the bound function, and synchronising calls really wait.
  virtual int64_t NowNs() = 0;
  virtual void AdvanceNs(int64_t ns) = 0;  // of the virtual clock; no effect on others
  virtual void UseVirtualClock(int64_t now_ns) = 0;
  virtual void UseClock(int64_t (*now_ns)(void* user), void* user) = 0;
  virtual void UseMonotonicClock() = 0;  // CLOCK_MONOTONIC

  // A device's clock: (now - epoch) * (1 + ppm / 1e6) + offset + wander(now), quantised downwards to a granularity when
  // an event is stamped. A change of drift takes effect from now on, without a step. `wander` is called without locks
  // held, more than once for a stamp, and must be a pure function of the time.
  virtual void SetDriftPpm(int device, double ppm) = 0;
  virtual void StepDeviceClockNs(int device, int64_t ns) = 0;
  virtual void SetWander(int device, double (*wander_ns)(void* user, int64_t now_ns), void* user) = 0;
  virtual void SetGranularityNs(int device, int64_t ns) = 0;  // 500 unless set
  // What the device needs to make one stamp: it passes on the stream. 0 unless set.
  virtual void SetFrontEndCostNs(int64_t ns) = 0;
  // What a call costs on the virtual clock; passes before the call takes effect. nullptr: all functions.
  virtual void SetLatencyNs(const char* function, int64_t ns) = 0;

  // ---- What there is ---------------------------------------------------------------------------------------------
  virtual void SetDeviceCount(int count) = 0;       // before cuInit, which fails with 100 if it is 0
  virtual void SetDriverVersion(int version) = 0;   // 1000 * major + 10 * minor
  virtual void SetDeviceName(int device, const char* name) = 0;
  virtual void SetDeviceMemory(int device, size_t bytes) = 0;
  virtual void SetDeviceAttribute(int device, int attribute, int value) = 0;
  // cuGetProcAddress does not know this function. dlsym still does: see IncompleteLibraryPath for a library without.
  virtual void SetUnavailable(const char* function, bool unavailable) = 0;

  // ---- Contexts and streams --------------------------------------------------------------------------------------
  virtual void Initialize() = 0;  // as cuInit; the helpers below do it as well
  // `green`: the context of a green context (cuCtxFromGreenCtx). Its streams belong to the green context.
  virtual void* NewContext(int device, bool green = false) = 0;
  virtual void* RetainPrimary(int device) = 0;
  virtual void ReleasePrimary(int device) = 0;  // the last release destroys it; the handle comes back, with a new id
  virtual void DestroyContext(void* context) = 0;
  virtual void MakeCurrent(void* context) = 0;  // for the calling thread; nullptr: none
  // flags: 1 for a non-blocking stream.
  virtual void* NewStream(void* context, unsigned flags = 0, int priority = 0) = 0;
  virtual void DestroyStream(void* stream) = 0;  // NewStream hands out the handle again next
  virtual void SetStreamGreen(void* stream, bool green) = 0;
  virtual uint64_t StreamId(void* stream) = 0;
  virtual uint64_t ContextId(void* context) = 0;

  // ---- Work ------------------------------------------------------------------------------------------------------
  // Handles 1 and 2 are the default streams of the calling thread's current context.
  virtual int Kernel(void* stream, int64_t ns) = 0;
  virtual int64_t ReadyAtNs(void* stream) = 0;  // when what is queued now is done
  // Device time of launches: of one function, or (nullptr) of all that have none of their own. 10 µs unless set.
  virtual void SetKernelNs(const char* kernel, int64_t ns) = 0;
  virtual void SetCopyNs(int64_t ns) = 0;  // of each copy and fill; 2 µs unless set

  // ---- Captures --------------------------------------------------------------------------------------------------
  // By the calling thread. mode: 0 global, 1 thread-local, 2 relaxed.
  virtual int BeginCapture(void* stream, int mode) = 0;
  virtual int EndCapture(void* stream) = 0;  // 901 if the capture was invalidated
  virtual void SetViolationsInvalidate(bool invalidate) = 0;  // true unless set

  // ---- Failures --------------------------------------------------------------------------------------------------
  // Of the calls of this function (nullptr: of all together) `skip` go well, then `count` fail with this code, without
  // an effect. One plan a function: the next one replaces it.
  virtual void FailNext(const char* function, int code, int count = 1, int skip = 0) = 0;
  virtual void FailAlways(const char* function, int code) = 0;
  virtual void StopFailing() = 0;
  // Every later call for the device's contexts of now, or for this one, gives the code.
  virtual void LoseDevice(int device, int code) = 0;
  virtual void LoseContext(void* context, int code) = 0;
  // The next `count` calls block, before taking effect, until ReleaseHangs.
  virtual void HangNext(const char* function, int count = 1) = 0;
  virtual void WaitUntilHung(const char* function) = 0;  // returns once a thread hangs there
  virtual int HungThreads() = 0;
  virtual void ReleaseHangs() = 0;  // also forgets hangs that no call has met

  // ---- Accounts --------------------------------------------------------------------------------------------------
  virtual Counts GetCounts() = 0;
  virtual uint64_t Calls(const char* function) = 0;  // nullptr: of all functions
  virtual uint64_t EventsCreatedBy(int tid) = 0;
  virtual void ForbidThread(int tid, bool forbid = true) = 0;
  // "cuEventQuery, cuEventRecord", each function once. Valid until the next call of this by the same thread.
  virtual const char* ForbiddenCalls() = 0;

  // ---- The truth -------------------------------------------------------------------------------------------------
  // The CPU's time, unrounded, at which the event's stamp is made. False if there is none: not an event, never
  // recorded, recorded into a capture or on a destroyed stream. The stamp may lie in the future: the event is pending.
  virtual bool StampNs(void* event, int64_t* now_ns) = 0;

 protected:
  ~FakeCuda() = default;
};

}  // namespace fake_cuda

// Exported by the library beside CUDA's functions.
extern "C" fake_cuda::FakeCuda* ferret_fake_cuda();

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_H_

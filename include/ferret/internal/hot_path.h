// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The recording path, inlined into the program: enabled test, one thread-local pointer, in-place stores, one release
// store. Not for use by programs; see ferret/scope.h. Nothing here allocates, locks, calls the kernel or throws;
// whatever may need more is in the out-of-line functions, which runtime/record/ defines.
//
//   thread-local t_writer ──► Writer ──cursor──► chunk   [header | record | record | free …| reserve for ends]
//                                                                          ^ write offset, released per record
//
// Reading the cycle counter twice takes nine tenths of a scope's time, and what stands between two readings is paid in
// full, so the code counts instructions: headers are prepared, limits are compared and not computed, the counter is
// read last, and a clock other than the counter, or anything else that is not the common case, fails a comparison that
// is needed anyway and goes out of line.

#ifndef FERRET_INTERNAL_HOT_PATH_H_
#define FERRET_INTERNAL_HOT_PATH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ferret/internal/export_symbol.h"
#include "ferret/internal/record_format.h"

#define FERRET_LIKELY(x) __builtin_expect(!!(x), 1)
#define FERRET_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FERRET_COLD __attribute__((cold, noinline))
#define FERRET_INLINE __attribute__((always_inline)) inline

// How t_writer is reached. Initial-exec is one load, but has the loader find room for a library's thread-local data when
// it is loaded, which a process that has loaded hundreds of libraries may have used up ("cannot allocate memory in static
// TLS block"). With this macro, in the library and in what is compiled against it, there is always room, and a scope costs
// a call or two more; a thread's first record must then not be a signal handler's.
#if defined(FERRET_GLOBAL_DYNAMIC_TLS)
#define FERRET_TLS_MODEL __attribute__((tls_model("global-dynamic")))
#else
#define FERRET_TLS_MODEL __attribute__((tls_model("initial-exec")))
#endif

namespace ferret::internal {

// What every recording thread reads and only start, stop, fork and adapters write: a cache line of its own.
struct alignas(64) Switch {
  // 0: off. Otherwise the number of the current epoch, new at every start and whenever all threads must pass the cold
  // path once. Relaxed here: it publishes nothing, a late reader only records into a session that has ended.
  std::atomic<uint32_t> epoch{0};
  // What the session asks for beyond times, kWant… bits. Relaxed, as the epoch.
  std::atomic<uint32_t> wants{0};
  // Whether ends of steps matter also while recording is off: a schedule counts them. Relaxed, as the epoch.
  std::atomic<bool> counts_steps{false};
};
enum WantBits : uint32_t {
  kWantShapes = 1,
  kWantStacks = 2,
  kWantMemory = 4,
  kWantFlops = 8,
  kWantCudaAnnotations = 16,
  kWantCudaOps = 32,
};
extern FERRET_EXPORT_SYMBOL Switch g_switch;

// The epoch of a forked child that is to record: nobody is attached to it, and the first record starts a session.
inline constexpr uint32_t kEpochOfNewChild = ~uint32_t{0} - 3;

// What a Writer stands for. Only kLive has a chunk; the others are shared constants that t_writer may point to.
enum class WriterKind : uint8_t { kNone, kCreating, kLive, kExited, kSuppressed, kRefused };

// Values of Writer::gate that no epoch ever has.
inline constexpr uint32_t kGateClosed = ~uint32_t{0};          // in the middle of a record
inline constexpr uint32_t kGateOutOfLine = kGateClosed - 1;    // open, but the cycle counter is no clock here
inline constexpr uint32_t kGateUnattached = kGateClosed - 2;   // open, but without a chunk

// The part of a thread's state that the recording path touches, one cache line, written by its own thread only.
struct alignas(64) Writer {
  // Equal to Switch::epoch when the thread may write a record; kGateClosed while it is writing one. One comparison thus
  // tells "not attached", "attached to an earlier epoch", "exited", "another clock" and "interrupted in the middle of
  // a record" apart from the normal case. Relaxed atomic because signal handlers of the same thread read it; no other
  // thread does.
  std::atomic<uint32_t> gate{kGateClosed};
  // What an open gate shows: the epoch of the thread's chunk, or one of the values above.
  uint32_t open_gate = kGateClosed;
  // The header word of the end of the latest begin: its handle, 2n+1, is the payload.
  uint64_t end_word = RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, 1);
  char* cursor = nullptr;
  // A begin, an end must start before. Null sends all of them out of line: also where a signal handler has taken the
  // chunk away between a look at the gate and its closing, and the cursor is null.
  char* begin_limit = nullptr;
  char* end_limit = nullptr;
  char* chunk = nullptr;
  uint32_t thread = 0;  // Ferret's logical id of the thread, from 1
  WriterKind kind = WriterKind::kNone;

  constexpr Writer() = default;
  constexpr explicit Writer(WriterKind k) : kind(k) {}
};
static_assert(sizeof(Writer) == 64, "one cache line");
static_assert(std::atomic<uint32_t>::is_always_lock_free, "handlers and mapped files need it");

// Where a chunk keeps its write offset; chunk.h asserts it.
inline constexpr std::ptrdiff_t kWriteOffsetPlace = 40;
inline constexpr uint64_t kNextHandle = uint64_t{2} << 32;

// Trivial: no guard, nothing to destroy. Never null.
extern FERRET_EXPORT_SYMBOL __thread Writer* t_writer FERRET_TLS_MODEL;

// What a begin returns and the end needs: the end's header word, 0 when the begin was refused. A type of its own, so
// that it is not cut down to 32 bits by accident.
struct ScopeEnd {
  uint64_t word = 0;
  explicit operator bool() const { return word != 0; }
  uint32_t handle() const { return PayloadOf(word); }
};

struct OpFields {
  int64_t sequence_nr;
  uint32_t fwd_thread;
  uint8_t scope;  // RecordScope
};

// The same as the functions below for every case that is not the common one.
FERRET_EXPORT_SYMBOL FERRET_COLD ScopeEnd BeginScopeCold(uint64_t header);
FERRET_EXPORT_SYMBOL FERRET_COLD ScopeEnd BeginOpCold(uint64_t header, const OpFields& op);
FERRET_EXPORT_SYMBOL FERRET_COLD void EndScopeCold(ScopeEnd end);

inline uint32_t CurrentEpoch() { return g_switch.epoch.load(std::memory_order_relaxed); }
inline bool Enabled() { return CurrentEpoch() != 0; }

// Whether RecordStep has anything to do.
inline bool StepsMatter() { return Enabled() || g_switch.counts_steps.load(std::memory_order_relaxed); }

inline bool Wants(uint32_t what) {
  return Enabled() && (g_switch.wants.load(std::memory_order_relaxed) & what) != 0;
}

inline uint64_t ReadCycleCounter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;  // the gate never shows the epoch there
#endif
}

inline void Put(char* at, uint32_t word, uint64_t value) { std::memcpy(at + 8 * word, &value, 8); }

// Closes the gate. A signal handler on this thread must find it closed before the cursor is read, and the cursor moved
// on before it finds the gate open again: fences against the compiler only, the thread sees its own stores in order.
inline void CloseGate(Writer* w) {
  w->gate.store(kGateClosed, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void OpenGate(Writer* w) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // If the epoch moved on meanwhile, the gate does not match it and the next begin goes out of line.
  w->gate.store(w->open_gate, std::memory_order_relaxed);
}

// Publishes the record of so many bytes at the cursor.
inline void Publish(Writer* w, char* at, uint32_t bytes) {
  char* const next = at + bytes;
  char* const chunk = w->chunk;
  w->cursor = next;
  // Release, acquired by the drain (Drain::LookAtFront): the record's bytes are visible before the offset that covers
  // them.
  reinterpret_cast<std::atomic<uint32_t>*>(chunk + kWriteOffsetPlace)
      ->store(static_cast<uint32_t>(next - chunk), std::memory_order_release);
}

// Begins a scope. `header` is RecordHeader(kScopeBegin, …) with the name's id; `epoch` is CurrentEpoch(), not 0.
inline ScopeEnd BeginScope(uint64_t header, uint32_t epoch) {
  Writer* const w = t_writer;
  if (FERRET_UNLIKELY(w->gate.load(std::memory_order_relaxed) != epoch)) return BeginScopeCold(header);
  CloseGate(w);
  char* const at = w->cursor;
  if (FERRET_UNLIKELY(at >= w->begin_limit)) {
    OpenGate(w);
    return BeginScopeCold(header);
  }
  const ScopeEnd end{w->end_word += kNextHandle};
  Put(at, 0, header);
  Put(at, 1, ReadCycleCounter());
  Publish(w, at, kBeginBytes);
  OpenGate(w);
  return end;
}

inline ScopeEnd BeginOp(uint64_t header, uint32_t epoch, const OpFields& op) {
  Writer* const w = t_writer;
  if (FERRET_UNLIKELY(w->gate.load(std::memory_order_relaxed) != epoch)) return BeginOpCold(header, op);
  CloseGate(w);
  char* const at = w->cursor;
  if (FERRET_UNLIKELY(at >= w->begin_limit)) {
    OpenGate(w);
    return BeginOpCold(header, op);
  }
  const ScopeEnd end{w->end_word += kNextHandle};
  Put(at, 0, header);
  Put(at, 2, static_cast<uint64_t>(op.sequence_nr));
  Put(at, 3, uint64_t{op.scope} << 32 | op.fwd_thread);
  Put(at, 1, ReadCycleCounter());
  Publish(w, at, kOpBeginBytes);
  OpenGate(w);
  return end;
}

// Ends a scope of this thread. The gate needs no look: a begin that found it closed was refused, and a thread that has
// exited, or is new in a forked child, has no room. In a later session, or after its end, the drain ignores the record.
inline void EndScope(ScopeEnd end) {
  if (!end) return;
  Writer* const w = t_writer;
  CloseGate(w);
  char* const at = w->cursor;
  if (FERRET_UNLIKELY(at >= w->end_limit)) {
    OpenGate(w);
    EndScopeCold(end);
    return;
  }
  Put(at, 0, end.word);
  Put(at, 1, ReadCycleCounter());
  Publish(w, at, kEndBytes);
  OpenGate(w);
}

// A static call site. Its prepared header is 0 until the first use. Release by the thread that interned the name,
// acquired by every other user: the table entry is complete before the id is seen. Stays 0 when the table is full.
struct Site {
  const char* name;
  RecordType type;  // kScopeBegin or kOpBegin
  uint8_t flags;
  std::atomic<uint64_t> header{0};
  constexpr Site(const char* text, RecordType t, uint8_t f) : name(text), type(t), flags(f) {}
};

// Begins whose name has to be looked up first; refused when recording is off.
FERRET_EXPORT_SYMBOL FERRET_COLD ScopeEnd BeginFirst(Site& site);
FERRET_EXPORT_SYMBOL FERRET_COLD ScopeEnd BeginOpFirst(Site& site, const OpFields& op);
FERRET_EXPORT_SYMBOL ScopeEnd BeginNamed(std::string_view name, uint8_t flags);
FERRET_EXPORT_SYMBOL ScopeEnd BeginOpNamed(std::string_view name, uint8_t flags, const OpFields& op);
// Ends a scope of any thread, on any thread; the scope becomes an asynchronous one.
FERRET_EXPORT_SYMBOL void EndRemote(uint32_t thread, uint32_t handle);
FERRET_EXPORT_SYMBOL void RecordInstant(std::string_view name);
FERRET_EXPORT_SYMBOL void RecordCounter(std::string_view name, double value);
FERRET_EXPORT_SYMBOL void RecordStep(uint64_t number);
FERRET_EXPORT_SYMBOL void RecordThreadName(std::string_view name);

// Details of the innermost open scope (internal/detail_format.h), at most kMaxDetailBytes; `cut` if the caller left some
// out.
FERRET_EXPORT_SYMBOL void RecordDetails(std::string_view details, bool cut);

struct MemoryFields {
  uint64_t address;
  int64_t bytes;
  int64_t total_allocated;
  int64_t total_reserved;
  int8_t device_type;  // DeviceType
  int16_t device_index;
  bool out_of_memory;
};
FERRET_EXPORT_SYMBOL void RecordMemory(const MemoryFields& memory);

inline ScopeEnd BeginScope(Site& site) {
  const uint32_t epoch = CurrentEpoch();
  if (epoch == 0) return {};
  const uint64_t header = site.header.load(std::memory_order_acquire);
  return FERRET_LIKELY(header != 0) ? BeginScope(header, epoch) : BeginFirst(site);
}

inline ScopeEnd BeginOp(Site& site, const OpFields& op) {
  const uint32_t epoch = CurrentEpoch();
  if (epoch == 0) return {};
  const uint64_t header = site.header.load(std::memory_order_acquire);
  return FERRET_LIKELY(header != 0) ? BeginOp(header, epoch, op) : BeginOpFirst(site, op);
}

}  // namespace ferret::internal

#endif  // FERRET_INTERNAL_HOT_PATH_H_

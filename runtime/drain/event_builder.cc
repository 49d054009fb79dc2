// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/event_builder.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "ferret/internal/hot_path.h"
#include "runtime/drain/record_reader.h"
#include "runtime/record/name_table.h"
#include "runtime/record/windows.h"

namespace ferret::internal {
namespace {

// Bounds on what could otherwise grow with a hostile or endless program.
constexpr size_t kMaxEarlyEnds = 65'536;
constexpr size_t kMaxFrameworkThreads = 1'048'576;

std::string OsThreadName(int32_t os_tid) {
  std::string name;
  std::getline(std::ifstream(absl::StrCat("/proc/self/task/", os_tid, "/comm")), name);
  return name;
}

}  // namespace

EventBuilder::EventBuilder(const Config& config, const ClockMap* clock, BatchSink* sink)
    : config_(config),
      clock_(clock),
      sink_(sink),
      names_(config.names != nullptr ? *config.names : NameTable::Global()),
      windows_(config.windows != nullptr ? *config.windows : Windows::Global()),
      batch_(sink->NewBatch()),
      linker_(config.link_table_entries, config.max_waiting_ops, this, config.next_flow),
      step_name_id_((config.names != nullptr ? *config.names : NameTable::Global()).Intern(kStepName)),
      device_(this, &extras_, config.names != nullptr ? config.names : &NameTable::Global()),
      next_id_(config.next_id) {}

EventBuilder::~EventBuilder() {
  ForEachTrace([](ThreadTrace& trace) {
    for (OpenScope& scope : trace.open) delete scope.extras;
    for (auto& async : trace.open_async) delete async.second.extras;
  });
}

ThreadTrace& EventBuilder::TraceOf(const Chunk& chunk) {
  std::unique_ptr<ThreadTrace>& slot = traces_[chunk.thread];
  const bool is_new = slot == nullptr;
  if (is_new) {
    slot = std::make_unique<ThreadTrace>(chunk);
    for (const auto& early : early_ends_) slot->early_ends += early.first.first == chunk.thread;
  }
  ThreadTrace& trace = *slot;
  if (chunk.framework_thread != trace.framework_thread) {
    trace.framework_thread = chunk.framework_thread;
    if (framework_threads_.size() < kMaxFrameworkThreads) framework_threads_[trace.thread] = chunk.framework_thread;
  }
  const uint32_t shown = trace.framework_thread != 0 ? trace.framework_thread : trace.thread;
  if (is_new || shown != trace.shown_thread()) {
    const uint32_t previous = is_new ? 0 : trace.shown_thread();
    trace.usual.thread = shown;
    if (trace.name.empty()) trace.name = config_.thread_name ? config_.thread_name(chunk) : OsThreadName(trace.os_tid);
    ThreadNotice(trace, previous);
  }
  return trace;
}

void EventBuilder::Remove(ThreadTrace& trace) {
  device_.Forget(trace);
  traces_.erase(trace.thread);
}

void EventBuilder::ThreadNotice(const ThreadTrace& trace, uint32_t previous_thread) {
  ThreadInfo info;
  info.thread = trace.shown_thread();
  info.previous_thread = previous_thread;
  info.os_tid = trace.os_tid;
  info.name = trace.name;
  batch_->threads.push_back(std::move(info));
}

int64_t EventBuilder::WindowEndNs(const ThreadTrace& trace) const {
  const uint64_t end = windows_.EndOf(trace.window);
  if (FERRET_LIKELY(end == Windows::kNotEnded)) return INT64_MAX;
  return end == Windows::kForgotten ? trace.last_ns : std::max(trace.last_ns, clock_->ToNs(end));
}

void EventBuilder::EnterWindow(ThreadTrace& trace, uint32_t window, bool first) {
  if (FERRET_UNLIKELY(window != trace.window)) {
    if (trace.window != ThreadTrace::kNoWindow) {
      const int64_t end_ns = WindowEndNs(trace);
      CloseAll(trace, end_ns);
      CloseAllAsync(trace, end_ns);
    }
    trace.window = window;
    trace.has_first = false;
    if (!first) steps_.OnNewWindow(trace.thread);
  }
  // Of a window that is forgotten nothing is known but that it has ended: its records keep their times.
  const bool forgotten = windows_.EndOf(window) == Windows::kForgotten;
  trace.window_end_ns = FERRET_UNLIKELY(forgotten) ? INT64_MAX : WindowEndNs(trace);
}

// The thread wrote on after the window's end: ends of scopes, mostly. Nothing of it lasts longer than the window.
int64_t EventBuilder::PastWindow(ThreadTrace& trace) {
  CloseAll(trace, trace.window_end_ns);
  CloseAllAsync(trace, trace.window_end_ns);
  return trace.window_end_ns;
}

// Backward ops wait for their forward op. With cuts the whole thread does instead, so that a batch has everything of what
// was read.
inline bool EventBuilder::MustWait(const ThreadTrace& trace, uint32_t handle, int64_t end_ns) const {
  if (trace.open.empty() || trace.open.back().handle != handle) return false;
  const OpenScope& scope = trace.open.back();
  return scope.sequence_nr >= 0 && scope.fwd_thread != 0 &&
         !linker_.CanLinkNow(trace.links, std::max(end_ns, trace.last_ns));
}

[[gnu::always_inline]] inline FunctionEvent& EventBuilder::NewEvent(const FunctionEvent& like) {
  DeliverIfFull(batch_->events.size());
  ++built_;
  // A copy in place is inlined, eight stores; emplace_back is a call.
  std::vector<FunctionEvent>& events = batch_->events;
  events.push_back(like);
  return events.back();
}

// What the common event does not have.
inline void EventBuilder::Complete(FunctionEvent& event, ScopeExtras* extras) {
  if (FERRET_UNLIKELY(extras != nullptr)) UseExtras(event, extras);
  if (FERRET_UNLIKELY(event.is_user_annotation) && IsStepName(event.name)) NameStep(event, event.name);
}

// An event that is a copy of its thread's usual one.
[[gnu::always_inline]] inline void EventBuilder::Fill(FunctionEvent& event, const OpenScope& scope, int64_t end_ns,
                                                      int64_t self_ns, bool async, bool truncated) const {
  event.id = scope.id;
  event.parent_id = scope.parent_id;
  event.start_ns = scope.start_ns;
  event.end_ns = end_ns;
  event.self_ns = self_ns;
  event.sequence_nr = scope.sequence_nr;
  event.name_id = scope.name_id;
  event.scope = static_cast<RecordScope>(scope.scope);
  event.name = names_.Text(scope.name_id);
  if (scope.scope == static_cast<uint8_t>(RecordScope::kUserScope)) {
    event.is_user_annotation = true;
    event.activity_type = ActivityType::kUserAnnotation;
  }
  if (async) event.is_async = true;
  if (truncated) event.is_truncated = true;
}

[[gnu::always_inline]] inline void EventBuilder::Emit(const ThreadTrace& trace, const OpenScope& scope, int64_t end_ns,
                                                      int64_t self_ns, bool async, bool truncated) {
  FunctionEvent& event = NewEvent(trace.usual);
  Fill(event, scope, end_ns, self_ns, async, truncated);
  Complete(event, scope.extras);
}

const char* EventBuilder::Consume(ThreadTrace& trace, const char* from, const char* to) {
  const bool cuts = config_.cuts;
  const char* const start = from;
  if (!trace.has_first && from < to) {
    trace.has_first = true;
    trace.first_ns = clock_->ToNs(Word(from, 1));
  }
  while (from < to) {
    const uint64_t header = Word(from, 0);
    int64_t now_ns = clock_->ToNs(Word(from, 1));
    if (cuts && TypeOf(header) == RecordType::kScopeEnd && from != start &&
        MustWait(trace, PayloadOf(header), now_ns)) {
      return from;
    }
    if (FERRET_UNLIKELY(now_ns > trace.window_end_ns)) now_ns = PastWindow(trace);
    if (now_ns < trace.last_ns) {
      // The thread moved to a core whose counter is behind: the time is held, and counted.
      now_ns = trace.last_ns;
      ++clock_backward_;
    }
    trace.last_ns = now_ns;
    switch (TypeOf(header)) {
      case RecordType::kScopeEnd:
        End(trace, PayloadOf(header), now_ns);
        break;
      case RecordType::kScopeBegin:
      case RecordType::kOpBegin:
        if (const char* const after = Leaf(trace, from, to, header, now_ns)) {
          from = after;
          continue;
        }
        Begin(trace, from, header, now_ns);
        break;
      default:
        Rare(trace, from, header, now_ns);
    }
    from += RecordBytes(header);
  }
  return from;
}

namespace {

// What an open scope has from the fields of its begin.
[[gnu::always_inline]] inline void TakeFields(OpenScope* scope, const char* record, uint64_t header) {
  scope->name_id = PayloadOf(header);
  scope->flags = FlagsOf(header);
  if (TypeOf(header) == RecordType::kOpBegin) {
    const uint64_t fields = Word(record, 3);
    const auto number = static_cast<int64_t>(Word(record, 2));
    scope->sequence_nr = number < 0 ? -1 : number;
    // As in PyTorch: without a number there is no forward thread.
    scope->fwd_thread = number < 0 ? 0 : static_cast<uint32_t>(fields);
    scope->scope = static_cast<uint8_t>(fields >> 32);
    return;
  }
  scope->sequence_nr = -1;
  scope->fwd_thread = 0;
  const bool is_annotation = (scope->flags & kUserAnnotation) != 0;
  scope->scope = static_cast<uint8_t>(is_annotation ? RecordScope::kUserScope : RecordScope::kFunction);
}

}  // namespace

// Most scopes have nothing in them: their end follows their begin. Such a one is built without a place among the open ones,
// so that nothing of it is stored before it is an event. Returns what follows it; null if it is not one of these, or has
// anything that is rare.
[[gnu::always_inline]] inline const char* EventBuilder::Leaf(ThreadTrace& trace, const char* record, const char* to,
                                                             uint64_t header, int64_t now_ns) {
  const char* const end = record + RecordBytes(header);
  if (end + kEndBytes > to) return nullptr;
  const uint32_t handle = trace.begins + 2;
  if (Word(end, 0) != RecordHeader(RecordType::kScopeEnd, kEndBytes, 0, handle)) return nullptr;
  constexpr uint8_t kUsual = kUserAnnotation | kFrameworkThreads;
  if ((FlagsOf(header) & ~kUsual) != 0 || trace.inheriting != 0 || trace.early_ends != 0) return nullptr;
  const int64_t end_ns = clock_->ToNs(Word(end, 1));
  if (FERRET_UNLIKELY(end_ns < now_ns || end_ns > trace.window_end_ns)) return nullptr;
  // With cuts an op may have to wait.
  if (config_.cuts && TypeOf(header) == RecordType::kOpBegin) return nullptr;
  trace.begins = handle;
  trace.last_ns = end_ns;
  OpenScope scope;
  scope.id = config_.chunk_ids ? trace.next_id++ : next_id_++;
  scope.start_ns = now_ns;
  scope.children_ns = 0;
  scope.extras = nullptr;
  scope.handle = handle;
  TakeFields(&scope, record, header);
  const int64_t duration = end_ns - now_ns;
  if (trace.open.empty()) {
    scope.parent_id = 0;
    trace.root_children_ns += duration;
  } else {
    scope.parent_id = trace.open.back().id;
    trace.open.back().children_ns += duration;
  }
  if (scope.sequence_nr < 0) {
    Emit(trace, scope, end_ns, duration, false, false);
  } else {
    EmitLinked(trace, scope, end_ns, duration, false);
  }
  return end + kEndBytes;
}

namespace {

// Out of line, and so what surrounds it is small.
FERRET_COLD OpenScope& NewAsync(ThreadTrace& trace, uint32_t handle) {
  static const OpenScope kZeroes;
  return trace.open_async.emplace(handle, kZeroes)->second;
}

}  // namespace

[[gnu::always_inline]] inline void EventBuilder::Begin(ThreadTrace& trace, const char* record, uint64_t header,
                                                       int64_t now_ns) {
  const uint8_t flags = FlagsOf(header);
  const int64_t id = config_.chunk_ids ? trace.next_id++ : next_id_++;
  const uint32_t handle = trace.begins += 2;
  if (FERRET_UNLIKELY(flags & kEndedElsewhere)) return;
  const int64_t parent_id = trace.open.empty() ? 0 : trace.open.back().id;
  // Built where it stays: what is copied right after it was written has to wait for the stores.
  const bool is_async = (flags & kAsync) != 0;
  OpenScope& scope = FERRET_UNLIKELY(is_async) ? NewAsync(trace, handle) : trace.open.emplace_back();
  scope.id = id;
  scope.parent_id = is_async ? 0 : parent_id;
  scope.start_ns = now_ns;
  scope.children_ns = 0;
  scope.extras = nullptr;
  scope.handle = handle;
  TakeFields(&scope, record, header);
  if (FERRET_UNLIKELY((flags & (kInlineName | kInheritsBackward)) != 0 || trace.inheriting != 0 || trace.early_ends != 0)) {
    BeginRarely(trace, &scope, record, header);
  }
}

// What few begins have to do.
void EventBuilder::BeginRarely(ThreadTrace& trace, OpenScope* scope, const char* record, uint64_t header) {
  const uint8_t flags = FlagsOf(header);
  if (flags & kInlineName) {
    scope->extras = extras_.Take();
    scope->extras->name =
        InlineName(record, header, TypeOf(header) == RecordType::kOpBegin ? kOpBeginBytes : kBeginBytes);
  }
  if (trace.inheriting != 0) {
    if (scope->scope == static_cast<uint8_t>(RecordScope::kBackwardFunction) && trace.inheriting <= trace.open.size()) {
      OpenScope& wrapper = trace.open[trace.inheriting - 1];
      wrapper.sequence_nr = scope->sequence_nr;
      wrapper.fwd_thread = scope->fwd_thread;
    }
    trace.inheriting = 0;
  }
  if ((flags & kInheritsBackward) != 0 && (flags & kAsync) == 0) trace.inheriting = trace.open.size();
  if (trace.early_ends == 0) return;
  const uint32_t handle = scope->handle;
  auto early = early_ends_.find(ScopeKey(trace.thread, handle));
  if (early == early_ends_.end()) return;
  const int64_t end_ns = early->second;
  early_ends_.erase(early);
  --trace.early_ends;
  RemoteEnd(trace.thread, handle, end_ns);
}

[[gnu::always_inline]] inline void EventBuilder::CloseInnermostInline(ThreadTrace& trace, int64_t now_ns, bool truncated) {
  if (FERRET_UNLIKELY(trace.open.back().extras != nullptr)) BeforeClose(trace, trace.open.size() - 1, truncated);
  const OpenScope& scope = trace.open.back();
  OpenScope* const outer = trace.open.size() > 1 ? &trace.open[trace.open.size() - 2] : nullptr;
  const int64_t duration = now_ns - scope.start_ns;
  (outer == nullptr ? trace.root_children_ns : outer->children_ns) += duration;
  if (FERRET_UNLIKELY(scope.extras != nullptr) && scope.extras->has_memory && outer != nullptr) {
    PassMemoryOn(scope, *outer);
  }
  if (scope.sequence_nr < 0) {
    Emit(trace, scope, now_ns, duration - scope.children_ns, false, truncated);
  } else {
    EmitLinked(trace, scope, now_ns, duration - scope.children_ns, truncated);
  }
  const int64_t id = scope.id;
  const uint8_t flags = scope.flags;
  trace.open.pop_back();
  if (FERRET_UNLIKELY(steps_.WasOpenAtBoundary(trace.thread, id))) steps_.OnClose(SurroundingsOf(trace), now_ns);
  if (FERRET_UNLIKELY((flags & kEndsStep) != 0 && !truncated)) OptimizerEnded(trace, now_ns);
}

void EventBuilder::CloseInnermost(ThreadTrace& trace, int64_t now_ns, bool truncated) {
  CloseInnermostInline(trace, now_ns, truncated);
}

[[gnu::always_inline]] inline void EventBuilder::End(ThreadTrace& trace, uint32_t handle, int64_t now_ns) {
  if (FERRET_LIKELY(!trace.open.empty() && trace.open.back().handle == handle)) {
    CloseInnermostInline(trace, now_ns, false);
  } else {
    EndOutOfOrder(trace, handle, now_ns);
  }
}

// Scopes inside of the one that ends never got their own end (it was lost, or never recorded): they end with it. A
// handle that is not open is left over from an earlier session, or ended before.
void EventBuilder::EndOutOfOrder(ThreadTrace& trace, uint32_t handle, int64_t now_ns) {
  size_t depth = trace.open.size();
  while (depth > 0 && trace.open[depth - 1].handle != handle) --depth;
  if (depth == 0) return;
  while (trace.open.size() > depth) {
    if (trace.open.back().extras != nullptr) BeforeClose(trace, trace.open.size() - 1, false);
    CloseInnermost(trace, now_ns, true);
  }
  CloseInnermost(trace, now_ns, false);
}

void EventBuilder::RemoteEnd(uint32_t thread, uint32_t handle, int64_t now_ns) {
  auto found = traces_.find(thread);
  if (found != traces_.end()) {
    ThreadTrace& trace = *found->second;
    OpenScope scope;
    if (TakeByHandle(trace, handle, &scope)) {
      // It lasts no longer than the window that it began in, whenever it ended.
      const int64_t window_end_ns = WindowEndNs(trace);
      CloseAsync(trace, scope, std::min(now_ns, window_end_ns), now_ns > window_end_ns);
      return;
    }
    // Signed difference, since handles wrap around.
    if (static_cast<int32_t>(handle - trace.begins) <= 0) {
      ++unmatched_remote_ends_;
      return;
    }
  }
  if (early_ends_.size() >= kMaxEarlyEnds) {
    ++unmatched_remote_ends_;
    return;
  }
  if (!early_ends_.emplace(ScopeKey(thread, handle), now_ns).second) {
    ++unmatched_remote_ends_;
    return;
  }
  latest_early_end_ns_ = std::max(latest_early_end_ns_, now_ns);
  if (found != traces_.end()) ++found->second->early_ends;
}

// The open scope with that handle, async or nested, which is not open any more then.
bool EventBuilder::TakeByHandle(ThreadTrace& trace, uint32_t handle, OpenScope* scope) {
  // Handles wrap around: of several the latest.
  if (auto after = trace.open_async.upper_bound(handle); after != trace.open_async.begin()) {
    const auto latest = std::prev(after);
    if (latest->first == handle) {
      *scope = latest->second;
      trace.open_async.erase(latest);
      return true;
    }
  }
  for (size_t i = trace.open.size(); i-- > 0;) {
    if (trace.open[i].handle != handle) continue;
    if (trace.open[i].extras != nullptr) BeforeClose(trace, i, false);
    *scope = trace.open[i];
    LeaveNest(trace, i);
    trace.open.erase(trace.open.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

// A scope that ends on another thread turns out to nest in nothing: what is and was inside of it moves one level out.
// Scopes that have closed in it are delivered, and go on naming it as their parent.
void EventBuilder::LeaveNest(ThreadTrace& trace, size_t place) {
  const OpenScope& scope = trace.open[place];
  int64_t& outer_children_ns = place == 0 ? trace.root_children_ns : trace.open[place - 1].children_ns;
  steps_.OnLeave(trace.thread, scope.id, scope.parent_id, outer_children_ns);
  outer_children_ns += scope.children_ns;
  if (scope.extras != nullptr && scope.extras->has_memory && place > 0) {
    PassMemoryOn(scope, trace.open[place - 1]);
  }
  if (place + 1 < trace.open.size()) trace.open[place + 1].parent_id = scope.parent_id;
  if (trace.inheriting == place + 1) {
    trace.inheriting = 0;
  } else if (trace.inheriting > place + 1) {
    --trace.inheriting;
  }
}

void EventBuilder::CloseAsync(ThreadTrace& trace, OpenScope scope, int64_t now_ns, bool truncated) {
  scope.parent_id = 0;
  Emit(trace, scope, std::max(now_ns, scope.start_ns), 0, true, truncated);
}

void EventBuilder::CloseAll(ThreadTrace& trace, int64_t now_ns) {
  while (!trace.open.empty()) CloseInnermost(trace, std::max(now_ns, trace.open.back().start_ns), true);
}

void EventBuilder::CloseAllAsync(ThreadTrace& trace, int64_t now_ns) {
  for (const auto& async : trace.open_async) CloseAsync(trace, async.second, now_ns, true);
  trace.open_async.clear();
}

FunctionEvent& EventBuilder::NewExtraEvent() {
  FunctionEvent& event = NewEvent(FunctionEvent());
  --built_;
  ++batch_->extra;
  event.id = next_id_++;
  return event;
}

uint32_t EventBuilder::ShownThread(uint32_t thread) const {
  if (framework_threads_.empty()) return thread;
  auto found = framework_threads_.find(thread);
  return found != framework_threads_.end() && found->second != 0 ? found->second : thread;
}

// A scope with a sequence number that stands on its thread's track: arrows are for those.
void EventBuilder::EmitLinked(ThreadTrace& trace, const OpenScope& scope, int64_t end_ns, int64_t self_ns, bool truncated) {
  const bool framework_ids = (scope.flags & kFrameworkThreads) != 0;
  const bool can_link_now = linker_.CanLinkNow(trace.links, end_ns);
  if (scope.fwd_thread == 0) {
    Emit(trace, scope, end_ns, self_ns, false, truncated);
    const LinkKey key{LinkThread(framework_ids ? trace.framework_thread : trace.thread, framework_ids),
                      scope.sequence_nr};
    const OpenForward forward{scope.start_ns, scope.id, trace.os_tid};
    if (FERRET_LIKELY(can_link_now)) {
      linker_.LinkForwardNow(key, forward);
    } else {
      linker_.AddForward(trace.links, key, end_ns, forward);
    }
    return;
  }
  const LinkKey key{LinkThread(scope.fwd_thread, framework_ids), scope.sequence_nr};
  const bool is_wrapper = (scope.flags & kInheritsBackward) != 0;
  if (FERRET_LIKELY(can_link_now)) {
    FunctionEvent& event = NewEvent(trace.usual);
    Fill(event, scope, end_ns, self_ns, false, truncated);
    event.fwd_thread = framework_ids ? scope.fwd_thread : ShownThread(scope.fwd_thread);
    Complete(event, scope.extras);
    linker_.LinkBackwardNow(key, is_wrapper, &event, &batch_->links);
    return;
  }
  WaitingOp op;
  op.event = trace.usual;
  Fill(op.event, scope, end_ns, self_ns, false, truncated);
  op.event.fwd_thread = framework_ids ? scope.fwd_thread : ShownThread(scope.fwd_thread);
  op.extras = scope.extras;
  linker_.AddBackward(trace.links, key, op, is_wrapper);
}

void EventBuilder::OnBackward(const LinkKey& key, bool is_wrapper, const WaitingOp& op) {
  FunctionEvent& event = NewEvent(op.event);
  linker_.LinkBackwardNow(key, is_wrapper, &event, &batch_->links);
  Complete(event, op.extras);
}

void EventBuilder::DeliverBatch() {
  if (batch_->empty()) return;
  // The new batch first: what is being built while this one is handed over goes there.
  std::shared_ptr<EventBatch> full = std::move(batch_);
  batch_ = sink_->NewBatch();
  ++batch_number_;
  sink_->Push(std::move(full));
}

void EventBuilder::Finish(uint64_t ticks) {
  int64_t now_ns = clock_->ToNs(ticks);
  ForEachTrace([&](ThreadTrace& trace) { now_ns = std::max(now_ns, trace.last_ns); });
  ForEachTrace([&](ThreadTrace& trace) {
    const int64_t end_ns = std::min(now_ns, WindowEndNs(trace));
    CloseAll(trace, end_ns);
    CloseAllAsync(trace, end_ns);
  });
  unmatched_remote_ends_ += early_ends_.size();
  early_ends_.clear();
  linker_.Finish();
  device_.Finish();
  DeliverBatch();
}

}  // namespace ferret::internal

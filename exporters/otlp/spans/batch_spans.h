// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchSpans: what is in a batch, as spans, to an encoder of either form.
//
// A scope is a span under the scope around it. What has none around it (a root, an asynchronous scope, device work that
// nobody launched) is under the run's span. That one is short and the first of all: it says where everything belongs
// while the run lasts, and is there after a kill. Device work is under the scope that launched it, also where it
// outlives it. A backward op has a link to its forward op. Instants, counters, losses and allocations are moments:
// span events of a span that carries some of them, since the scope around them is not known when they come.
//
// So every parent and every link names a span of the same trace that was delivered, or will be when it closes, or was
// counted as lost.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_BATCH_SPANS_H_
#define FERRET_EXPORTERS_OTLP_SPANS_BATCH_SPANS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/spans/event_attributes.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/spans/span_ids.h"
#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"

namespace ferret::otlp {

// What SDKs and back ends take of span events by default.
inline constexpr size_t kMostCarried = 128;

template <typename Encoder>
class BatchSpans {
 public:
  using Attributes = typename Encoder::Attributes;

  // With `link_kernels`, device work is under the run's span, with a link to the scope that launched it. The limits are of
  // a span; that of values also goes for its events.
  BatchSpans(const SpanIds& ids, Encoder* encoder, bool link_kernels = false, const AttributeLimits& limits = {})
      : ids_(ids), run_(ids.OfRun()), link_kernels_(link_kernels), limits_(limits), encoder_(encoder) {}

  // Names of threads. First of all for each batch.
  void Note(const EventBatch& batch) {
    // A program that makes threads for ever costs no memory; beyond this many threads some have no name.
    constexpr size_t kMostThreads = 65536;
    if (threads_.size() + batch.threads.size() > kMostThreads) ForgetTracks();
    for (const ThreadInfo& info : batch.threads) threads_[info.os_tid] = ThreadTrack(info.os_tid, info.name);
    last_track_ = kNoTrack;
  }

  // `span` has what the caller knows of it: a parent in another process.
  void AddRun(const SessionInfo& info, Span span = {}) {
    Attributes attributes(kSpanAttributes, limits_);
    for (const auto& [name, value] : info.options) attributes.Text(absl::StrCat("ferret.option.", name), value);
    span.id = run_;
    span.name = "Ferret Run";
    span.start_ns = span.end_ns = info.start_ns;
    span.attributes = attributes.view();
    span.dropped_attributes = attributes.dropped();
    encoder_->AddSpan(span);
  }

  // What a span is tied to; 0 for nothing.
  struct Ties {
    SpanId id = 0;
    SpanId parent = 0;
    SpanId linked = 0;
  };

  // Inlined: for a plain event it is little beside the encoder's copying of a few blocks.
  [[gnu::always_inline]] Ties AddEvent(const FunctionEvent& event) {
    if (__builtin_expect(!(SaysNothing(event) & (event.forward_id <= 0)), 0)) return AddDescribed(event);
    EventSpan span;
    span.id = ids_.OfEvent(event.id);
    span.parent = event.parent_id > 0 ? ids_.OfEvent(event.parent_id) : run_;
    const Track& track = TrackOf(event, /*on_device=*/false);
    span.dropped_attributes = track.dropped;
    PutPlace(event, track, &span);
    encoder_->AddEventSpan(span);
    return {span.id, span.parent, 0};
  }

  // For a run that is gone on with: its carriers have numbers below.
  void NumberCarriersFrom(uint64_t number) { carriers_ = number; }

  // At most kMostCarried, and at least one. Returns what it told the encoder, whose texts live until the next call.
  Span AddInstants(const InstantEvent* from, size_t count) {
    return AddCarrier("Ferret Instants", from, count, [this](const InstantEvent& instant) {
      DescribeInstant(instant, &moment_);
      return instant.kind == InstantEvent::Kind::kLoss ? std::string_view("Ferret: scopes lost") : instant.name;
    });
  }
  Span AddMemory(const MemoryEvent* from, size_t count) {
    return AddCarrier("Ferret Memory", from, count, [this](const MemoryEvent& event) {
      DescribeMemory(event, event.scope_id > 0 ? ids_.OfEvent(event.scope_id) : 0, &moment_);
      return std::string_view(event.out_of_memory ? "[OutOfMemory]" : "[memory]");
    });
  }

  // The last span: what was recorded and what was lost. `add` may add attributes.
  template <typename Add>
  void AddRecord(const ExportProgress& progress, uint64_t events, int64_t time_ns, const Add& add) {
    Attributes attributes(kSpanAttributes, limits_);
    add(&attributes);
    const auto count = [&](std::string_view key, uint64_t value) {
      attributes.Int(key, static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
    };
    count("ferret.events", events);
    count("ferret.events_built", progress.events_built);
    if (progress.events_discarded > 0) count("ferret.events_discarded", progress.events_discarded);
    for (size_t i = 0; i < kLossReasonCount; ++i) {
      const LossReason reason = static_cast<LossReason>(i);
      if (progress.lost[reason] != 0) count(absl::StrCat("ferret.lost.", LossReasonText(reason)), progress.lost[reason]);
    }
    count("ferret.links_made", progress.links_made);
    count("ferret.links_evicted", progress.links_evicted);
    count("ferret.links_unmatched", progress.links_unmatched);
    count("ferret.links_hurried", progress.links_hurried);
    count("ferret.ends_refused", progress.ends_refused);
    count("ferret.details_lost", progress.details_lost);
    count("ferret.remote_ends_unmatched", progress.remote_ends_unmatched);
    count("ferret.names_inline", progress.names_inline);
    count("ferret.clock_backward", progress.clock_backward);
    count("ferret.clock_steps", progress.clock_steps);
    if (progress.device.asked > 0) {
      count("ferret.device_scopes.asked", progress.device.asked);
      count("ferret.device_scopes.timed", progress.device.timed);
      for (size_t i = 0; i < kDeviceLossCount; ++i) {
        const DeviceLoss reason = static_cast<DeviceLoss>(i);
        if (progress.device[reason] == 0) continue;
        count(absl::StrCat("ferret.device_scopes.lost.", DeviceLossText(reason)), progress.device[reason]);
      }
    }
    Span span;
    span.id = ids_.OfRecord();
    span.parent = run_;
    span.name = "Ferret Record";
    span.start_ns = span.end_ns = time_ns;
    span.attributes = attributes.view();
    span.dropped_attributes = attributes.dropped();
    encoder_->AddSpan(span);
  }

 private:
  // What is said of a thread, or of a stream of a device.
  struct Track {
    Track() = default;
    explicit Track(const Attributes& attributes)
        : text(attributes.view()), room(attributes.room()), dropped(attributes.dropped()) {}
    LooseBytes text;
    int64_t room = 0;  // for what else is said of a span
    uint32_t dropped = 0;
  };
  using TrackKey = std::pair<int32_t, int32_t>;  // device type and index in one, thread or stream
  static constexpr TrackKey kNoTrack = {-1, -1};

  static void PutPlace(const FunctionEvent& event, const Track& track, EventSpan* span) {
    span->name = event.name;
    span->name_id = event.name_id;
    span->start_ns = event.start_ns;
    span->end_ns = event.end_ns;
    span->track = track.text.view();
  }

  // An event of which more is to be said.
  [[gnu::noinline]] Ties AddDescribed(const FunctionEvent& event) {
    EventSpan span;
    span.id = ids_.OfEvent(event.id);
    const bool on_device = event.device_type != DeviceType::kCpu;
    const int64_t parent = on_device ? LaunchedBy(event) : event.parent_id;
    span.parent = parent > 0 ? ids_.OfEvent(parent) : run_;
    if (event.forward_id > 0) span.linked = ids_.OfEvent(event.forward_id);
    if (link_kernels_ && on_device && parent > 0) {
      span.linked = std::exchange(span.parent, run_);
      span.link_type = LinkType::kLaunch;
    }
    const Track& track = TrackOf(event, on_device);
    attributes_.Clear(track.room);
    DescribeEvent(event, &attributes_);
    span.attributes = attributes_.view();
    span.dropped_attributes = track.dropped + attributes_.dropped();
    PutPlace(event, track, &span);
    encoder_->AddEventSpan(span);
    return {span.id, span.parent, span.linked};
  }

  static int64_t LaunchedBy(const FunctionEvent& event) {
    if (event.details == nullptr) return event.parent_id;
    if (event.details->launch != nullptr) return event.details->launch->scope_id;
    return event.details->linked_correlation_id != 0 ? event.details->linked_correlation_id : event.parent_id;
  }

  // Lives until the next call.
  const Track& TrackOf(const FunctionEvent& event, bool on_device) {
    const int32_t device = static_cast<int32_t>(event.device_type) << 16 | static_cast<uint16_t>(event.device_index);
    const TrackKey key(on_device ? device : 0, event.device_resource_id);
    if (key != last_track_) {
      last_ = on_device ? StreamTrack(key, event) : ThreadTrackOf(event.device_resource_id);
      last_track_ = key;
    }
    return *last_;
  }

  const Track* ThreadTrackOf(int32_t os_tid) {
    if (os_tid == 0) return &no_track_;
    const auto known = threads_.find(os_tid);
    return known != threads_.end() ? &known->second : &(threads_[os_tid] = ThreadTrack(os_tid, ""));
  }

  Track ThreadTrack(int32_t os_tid, std::string_view name) const {
    Attributes attributes(kSpanAttributes, limits_);
    attributes.Int("thread.id", os_tid);
    if (!name.empty()) attributes.Text("thread.name", name);
    return Track(attributes);
  }

  const Track* StreamTrack(TrackKey key, const FunctionEvent& event) {
    constexpr size_t kMostStreams = 4096;
    if (streams_.size() >= kMostStreams) streams_.clear();
    const auto [known, is_new] = streams_.try_emplace(key);
    Track& track = known->second;
    if (is_new) {
      Attributes attributes(kSpanAttributes, limits_);
      attributes.Text("ferret.device_type", DeviceText(event.device_type));
      attributes.Int("ferret.device", event.device_index);
      attributes.Int("ferret.stream", event.device_resource_id);
      attributes.Text("thread.name", absl::StrCat("stream ", event.device_resource_id));
      track = Track(attributes);
    }
    return &track;
  }

  void ForgetTracks() {
    threads_.clear();
    last_track_ = kNoTrack;
  }

  template <typename Moment, typename Describe>
  Span AddCarrier(std::string_view name, const Moment* from, size_t count, const Describe& describe) {
    Span span;
    span.id = ids_.OfCarrier(carriers_++);
    span.parent = run_;
    span.name = name;
    span.start_ns = span.end_ns = from->time_ns;
    carried_.clear();
    for (const Moment* moment = from; moment != from + count; ++moment) {
      span.start_ns = std::min(span.start_ns, moment->time_ns);
      span.end_ns = std::max(span.end_ns, moment->time_ns);
      moment_.Clear();
      const std::string_view text = describe(*moment);
      Encoder::AppendEvent(moment->time_ns, text, moment_.view(), &carried_);
    }
    span.events = carried_;
    encoder_->AddSpan(span);
    return span;
  }

  const SpanIds ids_;
  const SpanId run_;
  const bool link_kernels_;
  const AttributeLimits limits_;
  Encoder* const encoder_;
  uint64_t carriers_ = 0;

  absl::flat_hash_map<int32_t, Track> threads_;  // by OS thread id
  absl::flat_hash_map<TrackKey, Track> streams_;
  // Batches are runs of one track's events.
  TrackKey last_track_ = kNoTrack;
  const Track no_track_{Attributes(kSpanAttributes, limits_)};
  const Track* last_ = &no_track_;

  Attributes attributes_{kSpanAttributes, limits_};
  Attributes moment_{kEventAttributes, limits_};  // its number is not limited, as it is always small
  std::string carried_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_BATCH_SPANS_H_

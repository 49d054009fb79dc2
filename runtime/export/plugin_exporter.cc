// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/plugin_exporter.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

constexpr size_t kErrorSize = 512;

// What compiled plug-ins rely on. A change that is not growth at the end needs a new FERRET_EXPORTER_ABI_VERSION.
static_assert(sizeof(ferret_exporter_event) == 112 && offsetof(ferret_exporter_event, device_index) == 104, "ABI");
static_assert(sizeof(ferret_exporter_instant) == 64 && offsetof(ferret_exporter_instant, name_id) == 56, "ABI");
static_assert(sizeof(ferret_exporter_link) == 56 && offsetof(ferret_exporter_link, backward_os_tid) == 52, "ABI");
static_assert(sizeof(ferret_exporter_thread) == 32 && offsetof(ferret_exporter_thread, name) == 16, "ABI");
static_assert(sizeof(ferret_exporter_batch) == 72 && offsetof(ferret_exporter_batch, threads) == 64, "ABI");
static_assert(sizeof(ferret_exporter_session) == 112 && offsetof(ferret_exporter_session, option_values) == 104, "ABI");
static_assert(sizeof(ferret_exporter_progress) == 80, "ABI");
static_assert(sizeof(ferret_exporter_plugin) == 64 && offsetof(ferret_exporter_plugin, destroy) == 56, "ABI");

// Calls one function of the plug-in and makes a status of what it returns.
template <typename Function>
absl::Status Call(Function function) {
  char error[kErrorSize] = "";
  const int result = function(error, sizeof(error));
  if (result == 0) return absl::OkStatus();
  error[kErrorSize - 1] = '\0';
  return absl::UnknownError(error[0] != '\0' ? std::string(error) : absl::StrCat("the plug-in returned ", result));
}

ferret_exporter_text Text(std::string_view text) { return {text.data(), text.size()}; }

// A structure with its size filled in and everything else zero.
template <typename Struct>
Struct Sized() {
  Struct value{};
  value.struct_size = sizeof(Struct);
  return value;
}

ferret_exporter_event Convert(const FunctionEvent& event) {
  auto out = Sized<ferret_exporter_event>();
  out.flags = (event.is_async ? FERRET_EXPORTER_EVENT_ASYNC : 0u) |
              (event.is_user_annotation ? FERRET_EXPORTER_EVENT_USER_ANNOTATION : 0u) |
              (event.is_truncated ? FERRET_EXPORTER_EVENT_TRUNCATED : 0u) |
              (event.is_synthesized ? FERRET_EXPORTER_EVENT_SYNTHESIZED : 0u) |
              (event.is_legacy ? FERRET_EXPORTER_EVENT_LEGACY : 0u);
  out.id = event.id;
  out.parent_id = event.parent_id;
  out.name = Text(event.name);
  out.start_ns = event.start_ns;
  out.end_ns = event.end_ns;
  out.self_ns = event.self_ns;
  out.sequence_nr = event.sequence_nr;
  out.forward_id = event.forward_id;
  out.thread = event.thread;
  out.fwd_thread = event.fwd_thread;
  out.device_resource_id = event.device_resource_id;
  out.name_id = event.name_id;
  out.scope = static_cast<int32_t>(event.scope);
  out.device_type = static_cast<int32_t>(event.device_type);
  out.device_index = event.device_index;
  return out;
}

ferret_exporter_instant Convert(const InstantEvent& instant) {
  static_assert(static_cast<int>(InstantEvent::Kind::kInstant) == FERRET_EXPORTER_INSTANT, "same numbers");
  static_assert(static_cast<int>(InstantEvent::Kind::kCounter) == FERRET_EXPORTER_COUNTER, "same numbers");
  static_assert(static_cast<int>(InstantEvent::Kind::kLoss) == FERRET_EXPORTER_LOSS, "same numbers");
  auto out = Sized<ferret_exporter_instant>();
  out.kind = static_cast<int32_t>(instant.kind);
  out.name = Text(instant.name);
  out.time_ns = instant.time_ns;
  out.since_ns = instant.since_ns;
  out.value = instant.value;
  out.thread = instant.thread;
  out.device_resource_id = instant.device_resource_id;
  out.name_id = instant.name_id;
  return out;
}

ferret_exporter_link Convert(const ForwardBackwardLink& link) {
  auto out = Sized<ferret_exporter_link>();
  out.flow_id = link.flow_id;
  out.forward_id = link.forward_id;
  out.backward_id = link.backward_id;
  out.forward_start_ns = link.forward_start_ns;
  out.backward_start_ns = link.backward_start_ns;
  out.forward_os_tid = link.forward_os_tid;
  out.backward_os_tid = link.backward_os_tid;
  return out;
}

ferret_exporter_thread Convert(const ThreadInfo& thread) {
  auto out = Sized<ferret_exporter_thread>();
  out.thread = thread.thread;
  out.previous_thread = thread.previous_thread;
  out.os_tid = thread.os_tid;
  out.name = Text(thread.name);
  return out;
}

template <typename From, typename To>
void ConvertAll(const std::vector<From>& from, std::vector<To>* to) {
  to->clear();
  to->reserve(from.size());
  for (const From& element : from) to->push_back(Convert(element));
}

// The progress as C structure; it points into this object.
class Progress {
 public:
  explicit Progress(const ExportProgress& progress) : losses_(progress.lost.by_reason) {
    for (size_t i = 0; i < kLossReasonCount; ++i) reasons_[i] = LossReasonText(static_cast<LossReason>(i));
    value_.loss_count = kLossReasonCount;
    value_.losses = losses_.data();
    value_.loss_reasons = reasons_.data();
    value_.events_built = progress.events_built;
    value_.links_made = progress.links_made;
    value_.links_evicted = progress.links_evicted;
    value_.links_unmatched = progress.links_unmatched;
    value_.remote_ends_unmatched = progress.remote_ends_unmatched;
    value_.names_inline = progress.names_inline;
    value_.clock_backward = progress.clock_backward;
  }
  const ferret_exporter_progress* get() const { return &value_; }

 private:
  const std::array<uint64_t, kLossReasonCount> losses_;
  std::array<const char*, kLossReasonCount> reasons_{};
  ferret_exporter_progress value_ = Sized<ferret_exporter_progress>();
};

}  // namespace

absl::StatusOr<std::unique_ptr<Exporter>> PluginExporter::Create(const ferret_exporter_plugin* plugin,
                                                                 const ExporterSpec& spec) {
  std::vector<const char*> keys, values;
  for (const auto& parameter : spec.parameters) {
    keys.push_back(parameter.first.c_str());
    values.push_back(parameter.second.c_str());
  }
  void* self = nullptr;
  const absl::Status status = Call([&](char* error, size_t size) {
    return plugin->create(spec.target.c_str(), keys.data(), values.data(), keys.size(), &self, error, size);
  });
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("exporter ", spec.name, ": ", status.message()));
  return std::make_unique<PluginExporter>(plugin, self);
}

absl::Status PluginExporter::Open(const SessionInfo& info) {
  std::vector<ferret_exporter_text> names, values;
  for (const auto& option : info.options) {
    names.push_back(Text(option.first));
    values.push_back(Text(option.second));
  }
  auto session = Sized<ferret_exporter_session>();
  session.pid = info.pid;
  session.start_ns = info.start_ns;
  session.process_name = Text(info.process_name);
  session.host_name = Text(info.host_name);
  session.backend = Text(info.backend);
  session.job_id = Text(info.job_id);
  session.has_rank = info.has_rank ? 1 : 0;
  session.rank = info.rank;
  session.world_size = info.world_size;
  session.option_count = static_cast<uint32_t>(names.size());
  session.option_names = names.data();
  session.option_values = values.data();
  const absl::Status status =
      Call([&](char* error, size_t size) { return plugin_->open(self_, &session, error, size); });
  // Whatever libraries it has loaded.
  if (info.before_exit_handlers_so_far) info.before_exit_handlers_so_far();
  return status;
}

absl::Status PluginExporter::Export(const EventBatch& batch) {
  ConvertAll(batch.events, &events_);
  ConvertAll(batch.instants, &instants_);
  ConvertAll(batch.links, &links_);
  ConvertAll(batch.threads, &threads_);
  auto out = Sized<ferret_exporter_batch>();
  out.event_count = events_.size();
  out.events = events_.data();
  out.instant_count = instants_.size();
  out.instants = instants_.data();
  out.link_count = links_.size();
  out.links = links_.data();
  out.thread_count = threads_.size();
  out.threads = threads_.data();
  return Call([&](char* error, size_t size) { return plugin_->export_batch(self_, &out, error, size); });
}

absl::Status PluginExporter::Flush(const ExportProgress& progress, absl::Time deadline) {
  const Progress c_progress(progress);
  return Call([&](char* error, size_t size) {
    return plugin_->flush(self_, c_progress.get(), absl::ToUnixNanos(deadline), error, size);
  });
}

absl::Status PluginExporter::Close(const ExportProgress& progress, absl::Time deadline) {
  const Progress c_progress(progress);
  return Call([&](char* error, size_t size) {
    return plugin_->close(self_, c_progress.get(), absl::ToUnixNanos(deadline), error, size);
  });
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Taking events into a list, and linking them by hand.

#include "ferret/event_list.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/events/detail_reader.h"
#include "runtime/events/event_storage.h"
#include "runtime/events/flops.h"
#include "runtime/events/tree_walk.h"

namespace ferret {
namespace {

// What the program said, or what the shapes say.
int64_t FlopsOf(const FunctionEvent& event) {
  std::string_view payload;
  int64_t flops = 0;
  if (FindDetail(event.details->recorded, internal::DetailKind::kFlops, &payload) &&
      DetailReader(payload).ReadSigned(&flops)) {
    return flops;
  }
  return EstimateFlops(event.name, event.details->recorded);
}

std::string CheckChild(const FunctionEvent& parent, const FunctionEvent& child) {
  const auto who = [&] {
    return absl::StrCat("event ", child.id, " (", std::string(child.name), ") as a child of event ", parent.id, " (",
                        std::string(parent.name), "): ");
  };
  if (&parent == &child) return absl::StrCat(who(), "an event is not its own parent");
  if (parent.device_type != DeviceType::kCpu || child.device_type != DeviceType::kCpu) {
    return absl::StrCat(who(), "both must be on the CPU");
  }
  if (parent.is_async || child.is_async) return absl::StrCat(who(), "an asynchronous event is in no tree");
  if (child.start_ns < parent.start_ns || child.end_ns > parent.end_ns) {
    return absl::StrCat(who(), "it is not inside its parent's interval");
  }
  if (child.cpu_parent != nullptr && child.cpu_parent != &parent) {
    return absl::StrCat(who(), "it has another parent, event ", child.cpu_parent->id);
  }
  return "";
}

}  // namespace

EventList::EventList() : EventList(Config()) {}
EventList::EventList(const Config& config) : config_(config), storage_(std::make_unique<Storage>()) {}
// The list that was moved from is an empty one.
EventList::EventList(EventList&& other) noexcept : EventList() { *this = std::move(other); }
EventList& EventList::operator=(EventList&& other) noexcept {
  std::swap(config_, other.config_);
  std::swap(order_, other.order_);
  std::swap(storage_, other.storage_);
  if (this != &other) {
    other.order_.clear();
    *other.storage_ = Storage();
  }
  return *this;
}
EventList::~EventList() = default;

FunctionEvent& EventList::Add(const FunctionEvent& event) {
  FunctionEvent& copy = storage_->events.emplace_back(event);
  copy.name = storage_->texts.InternNamed(event.name, event.name_id);
  copy.cpu_parent = copy.last_child = copy.next_sibling = nullptr;
  if (config_.use_device != DeviceType::kCpu) copy.use_device = config_.use_device;
  // Later steps subtract times without looking.
  int64_t duration = 0;
  if (__builtin_sub_overflow(copy.end_ns, copy.start_ns, &duration)) {
    copy.end_ns = copy.start_ns < 0 ? copy.start_ns + INT64_MAX : copy.start_ns;
  } else if (duration < 0) {
    copy.end_ns = copy.start_ns;
  }
  if (copy.parent_id != 0) storage_->recorded = true;
  if (event.details != nullptr) {
    EventDetails& details = storage_->details.emplace_back(*event.details);
    copy.details = &details;
    details.recorded = Intern(details.recorded);
    details.trace_name = Intern(details.trace_name);
    details.metadata_json = Intern(details.metadata_json);
    for (Kernel& kernel : details.kernels) kernel.name = Intern(kernel.name);
    if (details.launch != nullptr) details.launch = &storage_->launches.emplace_back(*details.launch);
    if (config_.with_flops && details.flops == 0) details.flops = FlopsOf(copy);
  }
  order_.push_back(&copy);
  storage_->built = false;
  storage_->self_times.reset();
  return copy;
}

EventDetails& EventList::DetailsOf(FunctionEvent& event) {
  if (event.details == nullptr) event.details = &storage_->details.emplace_back();
  return *event.details;
}

std::string_view EventList::Intern(std::string_view text) { return storage_->texts.Intern(text); }
void EventList::AddMemory(const MemoryEvent& record) { storage_->memory.push_back(record); }

std::string EventList::append_kernel(FunctionEvent& event, std::string_view name, int device_index,
                                     double duration_us) {
  if (event.device_type != DeviceType::kCpu) {
    return absl::StrCat("kernel ", std::string(name), " of event ", event.id, ": the event must be on the CPU");
  }
  if (!(duration_us >= 0) || duration_us > 9e15) {
    return absl::StrCat("kernel ", std::string(name), " of event ", event.id, ": a duration of ", duration_us, " us");
  }
  DetailsOf(event).kernels.push_back(
      {Intern(name), static_cast<int16_t>(device_index), std::llround(duration_us * 1000.0)});
  return "";
}

namespace {

// Whether the event is below `top` in the tree so far. Only events that take up the same time can be above each other
// in both ways, so only those are looked at.
bool IsBelow(const FunctionEvent& event, const FunctionEvent& top) {
  std::vector<const FunctionEvent*> open = {&top};
  while (!open.empty()) {
    const FunctionEvent* const at = open.back();
    open.pop_back();
    if (at == &event) return true;
    for (const FunctionEvent* child : at->cpu_children()) {
      if (child->start_ns == event.start_ns && child->end_ns == event.end_ns) open.push_back(child);
    }
  }
  return false;
}

}  // namespace

std::string EventList::append_cpu_child(FunctionEvent& parent, FunctionEvent& child) {
  std::string error = CheckChild(parent, child);
  if (!error.empty()) return error;
  if (child.next_sibling != nullptr) {
    return absl::StrCat("event ", child.id, " (", std::string(child.name), ") is a child of an event already");
  }
  if (IsBelow(parent, child)) {
    return absl::StrCat("event ", child.id, " (", std::string(child.name), ") is above its child already");
  }
  AppendChild(&parent, &child);
  parent.self_ns -= child.duration_ns();
  return "";
}

std::string EventList::set_cpu_parent(FunctionEvent& child, FunctionEvent& parent) {
  std::string error = CheckChild(parent, child);
  if (!error.empty()) return error;
  child.cpu_parent = &parent;
  child.parent_id = parent.id;
  return "";
}

}  // namespace ferret

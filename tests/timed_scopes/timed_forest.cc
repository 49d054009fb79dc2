// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/timed_scopes/timed_forest.h"

#include <algorithm>

#include "runtime/events/detail_text.h"

namespace ferret {
namespace {

constexpr int32_t kFirstOsTid = 917;
constexpr int64_t kWorkNs = 3000;

}  // namespace

TimedForest::TimedForest(const ForestShape& shape)
    : shape_(shape), random_(shape.seed), now_ns_(shape.start_ns + 1000),
      open_(static_cast<size_t>(shape.threads)) {
  EventBatch& first = batches_.emplace_back();
  first.sequence = 1;
  for (int thread = 0; thread < shape.threads; ++thread) {
    first.threads.push_back({static_cast<uint32_t>(thread + 1), 0, kFirstOsTid + thread, "worker"});
  }
  for (int device = 0; device < shape.devices; ++device) {
    DeviceInfo info;
    info.index = static_cast<int16_t>(device);
    info.name = "Made-up \"GPU\"";
    info.memory_bytes = 85899345920;
    info.compute_major = 9;
    info.multiprocessors = 132;
    info.warp_size = 32;
    first.devices.push_back(info);
    for (int stream = 0; stream < shape.streams; ++stream) {
      first.streams.push_back({info.index, 7 + stream, stream == 0 ? "legacy default stream" : ""});
    }
  }
  while (opened_ < shape.scopes) {
    const size_t thread = Random(static_cast<uint32_t>(shape.threads));
    const size_t depth = open_[thread].size();
    const bool opens = depth == 0 || (depth < static_cast<size_t>(shape.deepest) && Random(2) != 0);
    opens ? Open(thread) : Close(thread);
    if (Random(3) == 0) SettleOne(true);
    if (Random(20) == 0) Batch();
  }
  for (size_t thread = 0; thread < open_.size(); ++thread) {
    while (!open_[thread].empty()) Close(thread);
  }
  Batch();
  while (!waiting_.empty()) {
    SettleOne(false);
    if (Random(10) == 0) Batch();
  }
  DrawAnnotations();
}

EventBatch& TimedForest::Batch() {
  EventBatch& next = batches_.emplace_back();
  next.sequence = batches_.size();
  return next;
}

// When the stream gets to a mark that is made now.
int64_t TimedForest::Mark(Stream stream) {
  int64_t& time = stream_time_[stream];
  return time = std::max(time, now_ns_ + 100) + 1 + Random(50);
}

// Names tell how deep a scope is, so that no only child is called as its parent. Some are in no table.
void TimedForest::Name(Node* node) {
  int depth = 0;
  for (const Node* at = node->parent; at != nullptr; at = at->parent) ++depth;
  const uint32_t variant = Random(4);
  node->event.name = names_.emplace_back("op " + std::to_string(depth) + "." + std::to_string(variant));
  if (variant != 0) node->event.name_id = static_cast<uint32_t>(depth) * 4 + variant + 1;
}

void TimedForest::Describe(Node* node) {
  if (Random(3) != 0) return;
  const int64_t size = 1 + Random(2);
  AppendDetail(internal::DetailKind::kInputs, &node->recorded, [&](internal::DetailWriter* out) {
    WriteValue(Tensor{"float", {size, 8}, {}}, out);
  });
  if (Random(2) != 0) {
    AppendDetail(internal::DetailKind::kOverloadName, &node->recorded,
                 [](internal::DetailWriter* out) { out->Text("out"); });
  }
  if (Random(2) != 0) AppendStack({Random(2) != 0 ? "a.py(1): f" : "b.py(2): g", "main.py(3): main"}, &node->recorded);
  AppendDetail(internal::DetailKind::kMetadata, &node->recorded, [&](internal::DetailWriter* out) {
    out->Text("grid");
    WriteValue(std::vector<int64_t>{size, 1, 1}, out);
    out->Text("block");
    WriteValue(std::vector<int64_t>{128, 1, 1}, out);
    out->Text("bytes");
    WriteValue(int64_t{4096} * size, out);
  });
}

void TimedForest::Open(size_t thread) {
  ++opened_;
  Node& node = nodes_.emplace_back();
  node.parent = open_[thread].empty() ? nullptr : open_[thread].back();
  if (node.parent != nullptr) node.parent->children.push_back(&node);
  FunctionEvent& event = node.event;
  event.id = next_id_++;
  event.parent_id = node.parent == nullptr ? 0 : node.parent->event.id;
  event.thread = static_cast<uint32_t>(thread + 1);
  event.device_resource_id = kFirstOsTid + static_cast<int32_t>(thread);
  event.is_user_annotation = Random(8) == 0;
  event.activity_type = event.is_user_annotation ? ActivityType::kUserAnnotation : ActivityType::kCpuOp;
  event.use_device = DeviceType::kCuda;
  Name(&node);
  Describe(&node);
  event.start_ns = Tick();
  node.is_timed = Random(2) == 0;
  if (node.is_timed) {
    ++counts_.asked;
    node.has_failed = Random(100) < static_cast<uint32_t>(shape_.failures);
    const uint32_t own = static_cast<uint32_t>(thread) % static_cast<uint32_t>(shape_.streams);
    const uint32_t any = Random(static_cast<uint32_t>(shape_.streams));
    node.device = static_cast<int16_t>(Random(static_cast<uint32_t>(shape_.devices)));
    node.stream = 7 + static_cast<int32_t>(shape_.shares_streams ? any : own);
    node.launch = {event.id, event.thread, event.device_resource_id, next_correlation_++, Tick(), 0,
                   static_cast<int64_t>(Random(1000)), 1};
    node.device_start_ns = Mark({node.device, node.stream});
    for (Node* around = node.parent; around != nullptr; around = around->parent) around->has_timed_inside = true;
  }
  open_[thread].push_back(&node);
}

void TimedForest::Close(size_t thread) {
  Node& node = *open_[thread].back();
  open_[thread].pop_back();
  FunctionEvent& event = node.event;
  if (node.is_timed) {
    int64_t& time = stream_time_[{node.device, node.stream}];
    if (!node.has_timed_inside) time += Random(kWorkNs);
    node.launch.end_ns = Tick();
    node.device_end_ns = Mark({node.device, node.stream});
    // What is not known better than to some error; but work does not begin before it is launched.
    const uint32_t jitter = static_cast<uint32_t>(shape_.jitter_ns);
    node.device_start_ns = std::max(node.device_start_ns - Random(jitter), node.launch.start_ns);
    while (!starts_.insert({{node.device, node.stream}, node.device_start_ns}).second) ++node.device_start_ns;
    node.device_end_ns = std::max(node.device_end_ns + Random(jitter), node.device_start_ns);
    event.is_legacy = node.has_timed_inside || event.is_user_annotation;
    waiting_.push_back(&node);
  } else if (event.is_user_annotation) {
    annotations_.push_back(&node);
  }
  event.end_ns = Tick();
  event.self_ns = event.duration_ns();
  for (const Node* child : node.children) event.self_ns -= child->event.duration_ns();

  EventBatch& batch = batches_.back();
  FunctionEvent& delivered = batch.events.emplace_back(event);
  if (event.name_id == 0) delivered.name = batch.texts.Keep(event.name);
  if (node.recorded.empty()) return;
  EventDetails& details = batch.details.emplace_back();
  details.recorded = batch.texts.Keep(node.recorded);
  delivered.details = &details;
}

// Whether all that is timed inside is settled, and nothing there is open.
bool TimedForest::AllSettled(const Node& node, bool include_self) {
  if (node.event.end_ns == 0) return false;
  if (include_self && node.is_timed && !node.is_settled) return false;
  return std::all_of(node.children.begin(), node.children.end(),
                     [](const Node* child) { return AllSettled(*child, true); });
}

// Of the nearest timed scopes inside.
int64_t TimedForest::SettledInside(const Node& node) {
  int64_t sum = 0;
  for (const Node* child : node.children) sum += child->is_timed ? child->settled_ns : SettledInside(*child);
  return sum;
}

// One of those that wait, whichever. A pair that failed waits for what is inside.
void TimedForest::SettleOne(bool may_do_nothing) {
  if (waiting_.empty()) return;
  const size_t index = Random(static_cast<uint32_t>(waiting_.size()));
  Node* const node = waiting_[index];
  if (node->has_failed && !AllSettled(*node, false)) return;
  if (may_do_nothing && Random(3) == 0) return;
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  Settle(node);
}

void TimedForest::Settle(Node* node) {
  if (node->has_failed) {
    ++counts_[DeviceLoss::kQueryFailed];
    node->settled_ns = SettledInside(*node);
  } else {
    ++counts_.timed;
    node->settled_ns = node->device_end_ns - node->device_start_ns;
    DeliverPair(*node);
  }
  node->is_settled = true;
  Spread(node, node->settled_ns);
}

void TimedForest::Spread(Node* node, int64_t duration_ns) {
  Share(*node, duration_ns, duration_ns);
  for (Node* around = node->parent; around != nullptr; around = around->parent) {
    if (around->is_timed) {
      Share(*around, -duration_ns, 0);
      return;
    }
    Share(*around, 0, duration_ns);
  }
}

void TimedForest::Share(const Node& node, int64_t self_ns, int64_t total_ns) {
  EventBatch& batch = batches_.back();
  DeviceTimeShare& share = batch.device_times.emplace_back();
  share.name = node.event.name_id != 0 ? node.event.name : batch.texts.Keep(node.event.name);
  share.name_id = node.event.name_id;
  share.is_user_annotation = node.event.is_user_annotation;
  share.is_legacy = node.is_timed && (node.has_timed_inside || node.event.is_user_annotation);
  share.recorded = node.recorded.empty() ? std::string_view() : batch.texts.Keep(node.recorded);
  share.self_ns = self_ns;
  share.total_ns = total_ns;
}

void TimedForest::DeliverPair(const Node& node) {
  EventBatch& batch = batches_.back();
  FunctionEvent event;
  event.id = next_id_++;
  event.name = node.event.name_id != 0 ? node.event.name : batch.texts.Keep(node.event.name);
  event.name_id = node.event.name_id;
  event.thread = node.event.thread;
  event.start_ns = node.device_start_ns;
  event.end_ns = node.device_end_ns;
  event.device_type = event.use_device = DeviceType::kCuda;
  event.device_index = node.device;
  event.device_resource_id = node.stream;
  event.is_legacy = event.is_user_annotation = node.event.is_legacy;
  event.activity_type = event.is_legacy ? ActivityType::kGpuUserAnnotation : ActivityType::kKernel;
  ++(event.is_legacy ? outer_pairs_ : kernels_);
  EventDetails& details = batch.details.emplace_back();
  if (!node.recorded.empty()) details.recorded = batch.texts.Keep(node.recorded);
  details.launch = &batch.launches.emplace_back(node.launch);
  details.linked_correlation_id = node.event.id;
  event.details = &details;
  batch.events.push_back(event);
  ++batch.extra;
}

// Around what was launched in each annotation that is not timed itself: one for each stream.
void TimedForest::DrawAnnotations() {
  for (const Node* annotation : annotations_) {
    std::map<Stream, std::pair<int64_t, int64_t>> spans;
    std::vector<const Node*> inside(annotation->children.begin(), annotation->children.end());
    while (!inside.empty()) {
      const Node& node = *inside.back();
      inside.pop_back();
      inside.insert(inside.end(), node.children.begin(), node.children.end());
      if (!node.is_timed || node.has_failed) continue;
      auto& [start_ns, end_ns] = spans.try_emplace({node.device, node.stream}, INT64_MAX, 0).first->second;
      start_ns = std::min(start_ns, node.device_start_ns);
      end_ns = std::max(end_ns, node.device_end_ns);
    }
    for (const auto& [stream, span] : spans) {
      EventBatch& batch = batches_.back();
      FunctionEvent event;
      event.id = next_id_++;
      event.name = batch.texts.Keep(annotation->event.name);
      event.thread = annotation->event.thread;
      event.start_ns = span.first;
      event.end_ns = span.second;
      event.device_type = event.use_device = DeviceType::kCuda;
      event.device_index = stream.first;
      event.device_resource_id = stream.second;
      event.is_user_annotation = event.is_synthesized = true;
      event.activity_type = ActivityType::kGpuUserAnnotation;
      EventDetails& details = batch.details.emplace_back();
      details.linked_correlation_id = annotation->event.id;
      event.details = &details;
      batch.events.push_back(event);
      ++batch.extra;
      ++drawn_;
    }
  }
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/device_rows.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "exporters/chrome_trace/async_lanes.h"
#include "exporters/chrome_trace/details_text.h"
#include "exporters/chrome_trace/event_writer.h"
#include "exporters/chrome_trace/metadata_line.h"
#include "exporters/chrome_trace/put_text.h"
#include "exporters/chrome_trace/trace_frame.h"
#include "runtime/text/json_text.h"
#include "runtime/text/number_text.h"

namespace ferret::chrome_trace {
namespace {

constexpr size_t kMostNames = 4096;

struct Activity {
  const char* category;
  const char* call;  // that launches it, in CUDA's runtime; null for what nobody launched
  int call_id;       // as CUPTI numbers the calls
};

Activity ActivityOf(const FunctionEvent& event) {
  if (event.activity_type == ActivityType::kGpuUserAnnotation || event.is_user_annotation) {
    return {"gpu_user_annotation", nullptr, 0};
  }
  if (event.activity_type == ActivityType::kGpuMemcpy) return {"gpu_memcpy", "cudaMemcpyAsync", 41};
  if (event.activity_type == ActivityType::kGpuMemset) return {"gpu_memset", "cudaMemsetAsync", 51};
  return {"kernel", "cudaLaunchKernel", 211};
}

// Lanes are numbered from 0, the stream's own track; AsyncLanes' tids begin behind those of threads.
int64_t TrackOf(int32_t stream, int lane) { return LaneTid(TraceTid(stream), lane - 1); }

}  // namespace

DeviceRows::DeviceRows(const SessionInfo& info, UnitBuffer* out)
    : pid_(info.pid), base_ns_(BaseNs(info.start_ns)), start_ns_(info.start_ns), process_name_(info.process_name),
      out_(out) {}

void DeviceRows::Note(const EventBatch& batch) {
  for (const DeviceInfo& info : batch.devices) devices_[info.index] = info;
  for (const StreamInfo& info : batch.streams) {
    if (info.name.empty() || stream_names_.size() >= kMostNames) continue;
    stream_names_[{info.device_index, info.stream}] = info.name;
  }
}

void DeviceRows::BeginPart() {
  named_devices_.clear();
  for (auto& [key, stream] : streams_) stream.named.clear();
  latest_.lane = Latest::kNone;
}

void DeviceRows::Write(const FunctionEvent& event) {
  const Activity activity = ActivityOf(event);
  const DeviceLaunch* const launch = event.details == nullptr ? nullptr : event.details->launch;
  const bool is_work = activity.call != nullptr;
  // What is drawn goes from the first start to the last end of what is inside: it is wider by 1 ns on both sides, as in
  // Kineto's traces, or a viewer could take it for what is inside and end an arrow at it.
  const int64_t wider_ns = is_work || launch != nullptr ? 0 : 1;
  const int64_t start_ns = event.start_ns - wider_ns;
  const int64_t end_ns = std::max(event.start_ns, event.end_ns) + wider_ns;

  const Key key(event.device_index, event.device_resource_id);
  if (latest_.stream == nullptr || latest_.key != key) latest_ = {key, &StreamOf(key)};
  const int lane = latest_.stream->lanes.Place(start_ns, end_ns);
  if (lane != latest_.lane) {
    NameDevice(event.device_index);
    NameLane(key, latest_.stream, lane);
    latest_.lane = lane;
  }
  if (is_work && launch != nullptr) WriteLaunch(event, *launch);

  const int64_t tid = TrackOf(event.device_resource_id, lane);
  name_.clear();
  std::string hex;
  if (!AppendJsonText(event.trace_name(), &name_)) hex = HexText(event.trace_name());
  details_.clear();
  if (event.details != nullptr) AppendDetails(*event.details, &details_);
  char* at = out_->Begin(name_.size() + hex.size() + details_.size() + kRestChars);
  at = PutSlice(at, activity.category, name_, PidOf(event.device_index), tid, start_ns, end_ns);
  at = WriteSigned(Put(at, "\"External id\": "), launch != nullptr ? launch->scope_id : event.linked_correlation_id());
  at = WriteSigned(Put(Put(at, details_), ", \"device\": "), event.device_index);
  if (launch != nullptr) at = WriteSigned(Put(at, ", \"context\": "), launch->context);
  at = WriteSigned(is_work ? Put(at, ", \"stream\": ") : Put(at, ", \"on stream\": "), event.device_resource_id);
  if (launch != nullptr) {
    if (is_work) at = WriteSigned(Put(at, ", \"correlation\": "), launch->correlation);
    at = WriteSigned(Put(at, ", \"clock_error_ns\": "), launch->clock_error_ns);
  }
  if (event.is_legacy) at = Put(at, ", \"ferret_legacy\": 1");
  if (!hex.empty()) at = Put(Put(Put(at, ", \"name_hex\": \""), hex), "\"");
  out_->End(Put(at, "}},\n"));
  if (is_work && launch != nullptr) WriteArrow(event, *launch, tid);
}

void DeviceRows::WriteLaunch(const FunctionEvent& event, const DeviceLaunch& launch) {
  const Activity activity = ActivityOf(event);
  char* at = PutSlice(out_->Begin(kRestChars), "cuda_runtime", activity.call, pid_, TraceTid(launch.os_tid), launch.start_ns,
                      launch.end_ns);
  at = WriteSigned(Put(at, "\"External id\": "), launch.scope_id);
  at = WriteSigned(Put(at, ", \"cbid\": "), activity.call_id);
  at = WriteSigned(Put(at, ", \"correlation\": "), launch.correlation);
  out_->End(Put(at, "}},\n"));
}

// One unit: half an arrow would be an error to a viewer. After both of its slices, which a kill may leave without it.
void DeviceRows::WriteArrow(const FunctionEvent& event, const DeviceLaunch& launch, int64_t tid) {
  const auto put_end = [&](char* at, std::string_view phase, int64_t pid, int64_t track, int64_t time_ns) {
    at = WriteSigned(Put(Put(Put(at, "    {\"ph\": \""), phase), "\", \"id\": "), launch.correlation);
    at = WriteSigned(Put(at, ", \"pid\": "), pid);
    at = WriteSigned(Put(at, ", \"tid\": "), track);
    at = WriteMicros(Put(at, ", \"ts\": "), time_ns - base_ns_);
    return Put(at, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
  };
  char* at = put_end(out_->Begin(2 * kRestChars), "s", pid_, TraceTid(launch.os_tid), launch.start_ns);
  at = put_end(Put(at, "},\n"), "f", PidOf(event.device_index), tid, event.start_ns);
  out_->End(Put(at, ", \"bp\": \"e\"},\n"));
}

// Up to the args.
char* DeviceRows::PutSlice(char* at, std::string_view category, std::string_view json_name, int64_t pid, int64_t tid,
                           int64_t start_ns, int64_t end_ns) const {
  at = Put(Put(at, "    {\"ph\": \"X\", \"cat\": \""), category);
  at = Put(Put(at, "\", \"name\": \""), json_name);
  at = WriteSigned(Put(at, "\", \"pid\": "), pid);
  at = WriteSigned(Put(at, ", \"tid\": "), tid);
  at = WriteMicros(Put(at, ", \"ts\": "), start_ns - base_ns_);
  at = WriteMicros(Put(at, ", \"dur\": "), end_ns - std::max(start_ns, base_ns_));
  return Put(at, ", \"args\": {");
}

DeviceRows::Stream& DeviceRows::StreamOf(Key key) {
  const auto known = streams_.find(key);
  if (known != streams_.end()) return known->second;
  if (streams_.size() >= kMostStreams) ForgetOneStream();
  return streams_.emplace(key, Stream{StreamLanes(forgotten_lanes_, forgotten_until_), {}}).first->second;
}

void DeviceRows::ForgetOneStream() {
  const auto oldest = std::min_element(streams_.begin(), streams_.end(), [](const auto& a, const auto& b) {
    return a.second.lanes.latest_end() < b.second.lanes.latest_end();
  });
  forgotten_lanes_ = std::max(forgotten_lanes_, oldest->second.lanes.count());
  forgotten_until_ = std::max(forgotten_until_, oldest->second.lanes.latest_end());
  streams_.erase(oldest);
}

// The device's index, as in Kineto's traces; in a container the program's own pid may be as small.
int64_t DeviceRows::PidOf(int16_t device) const { return device == pid_ ? kFirstDeviceSortIndex + device : device; }

void DeviceRows::NameDevice(int16_t device) {
  if (!named_devices_.insert(device).second) return;
  const auto write = [&](const char* name, const std::string& args) {
    WriteUnit(MetadataLine(name, start_ns_ - base_ns_, PidOf(device), 0, args));
  };
  write("process_name", "\"name\": " + QuotedJson(process_name_));
  write("process_labels", absl::StrCat("\"labels\": \"GPU ", device, "\""));
  write("process_sort_index", absl::StrCat("\"sort_index\": ", kFirstDeviceSortIndex + device));
}

// Lanes have the sort index of their stream and a greater tid: they come right after it.
void DeviceRows::NameLane(Key key, Stream* stream, int lane) {
  absl::flat_hash_set<int>& named = stream->named;
  if (named.size() >= 4 * StreamLanes::kMostOpenLanes) named.clear();  // to be named twice does no harm
  if (!named.insert(lane).second) return;
  const auto name = stream_names_.find(key);
  std::string remark = name == stream_names_.end() ? "" : name->second;
  if (lane > 0) absl::StrAppend(&remark, remark.empty() ? "" : ", ", "overlap ", lane);
  const std::string label =
      absl::StrCat("stream ", key.second, remark.empty() ? " " : absl::StrCat(" (", remark, ")"));
  const auto write = [&](const char* what, const std::string& args) {
    WriteUnit(MetadataLine(what, start_ns_ - base_ns_, PidOf(key.first), TrackOf(key.second, lane), args));
  };
  write("thread_name", "\"name\": " + QuotedJson(label));
  write("thread_sort_index", absl::StrCat("\"sort_index\": ", key.second));
}

std::string DeviceRows::Properties() const {
  std::string text;
  for (const auto& [index, info] : devices_) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "{\"id\": ", index, ", \"name\": ", QuotedJson(info.name),
                    ", \"totalGlobalMem\": ", info.memory_bytes, ", \"computeMajor\": ", info.compute_major,
                    ", \"computeMinor\": ", info.compute_minor, ", \"warpSize\": ", info.warp_size,
                    ", \"numSms\": ", info.multiprocessors, "}");
  }
  return text;
}

void DeviceRows::WriteUnit(const std::string& text) {
  char* const at = out_->Begin(text.size());
  std::memcpy(at, text.data(), text.size());
  out_->End(at + text.size());
}

}  // namespace ferret::chrome_trace

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
#include "runtime/text/number_text.h"
#include "exporters/chrome_trace/trace_frame.h"
#include "runtime/text/json_text.h"

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

std::string Micros(int64_t ns) {
  char text[kNumberChars];
  return std::string(text, static_cast<size_t>(WriteMicros(text, ns) - text));
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
  const int lane = StreamOf(key).lanes.Place(start_ns, end_ns);
  NameDevice(event.device_index);
  NameLane(key, lane);
  if (is_work && launch != nullptr) WriteLaunch(event, *launch);

  const int64_t tid = TrackOf(event.device_resource_id, lane);
  std::string hex;
  std::string line = Slice(activity.category, event.trace_name(), PidOf(event.device_index), tid, start_ns, end_ns,
                           &hex);
  const int64_t scope = launch != nullptr ? launch->scope_id : event.linked_correlation_id();
  absl::StrAppend(&line, "\"External id\": ", scope);
  details_.clear();
  if (event.details != nullptr) AppendDetails(*event.details, &details_);
  absl::StrAppend(&line, details_, ", \"device\": ", event.device_index);
  if (launch != nullptr) absl::StrAppend(&line, ", \"context\": ", launch->context);
  absl::StrAppend(&line, is_work ? ", \"stream\": " : ", \"on stream\": ", event.device_resource_id);
  if (launch != nullptr) {
    if (is_work) absl::StrAppend(&line, ", \"correlation\": ", launch->correlation);
    absl::StrAppend(&line, ", \"clock_error_ns\": ", launch->clock_error_ns);
  }
  if (event.is_legacy) absl::StrAppend(&line, ", \"ferret_legacy\": 1");
  absl::StrAppend(&line, hex, "}},\n");
  WriteUnit(line);
  if (is_work && launch != nullptr) WriteArrow(event, *launch, tid);
}

void DeviceRows::WriteLaunch(const FunctionEvent& event, const DeviceLaunch& launch) {
  const Activity activity = ActivityOf(event);
  std::string hex;
  WriteUnit(absl::StrCat(Slice("cuda_runtime", activity.call, pid_, TraceTid(launch.os_tid), launch.start_ns,
                               launch.end_ns, &hex),
                         "\"External id\": ", launch.scope_id, ", \"cbid\": ", activity.call_id,
                         ", \"correlation\": ", launch.correlation, "}},\n"));
}

// One unit: half an arrow would be an error to a viewer. After both of its slices, which a kill may leave without it.
void DeviceRows::WriteArrow(const FunctionEvent& event, const DeviceLaunch& launch, int64_t tid) {
  const auto end = [&](const char* phase, int64_t pid, int64_t track, int64_t time_ns) {
    return absl::StrCat("    {\"ph\": \"", phase, "\", \"id\": ", launch.correlation, ", \"pid\": ", pid,
                        ", \"tid\": ", track, ", \"ts\": ", Micros(time_ns - base_ns_),
                        ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
  };
  WriteUnit(absl::StrCat(end("s", pid_, TraceTid(launch.os_tid), launch.start_ns), "},\n",
                         end("f", PidOf(event.device_index), tid, event.start_ns), ", \"bp\": \"e\"},\n"));
}

// Up to the args.
std::string DeviceRows::Slice(const char* category, std::string_view name, int64_t pid, int64_t tid, int64_t start_ns,
                              int64_t end_ns, std::string* hex) const {
  std::string line = absl::StrCat("    {\"ph\": \"X\", \"cat\": \"", category, "\", \"name\": \"");
  if (!AppendJsonText(name, &line)) *hex = absl::StrCat(", \"name_hex\": \"", HexText(name), "\"");
  absl::StrAppend(&line, "\", \"pid\": ", pid, ", \"tid\": ", tid, ", \"ts\": ", Micros(start_ns - base_ns_),
                  ", \"dur\": ", Micros(end_ns - std::max(start_ns, base_ns_)), ", \"args\": {");
  return line;
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
void DeviceRows::NameLane(Key key, int lane) {
  absl::flat_hash_set<int>& named = streams_.find(key)->second.named;
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

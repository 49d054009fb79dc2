// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plain trace of an EventList: an array of its events, without the args and the metadata that the exporter of a
// session writes (exporters/chrome_trace).

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ferret/event_list.h"
#include "runtime/events/memory_usage.h"
#include "runtime/events/text_file.h"
#include "runtime/events/tree_walk.h"
#include "runtime/text/json_text.h"

namespace ferret {
namespace {

using KernelsByLaunch = absl::flat_hash_map<int64_t, std::vector<const FunctionEvent*>>;

// The events on devices that say which operator launched them.
KernelsByLaunch FindKernels(const EventList& list) {
  KernelsByLaunch kernels;
  for (const FunctionEvent& event : list) {
    // What was drawn around events on a device was launched by nobody.
    if (event.device_type == DeviceType::kCpu || event.details == nullptr || event.is_synthesized) continue;
    if (event.details->linked_correlation_id != 0) kernels[event.details->linked_correlation_id].push_back(&event);
  }
  return kernels;
}

// Microseconds with three decimals, exactly.
std::string Micros(int64_t ns) {
  const uint64_t size = ns < 0 ? ~static_cast<uint64_t>(ns) + 1 : static_cast<uint64_t>(ns);
  return absl::StrFormat("%s%d.%03d", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string Place(const FunctionEvent& event) {
  const std::string pid = event.device_type == DeviceType::kCpu
                              ? std::string("CPU functions")
                              : absl::StrCat(std::string(DeviceName(event.device_type)), " ", event.device_index);
  const std::string tid =
      event.is_remote() ? absl::StrCat("\"node_id:", event.node_id(), ", thread_id:", event.thread, "\"")
      : event.device_type == DeviceType::kCpu ? absl::StrCat(event.thread)
                                              : absl::StrCat(event.device_resource_id);
  return absl::StrCat("\"pid\": \"", pid, "\", \"tid\": ", tid);
}

}  // namespace

std::string EventList::export_chrome_trace(const std::string& path) const {
  TextFile file(path);
  const KernelsByLaunch kernels = FindKernels(*this);
  const DeviceType device = config_.use_device == DeviceType::kCpu ? DeviceType::kCuda : config_.use_device;
  const std::string category = absl::StrCat("cpu_to_", absl::AsciiStrToLower(std::string(DeviceName(device))));
  const auto time = [this](int64_t ns) {
    int64_t since_start = 0;
    if (__builtin_sub_overflow(ns, config_.start_ns, &since_start)) since_start = ns < 0 ? INT64_MIN : INT64_MAX;
    return Micros(since_start);
  };
  int64_t arrow = 0;
  const char* separator = "\n";
  file.Write("[");
  for (const FunctionEvent* event : order_) {
    if (IsMemoryEvent(*event)) continue;
    const std::string name = QuotedJson(event->trace_name());
    const std::string place = Place(*event);
    file.Write(absl::StrCat(separator, "{\"ph\": \"X\", \"name\": ", name, ", ", place, ", \"ts\": ",
                            time(event->start_ns), ", \"dur\": ", Micros(event->duration_ns()), ", \"args\": {}}"));
    separator = ",\n";
    // An arrow to each kernel: to its event if the list has it, else to the end of the operator that launched it.
    const auto launched = kernels.find(event->id);
    for (size_t i = 0; i < event->kernels().size(); ++i, ++arrow) {
      const bool known = launched != kernels.end() && i < launched->second.size();
      const FunctionEvent* const target = known ? launched->second[i] : event;
      const std::string common = absl::StrCat("\"id\": ", arrow, ", \"cat\": \"", category, "\", \"name\": ", name);
      file.Write(absl::StrCat(",\n{\"ph\": \"s\", ", common, ", ", place, ", \"ts\": ", time(event->start_ns),
                              ", \"args\": {}},\n{\"ph\": \"f\", \"bp\": \"e\", ", common, ", ",
                              known ? Place(*target) : place, ", \"ts\": ",
                              time(known ? target->start_ns : target->end_ns), ", \"args\": {}}"));
    }
  }
  file.Write("\n]\n");
  return file.Close();
}

}  // namespace ferret

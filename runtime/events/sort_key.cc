// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/sort_key.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace ferret {
namespace {

using Row = const FunctionEventAvg&;

struct NamedKey {
  const char* name;
  SortKey key;
};
constexpr NamedKey kKeys[] = {
    {"cpu_time", [](Row row) { return row.cpu_time(); }},
    {"device_time", [](Row row) { return row.device_time(); }},
    {"cpu_time_total", [](Row row) { return row.cpu_time_total(); }},
    {"device_time_total", [](Row row) { return row.device_time_total(); }},
    {"self_cpu_time_total", [](Row row) { return row.self_cpu_time_total(); }},
    {"self_device_time_total", [](Row row) { return row.self_device_time_total(); }},
    {"cpu_memory_usage", [](Row row) { return static_cast<double>(row.cpu_memory_usage); }},
    {"device_memory_usage", [](Row row) { return static_cast<double>(row.device_memory_usage); }},
    {"self_cpu_memory_usage", [](Row row) { return static_cast<double>(row.self_cpu_memory_usage); }},
    {"self_device_memory_usage", [](Row row) { return static_cast<double>(row.self_device_memory_usage); }},
    {"count", [](Row row) { return static_cast<double>(row.count); }},
    {"flops", [](Row row) { return static_cast<double>(row.flops); }},
};

}  // namespace

SortKey FindSortKey(std::string_view name) {
  const std::string plain =
      absl::StrReplaceAll(std::string(name), {{"cuda", "device"}, {"xpu", "device"}, {"privateuse1", "device"}});
  for (const NamedKey& key : kKeys) {
    if (plain == key.name) return key.key;
  }
  return nullptr;
}

std::string SortKeyNames() {
  return absl::StrJoin(kKeys, ", ", [](std::string* out, const NamedKey& key) { out->append(key.name); });
}

}  // namespace ferret

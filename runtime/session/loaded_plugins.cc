// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/loaded_plugins.h"

#include <atomic>

#include "runtime/export/plugin_loader.h"
#include "runtime/export/registry.h"

namespace ferret {
namespace {

struct Loaded {
  const std::string path;
  const Loaded* next;
};
// The latest one; never freed. Release by whoever adds one.
std::atomic<const Loaded*> g_loaded{nullptr};

bool IsLoaded(const std::string& path) {
  for (const Loaded* one = g_loaded.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    if (one->path == path) return true;
  }
  return false;
}

void Remember(const std::string& path) {
  auto* const one = new Loaded{path, g_loaded.load(std::memory_order_relaxed)};
  while (!g_loaded.compare_exchange_weak(one->next, one, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

absl::Status LoadPlugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (IsLoaded(path)) continue;
    if (absl::Status status = LoadExporterPlugin(path, ExporterRegistry::Global()); !status.ok()) return status;
    Remember(path);
  }
  return absl::OkStatus();
}

}  // namespace ferret

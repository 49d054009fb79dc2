// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An exporter in C++ that fails where its parameter "at" says: create, open, export, flush or close.

#include <cstring>
#include <memory>
#include <string>

#include "ferret/exporter_plugin.h"

namespace {

struct Instance {
  std::string fails_at;

  int Result(const char* call, char* error, size_t error_size) const {
    if (fails_at == "silently") return 3;
    if (fails_at == "endlessly") {
      std::memset(error, 'x', error_size);  // forgets the NUL
      return 1;
    }
    if (fails_at != call) return 0;
    std::strncpy(error, (std::string(call) + " went wrong").c_str(), error_size);
    return 1;
  }
};

const Instance& From(void* self) { return *static_cast<const Instance*>(self); }

int Create(const char*, const char* const* keys, const char* const* values, size_t count, void** self, char* error,
           size_t error_size) {
  auto instance = std::make_unique<Instance>();
  for (size_t i = 0; i < count; ++i) {
    if (std::string("at") == keys[i]) instance->fails_at = values[i];
  }
  if (instance->fails_at == "create") return instance->Result("create", error, error_size);
  *self = instance.release();
  return 0;
}

const ferret_exporter_plugin* Plugin() {
  static const ferret_exporter_plugin plugin = [] {
    ferret_exporter_plugin p{};
    p.abi_version = FERRET_EXPORTER_ABI_VERSION;
    p.struct_size = sizeof(p);
    p.name = "failing";
    p.create = &Create;
    p.open = [](void* self, const ferret_exporter_session*, char* error, size_t size) {
      return From(self).Result("open", error, size);
    };
    p.export_batch = [](void* self, const ferret_exporter_batch*, char* error, size_t size) {
      return From(self).Result("export", error, size);
    };
    p.flush = [](void* self, const ferret_exporter_progress*, int64_t, char* error, size_t size) {
      return From(self).Result("flush", error, size);
    };
    p.close = [](void* self, const ferret_exporter_progress*, int64_t, char* error, size_t size) {
      return From(self).Result("close", error, size);
    };
    p.destroy = [](void* self) { delete static_cast<Instance*>(self); };
    return p;
  }();
  return &plugin;
}

}  // namespace

const ferret_exporter_plugin* ferret_exporter_plugin_entry(uint32_t) { return Plugin(); }

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExporterRegistry: which exporters there are, by the name that FERRET_EXPORT uses.
//
// Nothing registers itself from a static initialiser, whose order and very existence (a linker drops unused objects)
// are nobody's to rely on: a session adds the built-in exporters and then loads plug-ins. Any thread.

#ifndef FERRET_RUNTIME_EXPORT_REGISTRY_H_
#define FERRET_RUNTIME_EXPORT_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"

namespace ferret {

// Makes an exporter from the target and the parameters, or says what is wrong with them. Does nothing that can block:
// that is what Exporter::Open is for.
using ExporterFactory = std::function<absl::StatusOr<std::unique_ptr<Exporter>>(const ExporterSpec&)>;

class ExporterRegistry {
 public:
  // The one of the process. Never destroyed.
  static ExporterRegistry& Global();

  ExporterRegistry() = default;
  ExporterRegistry(const ExporterRegistry&) = delete;
  ExporterRegistry& operator=(const ExporterRegistry&) = delete;

  // InvalidArgument for a name that FERRET_EXPORT could not spell, AlreadyExists for one that is taken.
  absl::Status Register(const std::string& name, ExporterFactory factory);

  // NotFound, with the names that exist, or the factory's error.
  absl::StatusOr<std::unique_ptr<Exporter>> Create(const ExporterSpec& spec) const;

  // Around fork: nobody is inside when the child is made.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }
  // In a child whose other threads may have held the lock.
  void RenewLock() { new (&mutex_) std::mutex; }

  // In alphabetical order.
  std::vector<std::string> Names() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ExporterFactory> factories_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_REGISTRY_H_

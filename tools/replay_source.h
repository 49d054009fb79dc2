// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ReplaySource: the requests in a file, one after the other. The file is one of spilled requests, or has a request in
// OTLP/JSON on each line, gzipped or not; which of them, its beginning says.

#ifndef FERRET_TOOLS_REPLAY_SOURCE_H_
#define FERRET_TOOLS_REPLAY_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/otlp/delivery/spill_format.h"

namespace ferret {

class ReplaySource {
 public:
  // With `remove`, what is delivered is taken out of a file of spilled requests. FailedPrecondition if the file belongs
  // to a process that is running.
  static absl::StatusOr<std::unique_ptr<ReplaySource>> Open(const std::string& path, bool remove);
  virtual ~ReplaySource() = default;

  // Nothing at the end. What cannot be read is left out, and counted.
  virtual std::optional<otlp::SpilledRequest> Next() = 0;
  // The last one that Next gave was delivered.
  virtual absl::Status Remove() { return absl::OkStatus(); }
  // Nothing is left of the file: it goes away, if it may.
  virtual absl::Status RemoveFile() { return absl::OkStatus(); }

  // Pieces of the file that could not be read as requests, and why not the first of them.
  uint64_t damaged() const { return damaged_; }
  const std::string& damage() const { return damage_; }

 protected:
  void NoteDamage(std::string what) {
    if (damaged_++ == 0) damage_ = std::move(what);
  }

 private:
  uint64_t damaged_ = 0;
  std::string damage_;
};

}  // namespace ferret

#endif  // FERRET_TOOLS_REPLAY_SOURCE_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Spill: requests on disk, first in, first out, in a bounded set of files of this process.
//
// Each file belongs to the one process that made it, under a name that no other has, locked while the process lives,
// readable by its user alone. What was taken out is marked in its file at once, and a file with nothing left in it is
// removed, so that after a kill the files hold what had not been delivered. What files a dead process left is for
// `ferret otlp-replay`.
//
// One thread at a time. The child of a fork must not touch it.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/otlp/delivery/spill_format.h"
#include "runtime/export/file/file_io.h"

namespace ferret::otlp {

struct SpillOptions {
  std::string directory;  // made if there is none
  uint64_t max_bytes = uint64_t{1} << 30;  // of all its files
  FileIo* io = nullptr;   // null is the system's
};

class Spill {
 public:
  explicit Spill(SpillOptions options);
  // Leaves files with something in them.
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // ResourceExhausted if it would be more than max_bytes; any other error is the disk's.
  absl::Status Append(Signal signal, Form form, uint64_t items, std::string_view body);

  bool empty() const { return records_.empty(); }
  uint64_t bytes() const { return bytes_; }  // of the files

  // Of the oldest request. Not when it is empty.
  Signal front_signal() const { return records_.front().signal; }
  uint64_t front_items() const { return records_.front().items; }
  absl::StatusOr<SpilledRequest> Front() const;
  void PopFront();

 private:
  struct File {
    std::string path;
    int fd = -1;
    uint64_t size = 0;
    uint64_t left = 0;      // requests that were not taken out
    bool writable = true;   // more may be appended
  };
  struct Record {
    std::shared_ptr<File> file;
    uint64_t offset = 0;
    uint64_t size = 0;
    Signal signal = Signal::kTraces;
    uint64_t items = 0;
  };

  absl::StatusOr<std::shared_ptr<File>> MakeFile();
  void RemoveIfDone(File* file);

  const SpillOptions options_;
  FileIo& io_;
  const uint64_t file_bytes_;  // a file with so many gets no more
  uint64_t files_made_ = 0;
  uint64_t bytes_ = 0;
  std::shared_ptr<File> current_;  // the one that is written to, or null
  std::deque<Record> records_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ByteReader: the text of a trace file, whether it is compressed or not.
//
// Compressed is what begins with gzip's magic number, whatever the file is called. Members that follow one another are
// one text, as gzip's own tools have it. Memory is two buffers of fixed size.

#ifndef FERRET_RUNTIME_TRACE_READER_BYTE_READER_H_
#define FERRET_RUNTIME_TRACE_READER_BYTE_READER_H_

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferret {

class ByteReader {
 public:
  static absl::StatusOr<std::unique_ptr<ByteReader>> OpenFile(const std::string& path);
  // The bytes must outlive the reader.
  static std::unique_ptr<ByteReader> OfBytes(std::string_view bytes);

  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;
  virtual ~ByteReader();

  // Up to `size` bytes of text; 0 at its end. DataLoss when compressed data ends early or is damaged: what came before
  // is good.
  absl::StatusOr<size_t> Read(char* to, size_t size);
  bool compressed() const { return mode_ == Mode::kGzip; }

 protected:
  ByteReader() = default;
  // Bytes as they are stored; 0 at the end.
  virtual absl::StatusOr<size_t> ReadStored(char* to, size_t size) = 0;

 private:
  enum class Mode { kUnknown, kPlain, kGzip };

  absl::Status Refill();
  absl::Status Start();
  absl::StatusOr<size_t> Inflate(char* to, size_t size);
  // At the end of a member: whether there is another one.
  absl::StatusOr<bool> NextMember();

  static constexpr size_t kStoredBytes = 64 * 1024;

  Mode mode_ = Mode::kUnknown;
  bool stored_end_ = false;  // nothing is left to be read
  bool between_members_ = false;
  bool finished_ = false;
  std::unique_ptr<char[]> stored_;
  char* at_ = nullptr;  // of what was read and not yet used
  size_t left_ = 0;
  z_stream inflater_ = {};
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_BYTE_READER_H_

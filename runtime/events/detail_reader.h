// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Takes apart the bytes of ferret/internal/detail_format.h.
//
// The bytes may come from a file or from a process that died in the middle of writing them, so nothing in them is
// believed: a length or a count is only ever as large as the bytes that are left. What cannot be read ends the reading;
// what was read before it counts.

#ifndef FERRET_RUNTIME_EVENTS_DETAIL_READER_H_
#define FERRET_RUNTIME_EVENTS_DETAIL_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "ferret/internal/detail_format.h"
#include "ferret/value.h"

namespace ferret {

// The payload of the item of this kind, the last one if there are several. False if there is none.
bool FindDetail(std::string_view recorded, internal::DetailKind kind, std::string_view* payload);

// Reads the parts of a payload one after the other. Once a read has failed all further ones fail.
class DetailReader {
 public:
  explicit DetailReader(std::string_view payload) : left_(payload) {}

  bool done() const { return left_.empty() || failed_; }
  bool failed() const { return failed_; }

  bool ReadByte(uint8_t* byte);
  bool ReadVarint(uint64_t* value);
  bool ReadSigned(int64_t* value);
  bool ReadDouble(double* value);
  bool ReadText(std::string_view* text);  // a view of the payload
  bool ReadValue(Value* value);

 private:
  bool Fail();
  // A count of things of which each takes at least so many bytes.
  bool ReadCount(size_t bytes_each, size_t* count);
  bool ReadTensor(Tensor* tensor);
  template <typename T, typename Read>
  bool ReadList(size_t bytes_each, Value* value, Read read);

  std::string_view left_;
  bool failed_ = false;
};

// The values of a kInputs payload.
std::vector<Value> ReadInputs(std::string_view recorded);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_DETAIL_READER_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FaultyDisk: a folder whose files' system calls fail when they are told to.
//
// A program that links this has its own write, pwrite, open, rename and so on in front of the C library's, for everything in
// the process. They do what they always do but in one folder at a time, where each of them is counted, and the ones from a
// certain number on fail.

#ifndef FERRET_TESTS_DISK_FAULTY_DISK_H_
#define FERRET_TESTS_DISK_FAULTY_DISK_H_

#include <string>

namespace ferret {

struct DiskFault {
  enum class Kind {
    kError,        // the call fails, whatever it is
    kNoSpace,      // what needs space gets half of what it asks for, then ENOSPC; everything else goes well
    kShort,        // a write takes a half
    kInterrupted,  // a write is interrupted by a signal
  };
  Kind kind = Kind::kError;
  int error = 0;  // of kError
  int first = 1;  // the first call that fails, from 1
  int calls = 1;  // how many do; 0: all
};

class FaultyDisk {
 public:
  // `folder` is absolute. One at a time in a process.
  FaultyDisk(const std::string& folder, const DiskFault& fault);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  int calls() const;     // so far
  int failures() const;  // of them
};

}  // namespace ferret

#endif  // FERRET_TESTS_DISK_FAULTY_DISK_H_

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ForkMark: tells the child of a fork that no handler knew of (the clone and fork system calls) from its parent. The mark
// lies in a page that the kernel gives to every child as zeros. A child that shares its parent's memory (vfork) is none.

#ifndef FERRET_RUNTIME_RECORD_FORK_MARK_H_
#define FERRET_RUNTIME_RECORD_FORK_MARK_H_

namespace ferret::internal {

class ForkMark {
 public:
  // This process is known: before it records, and in the child of a fork that handlers knew of. No lock, no allocation.
  static void Set();
  // Whether this is an unknown child. Always false where the kernel (before 4.14) has no such pages.
  static bool Lost();
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_FORK_MARK_H_

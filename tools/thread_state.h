// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says a thread is doing, from /proc, without stopping it.

#ifndef FERRET_TOOLS_THREAD_STATE_H_
#define FERRET_TOOLS_THREAD_STATE_H_

#include <cstdint>
#include <map>
#include <string>

namespace ferret {

struct ThreadState {
  bool known = false;
  bool is_gone = false;  // there is no such thread; if it is not known either, nobody may know
  std::string name;     // the kernel's, cut to 15 bytes
  std::string state;    // "running", "sleeping", …
  std::string waiting;  // the system call that it is in, or where in the kernel it waits; empty if that is not readable
};

// The threads of a process by the ids that they know themselves by. In a container these are not those that they have here.
class ThreadStates {
 public:
  // `folder` is /proc/<pid>/task. Empty: nothing is known.
  explicit ThreadStates(const std::string& folder);

  ThreadState Of(int32_t own_tid) const;

 private:
  const std::string folder_;
  bool has_all_ = false;
  std::map<int32_t, int32_t> tids_;  // what they have here, by their own
};

}  // namespace ferret

#endif  // FERRET_TOOLS_THREAD_STATE_H_

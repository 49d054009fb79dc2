// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/thread_state.h"

#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/proc_stat.h"

namespace ferret {
namespace {

std::string FirstLine(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// The innermost namespace's, which is the last one of "NSpid: 812 7"; 0 if the file does not say.
int32_t OwnTid(const std::string& status_path) {
  std::ifstream status(status_path);
  for (std::string line; std::getline(status, line);) {
    absl::string_view ids = line;
    if (!absl::ConsumePrefix(&ids, "NSpid:")) continue;
    int32_t own = 0;
    return absl::SimpleAtoi(ids.substr(ids.find_last_of(" \t") + 1), &own) ? own : 0;
  }
  return 0;
}

std::string StateText(char state) {
  switch (state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "waiting for a disk or a driver";
    case 'T': return "stopped";
    case 't': return "stopped by a debugger";
    case 'Z':
    case 'X': return "dead";
    default: return absl::StrCat("in state ", std::string(1, state));
  }
}

// Calls that a thread is found waiting in.
std::string CallText(int number) {
  switch (number) {
    case SYS_futex: return "futex";
    case SYS_read: return "read";
    case SYS_write: return "write";
    case SYS_readv: return "readv";
    case SYS_writev: return "writev";
    case SYS_pread64: return "pread";
    case SYS_pwrite64: return "pwrite";
    case SYS_fsync: return "fsync";
    case SYS_openat: return "openat";
    case SYS_ioctl: return "ioctl";
    case SYS_flock: return "flock";
    case SYS_fcntl: return "fcntl";
    case SYS_ppoll: return "ppoll";
    case SYS_pselect6: return "pselect";
    case SYS_epoll_pwait: return "epoll_pwait";
    case SYS_nanosleep: return "nanosleep";
    case SYS_clock_nanosleep: return "clock_nanosleep";
    case SYS_wait4: return "wait4";
    case SYS_waitid: return "waitid";
    case SYS_connect: return "connect";
    case SYS_accept: return "accept";
    case SYS_accept4: return "accept4";
    case SYS_recvfrom: return "recvfrom";
    case SYS_recvmsg: return "recvmsg";
    case SYS_sendto: return "sendto";
    case SYS_sendmsg: return "sendmsg";
    case SYS_madvise: return "madvise";
    case SYS_mmap: return "mmap";
    case SYS_munmap: return "munmap";
    case SYS_rt_sigtimedwait: return "sigtimedwait";
    case SYS_rt_sigsuspend: return "sigsuspend";
    case SYS_restart_syscall: return "an interrupted sleep";
#if defined(SYS_poll)
    case SYS_poll: return "poll";
    case SYS_select: return "select";
    case SYS_epoll_wait: return "epoll_wait";
    case SYS_pause: return "pause";
#endif
    default: return absl::StrCat("system call ", number);
  }
}

}  // namespace

ThreadStates::ThreadStates(const std::string& folder) : folder_(folder) {
  if (folder.empty()) return;
  std::error_code error;
  has_all_ = true;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    int32_t tid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &tid)) continue;
    const int32_t own = OwnTid(entry->path().string() + "/status");
    if (own == 0) has_all_ = false;  // it has ended just now, or the kernel does not say
    tids_[own == 0 ? tid : own] = tid;
  }
  if (error || tids_.empty()) has_all_ = false;
}

ThreadState ThreadStates::Of(int32_t own_tid) const {
  ThreadState state;
  const auto found = tids_.find(own_tid);
  if (found == tids_.end()) {
    state.is_gone = has_all_;
    return state;
  }
  const std::string thread = absl::StrCat(folder_, "/", found->second);
  const ProcStat stat = ReadProcStat(thread);
  if (!stat.known) return state;
  state.known = true;
  state.name = stat.name;
  state.state = StateText(stat.state);
  // "running", or the number of the call and its arguments; −1 outside of any.
  const std::string call = FirstLine(thread + "/syscall");
  int number = -1;
  if (absl::SimpleAtoi(call.substr(0, call.find(' ')), &number) && number >= 0) {
    state.waiting = CallText(number);
  } else if (call.empty()) {
    const std::string place = FirstLine(thread + "/wchan");
    if (place != "0") state.waiting = place;
  }
  return state;
}

}  // namespace ferret

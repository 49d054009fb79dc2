// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// at_secure PROGRAM [ARGUMENT...]: runs the program as if it had more rights than its caller. Between the exec and the
// first instruction of the program, AT_SECURE is set among what the kernel has told it: as for a setuid program, but for
// any user and on any file system. The exit status is the program's, 128 and the signal, 77 if nobody may trace a process
// here, or 125 if it cannot be done for another reason.

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int CannotBeDone(const char* what) {
  perror(what);
  return 125;
}

unsigned long StackPointer(pid_t pid) {
  user_regs_struct registers{};
  iovec place{&registers, sizeof(registers)};
  if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &place) != 0) return 0;
#if defined(__x86_64__)
  return registers.rsp;
#elif defined(__aarch64__)
  return registers.sp;
#else
  return 0;
#endif
}

// The stack begins with argc, the arguments, 0, the environment, 0, and then pairs of a type and a value.
bool SetAtSecure(pid_t pid) {
  unsigned long at = StackPointer(pid);
  if (at == 0) return false;
  const auto read = [&] {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKDATA, pid, at, nullptr);
    at += sizeof(long);
    return word;
  };
  at += (static_cast<unsigned long>(read()) + 1) * sizeof(long);
  while (read() != 0) {
    if (errno != 0) return false;
  }
  for (long type; (type = read()) != AT_NULL && errno == 0; at += sizeof(long)) {
    if (type == AT_SECURE) return ptrace(PTRACE_POKEDATA, pid, at, 1L) == 0;
  }
  return false;
}

}  // namespace

int main(int, char** arguments) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
      const bool refused = errno == EPERM;
      CannotBeDone("ptrace");
      _exit(refused ? 77 : 125);
    }
    execv(arguments[1], arguments + 1);
    _exit(CannotBeDone(arguments[1]));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSTOPPED(status)) {
    if (!SetAtSecure(child)) return CannotBeDone("AT_SECURE");
    ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

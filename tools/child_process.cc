// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace ferret {
namespace {

sigset_t WatchedSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int signal :
       {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCONT, SIGTSTP, SIGWINCH}) {
    sigaddset(&watched, signal);
  }
  return watched;
}

// Runs in the child. Anything here must be safe after fork.
[[noreturn]] void Exec(char* const* argv, char* const* environment, const sigset_t& mask,
                       const struct sigaction& on_child, int error_pipe) {
  sigaction(SIGCHLD, &on_child, nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvpe(argv[0], argv, environment);
  const int error = errno;
  // The pipe is empty and one int fits: the write cannot be short.
  if (write(error_pipe, &error, sizeof(error)) != sizeof(error)) _exit(126);
  _exit(127);
}

// Waits until exec has closed the pipe (0) or says why it could not happen.
int ReadStartError(int error_pipe) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(error_pipe, &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(error) ? error : 0;
}

// Stops as SIGTSTP does by itself, which is blocked here. Returns when continued.
void StopSelf() {
  sigset_t stop;
  sigset_t previous;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, &previous);
  sigprocmask(SIG_SETMASK, &previous, nullptr);
}

// Whether the command has to be told about a signal that this process got.
bool IsForCommand(const siginfo_t& signal, pid_t command) {
  // A timer set before exec: it would have gone off in the command.
  if (signal.si_signo == SIGALRM) return true;
  // From the kernel: the terminal sends to the whole group.
  if (signal.si_code > 0) return false;
  // The command speaks to its parent. An echo is not what it expects.
  return signal.si_pid != command;
}

int WaitFor(pid_t command, const sigset_t& watched) {
  for (;;) {
    siginfo_t signal;
    if (sigwaitinfo(&watched, &signal) < 0) continue;  // EINTR: stopped and continued
    if (signal.si_signo == SIGCHLD) {
      int status = 0;
      if (waitpid(command, &status, WNOHANG) == command) return status;
      continue;
    }
    if (IsForCommand(signal, command)) kill(command, signal.si_signo);
    if (signal.si_signo == SIGTSTP) StopSelf();
  }
}

// With the command gone, what ends or stops a program does that to this one again. The other signals were for the command.
sigset_t MaskAfterwards(sigset_t before) {
  for (int signal : {SIGUSR1, SIGUSR2, SIGALRM}) sigaddset(&before, signal);
  return before;
}

}  // namespace

CommandResult RunCommand(char* const* argv, char* const* environment) {
  CommandResult result;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    result.start_error = errno;
    return result;
  }
  // Blocked before the fork, so that none is missed; a blocked signal is kept even where its action is to be ignored.
  const sigset_t watched = WatchedSignals();
  sigset_t mask;
  sigprocmask(SIG_BLOCK, &watched, &mask);
  // Whoever started us may ignore SIGCHLD: then the kernel would throw the exit status away.
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  struct sigaction on_child;
  sigaction(SIGCHLD, &by_default, &on_child);

  const pid_t command = fork();
  if (command == 0) Exec(argv, environment, mask, on_child, pipe_ends[1]);
  result.start_error = command < 0 ? errno : 0;
  close(pipe_ends[1]);
  if (command > 0) {
    result.start_error = ReadStartError(pipe_ends[0]);
    result.wait_status = WaitFor(command, watched);
  }
  close(pipe_ends[0]);
  const sigset_t afterwards = MaskAfterwards(mask);
  sigprocmask(SIG_SETMASK, &afterwards, nullptr);
  return result;
}

void ExitAs(int wait_status) {
  if (WIFEXITED(wait_status)) exit(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  // The command's core is the one of interest.
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  exit(128 + signal);
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/finding.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/memory_meter.h"

// There under sanitizers only.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace ferret::fuzz {
namespace {

constexpr size_t kMostShown = 256;
constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM};

const uint8_t* input = nullptr;
size_t input_size = 0;
char path[4096] = "finding";
char signal_stack[64 * 1024];  // what overflowed may be the other one

void Write(const char* text, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDERR_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<size_t>(written);
  }
}
void Write(const char* text) { Write(text, strlen(text)); }

// Nothing here allocates: the heap may be what is broken.
void SaveInput() {
  MemoryMeter::End();
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  size_t done = 0;
  while (file >= 0 && done < input_size) {
    const ssize_t written = write(file, input + done, input_size - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  if (file >= 0) close(file);
  Write("fuzz: the input is in ");
  Write(path);
  Write("\nfuzz: it begins \"");
  for (size_t i = 0; i < input_size && i < kMostShown; ++i) {
    char shown[8];
    const bool plain = input[i] >= ' ' && input[i] < 0x7f && input[i] != '"' && input[i] != '\\';
    snprintf(shown, sizeof(shown), plain ? "%c" : "\\x%02x", input[i]);
    Write(shown);
  }
  Write("\"\n");
}

void OnDeath() {
  Write("fuzz: FINDING: a sanitizer's error, above\n");
  SaveInput();
}

void OnSignal(int number) {
  Write("fuzz: FINDING: ");
  Write(strsignal(number));
  Write("\n");
  SaveInput();
  _exit(kFindingStatus);
}

}  // namespace

void WatchForCrashes(const std::string& folder) {
  snprintf(path, sizeof(path), "%s/finding-%d", folder.c_str(), static_cast<int>(getpid()));
  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof(signal_stack);
  const bool sanitized = __sanitizer_set_death_callback != nullptr;
  if (sanitized) __sanitizer_set_death_callback(OnDeath);
  else sigaltstack(&stack, nullptr);
  for (const int number : kSignals) {
    // A sanitizer says more of these.
    if (sanitized && number != SIGABRT && number != SIGTERM) continue;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
}

void SetCurrentInput(const uint8_t* data, size_t size) {
  input = data;
  input_size = size;
}

void ReportFinding(const char* what) {
  Write("fuzz: FINDING: ");
  Write(what);
  Write("\n");
  SaveInput();
  _exit(kFindingStatus);
}

}  // namespace ferret::fuzz

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that loads libraries as its arguments say and prints one line for each:
//
//     open NAME           by itself
//     via CALLER NAME     by a function of the library CALLER
//     threads NAME        by 8 threads at once
//     error NAME          must fail, and dlerror must speak of NAME

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void* OpenInThread(void* name) { return dlopen(name, RTLD_NOW); }

static void* OpenInThreads(char* name) {
  pthread_t threads[8];
  void* handle = NULL;
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, OpenInThread, name);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], &handle);
  return handle;
}

static void* OpenVia(const char* caller, const char* name) {
  void* library = dlopen(caller, RTLD_NOW);
  if (library == NULL) return NULL;
  void* (*open_for)(const char*) = (void* (*)(const char*))dlsym(library, "open_for");
  return open_for == NULL ? NULL : open_for(name);
}

int main(int argc, char** argv) {
  int failures = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* how = argv[i];
    void* handle = NULL;
    errno = 77;
    if (strcmp(how, "open") == 0) {
      handle = dlopen(argv[i + 1], RTLD_NOW);
    } else if (strcmp(how, "threads") == 0) {
      handle = OpenInThreads(argv[i + 1]);
    } else if (strcmp(how, "via") == 0 && i + 2 < argc) {
      handle = OpenVia(argv[i + 1], argv[i + 2]);
      ++i;
    } else if (strcmp(how, "error") == 0) {
      const int failed = dlopen(argv[i + 1], RTLD_NOW) == NULL;
      const char* error = dlerror();
      if (failed && error != NULL && strstr(error, argv[i + 1]) != NULL) handle = argv;
    }
    if (handle == NULL) ++failures;
    const char* error = handle == NULL ? dlerror() : NULL;
    printf("%s %s\n", handle != NULL ? "ok" : "failed", error != NULL ? error : argv[i + 1]);
  }
  return failures;
}

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// tls_program FOLDER LIBRARY HOG...: loads the hogs under as many names as there is static thread-local room for, and then
// the library. Prints what the loader says, or that it is loaded, and on how many of three threads it could record.

#include <dlfcn.h>
#include <stdio.h>

#include <filesystem>
#include <string>
#include <thread>

int main(int count, char** arguments) {
  int hogs = 0;
  for (int i = 3; i < count; ++i) {
    for (;;) {
      const std::string copy = std::string(arguments[1]) + "/hog" + std::to_string(++hogs) + ".so";
      std::filesystem::copy_file(arguments[i], copy);
      if (dlopen(copy.c_str(), RTLD_NOW) == nullptr) break;
    }
  }
  void* const library = dlopen(arguments[2], RTLD_NOW);
  printf("%s\n", library == nullptr ? dlerror() : "loaded");
  if (library == nullptr) return 1;
  auto* const record = reinterpret_cast<int (*)()>(dlsym(library, "tls_record"));
  if (record == nullptr) return 0;
  int recorded = record();
  for (int i = 0; i < 2; ++i) std::thread([&] { recorded += record(); }).join();
  printf("recorded on %d\n", recorded);
  return 0;
}

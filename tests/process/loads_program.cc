// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that loads and unloads libraries that record, as its arguments say, and then exits with 7:
//
//     open PATH      dlopen
//     record COUNT   the library that was opened last records so many scopes
//     thread COUNT   the same, on a thread that ends
//     hold COUNT     the same, on a thread that ends with `release`
//     release
//     start TARGET   the library starts a session, and the error is printed
//     close          dlclose, and whether the library is still there is printed
//
// With LINKED it has Ferret in itself, and `own COUNT` records there.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "ferret/c_api.h"

#if defined(LINKED)
#include "ferret/scope.h"
#endif

namespace {

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// By the library's own function; or through Ferret's, if the library is that one.
std::function<void(int)> Recorder(void* library) {
  if (auto* const record = Find<void(int)>(library, "plug_record")) return record;
  auto* const begin = Find<ferret_scope(const char*, size_t)>(library, "ferret_scope_begin");
  auto* const end = Find<void(ferret_scope)>(library, "ferret_scope_end");
  return [=](int count) {
    for (int i = 0; i < count; ++i) end(begin("from libferret", FERRET_STRLEN));
  };
}

}  // namespace

int main(int count, char** arguments) {
  void* library = nullptr;
  std::string path;
  std::function<void(int)> record;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::vector<std::thread> held;
  for (int i = 1; i < count; ++i) {
    const std::string what = arguments[i];
    const char* const how = i + 1 < count ? arguments[i + 1] : "";
    i += what != "release" && what != "close";
    if (what == "open") {
      path = how;
      library = dlopen(how, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        printf("%s\n", dlerror());
        return 8;
      }
      record = Recorder(library);
    } else if (what == "record") {
      record(atoi(how));
    } else if (what == "thread") {
      std::thread(record, atoi(how)).join();
    } else if (what == "hold") {
      std::promise<void> recorded;
      held.emplace_back([&recorded, released, record, how] {
        record(atoi(how));
        recorded.set_value();
        released.wait();
      });
      recorded.get_future().wait();
    } else if (what == "release") {
      release.set_value();
      for (std::thread& thread : held) thread.join();
    } else if (what == "start") {
      auto* const start = Find<int(const char*, char*, size_t)>(library, "plug_start");
      char error[1000] = "";
      start(how, error, sizeof(error));
      printf("start \"%s\"\n", error);
    } else if (what == "close") {
      dlclose(library);
      printf("%s\n", dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr ? "unloaded" : "stays");
#if defined(LINKED)
    } else if (what == "own") {
      for (int n = 0; n < atoi(how); ++n) { FERRET_SCOPE("from the program"); }
#endif
    } else {
      return 9;
    }
  }
  return 7;
}

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records everything that has a name, once under each name that it reads from standard input: four bytes of length,
// little-endian, then the bytes of the name.

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "ferret/scope.h"

namespace {

bool ReadName(std::string* name) {
  unsigned char size[4];
  if (std::fread(size, 1, sizeof(size), stdin) != sizeof(size)) return false;
  name->resize(size[0] | size[1] << 8 | size[2] << 16 | static_cast<size_t>(size[3]) << 24);
  return std::fread(name->data(), 1, name->size(), stdin) == name->size();
}

void Record(const std::string& name) {
  ferret::SetThreadName(name);
  ferret::Scope scope(name);
  ferret::Annotation annotation(name);
  ferret::OpScope op(name, ferret::ForwardOp(1));
  ferret::EndAsync(ferret::BeginAsync(name));
  ferret::Instant(name);
  ferret::Counter(name, 0.5);
}

}  // namespace

int main() {
  std::string name;
  // A thread for each, so that each thread has one name for all of its life.
  while (ReadName(&name)) std::thread(Record, name).join();
}

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A target with a fault of every kind that the driver must find, each behind something that only coverage, comparisons or
// the dictionary lead to. PLANTED_FAULT says which one is there.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

uint32_t NumberAt(const uint8_t* data) {
  uint32_t number;
  std::memcpy(&number, data, sizeof(number));
  return number;
}

std::vector<char>* kept = nullptr;
volatile uint64_t sink = 0;
volatile uintptr_t address = 8;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const kFault = getenv("PLANTED_FAULT");
  if (size < 12 || kFault == nullptr) return 0;
  switch (kFault[0]) {
    case 'a':  // two numbers that no chance finds
      if (NumberAt(data + 4) == 0xfe44e7a1) {
        sink = sink + 1;  // two branches, not one of both conditions
        if (NumberAt(data + 8) == 0x19283746) std::abort();
      }
      break;
    case 'w':  // work
      if (NumberAt(data + 4) == 0x0badcafe) {
        for (uint64_t i = 0; i < uint64_t{1} << 40; ++i) sink = sink + i;
      }
      break;
    case 'm':  // memory, as much as the input says
      if (data[1] == 'e') sink = std::vector<char>(NumberAt(data + 4)).size();
      break;
    case 'l':  // memory that is left behind
      if (data[1] == 'e' && data[2] == 'a') kept = new std::vector<char>(100);
      break;
    case 'd':  // a word
      if (std::string_view(reinterpret_cast<const char*>(data), size).find("xyzzy plugh") != std::string_view::npos) {
        std::abort();
      }
      break;
    case 's':  // a wrong address
      if (NumberAt(data + 4) == 0x600dadd5) *reinterpret_cast<char*>(address) = 1;
      break;
  }
  return 0;
}

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// As FIPS 180-4 has it.

#include "exporters/otlp/resource/sha1.h"

#include <cstddef>
#include <string>

namespace ferret::otlp {
namespace {

constexpr size_t kBlockBytes = 64;
using State = std::array<uint32_t, 5>;

uint32_t RotateLeft(uint32_t x, int by) { return x << by | x >> (32 - by); }

void AddBlock(const char* block, State* state) {
  uint32_t words[80];
  for (int t = 0; t < 16; ++t) {
    words[t] = 0;
    for (int i = 0; i < 4; ++i) words[t] = words[t] << 8 | static_cast<uint8_t>(block[4 * t + i]);
  }
  for (int t = 16; t < 80; ++t) words[t] = RotateLeft(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);

  auto [a, b, c, d, e] = *state;
  for (int t = 0; t < 80; ++t) {
    uint32_t f, k;
    if (t < 20) {
      f = (b & c) | (~b & d), k = 0x5a827999;
    } else if (t < 40) {
      f = b ^ c ^ d, k = 0x6ed9eba1;
    } else if (t < 60) {
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d, k = 0xca62c1d6;
    }
    const uint32_t next = RotateLeft(a, 5) + f + e + k + words[t];
    e = d, d = c, c = RotateLeft(b, 30), b = a, a = next;
  }
  const State added = {a, b, c, d, e};
  for (size_t i = 0; i < added.size(); ++i) (*state)[i] += added[i];
}

}  // namespace

std::array<uint8_t, 20> Sha1(std::string_view text) {
  // A one bit, zeros up to a whole block, and the length in bits in its last eight bytes.
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % kBlockBytes != kBlockBytes - 8) padded += '\0';
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);

  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t at = 0; at < padded.size(); at += kBlockBytes) AddBlock(padded.data() + at, &state);
  std::array<uint8_t, 20> digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace ferret::otlp

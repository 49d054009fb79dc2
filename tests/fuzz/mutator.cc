// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferret::fuzz {
namespace {

// Where arithmetic goes wrong, at any width.
constexpr uint64_t kNumbers[] = {0,          1,           2,        7,           8,           16,           64,
                                 100,        127,         128,      255,         256,         1000,         4096,
                                 0x7fff,     0x8000,      0xffff,   0x10000,     0x7fffffff,  0x80000000,   0xffffffff,
                                 1ull << 32, 1ull << 53,  1ull << 62, (1ull << 63) - 1, 1ull << 63, ~0ull, ~0ull - 1};
constexpr absl::string_view kDecimals[] = {"0",  "-1", "1e999", "9223372036854775807", "-9223372036854775808",
                                           "18446744073709551616", "0.0000001", "00", "65536", "4294967296"};

uint64_t ReadNumber(const std::string& input, size_t at, size_t bytes) {
  uint64_t number = 0;
  std::memcpy(&number, input.data() + at, bytes);
  return number;
}

void WriteNumber(std::string* input, size_t at, size_t bytes, uint64_t number) {
  std::memcpy(&(*input)[at], &number, bytes);
}

// Of what is between the quotes: \\, \" and \xNN, of exactly two digits; other than in C, more may follow.
bool Unescape(absl::string_view text, std::string* word) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      word->push_back(text[i]);
    } else if (i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == '"')) {
      word->push_back(text[++i]);
    } else if (i + 3 < text.size() && text[i + 1] == 'x' && absl::ascii_isxdigit(text[i + 2]) &&
               absl::ascii_isxdigit(text[i + 3])) {
      word->append(absl::HexStringToBytes(text.substr(i + 2, 2)));
      i += 3;
    } else {
      return false;
    }
  }
  return !word->empty();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseDictionary(absl::string_view text) {
  std::vector<std::string> words;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const size_t from = line.find('"');
    const size_t to = line.rfind('"');
    std::string word;
    if (from == to || from == absl::string_view::npos ||
        !Unescape(line.substr(from + 1, to - from - 1), &word)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " of the dictionary has no text in quotes"));
    }
    words.push_back(word);
  }
  return words;
}

void Mutator::Mutate(std::string* input, const std::string& other, const std::vector<Comparison>& compared) {
  for (size_t changes = size_t{1} << Below(4); changes > 0; --changes) ChangeOnce(input, other, compared);
  if (input->size() > most_bytes_) input->resize(most_bytes_);
}

void Mutator::ChangeOnce(std::string* input, const std::string& other, const std::vector<Comparison>& compared) {
  if (input->empty()) {
    InsertText(input, other.empty() ? std::string(1, static_cast<char>(random_())) : other.substr(0, 1 + Below(64)));
    return;
  }
  const size_t at = Below(input->size());
  const size_t length = std::min(size_t{1} << Below(8), input->size() - at);
  switch (Below(14)) {
    case 0: (*input)[at] = static_cast<char>(random_()); break;
    case 1: (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8))); break;
    case 2: (*input)[at] = static_cast<char>((*input)[at] + static_cast<int>(Below(33)) - 16); break;
    case 3:
    case 4: ReplaceNumber(input); break;
    case 5:
    case 6: ReplaceCompared(input, compared); break;
    case 7:
    case 8:
      if (dictionary_.empty()) break;
      if (const std::string& word = dictionary_[Below(dictionary_.size())]; Below(2) == 0) {
        InsertText(input, word);
      } else {
        input->replace(at, std::min(word.size(), input->size() - at), word);
      }
      break;
    case 9: input->erase(at, length); break;
    case 10: InsertText(input, input->substr(at, length)); break;
    case 11:  // a piece of another one, over or between
      if (other.empty()) break;
      if (const size_t from = Below(other.size()); Below(2) == 0) {
        InsertText(input, absl::string_view(other).substr(from, length));
      } else {
        const std::string piece = other.substr(from, length);
        input->replace(at, piece.size(), piece);
      }
      break;
    case 12:
      if (Below(8) == 0) {
        input->resize(at);
      } else if (Below(8) == 0 && !other.empty()) {  // the beginning of one and the end of the other
        *input = input->substr(0, at) + other.substr(std::min(at, other.size()));
      } else {
        const size_t to = Below(input->size() - length + 1);
        std::memmove(&(*input)[to], &(*input)[at], length);
      }
      break;
    case 13: ReplaceDecimal(input); break;
  }
}

// One side of a comparison, where it is in the input, becomes the other side or a neighbour of it.
void Mutator::ReplaceCompared(std::string* input, const std::vector<Comparison>& compared) {
  if (compared.empty()) return;
  const Comparison& pair = compared[Below(compared.size())];
  const bool swap = Below(2) == 0;
  const uint64_t from = swap ? pair.b : pair.a;
  const uint64_t to = (swap ? pair.a : pair.b) + (Below(4) == 0 ? Below(3) - 1 : 0);
  // As wide as it was compared, or less: a byte that was read is compared as an int.
  for (size_t bytes = pair.bytes; bytes > 0; bytes /= 2) {
    if (bytes < 8 && bytes < pair.bytes && from >> (8 * bytes) != 0) return;
    if (input->size() < bytes) continue;
    const size_t places = input->size() - bytes + 1;
    const size_t first = Below(places);
    for (size_t i = 0; i < std::min<size_t>(places, 16384); ++i) {
      const size_t at = (first + i) % places;
      if (ReadNumber(*input, at, bytes) != from) continue;
      WriteNumber(input, at, bytes, to);
      return;
    }
  }
}

void Mutator::ReplaceNumber(std::string* input) {
  const size_t bytes = size_t{1} << Below(4);
  if (input->size() < bytes) return;
  size_t at = Below(input->size() - bytes + 1);
  // Formats align their numbers.
  if (Below(4) != 0) at -= at % bytes;
  const uint64_t old = ReadNumber(*input, at, bytes);
  switch (Below(3)) {
    case 0: WriteNumber(input, at, bytes, kNumbers[Below(std::size(kNumbers))]); break;
    case 1: WriteNumber(input, at, bytes, old + Below(65) - 32); break;
    case 2: WriteNumber(input, at, bytes, input->size() + Below(17) - 8); break;
  }
}

void Mutator::ReplaceDecimal(std::string* input) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto start = input->begin() + static_cast<std::ptrdiff_t>(Below(input->size()));
  const auto from = std::find_if(start, input->end(), is_digit);
  if (from == input->end()) return;
  const auto to = std::find_if_not(from, input->end(), is_digit);
  const absl::string_view number = kDecimals[Below(std::size(kDecimals))];
  input->replace(from, to, number.begin(), number.end());
}

void Mutator::InsertText(std::string* input, absl::string_view text) {
  if (input->size() + text.size() > most_bytes_) return;
  input->insert(Below(input->size() + 1), text.data(), text.size());
}

}  // namespace ferret::fuzz

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A text file that is written from its start to its end, of any size, with one error for all that can go wrong.

#ifndef FERRET_RUNTIME_EVENTS_TEXT_FILE_H_
#define FERRET_RUNTIME_EVENTS_TEXT_FILE_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace ferret {

class TextFile {
 public:
  explicit TextFile(const std::string& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile();

  void Write(std::string_view text);
  // Ends the file. "" if everything is in it, otherwise the path and the reason.
  std::string Close();

 private:
  const std::string path_;
  FILE* file_;
  int error_ = 0;  // errno of the first failure
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TEXT_FILE_H_

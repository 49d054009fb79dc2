// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/text_file.h"

#include <cerrno>
#include <system_error>

namespace ferret {

TextFile::TextFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "we")) {
  if (file_ == nullptr) error_ = errno;
}

TextFile::~TextFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void TextFile::Write(std::string_view text) {
  if (error_ != 0 || text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

std::string TextFile::Close() {
  if (file_ != nullptr && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  file_ = nullptr;
  return error_ == 0 ? "" : path_ + ": " + std::generic_category().message(error_);
}

}  // namespace ferret

// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/python_text.h"

#include <cstring>

namespace ferret::torch_adapter {
namespace {

void AppendUtf8(uint32_t character, std::string& out) {
  const auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xc0 | character >> 6);
    add(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    add(0xe0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  } else {
    add(0xf0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3f));
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  }
}

}  // namespace

void AppendText(const PythonText& text, std::string& out) {
  const auto* const bytes = static_cast<const char*>(text.data);
  if (bytes == nullptr) {
    out += "<unknown>";
  } else if (text.ascii) {
    out.append(bytes, text.length);
  } else {
    for (size_t i = 0; i < text.length; ++i) {
      uint32_t character = 0;  // little endian, as the machines that PyTorch runs on
      std::memcpy(&character, bytes + i * text.kind, text.kind <= sizeof(character) ? text.kind : 0);
      AppendUtf8(character, out);
    }
  }
}

}  // namespace ferret::torch_adapter

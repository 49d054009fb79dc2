// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A Python string where it lies, and as UTF-8.

#ifndef FERRET_ADAPTERS_TORCH_PYTHON_TEXT_H_
#define FERRET_ADAPTERS_TORCH_PYTHON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace ferret::torch_adapter {

// A Python string where it lies: `kind` bytes for each character.
struct PythonText {
  const void* object = nullptr;
  const void* data = nullptr;  // nullptr: not readable
  size_t length = 0;
  uint8_t kind = 1;
  bool ascii = true;
};

// Appends it in UTF-8; "<unknown>" if it is not readable.
void AppendText(const PythonText& text, std::string& out);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_PYTHON_TEXT_H_

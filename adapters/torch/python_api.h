// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the adapter uses of Python's C API, looked up at run time: it must load into a process that has no Python.

#ifndef FERRET_ADAPTERS_TORCH_PYTHON_API_H_
#define FERRET_ADAPTERS_TORCH_PYTHON_API_H_

#include <cstddef>
#include <string>
#include <vector>

namespace ferret::torch_adapter {

using Object = void;  // PyObject and what begins like one

// Under the names of the functions, without the prefixes.
struct PythonApi {
  const char* (*GetVersion)();
  int (*IsInitialized)();
  int (*GilEnsure)();
  void (*GilRelease)(int);
  const char* (*GilThisThreadState)();
  Object* (*GetFrame)();  // borrowed
  Object* (*FrameGetCode)(Object*);
  Object* (*FrameGetBack)(Object*);
  Object* (*GetAttribute)(Object*, const char*);
  const char* (*AsUtf8)(Object*, std::ptrdiff_t*);
  long (*AsLong)(Object*);
  Object* (*SysGetObject)(const char*);  // borrowed
  std::ptrdiff_t (*ListSize)(Object*);
  Object* (*ListGetItem)(Object*, std::ptrdiff_t);  // borrowed
  void (*DecRef)(Object*);
  void (*ErrClear)();
  const void* code_type;
};

// False if one of them is not in the process.
bool FindApi(PythonApi& api);

class HoldGil {
 public:
  explicit HoldGil(const PythonApi& api) : api_(api), state_(api.GilEnsure()) {}
  ~HoldGil() { api_.GilRelease(state_); }
  HoldGil(const HoldGil&) = delete;
  HoldGil& operator=(const HoldGil&) = delete;

 private:
  const PythonApi& api_;
  const int state_;
};

// The attribute as text; a number as its digits. Holds the GIL.
std::string Attribute(const PythonApi& api, Object* object, const char* name);

// The folders that modules are imported from (sys.path), absolute, with a slash at their ends, the longest first.
// Takes the GIL.
std::vector<std::string> ImportFolders(const PythonApi& api);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_PYTHON_API_H_

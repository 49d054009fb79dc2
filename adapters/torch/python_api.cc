// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/python_api.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace ferret::torch_adapter {
namespace {

template <typename Function>
bool Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

bool FindApi(PythonApi& api) {
  api.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  return api.code_type != nullptr && Find("Py_GetVersion", api.GetVersion) &&
         Find("Py_IsInitialized", api.IsInitialized) && Find("PyGILState_Ensure", api.GilEnsure) &&
         Find("PyGILState_Release", api.GilRelease) &&
         Find("PyGILState_GetThisThreadState", api.GilThisThreadState) && Find("PyEval_GetFrame", api.GetFrame) &&
         Find("PyFrame_GetCode", api.FrameGetCode) && Find("PyFrame_GetBack", api.FrameGetBack) &&
         Find("PyObject_GetAttrString", api.GetAttribute) && Find("PyUnicode_AsUTF8AndSize", api.AsUtf8) &&
         Find("PyLong_AsLong", api.AsLong) && Find("PySys_GetObject", api.SysGetObject) &&
         Find("PyList_Size", api.ListSize) && Find("PyList_GetItem", api.ListGetItem) &&
         Find("Py_DecRef", api.DecRef) && Find("PyErr_Clear", api.ErrClear);
}

std::string Attribute(const PythonApi& api, Object* object, const char* name) {
  Object* const value = api.GetAttribute(object, name);
  std::string text;
  if (value != nullptr) {
    std::ptrdiff_t length = 0;
    const char* const characters = api.AsUtf8(value, &length);
    if (characters != nullptr) {
      text.assign(characters, static_cast<size_t>(length));
    } else {
      api.ErrClear();
      text = std::to_string(api.AsLong(value));
    }
    api.DecRef(value);
  }
  api.ErrClear();
  return text;
}

std::vector<std::string> ImportFolders(const PythonApi& api) {
  std::vector<std::string> folders;
  const HoldGil gil(api);
  Object* const list = api.SysGetObject("path");
  const std::ptrdiff_t count = list == nullptr ? -1 : api.ListSize(list);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const char* const folder = api.AsUtf8(api.ListGetItem(list, i), nullptr);
    if (folder == nullptr) continue;
    std::error_code error;
    std::string path = std::filesystem::absolute(*folder == '\0' ? "." : folder, error).lexically_normal().string();
    if (error || path.empty()) continue;
    if (path.back() != '/') path += '/';
    folders.push_back(path);
  }
  api.ErrClear();
  std::sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

}  // namespace ferret::torch_adapter

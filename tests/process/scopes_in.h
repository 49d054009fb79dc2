// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How many scopes of each name a Chrome trace has.

#ifndef FERRET_TESTS_PROCESS_SCOPES_IN_H_
#define FERRET_TESTS_PROCESS_SCOPES_IN_H_

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <map>
#include <string>

#include "tests/tools/program.h"

namespace ferret {

using Scopes = std::map<std::string, int>;

// Fails the test when the file is not one value in strict JSON.
inline Scopes ScopesIn(const std::string& file) {
  rapidjson::Document document;
  const std::string text = ReadFile(file);
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  Scopes scopes;
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("traceEvents")) {
    ADD_FAILURE() << file << " is no trace: " << text.substr(0, 1000);
    return scopes;
  }
  for (const rapidjson::Value& event : document["traceEvents"].GetArray()) {
    const bool is_scope = event["ph"] == "X" && event.HasMember("cat") && event["cat"] == "cpu_op";
    if (is_scope) ++scopes[event["name"].GetString()];
  }
  return scopes;
}

}  // namespace ferret

#endif  // FERRET_TESTS_PROCESS_SCOPES_IN_H_

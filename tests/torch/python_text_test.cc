// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/python_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace ferret::torch_adapter {
namespace {

// The characters as Python keeps them, in the units of the string's kind.
template <typename Unit, size_t kSize>
std::string Utf8Of(const Unit (&characters)[kSize], bool ascii = false) {
  PythonText text;
  text.object = text.data = characters;
  text.length = kSize - 1;  // less the zero
  text.kind = sizeof(Unit);
  text.ascii = ascii;
  std::string out = "> ";
  AppendText(text, out);
  return out;
}

TEST(PythonText, OfEveryKindBecomesUtf8) {
  EXPECT_EQ(Utf8Of("forward", true), "> forward");
  const unsigned char latin[] = "na\xefve";
  EXPECT_EQ(Utf8Of(latin), "> na\xc3\xafve");
  EXPECT_EQ(Utf8Of(u"\u540d\u00efx"), "> \xe5\x90\x8d\xc3\xafx");
  EXPECT_EQ(Utf8Of(U"\U0001f600\u540dx"), "> \xf0\x9f\x98\x80\xe5\x90\x8dx");
}

TEST(PythonText, ThatIsEmptyOrNotReadableIsNotRead) {
  EXPECT_EQ(Utf8Of("", true), "> ");
  std::string out;
  AppendText(PythonText{}, out);
  EXPECT_EQ(out, "<unknown>");
}

}  // namespace
}  // namespace ferret::torch_adapter

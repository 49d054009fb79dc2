// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Random metrics for other programs to read: write_metric_requests FOLDER writes N.binpb and N.json, the same request
// in both forms.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/otlp/decoded_metrics.h"
#include "tests/otlp/random_metrics.h"

int main(int argc, char** argv) {
  using namespace ferret::otlp;
  if (argc != 2) {
    std::fputs("usage: write_metric_requests FOLDER\n", stderr);
    return 2;
  }
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Form form : {Form::kProtobuf, Form::kJson}) {
      const RandomMetrics random(seed, form);
      const auto requests = EncodeMetrics(form, random.metrics());
      if (requests.size() != 1) std::abort();
      const char* const suffix = form == Form::kJson ? ".json" : ".binpb";
      std::ofstream(std::string(argv[1]) + "/" + std::to_string(seed) + suffix, std::ios::binary) << requests[0].bytes;
    }
  }
  return 0;
}

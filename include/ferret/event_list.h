// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventList: the function events of a run, with their tree and everything that torch.autograd.profiler_util.EventList
// computes from them. (Interface under construction: see runtime/events.)
#ifndef FERRET_EVENT_LIST_H_
#define FERRET_EVENT_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ferret/function_event.h"

namespace ferret {

class EventList {
 public:
  struct Config {
    int64_t start_ns = 0;                       // what time ranges are relative to, Unix ns
    DeviceType use_device = DeviceType::kCpu;   // kCpu: PyTorch's None
    bool profile_memory = false;
    bool with_flops = false;
  };
};

}  // namespace ferret

#endif  // FERRET_EVENT_LIST_H_

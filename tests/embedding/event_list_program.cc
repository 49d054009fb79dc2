// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that looks at its own events, built by a plain compiler: every function of events and lists is linked.

#include <cstdio>
#include <string>

#include "ferret/collected_events.h"
#include "ferret/scope.h"
#include "ferret/scope_details.h"
#include "ferret/session.h"

static bool Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return false;
}

static bool Record() {
  if (const std::string error = ferret::Start("memory"); !error.empty()) return Fail(error);
  {
    FERRET_ANNOTATION("step");
    FERRET_OP_SCOPE("aten::mm", ferret::ForwardOp(1));
    ferret::Attach(ferret::ScopeDetails().Tensor("float", {2, 3}).Tensor("float", {3, 4}));
  }
  const std::string error = ferret::Stop();
  return error.empty() || Fail(error);
}

static bool Look(const ferret::EventList& list) {
  ferret::AverageOptions options;
  options.group_by_input_shapes = options.group_by_overload_name = true;
  options.group_by_stack_n = 1;
  const ferret::EventAverages averages = list.key_averages(options);
  ferret::TableOptions table;
  table.sort_by = "cpu_time_total";
  std::string error;
  std::printf("%s\n%s\n", averages.table(table, &error).c_str(), list.table(table, &error).c_str());
  if (!error.empty()) return Fail(error);
  if (averages.total_average().count != list.total_average().count) return Fail("sums differ");
  if (list.self_cpu_time_total() != averages.self_cpu_time_total()) return Fail("self times differ");
  for (const std::string& failed :
       {list.export_chrome_trace("list.json"), list.export_stacks("stacks.txt", "self_cpu_time_total"),
        averages.export_stacks("stacks.txt", "self_cpu_time_total")}) {
    if (!failed.empty()) return Fail(failed);
  }
  size_t seen = 0;
  for (const ferret::FunctionEvent& event : list) {
    seen += event.ToString().size() + event.inputs().size() + event.input_shapes().size() +
            event.structured_input_shapes().size() + event.structured_input_strides().size() +
            event.input_dtypes().size() + event.concrete_inputs().size() + event.kwinputs().size() +
            event.overload_name().size() + event.stack().size() + event.module_hierarchy().size() +
            event.extra_meta().size() + event.metadata().size() + event.kernels().size() + event.cpu_children().size() +
            static_cast<size_t>(event.node_id() + 1) + static_cast<size_t>(event.is_remote()) +
            static_cast<size_t>(event.device_time_total() + event.self_device_time_total());
  }
  for (const ferret::FunctionEventAvg& row : averages) seen += row.ToString().size() + row.cpu_children().size();
  return seen > 0 || Fail("no events");
}

int main() {
  if (!Record()) return 1;
  ferret::CollectedEvents run = ferret::TakeCollectedEvents();
  if (!Look(run.events)) return 1;
  ferret::EventList made;
  ferret::FunctionEventFields fields;
  fields.name = "made";
  fields.end_us = 10;
  ferret::FunctionEvent& parent = ferret::MakeFunctionEvent(made, fields);
  fields.end_us = 5;
  ferret::FunctionEvent& child = ferret::MakeFunctionEvent(made, fields);
  if (!made.append_kernel(child, "kernel", 0, 1).empty() || !made.append_cpu_child(parent, child).empty() ||
      !made.set_cpu_parent(child, parent).empty()) {
    return 1;
  }
  made.AddMemory(ferret::MemoryEvent());
  made.DetailsOf(parent).trace_name = made.Intern("made by hand");
  made.Build();
  return made.size() == 1 && parent.kernels().size() == 1 ? 0 : 1;
}

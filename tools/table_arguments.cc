// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/table_arguments.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/events/sort_key.h"

namespace ferret {
namespace {

using Set = std::function<bool(TableRequest* request, const std::string& value)>;

struct Option {
  const char* name;
  const char* value;  // what it is called in the text, null for none
  Set set;            // false: not a value that the option can have
  const char* allowed;
};

template <typename T>
bool ParseCount(const std::string& text, int64_t least, T* value) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > INT32_MAX) return false;
  *value = static_cast<T>(number);
  return true;
}

Set Width(std::optional<size_t> TableOptions::*member) {
  return [member](TableRequest* request, const std::string& value) {
    size_t width = 0;
    if (!ParseCount(value, 1, &width)) return false;
    request->table.*member = width;
    return true;
  };
}

template <typename Group, typename Member>
Set Flag(Group TableRequest::*group, Member Group::*member, bool to) {
  return [group, member, to](TableRequest* request, const std::string&) {
    request->*group.*member = to;
    return true;
  };
}

const std::vector<Option>& Options() {
  static const auto* const kOptions = new std::vector<Option>{
      {"--json", nullptr, [](TableRequest* r, const std::string&) { return r->json = true; }, ""},
      {"--sort-by", "KEY",
       [](TableRequest* r, const std::string& value) {
         r->table.sort_by = value == "none" ? "" : value;
         return value == "none" || FindSortKey(value) != nullptr;
       },
       nullptr},
      {"--row-limit", "N",
       [](TableRequest* r, const std::string& value) {
         int64_t limit = 0;
         if (!ParseCount(value, -1, &limit)) return false;
         r->row_limit = limit;
         return true;
       },
       "a number of rows, or -1 for all"},
      {"--group-by-input-shapes", nullptr,
       Flag(&TableRequest::averages, &AverageOptions::group_by_input_shapes, true), ""},
      {"--group-by-stack", "N",
       [](TableRequest* r, const std::string& value) { return ParseCount(value, 0, &r->averages.group_by_stack_n); },
       "a number of frames"},
      {"--group-by-overload-name", nullptr,
       Flag(&TableRequest::averages, &AverageOptions::group_by_overload_name, true), ""},
      {"--no-python-functions", nullptr,
       Flag(&TableRequest::averages, &AverageOptions::include_python_functions, false), ""},
      {"--top-level-events-only", nullptr, Flag(&TableRequest::table, &TableOptions::top_level_events_only, true), ""},
      {"--time-unit", "UNIT",
       [](TableRequest* r, const std::string& value) {
         r->table.time_unit = value;
         return value == "s" || value == "ms" || value == "us";
       },
       "s, ms or us"},
      {"--header", "TEXT",
       [](TableRequest* r, const std::string& value) {
         r->table.header = value;
         return true;
       },
       ""},
      {"--max-name-column-width", "N", Width(&TableOptions::max_name_column_width), "a number of characters"},
      {"--max-shapes-column-width", "N", Width(&TableOptions::max_shapes_column_width), "a number of characters"},
      {"--max-src-column-width", "N", Width(&TableOptions::max_src_column_width), "a number of characters"},
  };
  return *kOptions;
}

const Option* Find(std::string_view name) {
  for (const Option& option : Options()) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

// Words on lines of at most so many characters behind an indent, each line begun with a newline.
std::string Lines(const std::string& words, size_t indent, size_t width) {
  std::string lines;
  size_t column = 0;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    const bool fits = column != 0 && column + 1 + word.size() <= width;
    absl::StrAppend(&lines, fits ? " " : "\n" + std::string(indent, ' '), word);
    column = fits ? column + 1 + word.size() : word.size();
    at = end + 1;
  }
  return lines;
}

}  // namespace

absl::StatusOr<TableRequest> ParseTableArguments(char** arguments) {
  TableRequest request;
  request.table.sort_by = "self_cpu_time_total";
  bool has_file = false;
  bool only_files = false;
  for (; *arguments != nullptr; ++arguments) {
    const std::string_view argument = *arguments;
    if (only_files || argument.size() < 2 || argument[0] != '-') {
      if (has_file) return absl::InvalidArgumentError(absl::StrCat("more than one file: ", *arguments));
      request.file = argument;
      has_file = true;
      continue;
    }
    if (argument == "--") {
      only_files = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      request.help = true;
      return request;
    }
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    const Option* const option = Find(name);
    if (option == nullptr) return absl::InvalidArgumentError(absl::StrCat("unknown option ", name));
    std::string value;
    if (option->value == nullptr) {
      if (equals != argument.npos) return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
    } else if (equals != argument.npos) {
      value = argument.substr(equals + 1);
    } else if (*++arguments == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    } else {
      value = *arguments;
    }
    if (!option->set(&request, value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": \"", value, "\" is not ",
                       option->allowed != nullptr ? option->allowed : absl::StrCat("one of: none, ", SortKeyNames())));
    }
  }
  if (!has_file) return absl::InvalidArgumentError("no file");
  return request;
}

std::string TableUsage() {
  const std::string lines = Lines(SortKeyNames(), 29, 60);
  return absl::StrCat(
      "usage: ferret table [OPTION]... FILE\n"
      "\n"
      "Prints what the events of a trace add up to, as key_averages().table() of torch.profiler\n"
      "does. FILE is a Chrome trace of Ferret's or of torch.profiler's, plain or gzipped.\n"
      "\n"
      "  --json                     rows as JSON, with times in nanoseconds\n"
      "  --sort-by KEY              largest first; \"none\" for the order of the trace. KEY is one of\n"
      "                             the following, self_cpu_time_total unless given; \"cuda\" and\n"
      "                             \"xpu\" in it stand for \"device\":",
      lines,
      "\n"
      "  --row-limit N              so many rows at most, -1 for all; 100 unless given, all as JSON\n"
      "  --group-by-input-shapes    one row for each name and shapes of inputs\n"
      "  --group-by-stack N         one row for each name and innermost N frames of the stack\n"
      "  --group-by-overload-name   one row for each name and overload\n"
      "  --no-python-functions      without Python functions\n"
      "  --top-level-events-only    only what is in no other event\n"
      "  --time-unit UNIT           s, ms or us for all times; each time its own unless given\n"
      "  --header TEXT              a line above the table\n"
      "  --max-name-column-width N, --max-shapes-column-width N, --max-src-column-width N\n"
      "                             characters of a column before it is cut: 55, 80 and 75\n"
      "\n"
      "Ends with 1 if the file cannot be read; an array of events that ends early is read as\n"
      "far as it goes.\n");
}

}  // namespace ferret

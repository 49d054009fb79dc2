// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "exporters/otlp/delivery/request_walk.h"

namespace ferret::otlp {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void SkipSpace(std::string_view* text) {
  while (!text->empty() && IsSpace(text->front())) text->remove_prefix(1);
}

bool TakeChar(char c, std::string_view* text) {
  SkipSpace(text);
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// With the quotes. Nothing if there is no string with an end.
std::string_view TakeString(std::string_view* text) {
  if (text->empty() || text->front() != '"') return {};
  for (size_t i = 1; i < text->size(); ++i) {
    if ((*text)[i] == '\\') {
      ++i;
    } else if ((*text)[i] == '"') {
      const std::string_view taken = text->substr(0, i + 1);
      text->remove_prefix(i + 1);
      return taken;
    }
  }
  return {};
}

// A value, of which only where it ends is looked at. Nothing if it has no end.
std::string_view TakeValue(std::string_view* text) {
  constexpr size_t kDeepest = 256;
  SkipSpace(text);
  const std::string_view before = *text;
  std::array<char, kDeepest> closers;
  size_t depth = 0;
  while (!text->empty()) {
    const char c = text->front();
    if (c == '"') {
      if (TakeString(text).empty()) return {};
    } else if (c == '{' || c == '[') {
      if (depth == kDeepest) return {};
      closers[depth++] = c == '{' ? '}' : ']';
      text->remove_prefix(1);
    } else if (c == '}' || c == ']') {
      if (depth == 0 || closers[--depth] != c) return {};
      text->remove_prefix(1);
    } else if (depth > 0) {
      text->remove_prefix(1);
      continue;
    } else {  // a number, true, false or null
      size_t size = 0;
      while (size < text->size() && std::string_view(",]}:\"[{ \t\n\r").find((*text)[size]) == std::string_view::npos) {
        ++size;
      }
      text->remove_prefix(size);
      return before.substr(0, size);
    }
    if (depth == 0) return before.substr(0, before.size() - text->size());
  }
  return {};
}

// Calls `take` with each element of an array or member of an object, which `text` is as a whole. `take` takes the
// element off the front of what it gets, and says whether it could.
template <typename Take>
bool ForEach(std::string_view text, char open, char close, const Take& take) {
  if (!TakeChar(open, &text)) return false;
  if (TakeChar(close, &text)) {
    SkipSpace(&text);
    return text.empty();
  }
  do {
    if (!take(&text)) return false;
  } while (TakeChar(',', &text));
  if (!TakeChar(close, &text)) return false;
  SkipSpace(&text);
  return text.empty();
}

template <typename Take>
bool ForEachElement(std::string_view array, const Take& take) {
  return ForEach(array, '[', ']', [&](std::string_view* rest) {
    const std::string_view value = TakeValue(rest);
    return !value.empty() && take(value);
  });
}

// Keys are given with their quotes.
template <typename Take>
bool ForEachMember(std::string_view object, const Take& take) {
  return ForEach(object, '{', '}', [&](std::string_view* rest) {
    SkipSpace(rest);
    const std::string_view key = TakeString(rest);
    if (key.empty() || !TakeChar(':', rest)) return false;
    const std::string_view value = TakeValue(rest);
    return !value.empty() && take(key, value);
  });
}

bool HasPoints(std::string_view key) {
  return key == "\"gauge\"" || key == "\"sum\"" || key == "\"histogram\"" || key == "\"exponentialHistogram\"" ||
         key == "\"summary\"";
}

bool CountPoints(std::string_view metric, uint64_t* points) {
  return ForEachMember(metric, [&](std::string_view kind, std::string_view data) {
    if (!HasPoints(kind)) return true;
    return ForEachMember(data, [&](std::string_view key, std::string_view list) {
      if (key != "\"dataPoints\"") return true;
      return ForEachElement(list, [&](std::string_view) {
        ++*points;
        return true;
      });
    });
  });
}

constexpr size_t kLevels = 3;
// Of a request, of what belongs to a resource, and of what belongs to a scope: the member with the list of what is one
// level further down.
constexpr std::string_view kDown[kSignalCount][kLevels] = {
    {"\"resourceSpans\"", "\"scopeSpans\"", "\"spans\""},
    {"\"resourceMetrics\"", "\"scopeMetrics\"", "\"metrics\""},
};

class Cutter {
 public:
  Cutter(Signal signal, PieceWalk* walk) : signal_(signal), walk_(walk) {}

  bool Object(std::string_view object, size_t level, std::string* out) {
    Append("{", out);
    bool first = true;
    const bool followed = ForEachMember(object, [&](std::string_view key, std::string_view value) {
      if (!first) Append(",", out);
      first = false;
      Append(key, out);
      Append(":", out);
      if (key == kDown[static_cast<size_t>(signal_)][level]) return List(value, level, out);
      Append(value, out);
      return true;
    });
    Append("}", out);
    return followed;
  }

 private:
  static void Append(std::string_view text, std::string* out) {
    if (out != nullptr) out->append(text);
  }

  bool List(std::string_view list, size_t level, std::string* out) {
    Append("[", out);
    bool first = true;
    const auto append = [&](std::string_view element) {
      if (!first) Append(",", out);
      first = false;
      Append(element, out);
    };
    const bool followed = ForEachElement(list, [&](std::string_view element) {
      if (level + 1 < kLevels) {
        const uint64_t before = walk_->pieces;
        std::string inside;
        if (!Object(element, level + 1, out == nullptr ? nullptr : &inside)) return false;
        const bool holds = before < walk_->to && walk_->pieces > walk_->from && walk_->pieces > before;
        if (holds) append(inside);
        return true;
      }
      // Both are lists of objects.
      if (element.front() != '{') return false;
      if (walk_->Keeps()) {
        uint64_t items = 1;
        if (signal_ == Signal::kMetrics) {
          items = 0;
          if (!CountPoints(element, &items)) return false;
        }
        walk_->items += items;
        append(element);
      }
      ++walk_->pieces;
      return true;
    });
    Append("]", out);
    return followed;
  }

  const Signal signal_;
  PieceWalk* const walk_;
};

}  // namespace

bool WalkJson(Signal signal, std::string_view body, PieceWalk* walk, std::string* out) {
  return Cutter(signal, walk).Object(body, 0, out);
}

}  // namespace ferret::otlp

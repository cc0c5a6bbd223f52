#include "cg/machine/processor_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace cg2d {

ProcessorSet processors_from(const std::string& list) {
  // No machine has more; a wrong text must not take all memory.
  constexpr int most_processors = 1 << 20;
  ProcessorSet processors;
  std::istringstream stream(list);
  int first = 0;
  while (stream >> first && first >= 0) {
    int last = first;
    if (stream.peek() == '-') {
      stream.ignore();
      if (!(stream >> last)) break;
    }
    for (int processor = first; processor <= std::min(last, most_processors); ++processor)
      processors.push_back(processor);
    if (stream.peek() != ',') break;
    stream.ignore();
  }
  std::ranges::sort(processors);
  processors.erase(std::unique(processors.begin(), processors.end()), processors.end());
  return processors;
}

std::string list_of(const ProcessorSet& processors) {
  std::string text;
  for (std::size_t first = 0; first < processors.size();) {
    auto last = first;
    while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", processors[first]);
    if (last > first) text += fmt::format("-{}", processors[last]);
    first = last + 1;
  }
  return text;
}

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet both;
  std::ranges::set_intersection(left, right, std::back_inserter(both));
  return both;
}

ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet all;
  std::ranges::set_union(left, right, std::back_inserter(all));
  return all;
}

}  // namespace cg2d

#include "bench/bench_flags.hpp"

#include <charconv>

#include "cg/errors.hpp"

namespace cg2d::bench {

Flags::Flags(int argument_count, char** arguments) : arguments_(arguments, arguments + argument_count) {
  arguments_.push_back(nullptr);
}

std::string Flags::take(std::string_view name, std::string_view otherwise) {
  const std::string prefix = "--" + std::string(name) + "=";
  std::string value(otherwise);
  std::erase_if(arguments_, [&](const char* argument) {
    if (argument == nullptr || !std::string_view(argument).starts_with(prefix)) return false;
    value = argument + prefix.size();
    return true;
  });
  return value;
}

int Flags::take_count(std::string_view name, int otherwise) {
  const std::string text = take(name, std::to_string(otherwise));
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    throw InputError("--" + std::string(name) + "=" + text + ": must be a whole number, at least 1");
  }
  return count;
}

std::vector<Problem> Flags::take_classes(std::string_view otherwise) {
  const std::string letters = take("classes", otherwise);
  std::vector<Problem> problems;
  for (const char letter : letters) {
    const Problem* known = find_class(std::string_view(&letter, 1));
    if (known == nullptr) {
      throw InputError("--classes=" + letters + ": must be letters of S, W, A, B, C, D, E, F, such as SWA");
    }
    problems.push_back(*known);
  }
  return problems;
}

void Flags::require_nothing_left() const {
  if (arguments_.size() > 2) throw InputError(std::string(arguments_[1]) + ": unknown flag");
}

}  // namespace cg2d::bench

#include "bench/bench_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "comm/mpi_handles.hpp"

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

std::string Flags::take_choice(std::string_view name, std::initializer_list<std::string_view> words) {
  auto word = take(name, *words.begin());
  if (std::ranges::find(words, word) == words.end())
    throw InputError("--{}={}: must be one of {}", name, word, fmt::join(words, ", "));
  return word;
}

bool Flags::take_switch(std::string_view name) {
  const std::string flag = "--" + std::string(name);
  return std::erase_if(arguments_,
                       [&](const char* argument) { return argument != nullptr && argument == flag; }) > 0;
}

std::optional<int> Flags::take_number(std::string_view name, int least) {
  const size_t before = arguments_.size();
  const std::string text = take(name, "");
  if (arguments_.size() == before) return std::nullopt;  // not given, which is not the same as given empty
  const auto number = number_from<int>(text);
  if (!number || *number < least)
    throw InputError("--{}={}: must be a whole number, at least {}", name, text, least);
  return number;
}

int Flags::take_count(std::string_view name, int otherwise) {
  return take_number(name, 1).value_or(otherwise);
}

kernels::Tuning Flags::take_tuning() {
  const kernels::Tuning tuning{.critical_vector_length = take_number("cvl", 0),
                               .prefetch_distance = take_number("prefetch", 0),
                               .block_width = take_number("block-width", 1)};
  if (tuning.block_width && !kernels::is_block_width(*tuning.block_width))
    throw InputError("--block-width={}: must be a power of two from 64 to 65536", *tuning.block_width);
  return tuning;
}

std::vector<Problem> Flags::take_classes(std::string_view otherwise) {
  const std::string letters = take("classes", otherwise);
  std::vector<Problem> problems;
  for (const char letter : letters) {
    const Problem* known = find_class(std::string_view(&letter, 1));
    if (known == nullptr)
      throw InputError("--classes={}: must be letters of S, W, A, B, C, D, E, F, such as SWA", letters);
    problems.push_back(*known);
  }
  return problems;
}

void Flags::require_nothing_left() const {
  if (arguments_.size() > 2) throw InputError("{}: unknown flag", arguments_[1]);
}

int run_program(std::string_view name, int argument_count, char** arguments, int (*run)(Flags& flags)) {
  auto code = ExitCode::internal;
  std::string reason;
  try {
    Flags flags(argument_count, arguments);
    return run(flags);
  } catch (const RunError& error) {
    code = error.code();
    reason = error.what();
  } catch (const std::bad_alloc&) {
    code = ExitCode::memory;
    reason = "not enough memory";
  } catch (const std::exception& error) {
    reason = error.what();
  }
  fmt::print(stderr, "{}: {}\n", name, reason);
  return static_cast<int>(code);
}

int run_ranks(std::string_view name, int argument_count, char** arguments,
              void (*run)(Flags& flags, comm::RankGroup& group)) {
  const comm::MpiSession session(argument_count, arguments);
  comm::RankGroup group(MPI_COMM_WORLD);
  try {
    Flags flags(argument_count, arguments);
    run(flags, group);
  } catch (const RunError& error) {
    if (group.rank() == 0) fmt::print(stderr, "{}: {}\n", name, error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}

}  // namespace cg2d::bench

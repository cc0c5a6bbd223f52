#pragma once

// The few flags of the measuring programs: --name=value, taken out before Google Benchmark reads the rest.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "comm/rank_group.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::bench {

/// A command line from which flags are taken.
class Flags {
 public:
  Flags(int argument_count, char** arguments);

  /// Takes "--<name>=<value>" out and returns its value, or `otherwise`; the last one counts.
  std::string take(std::string_view name, std::string_view otherwise);
  /// Takes a flag whose value is one of some words; the first word is the default. Throws InputError.
  std::string take_choice(std::string_view name, std::initializer_list<std::string_view> words);
  /// Takes "--<name>", without a value; whether it was there.
  bool take_switch(std::string_view name);
  /// Takes a flag whose value is a whole number >= 1. Throws InputError.
  int take_count(std::string_view name, int otherwise);
  /// Takes a flag whose value is the letters of problem classes, such as "SWA". Throws InputError.
  std::vector<Problem> take_classes(std::string_view otherwise);

  /// --cvl, --prefetch and --block-width of the kernels; options that are not given are empty. Throws
  /// InputError.
  kernels::Tuning take_tuning();

  /// The remaining arguments, the program's name first; terminated by a null pointer, as argv is.
  [[nodiscard]] std::span<char*> rest() { return std::span(arguments_).first(arguments_.size() - 1); }
  /// Throws InputError when arguments are left.
  void require_nothing_left() const;

 private:
  std::optional<int> take_number(std::string_view name, int least);

  std::vector<char*> arguments_;
};

/// Body of main() of a measuring program: returns the exit code of `run`. An exception is printed as one line
/// on stderr and gives its own exit code.
int run_program(std::string_view name, int argument_count, char** arguments, int (*run)(Flags& flags));
/// The same of a program of several ranks, which all throw the same RunError: rank 0 prints it.
int run_ranks(std::string_view name, int argument_count, char** arguments,
              void (*run)(Flags& flags, comm::RankGroup& group));

}  // namespace cg2d::bench

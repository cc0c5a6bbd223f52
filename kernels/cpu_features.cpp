#include "kernels/cpu_features.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>

namespace cg2d::kernels {
namespace {

InstructionSet widest_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The vector-length and byte/word parts come with every processor that is worth the 512-bit loops.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return InstructionSet::avx2;
#endif
  return InstructionSet::portable;
}

std::vector<InstructionSet> up_to(InstructionSet widest, std::span<const InstructionSet> sets) {
  std::vector<InstructionSet> found;
  std::ranges::copy_if(sets, std::back_inserter(found), [&](InstructionSet set) { return set <= widest; });
  return found;
}

}  // namespace

std::string requested_instruction_set() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
  const char* const name = std::getenv(instruction_set_variable);
  return name == nullptr ? "" : name;
}

std::optional<InstructionSet> named_instruction_set() {
  static const auto named = []() -> std::optional<InstructionSet> {
    const auto sets = processor_instruction_sets();
    const auto name = requested_instruction_set();
    const auto found = std::ranges::find_if(sets, [&](InstructionSet set) { return name_of(set) == name; });
    return found == sets.end() ? std::nullopt : std::optional(*found);
  }();
  return named;
}

std::vector<InstructionSet> processor_instruction_sets() {
  return up_to(widest_of_processor(), all_instruction_sets);
}

InstructionSet widest_instruction_set() {
  static const auto widest = named_instruction_set().value_or(widest_of_processor());
  return widest;
}

InstructionSet fastest_gathering_instruction_set() {
  const auto widest = widest_instruction_set();
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") && widest >= InstructionSet::fma) return InstructionSet::fma;
#endif
  return widest;
}

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::fma:
      return "fma";
    case InstructionSet::portable:
      break;
  }
  return "portable";
}

std::vector<InstructionSet> of_this_processor(std::span<const InstructionSet> sets) {
  return up_to(widest_instruction_set(), sets);
}

InstructionSet choose_instruction_set(const std::optional<InstructionSet>& wanted,
                                      const std::vector<InstructionSet>& available,
                                      InstructionSet (*preferred)()) {
  if (!wanted) return preferred();
  if (std::ranges::find(available, *wanted) == available.end()) {
    throw std::invalid_argument("no loop for " + std::string(name_of(*wanted)) + " on this processor");
  }
  return *wanted;
}

}  // namespace cg2d::kernels

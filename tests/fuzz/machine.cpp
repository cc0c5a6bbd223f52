// Descriptions of machines.

#include <string_view>

#include "cg/machine/machine_description.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {

bool take_machine(std::string_view input) {
  return accepts<InputError>([&] {
    const auto machine = parse_machine(input);
    promise(!machine.conditions.empty(), "a machine has at least one condition");
    promise_read_back(parse_machine, format_machine, machine);
    for (const int rank_count : {1, 7, 4096}) {
      const auto& condition = machine.for_ranks(rank_count);
      promise(!condition.kernels.empty(), "a condition has a kernel");
    }
  });
}

}  // namespace cg2d::fuzz

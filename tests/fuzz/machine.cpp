// Descriptions of machines.

#include <string>
#include <string_view>

#include "cg/machine/machine_description.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {

bool take_machine(std::string_view input) {
  return accepts<InputError>([&] {
    const auto machine = parse_machine(input);
    promise(!machine.conditions.empty(), "a machine has at least one condition");
    const auto text = format_machine(machine);
    bool is_read_back = false;
    try {
      is_read_back = format_machine(parse_machine(text)) == text;
    } catch (const InputError& error) {
      promise(false, std::string("what cg2d has written is read back, not refused: ") + error.what());
    }
    promise(is_read_back, "an accepted description can be written and read back");
    for (const int rank_count : {1, 7, 4096}) {
      const auto& condition = machine.for_ranks(rank_count);
      promise(!condition.kernels.empty(), "a condition has a kernel");
    }
  });
}

}  // namespace cg2d::fuzz

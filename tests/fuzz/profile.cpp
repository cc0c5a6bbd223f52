// The tuning profile.

#include <string>
#include <string_view>

#include "cg/tuning/tuning_profile.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {

bool take_profile(std::string_view input) {
  return accepts<InputError>([&] {
    const auto profile = parse_profile(input);
    const auto text = format_profile(profile);
    bool is_read_back = false;
    try {
      is_read_back = format_profile(parse_profile(text)) == text;
    } catch (const InputError& error) {
      promise(false, std::string("what cg2d has written is read back, not refused: ") + error.what());
    }
    promise(is_read_back, "an accepted profile can be written and read back");
  });
}

}  // namespace cg2d::fuzz

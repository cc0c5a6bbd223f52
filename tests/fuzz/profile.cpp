// The tuning profile.

#include <string_view>

#include "cg/tuning/tuning_profile.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {

bool take_profile(std::string_view input) {
  return accepts<InputError>([&] {
    const auto profile = parse_profile(input);
    promise_read_back(parse_profile, format_profile, profile);
  });
}

}  // namespace cg2d::fuzz

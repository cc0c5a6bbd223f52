#pragma once

// The part of a result's document that a feature adds.

#include <string_view>

#include "cg/base/describe.hpp"
#include "cg/run/feature_settings.hpp"

namespace cg2d {

/// The member `name`, which is what a feature found of that type; there only where the feature was used. text: its meaning.
template <typename Found, typename Describe>
void describe_section(Members& m, std::string_view name, FeatureResults& results, std::string_view text,
                      const Describe& describe_found) {
  const auto* const known = results.find<Found>();
  bool is_there = known != nullptr;
  auto found = is_there ? *known : Found{};
  m.object_if(
      is_there, name, [&] { describe_found(found); }, meaning(text));
  if (m.reads() && is_there) results.set(std::move(found));
}

}  // namespace cg2d

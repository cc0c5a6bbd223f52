#pragma once

// The names of the ways to sum over a process row, on command lines and in files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d {

/// Of runs that are not asked for another one.
inline constexpr comm::SumForm default_sum_form = comm::SumForm::reduce_scatter;

std::vector<std::string> sum_form_names();
std::string sum_form_name(comm::SumForm form);
/// Nothing for a name that is none of them.
std::optional<comm::SumForm> find_sum_form(std::string_view name);

}  // namespace cg2d

#include "cg/report/result_configuration.hpp"

#include <fmt/format.h>

#include "cg/base/text_format.hpp"

namespace cg2d {

std::string SweepConfiguration::key() const {
  const bool is_usual = sum_form == default_sum_form;
  return fmt::format("{} {} {} {} {}{}{}", problem, grid.name(), kernel, transport,
                     format_count(thread_count, "thread"), is_usual ? "" : " " + sum_form_name(sum_form),
                     overlaps ? " overlap" : "");
}

}  // namespace cg2d

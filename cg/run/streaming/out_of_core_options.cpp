#include "cg/run/streaming/out_of_core_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace cg2d {

std::vector<const kernels::KernelRow*> streamed_kernels(int vector_count) {
  std::vector<const kernels::KernelRow*> rows;
  for (const auto& row : kernels::kernel_table()) {
    if (row.external_maker_for(vector_count) != nullptr) rows.push_back(&row);
  }
  return rows;
}

const kernels::KernelRow& shortest_streamed_kernel(int vector_count) {
  const auto rows = streamed_kernels(vector_count);
  return **std::ranges::min_element(rows, {}, &kernels::KernelRow::bytes_per_nonzero);
}

std::string streamed_kernel_names(int vector_count) {
  std::vector<std::string_view> names;
  for (const auto* const row : streamed_kernels(vector_count)) names.push_back(row->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace cg2d

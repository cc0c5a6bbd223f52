#include "cg/run/streaming/out_of_core_options.hpp"

namespace cg2d {

std::vector<std::string_view> kernel_names_for(int vector_count, bool is_streamed) {
  std::vector<std::string_view> names;
  for (const auto& row : kernels::kernel_table()) {
    const bool has_form = is_streamed ? row.external_maker_for(vector_count) != nullptr
                                      : row.maker_for({.vector_count = vector_count}) != nullptr;
    if (has_form) names.push_back(row.name);
  }
  return names;
}

const kernels::KernelRow& shortest_streamed_kernel(int vector_count) {
  const kernels::KernelRow* shortest = nullptr;
  for (const auto& row : kernels::kernel_table()) {
    if (row.external_maker_for(vector_count) == nullptr) continue;
    if (shortest == nullptr || row.bytes_per_nonzero < shortest->bytes_per_nonzero) shortest = &row;
  }
  return *shortest;
}

}  // namespace cg2d

#include "cg/matrix/matrix_facts.hpp"

#include <fmt/format.h>

namespace cg2d {

MatrixKey npb_matrix_key(std::string_view class_name, std::int64_t order, int nonzer) {
  const auto* const known = find_class(class_name);
  const bool is_class = known != nullptr && known->n == order && known->nonzer == nonzer;
  return {.name = is_class ? known->class_name : fmt::format("U(n {}, nonzer {})", order, nonzer),
          .order = order,
          .nonzer = nonzer,
          .pattern_hash = hash_of_text(fmt::format("npb n {} nonzer {}", order, nonzer))};
}

MatrixFacts facts_of(const Problem& problem) {
  return {.key = npb_matrix_key(problem.class_name, problem.n, problem.nonzer),
          .nonzero_count = expected_nonzero_count(problem),
          .row_lengths = [problem](int column_block_count) {
            return expected_row_lengths(problem, column_block_count);
          }};
}

MatrixFacts counted_facts(const MatrixKey& key, std::span<const std::int64_t> rows_by_length) {
  const auto whole_rows = distribution_of(rows_by_length);
  return {.key = key,
          .nonzero_count = whole_rows.mean() * static_cast<double>(key.order),
          .row_lengths = [whole_rows](int column_block_count) {
            return thinned(whole_rows, column_block_count);
          }};
}

std::uint64_t hash_of_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace cg2d

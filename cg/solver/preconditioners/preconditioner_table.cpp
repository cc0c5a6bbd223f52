#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// M is the diagonal of A: each element of r is divided by its diagonal entry.
class JacobiPreconditioner final : public Preconditioner {
 public:
  explicit JacobiPreconditioner(HugePageVector inverse_diagonal)
      : inverse_diagonal_(std::move(inverse_diagonal)), scaled_(inverse_diagonal_.size()) {}

  ConstPiece apply(ConstPiece r, DistributedVectors& vectors) override {
    vectors.updates()->multiply(inverse_diagonal_, r, scaled_);
    return scaled_;
  }

  ConstPiece inverse_diagonal() const override { return inverse_diagonal_; }

 private:
  HugePageVector inverse_diagonal_;
  HugePageVector scaled_;
};

std::unique_ptr<Preconditioner> make_jacobi(const PreconditionerInput& input) {
  require_positive("jacobi", input.matrix, input.diagonal, input.first_row);
  // Ranks count what they cannot use before any of them throws.
  const bool is_whole = input.diagonal.size() == input.matrix.local_size();
  const auto unusable = std::ranges::count_if(
      input.diagonal, [](double entry) { return !std::isnormal(entry) || !std::isfinite(1.0 / entry); });
  std::array<double, 2> counts{is_whole ? 0.0 : 1.0, static_cast<double>(unusable)};
  input.matrix.sum_over_ranks(counts);
  if (counts[0] > 0.0)
    throw InputError(
        "preconditioner jacobi: the piece of the diagonal has another length than the vectors on {} ranks",
        counts[0]);
  if (counts[1] > 0.0)
    throw InputError("preconditioner jacobi: {} entries of the diagonal have no finite inverse", counts[1]);
  HugePageVector inverse(input.diagonal.size());
  std::ranges::transform(input.diagonal, inverse.begin(), [](double entry) { return 1.0 / entry; });
  return std::make_unique<JacobiPreconditioner>(std::move(inverse));
}

}  // namespace

// The other rows, each defined in its own file.
PreconditionerRow block_jacobi_preconditioner();
PreconditionerRow chebyshev_preconditioner();

std::span<const PreconditionerRow> preconditioner_table() {
  static const std::array table{
      PreconditionerRow{.name = "none",
                        .is_diagonal = true,
                        .make = [](const PreconditionerInput& /*input*/) -> std::unique_ptr<Preconditioner> {
                          return std::make_unique<IdentityPreconditioner>();
                        }},
      PreconditionerRow{.name = "jacobi",
                        .is_diagonal = true,
                        .diagonal = DiagonalUse::needed,
                        .memory = {.bytes_per_row = int64_t{3} * 8},  // the diagonal, its inverse, the result
                        .make = &make_jacobi},
      block_jacobi_preconditioner(), chebyshev_preconditioner()};
  return table;
}

const PreconditionerRow* find_preconditioner(std::string_view text) {
  return row_named(preconditioner_table(), text.substr(0, text.find(':')));
}

PolynomialOptions polynomial_from(const std::string& option, const std::string& text) {
  const auto colon = text.find(':');
  require_known(option, text.substr(0, colon), names_of(preconditioner_table()));
  if (colon == std::string::npos) return {};
  const auto refuse = [&](std::string_view reason) { throw InputError("{} {}: {}", option, text, reason); };
  if (find_preconditioner(text)->default_degree == 0) refuse("takes no numbers; chebyshev does");
  const auto parts = split_at(std::string_view(text).substr(colon + 1), ':');
  const auto degree = number_from<int>(parts.front());
  const bool has_bounds = parts.size() == 3;
  const auto low = number_from<double>(has_bounds ? parts[1] : "0");
  const auto high = number_from<double>(has_bounds ? parts[2] : "0");
  if (!degree || !low || !high || (parts.size() != 1 && !has_bounds))
    refuse("must be chebyshev:DEGREE or chebyshev:DEGREE:LOW:HIGH, as in chebyshev:4:0.1:2");
  if (*degree == 0 || (has_bounds && *high == 0.0)) refuse("its numbers must be greater than 0");
  const PolynomialOptions polynomial{.degree = *degree, .low = *low, .high = *high};
  require_valid(option + " " + text, polynomial);
  return polynomial;
}

std::string names_of_diagonal_preconditioners() {
  const auto names = names_where(preconditioner_table(), [](const auto& row) { return row.is_diagonal; });
  return fmt::format("{}", fmt::join(names, " or "));
}

// ---------------------------------------------------------------- the diagonal block

namespace {

/// The entries of a row in these columns.
comm::IndexRange entries_in(const kernels::CsrBlock& block, int64_t row, const comm::IndexRange& columns) {
  const auto all = block.columns_of(row);
  const auto place_of = [&](int64_t column) {
    return block.row_starts[static_cast<size_t>(row)] + (std::ranges::lower_bound(all, column) - all.begin());
  };
  return {.begin = place_of(columns.begin), .end = place_of(columns.end)};
}

/// The square block of the entries that for_each(visit) visits, row by row, twice.
template <typename ForEach>
kernels::CsrBlock block_of(int64_t size, const ForEach& for_each) {
  auto block = kernels::CsrBlock::with_room(size, size);
  for_each([&](size_t row, int64_t /*column*/, double /*value*/) { ++block.row_starts[row + 1]; });
  block.make_room_by_lengths();
  size_t place = 0;
  for_each([&](size_t /*row*/, int64_t column, double value) {
    block.columns[place] = static_cast<int32_t>(column);
    block.values[place++] = value;
  });
  return block;
}

comm::IndexRange relative(const comm::IndexRange& range, int64_t begin) {
  return {.begin = range.begin - begin, .end = range.end - begin};
}

}  // namespace

kernels::CsrBlock diagonal_block_of(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                    comm::RankGroup& group) {
  const auto grid = layout.grid();
  const int row = grid.row_of(group.rank());
  const int column = grid.column_of(group.rank());
  std::vector<std::vector<uint64_t>> outgoing(static_cast<size_t>(group.size()));
  // The pieces that are in my rows and in my columns; each belongs to another rank.
  const int begin = std::max(row * grid.columns, column * grid.rows);
  const int end = std::min((row + 1) * grid.columns, (column + 1) * grid.rows);
  // Calls visit(row, column, value) for the entries of a piece's square, row by row, with the numbers that they have there.
  const auto for_entries_of = [&](int number, const auto& visit) {
    const auto piece = layout.piece(number);
    const auto rows = relative(piece, layout.row_block(row).begin);
    const auto columns = relative(piece, layout.column_block(column).begin);
    for (int64_t k = 0; k < piece.size(); ++k) {
      const auto entries = entries_in(block, rows.begin + k, columns);
      for (auto entry = static_cast<size_t>(entries.begin); entry < static_cast<size_t>(entries.end); ++entry)
        visit(static_cast<size_t>(k), block.columns[entry] - columns.begin, block.values[entry]);
    }
  };
  // A row and a column, both of 32 bits, then the bits of a value for each entry.
  constexpr int column_bits = 32;
  for (int number = begin; number < end; ++number) {
    const int owner = layout.column_owner_of(number);
    if (owner == group.rank()) continue;
    for_entries_of(number, [&](size_t entry_row, int64_t entry_column, double value) {
      auto& words = outgoing[static_cast<size_t>(owner)];
      words.push_back(entry_row << column_bits | static_cast<uint64_t>(entry_column));
      words.push_back(std::bit_cast<uint64_t>(value));
    });
  }
  const auto incoming = group.exchange(std::move(outgoing));
  const int mine = layout.column_piece_of(group.rank());
  const int holder = grid.rank_at(mine / grid.columns, column);
  return block_of(layout.piece(mine).size(), [&](const auto& visit) {
    if (holder == group.rank()) return for_entries_of(mine, visit);
    const auto& words = incoming[static_cast<size_t>(holder)];
    for (size_t k = 0; k < words.size(); k += 2)
      visit(words[k] >> column_bits, static_cast<int32_t>(words[k]), std::bit_cast<double>(words[k + 1]));
  });
}

HugePageVector diagonal_of(const kernels::CsrBlock& diagonal_block) {
  HugePageVector diagonal(static_cast<size_t>(diagonal_block.row_count));
  for (int64_t row = 0; row < diagonal_block.row_count; ++row) {
    const auto entries = entries_in(diagonal_block, row, {.begin = row, .end = row + 1});
    if (entries.size() == 1)
      diagonal[static_cast<size_t>(row)] = diagonal_block.values[static_cast<size_t>(entries.begin)];
  }
  return diagonal;
}

void require_positive(std::string_view preconditioner, LinearOperator& matrix, ConstPiece diagonal,
                      int64_t first_row) {
  const auto found = std::ranges::find_if(diagonal, [](double entry) { return !(entry > 0.0); });
  const bool has_one = found != diagonal.end();
  if (matrix.sum_of_ranks(has_one ? 1.0 : 0.0) == 0.0) return;
  const int64_t mine = first_row + (found - diagonal.begin());
  // Ranks can only add, so they search for the first row by halves of all numbers.
  int64_t low = 0;
  int64_t high = int64_t{1} << 62;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const bool is_below = matrix.sum_of_ranks(has_one && mine < middle ? 1.0 : 0.0) > 0.0;
    (is_below ? high : low) = middle;
  }
  const double value = matrix.sum_of_ranks(has_one && mine == low ? *found : 0.0);
  if (std::isnan(value))
    throw RunError(ExitCode::not_finite,
                   "preconditioner {}: not finite: the diagonal entry of row {} (counted from 1) is NaN",
                   preconditioner, low + 1);
  throw RunError(ExitCode::not_positive_definite,
                 "preconditioner {}: not positive definite: the diagonal entry of row {} (counted from 1) is "
                 "{:.3g}; CG needs a symmetric positive definite matrix, whose diagonal is positive",
                 preconditioner, low + 1, value);
}

}  // namespace cg2d

#include "cg/matrix/files/symmetry.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {
namespace {

/// Values in single precision, or printed with seven digits, are so far apart.
constexpr double most_by_rounding = 1e-6;

/// Calls visit(row, column, value, diagonal) for each entry beside the diagonal, with the diagonal entry of its row, on the rank that stores
/// its mirror image. Collective.
template <typename Visit>
void visit_at_mirror_image(const MirroredRows& rows, comm::RankGroup& group, const Visit& visit) {
  constexpr std::size_t word_count = 3;
  WordRounds rounds(group, [&](std::span<const std::uint64_t> words, int /*rank*/) {
    for (std::size_t k = 0; k < words.size(); k += word_count)
      visit(high_of(words[k]), low_of(words[k]), std::bit_cast<double>(words[k + 1]),
            std::bit_cast<double>(words[k + 2]));
  });
  const auto& store = rows.store;
  store.for_each_part([&](const EntryStore::RowPart& part) {
    const auto diagonal = std::bit_cast<std::uint64_t>(rows.diagonal[store.local_row(part.row)]);
    for (std::size_t k = 0; k < part.columns.size(); ++k) {
      if (part.columns[k] == part.row) continue;
      auto& buffer = rounds.to(store.deal().owner_of(part.columns[k]), word_count);
      buffer.insert(buffer.end(), {pair_of(part.row, part.columns[k]),
                                   std::bit_cast<std::uint64_t>(part.values[k]), diagonal});
    }
  });
  rounds.finish();
  require_intact(store, group);
}

/// |a - b| / sqrt(|d e|) where a and b differ, without overflow on the way.
double relative_difference(double a, double b, double d, double e) {
  const double scale = std::sqrt(std::abs(d)) * std::sqrt(std::abs(e));
  if (scale == 0.0) return std::numeric_limits<double>::infinity();
  return 2.0 * (std::abs(0.5 * a - 0.5 * b) / scale);
}

void keep_first(UnequalPair& first, const UnequalPair& pair) {
  if (std::pair(pair.row, pair.column) < std::pair(first.row, first.column)) first = pair;
}

void keep_largest(UnequalPair& largest, const UnequalPair& pair) {
  if (pair.difference > largest.difference) {
    largest = pair;
  } else if (pair.difference == largest.difference) {
    keep_first(largest, pair);
  }
}

}  // namespace

std::string UnequalPair::values_text() const {
  return fmt::format("entry ({}, {}) is {}, entry ({}, {}) is {}", row + 1, column + 1, lower, column + 1,
                     row + 1, upper);
}

std::string UnequalPair::difference_text() const {
  return std::isfinite(difference) ? fmt::format("by {:.3g} of sqrt(a_ii a_jj)", difference)
                                   : std::string("beside a diagonal entry that is 0 or nearly so");
}

Asymmetry find_asymmetry(const MirroredRows& rows, std::optional<double> tolerance, comm::RankGroup& group) {
  Asymmetry found;
  const auto original = [&](std::int64_t index) {
    return rows.permutation ? rows.permutation->inverse(index) : index;
  };
  const auto compare = [&](std::int64_t row, std::int64_t column, double value, double diagonal) {
    const double mirrored = rows.store.value_at(column, static_cast<std::int32_t>(row)).value_or(0.0);
    UnequalPair pair{.row = original(row), .column = original(column), .lower = value, .upper = mirrored};
    (pair.row > pair.column ? found.has_lower : found.has_upper) |= value != 0.0;
    if (mirrored == value) return;
    pair.difference =
        relative_difference(value, mirrored, diagonal, rows.diagonal[rows.store.local_row(column)]);
    if (pair.row < pair.column) {
      std::swap(pair.row, pair.column);
      std::swap(pair.lower, pair.upper);
    }
    keep_largest(found.largest, pair);
    if (!tolerance || pair.difference > *tolerance) keep_first(found.first, pair);
  };
  visit_at_mirror_image(rows, group, compare);
  for (const auto& theirs : group.gather_one(found)) {
    keep_largest(found.largest, theirs.largest);
    keep_first(found.first, theirs.first);
    found.has_lower |= theirs.has_lower;
    found.has_upper |= theirs.has_upper;
  }
  return found;
}

bool is_one_triangle(const Asymmetry& found) {
  return found.largest.difference > most_by_rounding && found.has_lower != found.has_upper;
}

std::string way_on_text(const Asymmetry& found) {
  const auto& largest = found.largest;
  if (is_one_triangle(found))
    return fmt::format(
        "; its {} triangle is empty: where the other one stands for both, --mirror of cg2d solve and convert "
        "mirrors "
        "it",
        found.has_lower ? "upper" : "lower");
  if (largest.difference > most_by_rounding) return {};
  double tolerance = 1e-15;
  for (int exponent = -14; tolerance < largest.difference; ++exponent) tolerance = std::pow(10.0, exponent);
  return fmt::format(
      "; no pair differs by more than {:.3g} of sqrt(a_ii a_jj): --symmetrize {:g} of cg2d solve and "
      "convert takes the means",
      largest.difference, tolerance);
}

EntryStore mean_of_triangles(EntryStore store, std::unique_ptr<ScratchChunks> scratch,
                             comm::RankGroup& group) {
  EntryCollector collector(store.deal().order(), group, EntryValues::any, std::move(scratch));
  for (std::size_t bucket = 0; bucket < store.bucket_count(); ++bucket) {
    store.for_each_part(bucket, [&](const EntryStore::RowPart& part) {
      for (std::size_t k = 0; k < part.columns.size(); ++k) {
        const double half = 0.5 * part.values[k];  // the sum of two halves does not overflow
        collector.add(part.row, part.columns[k], half);
        collector.add(part.columns[k], part.row, half);
      }
    });
    store.drop(bucket);
  }
  auto means = collector.finish();
  require_intact(store, group);
  return means;
}

}  // namespace cg2d

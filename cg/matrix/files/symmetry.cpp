// The triangles of a StoredMatrix: where they differ, and the matrix of their means.

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/matrix/files/stored_matrix.hpp"

namespace cg2d {

/// The comparison of all pairs of mirrored entries.
struct StoredMatrix::Asymmetry {
  /// Values in single precision, or printed with seven digits, are so far apart.
  static constexpr double most_by_rounding = 1e-6;

  /// Mirrored entries that differ; indices from 0, in the original order, row > column.
  struct Pair {
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t row = none;
    std::int64_t column = 0;
    double lower = 0.0;       ///< the entry (row, column); 0 where there is none
    double upper = 0.0;       ///< the entry (column, row)
    double difference = 0.0;  ///< |a_ij - a_ji| / sqrt(|a_ii a_jj|); infinite beside a diagonal entry of 0

    [[nodiscard]] bool is_before(const Pair& other) const {
      return std::pair(row, column) < std::pair(other.row, other.column);
    }
    /// "entry (2, 1) is 0.5, entry (1, 2) is 0".
    [[nodiscard]] std::string values_text() const {
      return fmt::format("entry ({0}, {1}) is {2}, entry ({1}, {0}) is {3}", row + 1, column + 1, lower,
                         upper);
    }
  };

  Pair first;              ///< in the order of rows, of those beyond the tolerance
  Pair largest;            ///< largest difference of all pairs; the first of several that differ as much
  bool has_lower = false;  ///< whether triangles have entries that are not 0
  bool has_upper = false;

  void take(const Asymmetry& other) {
    if (other.first.is_before(first)) first = other.first;
    const auto& pair = other.largest;
    if (pair.difference > largest.difference ||
        (pair.difference == largest.difference && pair.is_before(largest)))
      largest = pair;
    has_lower |= other.has_lower;
    has_upper |= other.has_upper;
  }
  /// Whether it looks like one triangle of a symmetric matrix.
  [[nodiscard]] bool is_one_triangle() const {
    return largest.difference > most_by_rounding && has_lower != has_upper;
  }
  /// The end of a sentence for a matrix that is not symmetric: the option that helps, where rounding explains the largest
  /// difference, or one triangle is empty; else empty.
  [[nodiscard]] std::string way_on_text() const {
    if (is_one_triangle())
      return fmt::format(
          "; its {} triangle is empty: where the other one stands for both, --mirror of cg2d solve and "
          "convert mirrors it",
          has_lower ? "upper" : "lower");
    if (largest.difference > most_by_rounding) return {};
    double tolerance = 1e-15;
    for (int exponent = -14; tolerance < largest.difference; ++exponent) tolerance = std::pow(10.0, exponent);
    return fmt::format(
        "; no pair differs by more than {:.3g} of sqrt(a_ii a_jj): --symmetrize {:g} of cg2d solve and "
        "convert takes the means",
        largest.difference, tolerance);
  }
};

/// Each entry beside the diagonal goes, with the diagonal entry of its row, to the rank that stores its mirror image, and is compared there. The result is the same
/// whatever the number of ranks.
StoredMatrix::Asymmetry StoredMatrix::find_asymmetry(std::optional<double> tolerance,
                                                     comm::RankGroup& group) const {
  constexpr std::size_t word_count = 3;
  Asymmetry found;
  const auto compare = [&](std::int64_t row, std::int64_t column, double value, double diagonal) {
    const double mirrored = store_.value_at(column, static_cast<std::int32_t>(row)).value_or(0.0);
    Asymmetry::Pair pair{.row = original(row), .column = original(column), .lower = value, .upper = mirrored};
    (pair.row > pair.column ? found.has_lower : found.has_upper) |= value != 0.0;
    if (mirrored == value) return;
    // Without overflow on the way.
    const double scale =
        std::sqrt(std::abs(diagonal)) * std::sqrt(std::abs(diagonal_[store_.local_row(column)]));
    pair.difference = scale == 0.0 ? std::numeric_limits<double>::infinity()
                                   : 2.0 * (std::abs(0.5 * value - 0.5 * mirrored) / scale);
    if (pair.row < pair.column) {
      std::swap(pair.row, pair.column);
      std::swap(pair.lower, pair.upper);
    }
    found.take(
        {.first = !tolerance || pair.difference > *tolerance ? pair : Asymmetry::Pair{}, .largest = pair});
  };
  Agreement agreement(group);
  WordRounds rounds(group, [&](WordRounds::Words words, int /*rank*/) {
    agreement.attempt([&] {
      for (; !words.empty(); words = words.subspan(word_count))
        compare(high_of(words[0]), low_of(words[0]), std::bit_cast<double>(words[1]),
                std::bit_cast<double>(words[2]));
    });
  });
  agreement.attempt([&] {
    store_.for_each_part([&](const EntryStore::RowPart& part) {
      const auto diagonal = std::bit_cast<std::uint64_t>(diagonal_[store_.local_row(part.row)]);
      for (std::size_t k = 0; k < part.columns.size(); ++k) {
        if (part.columns[k] == part.row) continue;
        auto& buffer = rounds.to(store_.deal().owner_of(part.columns[k]), word_count);
        buffer.insert(buffer.end(), {pair_of(part.row, part.columns[k]),
                                     std::bit_cast<std::uint64_t>(part.values[k]), diagonal});
      }
    });
  });
  rounds.finish();
  agreement.reach();
  for (const auto& theirs : group.gather_one(found)) found.take(theirs);
  return found;
}

void StoredMatrix::require_symmetric(comm::RankGroup& group) const {
  if (asymmetry_sum_ == 0) return;
  const auto found = find_asymmetry(std::nullopt, group);
  throw RunError(ExitCode::bad_data, "{}: not symmetric: {}; conjugate gradients need equal ones{}",
                 facts_.key.name, found.first.values_text(), found.way_on_text());
}

/// The means are (A + A^T) / 2, with the same bits whatever the number of ranks; values below 4.5e-308 may lose their last bit. The rows of A are
/// given back meanwhile.
void StoredMatrix::symmetrize(double tolerance, std::unique_ptr<ScratchChunks> scratch,
                              comm::RankGroup& group) {
  symmetrization_ = Symmetrization{.tolerance = tolerance};
  if (asymmetry_sum_ == 0) return;
  const auto found = find_asymmetry(tolerance, group);
  const auto& first = found.first;
  const auto& largest = found.largest;
  if (found.is_one_triangle())
    throw RunError(ExitCode::bad_data, "{}: not symmetric: {}, of which --symmetrize takes the mean{}",
                   facts_.key.name, largest.values_text(), found.way_on_text());
  if (first.row != Asymmetry::Pair::none)
    throw RunError(ExitCode::bad_data, "{}: not symmetric, to --symmetrize {}: {}; they differ {}",
                   facts_.key.name, tolerance, first.values_text(),
                   std::isfinite(first.difference)
                       ? fmt::format("by {:.3g} of sqrt(a_ii a_jj)", first.difference)
                       : std::string("beside a diagonal entry that is 0 or nearly so"));
  symmetrization_ = {.tolerance = tolerance,
                     .largest_difference = largest.difference,
                     .row = largest.row,
                     .column = largest.column};
  EntryCollector collector(order(), group, EntryValues::any, std::move(scratch));
  collector.attempt([&] {
    for (std::size_t bucket = 0; bucket < store_.bucket_count(); ++bucket) {
      store_.for_each_part(bucket, [&](const EntryStore::RowPart& part) {
        for (std::size_t k = 0; k < part.columns.size(); ++k) {
          const double half = 0.5 * part.values[k];  // the sum of two halves does not overflow
          collector.add(part.row, part.columns[k], half);
          collector.add(part.columns[k], part.row, half);
        }
      });
      store_.drop(bucket);
    }
  });
  store_ = collector.finish();
  survey_store(facts_.key.name, group);
}

}  // namespace cg2d

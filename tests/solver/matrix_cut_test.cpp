// --cut: its texts, files of shares, and vectors that go over from one cut to another.

#include "cg/solver/matrix_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/solver/communicator_setup.hpp"
#include "support/error_of.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::matrix_cut_test {
namespace {

using test::group;

TEST(MatrixCutTest, TextsHaveTheirKinds) {
  using enum MatrixCut::Kind;
  for (const auto& [text, kind] : {std::pair("auto", automatic),
                                   {"even", even},
                                   {"nonzeros", nonzeros},
                                   {"speed", speed},
                                   {"random:7", random},
                                   {"file:a b", file}})
    EXPECT_EQ(matrix_cut_from(text).kind, kind) << text;
  EXPECT_EQ(matrix_cut_from("random:18446744073709551615").seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(matrix_cut_from("file:a b").path, "a b");
  for (const auto* text : {"", "evne", "random", "random:", "random:-1", "random:1.5", "file:", "Even"})
    EXPECT_THROW(static_cast<void>(matrix_cut_from(text)), InputError) << text;
  EXPECT_EQ(
      test::error_of(ExitCode::usage, [] { static_cast<void>(matrix_cut_from("evne")); }),
      "--cut evne: unknown; valid: auto, nonzeros, even, speed, random:SEED, file:FILE; did you mean even?");
}

TEST(MatrixCutTest, SharesStandInAnyLines) {
  EXPECT_EQ(shares_in("1 2\n\n# half\n0.5  # of the third\n", "f", 3), (std::vector{1.0, 2.0, 0.5}));
  EXPECT_EQ(shares_in("\t3e2", "f", 1), (std::vector{300.0}));
}

TEST(MatrixCutTest, WhatIsNoShareIsNamedWithItsLine) {
  for (const auto& wrong : {
           std::pair("1\n0\n", "f:2: found \"0\", expected a share: a finite number greater than 0"),
           {"-1 1", "f:1: found \"-1\", expected a share: a finite number greater than 0"},
           {"1 nan", "f:1: found \"nan\", expected a share: a finite number greater than 0"},
           {"inf 1", "f:1: found \"inf\", expected a share: a finite number greater than 0"},
           {"1\none", "f:2: found \"one\", expected a share: a finite number greater than 0"},
           {"1\n1\n1\n", "f:3: found more than 2 shares, expected one for each rank"},
           {"1 # 1\n", "f: found 1 share, expected 2, one for each rank"},
           {"", "f: found 0 shares, expected 2, one for each rank"},
       })
    EXPECT_EQ(test::error_of(ExitCode::bad_data, [&] { shares_in(wrong.first, "f", 2); }), wrong.second);
}

TEST(MatrixCutTest, AFileIsForAsManyRanksAsItHasShares) {
  const auto count_for = [](const std::string& text) {
    return rank_count_for(matrix_cut_from(text), group());
  };
  EXPECT_EQ(count_for("speed"), std::nullopt);
  const test::TemporaryFolder folder;
  const auto path = folder.path("shares");
  folder.write("shares", "1 2 # two\n0.5\n");
  EXPECT_EQ(count_for("file:" + path), 3);
  for (const auto* text : {"", "1\nnan\n"}) {
    folder.write("shares", text);
    EXPECT_THROW(static_cast<void>(count_for("file:" + path)), RunError) << text;
  }
}

TEST(MatrixCutTest, PiecesOfTheBenchmarkHaveEqualNumbersOfNonzeros) {
  for (const auto* name : {"S", "W"}) {
    const auto source = default_source().make(*find_class(name));
    source->set_piece_starts(piece_starts_for({.kind = MatrixCut::Kind::nonzeros}, *source, group()));
    Configuration configuration;
    configuration.grid = {.columns = 1, .rows = group().size()};
    const auto layout = make_layout(source->facts(), configuration);
    EXPECT_EQ(layout.size(), source->facts().key.order);
    const auto counts = group().gather_one(source->build(layout, group(), 1).block.nonzero_count());
    double sum = 0.0;
    for (const auto count : counts) sum += static_cast<double>(count);
    const double most = static_cast<double>(std::ranges::max(counts)) * group().size() / sum;
    EXPECT_LT(most, 1.004) << name;  // the longest row is 0.65 % of the nonzeros of one of four ranks
  }
}

// ---------------------------------------------------------------- vectors that go over to another cut

double element_at(int64_t index) { return 1.0 + 1.0 / static_cast<double>(index + 3); }

HugePageVector piece_of(const comm::BlockLayout& layout) {
  const auto range = layout.piece(layout.column_piece_of(group().rank()));
  HugePageVector piece;
  for (auto index = range.begin; index < range.end; ++index) piece.push_back(element_at(index));
  return piece;
}

TEST(MovedPieceTest, EveryElementArrivesAtItsNewPlace) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1009}}) {
      for (const auto& from : test::layouts_of(n, grid)) {
        for (const auto& to : test::layouts_of(n, grid)) {
          EXPECT_EQ(moved_piece(piece_of(from.layout), from.layout, to.layout, group()), piece_of(to.layout))
              << describe(from) << " to " << to.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cg2d::matrix_cut_test

// Kernel "blocks": the sets and supervariables that it finds in a pattern, and its products with one vector and with several, which are those of
// the reference kernel with one vector after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/block_csr.hpp"
#include "kernels/index_sets.hpp"
#include "kernels/product_check.hpp"
#include "support/bits.hpp"
#include "support/sanitizers.hpp"

namespace cg2d::kernels::blocks_kernel_test {
namespace {

constexpr uint64_t seed = 20261127;

// ---------------------------------------------------------------- patterns

/// A symmetric matrix with positive numbers, by lesser and greater index.
using Pairs = std::map<std::pair<int32_t, int32_t>, double>;

double positive_value(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(1 + random() % 1000003), -20);
}

int32_t index_below(int32_t count, std::mt19937_64& random) {
  return static_cast<int32_t>(random() % static_cast<uint64_t>(count));
}

/// The union of sets of random indices.
Pairs union_of_sets(int32_t index_count, int set_count, int size, std::mt19937_64& random) {
  Pairs pairs;
  for (int k = 0; k < set_count; ++k) {
    std::set<int32_t> members;
    while (members.size() < static_cast<size_t>(size)) members.insert(index_below(index_count, random));
    for (const auto a : members) {
      for (const auto b : members) {
        if (a <= b) pairs[{a, b}] = positive_value(random);
      }
    }
  }
  return pairs;
}

Pairs scattered_pairs(int32_t index_count, std::mt19937_64& random) {
  Pairs pairs;
  for (int32_t k = 0; k < 20 * index_count; ++k)
    pairs[std::minmax({index_below(index_count, random), index_below(index_count, random)})] = 1.0;
  return pairs;
}

/// Random pairs, a path, no pairs, and one dense row.
std::vector<Pairs> patterns_without_blocks(int32_t index_count, std::mt19937_64& random) {
  Pairs path;
  Pairs dense_row;
  for (int32_t k = 0; k < index_count; ++k) {
    path[{k, k}] = 2.0;
    if (k > 0) path[{k - 1, k}] = 1.0;
    if (k != index_count / 2) dense_row[std::minmax({k, index_count / 2})] = 1.0;
  }
  return {scattered_pairs(index_count, random), path, Pairs{}, dense_row};
}

/// A strip of nodes, `width` in each of its lines: a node's neighbours are those around it.
struct Mesh {
  int width;
  int line_count;
  std::vector<std::vector<int32_t>> unknowns{};  // of each node

  /// Nodes with so many unknowns each, next to each other.
  Mesh(int width_of_line, int count, int per_node) : width(width_of_line), line_count(count) {
    for (int32_t node = 0; node < width * line_count; ++node) {
      unknowns.emplace_back(static_cast<size_t>(per_node));
      std::iota(unknowns.back().begin(), unknowns.back().end(), node * per_node);
    }
  }

  Pairs pairs(std::mt19937_64& random) const {
    Pairs all;
    for (int node = 0; node < width * line_count; ++node) {
      for (int line = node / width; line <= std::min(node / width + 1, line_count - 1); ++line) {
        for (int place = std::max(node % width - 1, 0); place <= std::min(node % width + 1, width - 1);
             ++place) {
          for (const auto a : unknowns[static_cast<size_t>(node)]) {
            for (const auto b : unknowns[static_cast<size_t>(line * width + place)])
              all[std::minmax({a, b})] = positive_value(random);
          }
        }
      }
    }
    return all;
  }
};

/// A block of a symmetric matrix with half storage: each pair is the entry (a, b) or (b, a), with half of an entry on the diagonal.
struct HalfBlock {
  int64_t row_count;
  int64_t column_count;
  int64_t column_of_row_0;

  /// As a rank has it, with tiles of 64.
  CsrBlock store(const Pairs& pairs) const {
    return store(pairs, [](int32_t lesser, int32_t greater) {
      return lesser / 64 == greater / 64 || (lesser / 64 + greater / 64) % 2 == 0;
    });
  }
  CsrBlock store(const Pairs& pairs, std::mt19937_64& random) const {
    return store(pairs, [&](int32_t, int32_t) { return random() % 2 == 0; });
  }
  /// is_above(lesser, greater index): the entry in the row of the lesser one is stored.
  CsrBlock store(const Pairs& pairs, const std::function<bool(int32_t, int32_t)>& is_above) const {
    CsrBlock::Rows rows(static_cast<size_t>(row_count));
    for (const auto& [pair, value] : pairs) {
      const auto [a, b] = is_above(pair.first, pair.second) ? pair : std::pair(pair.second, pair.first);
      // An index is a column; rows begin at the index column_of_row_0. What is not in the block belongs to others.
      const auto row = a - column_of_row_0;
      if (row < 0 || row >= row_count || b >= column_count) continue;
      rows[static_cast<size_t>(row)].push_back({.column = b, .value = a == b ? value / 2 : value});
    }
    for (auto& row : rows) std::ranges::sort(row, {}, &CsrBlock::Entry::column);
    return CsrBlock::from_rows(column_count, rows);
  }
};

HalfBlock square(int64_t order) { return {order, order, 0}; }

// ---------------------------------------------------------------- sets

/// The share of the entries that are in sets. That these are right is seen by the products with them.
double share_in_sets(const CsrBlock& half, const IndexSets& sets) {
  const auto zero_count = std::ranges::count(sets.entries, IndexSets::no_entry);
  EXPECT_LE(static_cast<double>(zero_count), 0.4 * static_cast<double>(sets.entries.size()));
  return static_cast<double>(std::ssize(sets.entries) - zero_count) /
         static_cast<double>(half.nonzero_count());
}

TEST(IndexSetsTest, SetsOfEverySizeAreFoundInTheirUnion) {
  for (int size = 4; size <= 16; ++size) {
    SCOPED_TRACE("sets of " + std::to_string(size));
    std::mt19937_64 random(seed);
    auto pairs = union_of_sets(3000, 12000 / size, size, random);
    const auto share = [&] {
      const auto half = square(3000).store(pairs, random);
      const SharedIndices shared(half, 0);
      EXPECT_EQ(shared.count, 3000);
      return share_in_sets(half, find_index_sets(half, shared));
    };
    EXPECT_GT(share(), 0.9);
    if (size != 8) continue;
    // An index that has pairs with all others hides no sets: its row is searched, where others are read.
    for (int32_t k = 0; k < 3000; ++k) pairs[std::minmax({k, 1500})] = 1.0;
    EXPECT_GT(share(), 0.85);
  }
}

// ---------------------------------------------------------------- supervariables

TEST(SupervariablesTest, TheUnknownsOfEachNodeAreOne) {
  for (int size = least_supervariable; size <= largest_supervariable; ++size) {
    std::mt19937_64 random(seed);
    const Mesh mesh(7, 60, size);
    const auto half = square(int64_t{420} * size).store(mesh.pairs(random));
    for (const int thread_count : {1, 3}) {
      SCOPED_TRACE(std::to_string(size) + " unknowns, threads " + std::to_string(thread_count));
      const auto found = find_supervariables(half, SharedIndices(half, 0), thread_count);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->size, size);
      std::set<std::set<uint32_t>> sets;
      for (auto member = found->members.begin(); member != found->members.end(); member += size) {
        std::set<uint32_t> members(member, member + size);
        members.erase(Supervariables::no_member);
        sets.insert(members);
      }
      std::set<std::set<uint32_t>> expected;
      for (const auto& unknowns : mesh.unknowns) expected.emplace(unknowns.begin(), unknowns.end());
      EXPECT_EQ(sets, expected);
    }
  }
}

TEST(SupervariablesTest, NeighboursInARandomOrderAreBroughtTogether) {
  std::mt19937_64 random(seed);
  constexpr int width = 6;
  Mesh mesh(width, 1500, 2);
  std::ranges::shuffle(mesh.unknowns, random);  // numbers of nodes lie anywhere
  constexpr int64_t count = int64_t{2} * width * 1500;
  const auto half = square(count).store(mesh.pairs(random), [](auto, auto) { return true; });
  const auto found = find_supervariables(half, SharedIndices(half, 0));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size, 2);
  std::vector<int64_t> position(static_cast<size_t>(count));
  for (size_t k = 0; k < found->members.size(); ++k)
    position[found->members[k]] = static_cast<int64_t>(k / 2);
  const auto position_of = [&](size_t node) {
    return position[static_cast<size_t>(mesh.unknowns[node].front())];
  };
  int64_t farthest = 0;
  for (size_t node = width; node < mesh.unknowns.size(); ++node)
    farthest = std::max(farthest, std::abs(position_of(node) - position_of(node - width)));
  EXPECT_LE(farthest, 4 * width) << "nodes in neighbouring lines";
}

TEST(SupervariablesTest, PatternsWithoutBlocksHaveNeitherThemNorSets) {
  std::mt19937_64 random(seed);
  for (const auto& pairs : patterns_without_blocks(4000, random)) {
    for (const auto& half : {square(4000).store(pairs), square(4000).store(pairs, random)}) {
      EXPECT_FALSE(find_supervariables(half, SharedIndices(half, 0)));
      EXPECT_TRUE(find_index_sets(half, SharedIndices(half, 0)).empty());
    }
  }
  const auto mesh = square(4000).store(Mesh(20, 200, 1).pairs(random));
  EXPECT_FALSE(find_supervariables(mesh, SharedIndices(mesh, 0)));
}

/// Equal rows that have hardly an entry with each other's columns would be stored as zeros, mostly.
TEST(SupervariablesTest, BlocksOfZerosAreNotMade) {
  std::mt19937_64 random(seed);
  const auto half = square(600).store(scattered_pairs(600, random));
  Supervariables all{.size = 3, .members = {}};
  all.members.resize(600);
  std::iota(all.members.begin(), all.members.end(), 0U);
  EXPECT_FALSE(make_block_csr(half, SharedIndices(half, 0), all, 1));
}

// ---------------------------------------------------------------- products

struct ProductCase {
  HalfBlock shape{};
  int64_t vector_count = 1;
  double before = 0.0;  // in q; it is added to unless that is 0
  int share_count = 1;
  int64_t first_vector = 0;
};

/// The sums of one product over rows and columns, together where both are the same index; the vectors side by side.
std::vector<double> all_sums(SpmvKernel& kernel, const ProductCase& test_case) {
  const auto& shape = test_case.shape;
  const auto count = test_case.vector_count;
  const auto element = [&](int64_t k, int64_t first_index) {
    return 1.5 + std::sin(static_cast<double>(k / count + first_index +
                                              1000 * (test_case.first_vector + k % count)));
  };
  std::vector<double> p_columns;
  std::vector<double> p_rows;
  for (int64_t k = 0; k < shape.column_count * count; ++k) p_columns.push_back(element(k, 0));
  for (int64_t k = 0; k < shape.row_count * count; ++k) p_rows.push_back(element(k, shape.column_of_row_0));
  const bool is_added = test_case.before != 0.0;
  std::vector<double> q_rows(p_rows.size(), is_added ? test_case.before : std::nan(""));
  std::vector<double> q_columns(p_columns.size(), is_added ? test_case.before : std::nan(""));
  multiply_shares(kernel,
                  {.p_columns = p_columns, .p_rows = p_rows, .q_rows = q_rows, .q_columns = q_columns},
                  {.is_added = is_added, .is_continued = is_added, .share_count = test_case.share_count});
  std::vector<double> sums(p_rows.size() + p_columns.size());
  const auto column_0 = static_cast<size_t>(count * std::max<int64_t>(-shape.column_of_row_0, 0));
  const auto row_0 = static_cast<size_t>(count * std::max<int64_t>(shape.column_of_row_0, 0));
  for (size_t k = 0; k < q_columns.size(); ++k) sums[column_0 + k] += q_columns[k];
  for (size_t k = 0; k < q_rows.size(); ++k) sums[row_0 + k] += q_rows[k];
  return sums;
}

/// The sums that the reference kernel has with one vector after the other.
std::vector<double> expected_sums(SpmvKernel& reference, ProductCase test_case) {
  const auto count = static_cast<size_t>(std::exchange(test_case.vector_count, 1));
  std::vector<double> all;
  for (size_t vector = 0; vector < count; ++vector) {
    test_case.first_vector = static_cast<int64_t>(vector);
    const auto one = all_sums(reference, test_case);
    all.resize(one.size() * count);
    for (size_t k = 0; k < one.size(); ++k) all[k * count + vector] = one[k];
  }
  return all;
}

/// All numbers are positive, so a sum of some hundred products errs by 1e-13 of itself at most.
void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-13 * expected[k]) << k;
}

/// The form that multiplies a block: symmetric block CSR of supervariables, sets, or another kernel.
enum class Format { supervariables, sets, other };

/// By the last array: columns of 32 bits after starts of rows, members of sets after their values, or what else another kernel has.
Format format_of(SpmvKernel& kernel) {
  const auto arrays = kernel.stored_arrays();
  const auto is_list = [](const StoredArray& array) {
    return array.kind == ArrayKind::columns && array.element_size == sizeof(uint32_t) && !array.bytes.empty();
  };
  if (arrays.empty() || !is_list(arrays.back())) return Format::other;
  return arrays[arrays.size() - 2].kind == ArrayKind::structure ? Format::supervariables : Format::sets;
}

void expect_products_of_reference(const CsrBlock& half, const HalfBlock& shape, int64_t vector_count,
                                  Format format) {
  const auto& row = kernel_named("blocks");
  const auto reference = reference_kernel(Storage::half).make(half.copy(), {});
  const ProductCase usual{.shape = shape, .vector_count = vector_count};
  const ProductCase added{.shape = shape, .vector_count = vector_count, .before = 3.0};
  const auto expected = expected_sums(*reference, usual);
  const auto expected_more = expected_sums(*reference, added);
  for (const auto set : test::sets_with_loops(row.instruction_sets)) {
    for (const int thread_count : {1, 3}) {
      SCOPED_TRACE(testing::Message() << name_of(set) << ", " << thread_count << " threads, " << vector_count
                                      << " vectors, row 0 is column " << shape.column_of_row_0);
      const auto kernel = row.make(half.copy(), {.thread_count = thread_count,
                                                 .vector_count = static_cast<int>(vector_count),
                                                 .instruction_set = set,
                                                 .column_of_row_0 = shape.column_of_row_0});
      EXPECT_EQ(kernel->instruction_set(), name_of(set));
      EXPECT_EQ(format_of(*kernel), format);
      EXPECT_TRUE(kernel->has_columns_in_range());
      const auto sums = all_sums(*kernel, usual);
      expect_near(sums, expected);
      expect_near(all_sums(*kernel, added), expected_more);
      // Several threads may have to wait for a core in each share.
      for (const int share_count : thread_count == 1 ? std::vector{1, 7, 100} : std::vector{3}) {
        auto in_shares = usual;
        in_shares.share_count = share_count;
        EXPECT_TRUE(test::same_bits(all_sums(*kernel, in_shares), sums)) << share_count << " shares";
      }
    }
  }
}

constexpr std::array all_counts{1, 2, 4, 8, 16};
/// One vector, and each length of the registers that take several: 16 vectors take those of 8.
constexpr std::array counts_of_loops{1, 2, 4, 8};

TEST(BlocksKernelTest, SetsOfEverySizeHaveTheProductsOfTheReference) {
  for (const int count : counts_of_loops) {
    for (int size = least_index_set; size <= (count == 1 ? largest_index_set : largest_set_of_several);
         ++size) {
      SCOPED_TRACE("sets of " + std::to_string(size));
      std::mt19937_64 random(seed);
      const int32_t index_count = size > largest_set_of_several ? 3000 : 600;
      const auto shape = square(index_count);
      const auto pairs = union_of_sets(index_count, 4 * index_count / size, size, random);
      expect_products_of_reference(shape.store(pairs, random), shape, count, Format::sets);
    }
  }
}

TEST(BlocksKernelTest, SetsOfManySizesMayBeInOneBlock) {
  std::mt19937_64 random(seed);
  auto pairs = union_of_sets(600, 30, 5, random);
  for (int k = 0; k < 60; ++k)
    pairs.merge(union_of_sets(
        600, 1, least_index_set + index_below(largest_set_of_several - least_index_set + 1, random), random));
  for (const int count : all_counts)
    expect_products_of_reference(square(600).store(pairs, random), square(600), count, Format::sets);
}

TEST(BlocksKernelTest, RowsAndColumnsMayMeetAnywhere) {
  for (const int64_t column_of_row_0 : {-400, -100, -20, -1, 1, 60, 400, 500}) {
    std::mt19937_64 random(seed);
    const HalfBlock shape{400, 500, column_of_row_0};
    const auto half = shape.store(union_of_sets(500, 200, 9, random), random);
    const bool is_in_sets = column_of_row_0 >= -20 && column_of_row_0 <= 60;
    for (const int count : {1, 16})
      expect_products_of_reference(half, shape, count, is_in_sets ? Format::sets : Format::other);
  }
  std::mt19937_64 random(seed);
  const auto mesh = Mesh(7, 90, 3).pairs(random);
  for (const int64_t column_of_row_0 : {-900, -150, -1, 1, 90, 640}) {
    const HalfBlock shape{1200, 1300, column_of_row_0};
    expect_products_of_reference(shape.store(mesh), shape, 1, Format::supervariables);
  }
}

TEST(BlocksKernelTest, BlocksOfSupervariablesHaveTheProductsOfTheReference) {
  for (int size = least_supervariable; size <= largest_supervariable; ++size) {
    SCOPED_TRACE(std::to_string(size) + " unknowns");
    std::mt19937_64 random(seed);
    Mesh mesh(7, 20, size);
    for (size_t node = 0; node < mesh.unknowns.size(); node += 20) mesh.unknowns[node].pop_back();
    const auto count = int64_t{140} * size;
    // All rows are columns, too, or some are not: these blocks have no form for several vectors.
    for (const auto& shape :
         {HalfBlock{count, count, 0}, HalfBlock{count - 40, count, 20}, HalfBlock{count, count, -20}}) {
      const auto half = shape.store(mesh.pairs(random));
      for (const int vector_count : counts_of_loops) {
        const bool is_stored = vector_count == 1 || shape.column_of_row_0 >= 0;
        expect_products_of_reference(half, shape, vector_count,
                                     is_stored ? Format::supervariables : Format::other);
      }
    }
  }
}

TEST(BlocksKernelTest, ColumnsOutOfTheBlockAreSeen) {
  std::mt19937_64 random(seed);
  for (const auto& pairs : {union_of_sets(1260, 630, 12, random), Mesh(7, 60, 3).pairs(random)}) {
    const auto half = square(1260).store(pairs);
    for (const int count : {1, 8}) {
      const auto kernel = kernel_named("blocks").make(
          half.copy(), {.thread_count = 2, .vector_count = count, .column_of_row_0 = 0});
      ASSERT_NE(format_of(*kernel), Format::other);
      ASSERT_TRUE(kernel->has_columns_in_range());
      const auto columns = kernel->stored_arrays().back();
      std::ranges::fill(columns.bytes.first(columns.element_size), std::byte{0xff});
      EXPECT_FALSE(kernel->has_columns_in_range());
    }
  }
}

}  // namespace
}  // namespace cg2d::kernels::blocks_kernel_test

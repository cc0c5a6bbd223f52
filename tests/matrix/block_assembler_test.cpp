// Blocks assembled from outer products, against the sequential matrix: bit for bit, for any strips and
// threads.

#include "cg/matrix/block_assembler.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cg/matrix/npb_vectors.hpp"
#include "support/bits.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::block_assembler_test {
namespace {

using comm::IndexRange;

/// A matrix by its vectors, and by its definition.
struct Example {
  explicit Example(Problem made) : problem(std::move(made)) {}

  Problem problem;
  test::ReferenceVectors drawn = test::draw_reference_vectors(problem);
  test::ReferenceMatrix matrix = test::build_reference_matrix(problem, drawn);
};

/// The entries of a vector whose positions are in the range.
struct CutVector {
  CutVector(const std::map<int32_t, double>& vector, IndexRange range) {
    for (const auto& [position, value] : vector) {
      if (!range.contains(position)) continue;
      positions.push_back(position);
      values.push_back(value);
    }
  }
  VectorPart::List list(int64_t first) const { return {positions, values, first}; }

  std::vector<int32_t> positions;
  std::vector<double> values;
};

struct Block {
  IndexRange rows;
  IndexRange columns;
};

/// The records of all vectors for one strip, in several buffers, as several ranks would send them.
std::vector<std::vector<uint64_t>> parts_of(const Example& example, const Block& block, IndexRange strip) {
  constexpr size_t buffer_count = 3;
  std::vector<std::vector<uint64_t>> parts(buffer_count);
  const size_t vector_count = example.drawn.vectors.size();
  const auto weights = vector_weights(example.problem, 0, example.problem.n);
  for (size_t i = 0; i < vector_count; ++i) {
    const CutVector rows(example.drawn.vectors[i], strip);
    const CutVector columns(example.drawn.vectors[i], block.columns);
    if (rows.positions.empty() || columns.positions.empty()) continue;
    VectorPart::append(parts[i * buffer_count / vector_count], weights[i], rows.list(strip.begin),
                       columns.list(block.columns.begin));
  }
  return parts;
}

struct AssemblyOptions {
  int strip_count = 1;
  int thread_count = 1;
  int64_t expected_entry_count = 1000;
};

kernels::CsrBlock assemble(const Example& example, const Block& block, const AssemblyOptions& options) {
  BlockAssembler assembler(block.rows, block.columns, Problem::rcond - example.problem.shift,
                           options.expected_entry_count, options.thread_count);
  const auto strips = comm::BlockLayout::even(block.rows.size(), {.columns = 1, .rows = options.strip_count});
  for (int k = 0; k < options.strip_count; ++k) {
    const auto local = strips.piece(k);
    const IndexRange strip{.begin = block.rows.begin + local.begin, .end = block.rows.begin + local.end};
    assembler.append_rows(local.size(), parts_of(example, block, strip));
  }
  return assembler.finish();
}

void expect_assembled(const Example& example, const Block& block, const AssemblyOptions& options) {
  SCOPED_TRACE("n " + std::to_string(example.problem.n) + ", nonzer " +
               std::to_string(example.problem.nonzer) + ", rows " + std::to_string(block.rows.begin) + "..." +
               std::to_string(block.rows.end) + ", columns " + std::to_string(block.columns.begin) + "..." +
               std::to_string(block.columns.end) + ", " + std::to_string(options.strip_count) + " strips, " +
               std::to_string(options.thread_count) + " threads");
  test::expect_block(assemble(example, block, options), example.matrix, block.rows, block.columns);
}

/// The whole matrix, and blocks on, beside and off the diagonal, some of them empty.
std::vector<Block> blocks_of(int64_t n) {
  const IndexRange whole{.begin = 0, .end = n};
  const IndexRange first_third{.begin = 0, .end = n / 3};
  const IndexRange last_part{.begin = n / 2, .end = n};
  const IndexRange nothing{.begin = n / 2, .end = n / 2};
  const IndexRange one{.begin = n - 1, .end = n};
  return {{whole, whole},           {first_third, whole}, {whole, first_third},
          {last_part, first_third}, {first_third, one},   {one, last_part},
          {nothing, whole},         {whole, nothing},     {last_part, last_part}};
}

TEST(BlockAssemblerTest, AwkwardProblemsInAnyStripsOnAnyThreads) {
  for (const auto& problem : test::awkward_problems()) {
    if (problem.class_name == "S") continue;  // npb_matrix_test has it, on several threads
    const Example example(problem);
    for (const auto& block : blocks_of(problem.n)) {
      for (const int thread_count : {1, 3}) {
        for (const int strip_count : {1, 5})
          expect_assembled(example, block, {.strip_count = strip_count, .thread_count = thread_count});
      }
    }
  }
}

TEST(BlockAssemblerTest, AnyGuessAtTheSizeWillDoAndLeavesNothing) {
  const Example example(test::custom_problem(257, 20));
  const Block whole{{.begin = 0, .end = 257}, {.begin = 0, .end = 257}};
  for (const int64_t guess : {0, 1, 66'049, 10'000'000}) {
    const AssemblyOptions options{.strip_count = 4, .thread_count = 2, .expected_entry_count = guess};
    expect_assembled(example, whole, options);
    EXPECT_EQ(std::ssize(assemble(example, whole, options).values),
              assemble(example, whole, options).nonzero_count());
  }
}

}  // namespace
}  // namespace cg2d::block_assembler_test

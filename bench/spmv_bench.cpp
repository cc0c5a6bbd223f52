// Every kernel on blocks of the real matrices, in the shapes that the grids of 16 ranks give them. Each
// result is compared with the reference before anything is timed.

#include <string>
#include <vector>

#include "bench/bench_flags.hpp"
#include "bench/checked_kernel.hpp"
#include "bench/generated_block.hpp"
#include "cg/matrix/half_storage.hpp"

namespace {

using cg2d::Problem;
using cg2d::bench::BlockSource;
using cg2d::bench::Flags;
using cg2d::bench::Workbench;
using cg2d::comm::BlockLayout;
using cg2d::comm::ProcessGrid;
using cg2d::kernels::CsrBlock;

constexpr int rank = 0;  // the blocks of a grid hardly differ: positions are drawn evenly

/// The random vectors of the problem that was last asked for.
class VectorStore {
 public:
  const cg2d::SparseVectors& of(const Problem& problem) {
    if (class_name_ != problem.class_name) {
      vectors_ = cg2d::bench::draw_all_vectors(problem);
      class_name_ = problem.class_name;
    }
    return vectors_;
  }

 private:
  cg2d::SparseVectors vectors_;
  std::string class_name_;
};

BlockSource source_of(const Problem& problem, const ProcessGrid& grid, VectorStore& vectors) {
  const auto layout = BlockLayout::even(problem.n, grid);
  return {
      .name = problem.class_name + "/" + (grid.rank_count() == 1 ? "whole" : grid.name()),
      .make = [=,
               &vectors] { return cg2d::bench::generate_block(problem, vectors.of(problem), layout, rank); },
      .keep_half =
          [=](CsrBlock& block) { cg2d::keep_stored(block, cg2d::kernels::Storage::half, layout, rank); }};
}

std::vector<ProcessGrid> measured_grids() {
  constexpr int rank_count = 16;
  constexpr int most_columns = 8;
  std::vector<ProcessGrid> grids{{.columns = 1, .rows = 1}};
  for (int columns = 1; columns <= most_columns; columns *= 2)
    grids.push_back({.columns = columns, .rows = rank_count / columns});
  return grids;
}

int run(Flags& flags) {
  const auto problems = flags.take_classes("SWA");
  const int thread_count = flags.take_count("threads", 1);
  const auto configs =
      cg2d::bench::kernel_configs({.thread_count = thread_count, .tuning = flags.take_tuning()},
                                  flags.take_choice("loops", {"preferred", "all"}) == "all");
  VectorStore vectors;
  Workbench workbench(thread_count);
  for (const auto& problem : problems) {
    for (const auto& grid : measured_grids()) {
      const auto source = source_of(problem, grid, vectors);
      for (const auto& config : configs) register_product(workbench, source, config);
    }
  }
  return run_registered(flags, thread_count, workbench.found_faults());
}

}  // namespace

int main(int argument_count, char** arguments) {
  return cg2d::bench::run_program("spmv_bench", argument_count, arguments, run);
}

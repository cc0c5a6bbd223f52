// Times the product of Laplacians without a matrix, its loops and ways of writing in turns, beside what the machine
// needs to read p once and write q once, and beside the assembled product. Start it with mpiexec.
//
// A batch of products is timed between a barrier and the last one's end, on the slowest rank. Every product is
// checked before anything is timed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_flags.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/operators/stencil_operator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/stencil_lines.hpp"

namespace {

using cg2d::Stencil;
using cg2d::comm::RankGroup;
using cg2d::kernels::StreamWriter;

struct BenchOptions {
  std::vector<std::string> stencils;
  std::string transport;
  int thread_count = 1;
  int batch_count = 0;
  double batch_seconds = 0.0;
  bool compares_assembled = false;
};

/// One thing to time: all ranks do it together.
struct Work {
  std::string name;
  double bytes;  // that one call must move on this rank
  std::function<void()> call;
};

struct Timed {
  const Work* work;
  cg2d::Sample seconds;  // seconds of one call
};

/// Times all in turns, batch after batch; of one call on the slowest rank. Collective.
std::vector<Timed> time_in_turns(RankGroup& group, const std::vector<Work>& works,
                                 const BenchOptions& options) {
  std::vector<std::vector<double>> seconds(works.size());
  const auto time_of = [&](const Work& work, int calls) {
    group.barrier();
    const cg2d::Stopwatch stopwatch;
    for (int k = 0; k < calls; ++k) work.call();
    return group.maximum(stopwatch.seconds()) / calls;
  };
  std::vector<int> calls;
  for (const auto& work : works) {
    static_cast<void>(time_of(work, 1));
    calls.push_back(1 + static_cast<int>(options.batch_seconds / time_of(work, 2)));
  }
  for (int batch = 0; batch < options.batch_count; ++batch) {
    for (size_t k = 0; k < works.size(); ++k) seconds[k].push_back(time_of(works[k], calls[k]));
  }
  std::vector<Timed> timed;
  for (size_t k = 0; k < works.size(); ++k)
    timed.push_back({.work = &works[k], .seconds = cg2d::sample_of(seconds[k])});
  return timed;
}

/// Reads p and writes q, by each thread in its part.
void move_all(std::span<const double> p, std::span<double> q, int thread_count, bool streams) {
  const auto size = static_cast<int64_t>(p.size());
#pragma omp parallel for num_threads(thread_count) schedule(static, 1)
  for (int thread = 0; thread < thread_count; ++thread) {
    const auto begin = size * thread / thread_count;
    const auto end = size * (thread + 1) / thread_count;
    if (!streams) {
      std::memcpy(q.data() + begin, p.data() + begin, static_cast<size_t>(end - begin) * sizeof(double));
      continue;
    }
    StreamWriter writer;
    for (auto k = begin; k < end; k += StreamWriter::largest_room) {
      const auto count = std::min(StreamWriter::largest_room, end - k);
      std::copy_n(p.data() + k, count, writer.room(q.data() + k, count));
    }
  }
}

/// A stencil with its exchange, in all the ways in which it can be applied.
class StencilUnderTest {
 public:
  StencilUnderTest(const Stencil& stencil, RankGroup& group, const BenchOptions& options)
      : stencil_(stencil),
        group_(group),
        layout_(stencil.extents, cg2d::comm::best_domain_grid(stencil.extents, group.size())),
        copy_(static_cast<size_t>(layout_.box(group.rank()).size())) {
    const cg2d::Configuration configuration{.transport = options.transport,
                                            .thread_count = options.thread_count};
    for (const auto set : cg2d::kernels::of_this_processor(cg2d::kernels::sets_without_gathers)) {
      for (const bool streams : {false, true}) {
        names_.push_back(fmt::format("{}, {}", cg2d::kernels::name_of(set), streams ? "streamed" : "stored"));
        operators_.push_back(std::make_unique<cg2d::StencilOperator>(
            stencil, cg2d::MatrixFreeInput{.group = group, .configuration = configuration},
            cg2d::StencilOperatorOptions{.streams = streams, .instruction_set = set}));
      }
    }
  }

  const cg2d::comm::DomainLayout& layout() const { return layout_; }
  double bytes() const { return 16.0 * static_cast<double>(copy_.size()); }

  /// The products of ones are the numbers of missing neighbours. Collective.
  [[nodiscard]] bool all_are_right() {
    bool is_right = true;
    for (const auto& matrix : operators_) {
      std::ranges::fill(matrix->operand(), 1.0);
      matrix->apply();
      double sum = 0.0;
      for (const double value : matrix->result()) sum += value;
      const auto rows = cg2d::rows_by_length(stencil_);
      double expected = 0.0;
      for (size_t length = 0; length < rows.size(); ++length)
        expected += static_cast<double>(rows[length]) * (stencil_.point_count - static_cast<double>(length));
      is_right = is_right && static_cast<double>(group_.sum(std::llround(sum))) == expected;
    }
    return is_right;
  }
  void add_works(std::vector<Work>& works, const BenchOptions& options) {
    for (const bool streams : {false, true}) {
      works.push_back({.name = streams ? "copy p to q, streamed" : "copy p to q, memcpy",
                       .bytes = bytes(),
                       .call = [this, streams, threads = options.thread_count] {
                         move_all(operators_.front()->operand(), copy_, threads, streams);
                       }});
    }
    for (size_t k = 0; k < operators_.size(); ++k) {
      works.push_back({.name = names_[k], .bytes = bytes(), .call = [this, k] {
                         static_cast<void>(operators_[k]->operand());
                         operators_[k]->apply();
                       }});
    }
  }

 private:
  Stencil stencil_;
  RankGroup& group_;
  cg2d::comm::DomainLayout layout_;
  cg2d::HugePageVector copy_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<cg2d::StencilOperator>> operators_;
};

/// The assembled matrix on process rows.
class AssembledUnderTest {
 public:
  AssembledUnderTest(const std::string& text, RankGroup& group, const BenchOptions& options)
      : source_(cg2d::source_from(text)),
        layout_(
            cg2d::comm::BlockLayout::even(source_->facts().key.order, {.columns = 1, .rows = group.size()})),
        configuration_{.thread_count = options.thread_count},
        assembled_(cg2d::assemble(source_->build(layout_, group, options.thread_count).block,
                                  *cg2d::comm::find_transport(options.transport),
                                  {.group = group,
                                   .layout = layout_,
                                   .configuration = configuration_,
                                   .kernel = cg2d::kernels::default_kernel()})) {}

  void add_work(std::vector<Work>& works) {
    std::ranges::fill(assembled_->operand(), 1.0);
    works.push_back({.name = fmt::format("assembled, {}", assembled_->product().kernel().name),
                     .bytes = static_cast<double>(assembled_->product().matrix_byte_count()),
                     .call = [this] {
                       static_cast<void>(assembled_->operand());
                       assembled_->apply();
                     }});
  }

 private:
  std::unique_ptr<cg2d::MatrixSource> source_;
  cg2d::comm::BlockLayout layout_;
  cg2d::Configuration configuration_;
  std::unique_ptr<cg2d::AssembledOperator> assembled_;
};

/// GB/s of all ranks together.
double rate_of(RankGroup& group, const Timed& timed) {
  return static_cast<double>(group.sum(static_cast<int64_t>(timed.work->bytes))) / timed.seconds.median / 1e9;
}

void print_table(RankGroup& group, const std::string& text, const StencilUnderTest& stencil,
                 const std::vector<Timed>& timed) {
  const double limit = std::max(rate_of(group, timed[0]), rate_of(group, timed[1]));
  const auto points = static_cast<double>(stencil.layout().size());
  if (group.rank() == 0)
    fmt::print("\n{}, domain cut {}\n{:<28} {:>9} {:>8} {:>8}  {}\n", text, stencil.layout().grid().name(),
               "", "ns/point", "GB/s", "share", "spread of ns/point");
  for (const auto& row : timed) {
    const double rate = rate_of(group, row);
    const auto ns = [&](double seconds) { return 1e9 * seconds / points; };
    if (group.rank() == 0)
      fmt::print("{:<28} {:>9.3f} {:>8.1f} {:>7.0f}%  {:.3f} ... {:.3f}\n", row.work->name,
                 ns(row.seconds.median), rate, 100.0 * rate / limit, ns(row.seconds.minimum),
                 ns(row.seconds.maximum));
  }
}

void time_stencil(const std::string& text, RankGroup& group, const BenchOptions& options) {
  StencilUnderTest stencil(cg2d::stencil_from(text), group, options);
  if (!stencil.all_are_right())
    throw cg2d::RunError(cg2d::ExitCode::internal, fmt::format("wrong result: {}", text));
  std::vector<Work> works;
  stencil.add_works(works, options);
  std::unique_ptr<AssembledUnderTest> assembled;
  if (options.compares_assembled) {
    assembled = std::make_unique<AssembledUnderTest>(text, group, options);
    assembled->add_work(works);
  }
  print_table(group, text, stencil, time_in_turns(group, works, options));
}

void run(cg2d::bench::Flags& flags, RankGroup& group) {
  cg2d::keep_blas_on_one_thread();
  BenchOptions options;
  options.stencils =
      cg2d::split_at(flags.take("stencils", "laplace3d:128x128x128,laplace3d:256x256x256"), ',');
  options.transport = flags.take_choice("transport", {"two-sided", "native", "put", "shared"});
  options.thread_count = flags.take_count("threads", 1);
  options.batch_count = flags.take_count("batches", 9);
  options.batch_seconds = 1e-3 * flags.take_count("batch-ms", 50);
  options.compares_assembled = flags.take_choice("assembled", {"no", "yes"}) == "yes";
  flags.require_nothing_left();
  group.waiter().set_mode(cg2d::inspect_environment(group, options.thread_count).wait_mode());
  if (group.rank() == 0)
    fmt::print("{} ranks of {} threads, transport {}\n", group.size(), options.thread_count,
               options.transport);
  for (const auto& text : options.stencils) time_stencil(text, group, options);
}

}  // namespace

int main(int argument_count, char** arguments) {
  return cg2d::bench::run_ranks("stencil_bench", argument_count, arguments, run);
}

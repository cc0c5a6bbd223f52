// The vector operations of CG on the pieces that 1 and 16 ranks have of classes S to B. Each result is
// checked before anything is timed.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_flags.hpp"
#include "bench/checked_kernel.hpp"
#include "cg/base/sample.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/solver/vector_ops.hpp"

namespace {

using cg2d::VectorOps;

// Keeps integers exact (one binary place more) and y bounded over any number of iterations.
constexpr double factor = 0.5;

/// One operation: its call, and the expected y after it.
struct Operation {
  std::string_view name;
  int doubles_moved;  // per element: each operand read or written once
  void (*call)(VectorOps& ops, std::span<const double> x, std::span<double> y);
  double (*expected)(double x, double y);
};

constexpr std::array operations{
    Operation{.name = "dot",
              .doubles_moved = 2,
              .call = [](VectorOps& ops, auto x, auto y) { benchmark::DoNotOptimize(ops.dot(x, y)); },
              .expected = [](double, double y) { return y; }},
    Operation{.name = "add_scaled",
              .doubles_moved = 3,
              .call = [](VectorOps& ops, auto x, auto y) { ops.add_scaled(factor, x, y); },
              .expected = [](double x, double y) { return y + factor * x; }},
    Operation{.name = "scale_and_add",
              .doubles_moved = 3,
              .call = [](VectorOps& ops, auto x, auto y) { ops.scale_and_add(x, factor, y); },
              .expected = [](double x, double y) { return x + factor * y; }},
    Operation{.name = "set_scaled",
              .doubles_moved = 2,
              .call = [](VectorOps& ops, auto x, auto y) { ops.set_scaled(factor, x, y); },
              .expected = [](double x, double) { return factor * x; }},
    Operation{.name = "copy",
              .doubles_moved = 2,
              .call = [](VectorOps& ops, auto x, auto y) { ops.copy(x, y); },
              .expected = [](double x, double) { return x; }},
    Operation{.name = "fill",
              .doubles_moved = 1,
              .call = [](VectorOps& ops, auto, auto y) { ops.fill(factor, y); },
              .expected = [](double, double) { return factor; }},
};

/// Small whole numbers: every sum here is exact, so every comparison is, too.
struct Operands {
  explicit Operands(int64_t size) : x(static_cast<size_t>(size)), y(static_cast<size_t>(size)) {
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<double>(k % 17) - 8.0;
      y[k] = static_cast<double>(k % 13) - 6.0;
    }
  }
  std::vector<double> x;
  std::vector<double> y;
};

bool is_right(const Operation& operation, int64_t size, int thread_count) {
  const Operands before(size);
  Operands after(size);
  VectorOps ops(thread_count);
  operation.call(ops, after.x, after.y);
  double dot = 0.0;
  for (size_t k = 0; k < before.x.size(); ++k) {
    if (after.x[k] != before.x[k]) return false;
    if (after.y[k] != operation.expected(before.x[k], before.y[k])) return false;
    dot += before.x[k] * before.y[k];
  }
  return ops.dot(before.x, before.y) == dot;
}

void time_operation(benchmark::State& state, const Operation& operation, int64_t size, int thread_count) {
  Operands operands(size);
  VectorOps ops(thread_count);
  const cg2d::Stopwatch stopwatch;
  for ([[maybe_unused]] auto iteration : state) {
    operation.call(ops, operands.x, operands.y);
    benchmark::ClobberMemory();
  }
  const double ns_per_call = 1e9 * stopwatch.seconds() / static_cast<double>(state.iterations());
  // Plain numbers: the rates of Google Benchmark carry units of their own.
  const auto elements = static_cast<double>(size);
  state.counters["ns_per_element"] = ns_per_call / elements;
  state.counters["GB/s"] =
      elements * operation.doubles_moved * static_cast<double>(sizeof(double)) / ns_per_call;
}

void register_all(const std::vector<cg2d::Problem>& problems, int thread_count, bool& found_faults) {
  for (const auto& operation : operations) {
    for (const auto& problem : problems) {
      for (const int rank_count : {16, 1}) {
        const int64_t size = problem.n / rank_count;
        const auto name = std::string(operation.name) + "/" + problem.class_name + "/" + std::to_string(size);
        benchmark::RegisterBenchmark(name.c_str(), [&operation, size, thread_count,
                                                    &found_faults](benchmark::State& state) {
          if (!is_right(operation, size, thread_count)) {
            found_faults = true;
            state.SkipWithError("the result is wrong");
            return;
          }
          time_operation(state, operation, size, thread_count);
        })->UseRealTime();
      }
    }
  }
}

int run(cg2d::bench::Flags& flags) {
  const auto problems = flags.take_classes("SWAB");
  const int thread_count = flags.take_count("threads", 1);
  cg2d::keep_blas_on_one_thread();
  bool found_faults = false;
  register_all(problems, thread_count, found_faults);
  return run_registered(flags, thread_count, found_faults);
}

}  // namespace

int main(int argument_count, char** arguments) {
  return cg2d::bench::run_program("vector_ops_bench", argument_count, arguments, run);
}

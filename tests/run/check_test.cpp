// Every check finds a part that is broken, and passes those of this installation.

#include "cg/run/check/check.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::check_test {
namespace {

using kernels::make_known_products;
using test::group;

constexpr double nan_number = std::numeric_limits<double>::quiet_NaN();

void expect_ok(const CheckResult& result) {
  EXPECT_EQ(result.status, CheckStatus::ok)
      << result.figure << " > " << result.tolerance << " " << result.reason;
  EXPECT_LE(result.figure, result.tolerance);
}

void expect_failed(const CheckResult& result) {
  EXPECT_EQ(result.status, CheckStatus::failed) << result.figure << " <= " << result.tolerance;
  EXPECT_FALSE(result.figure <= result.tolerance);
}

// ---------------------------------------------------------------- verdicts

TEST(CheckResultTest, NaNFails) {
  EXPECT_EQ(judged(1.0, 1.0).status, CheckStatus::ok);
  EXPECT_EQ(judged(1.5, 1.0).status, CheckStatus::failed);
  EXPECT_EQ(judged(nan_number, 1.0).status, CheckStatus::failed);
}

TEST(CheckResultTest, TheFaultOfAnyRankFailsOnAll) {
  for (int faulty = 0; faulty < group().size(); ++faulty) {
    const bool is_mine = group().rank() == faulty;
    const auto result =
        judged_over_ranks({.figure = is_mine ? 3.0 : 0.5, .reason = is_mine ? "broken" : ""}, 1.0, group());
    expect_failed(result);
    EXPECT_EQ(result.figure, 3.0);
    EXPECT_EQ(result.reason, "broken (rank " + std::to_string(faulty) + ")");
    expect_failed(judged_over_ranks({.figure = is_mine ? nan_number : 0.5}, 1.0, group()));
  }
  expect_ok(judged_over_ranks({.figure = 0.5}, 1.0, group()));
}

// ---------------------------------------------------------------- kernels

constexpr std::array<std::string_view, 3> changed_kernels{"scalar", "symmetric-scalar", "csr-short"};

/// A kernel that is made after a change of its block.
template <void (*Change)(kernels::CsrBlock&), size_t Name = 0>
kernels::KernelRow changed_kernel() {
  auto row = kernels::kernel_named(changed_kernels[Name]);
  row.maker = [](kernels::CsrBlock block, const kernels::KernelOptions& options) {
    Change(block);
    return kernels::kernel_named(changed_kernels[Name]).make(std::move(block), options);
  };
  return row;
}

void drop_last_entry(kernels::CsrBlock& block) {
  if (block.row_count == 0) return;
  auto& end = block.row_starts[static_cast<size_t>(block.row_count)];
  if (end > block.row_starts[static_cast<size_t>(block.row_count) - 1]) --end;
}

void move_one_column(kernels::CsrBlock& block) {
  if (block.nonzero_count() > 0 && block.column_count > 1) block.columns[0] = block.columns[0] == 0 ? 1 : 0;
}

void put_nan(kernels::CsrBlock& block) {
  if (block.nonzero_count() > 0) block.values[0] = nan_number;
}

void fail(kernels::CsrBlock& /*block*/) { throw std::runtime_error("illegal instruction"); }

/// A kernel that hands its calls to the scalar one after a change.
class WrongMode final : public kernels::SpmvKernel {
 public:
  explicit WrongMode(kernels::CsrBlock block)
      : inner_(kernels::kernel_named("scalar").make(std::move(block), {})) {}
  std::string_view name() const override { return "wrong"; }
  std::string_view instruction_set() const override { return "portable"; }
  int64_t matrix_byte_count() const override { return 0; }
  [[nodiscard]] std::vector<kernels::StoredArray> stored_arrays() override { return inner_->stored_arrays(); }
  bool has_columns_in_range() const override { return inner_->has_columns_in_range(); }
  /// Makes the whole product in every share.
  void multiply(const kernels::Operands& operands, const kernels::ProductMode& mode) override {
    inner_->multiply(operands, {.is_added = mode.is_added});
  }

 private:
  std::unique_ptr<kernels::SpmvKernel> inner_;
};

TEST(KernelCheckTest, FindsEveryFaultAndSaysWhatItCannotCheck) {
  const auto known = make_known_products();
  const auto check = [&](const kernels::KernelRow& row, const kernels::KernelOptions& options = {}) {
    return check_kernel(row, options, known, group());
  };
  expect_failed(check(changed_kernel<drop_last_entry>()));
  expect_failed(check(changed_kernel<drop_last_entry, 1>()));
  expect_failed(check(changed_kernel<move_one_column>()));
  expect_failed(check(changed_kernel<move_one_column, 2>(), {.vector_count = 4}));
  expect_failed(check(changed_kernel<put_nan>()));
  auto row = kernels::kernel_named("scalar");
  row.maker = [](kernels::CsrBlock block,
                 const kernels::KernelOptions&) -> std::unique_ptr<kernels::SpmvKernel> {
    return std::make_unique<WrongMode>(std::move(block));
  };
  expect_failed(check(row));
  const auto thrown = check(changed_kernel<fail>());
  expect_failed(thrown);
  EXPECT_EQ(thrown.reason, "illegal instruction (rank 0)");
  row.instruction_sets.clear();
  const auto missing = check(row, {.instruction_set = kernels::InstructionSet::portable});
  EXPECT_EQ(missing.status, CheckStatus::unavailable);
  EXPECT_EQ(missing.reason, "no loop for portable on this processor");
}

// ---------------------------------------------------------------- transports

enum class Fault { none, collection, part_of_collection, result, scalars, row_collection, column_sum };

/// The communicator of the first transport with one fault on the last rank.
class FaultyCommunicator final : public comm::Communicator, public comm::MirroredExchange {
 public:
  FaultyCommunicator(std::unique_ptr<comm::Communicator> inner, Fault fault, bool is_faulty)
      : inner_(std::move(inner)), fault_(is_faulty ? fault : Fault::none) {}

  std::string_view name() const override { return "faulty"; }
  [[nodiscard]] std::span<double> piece() override { return inner_->piece(); }
  std::span<const double> column_block() const override {
    return changed(inner_->column_block(), is_in_parts_ ? Fault::part_of_collection : Fault::collection);
  }
  [[nodiscard]] std::span<double> partial() override { return inner_->partial(); }
  std::span<const double> result() const override { return changed(inner_->result(), Fault::result); }
  void collect() override {
    is_in_parts_ = false;
    inner_->collect();
  }
  void sum() override { inner_->sum(); }
  void shuffle() override { inner_->shuffle(); }
  void sum_scalars(std::span<double> values) override {
    inner_->sum_scalars(values);
    if (fault_ == Fault::scalars) values.back() += 1.0;
  }

  [[nodiscard]] comm::MirroredExchange* mirror() override {
    return inner_->mirror() == nullptr ? nullptr : this;
  }
  std::span<const double> row_block() const override {
    return changed(inner_->mirror()->row_block(), Fault::row_collection);
  }
  [[nodiscard]] std::span<double> column_partial() override { return inner_->mirror()->column_partial(); }
  std::span<const double> column_result() const override {
    return changed(inner_->mirror()->column_result(), Fault::column_sum);
  }
  void collect_rows() override { inner_->mirror()->collect_rows(); }
  void sum_columns() override { inner_->mirror()->sum_columns(); }

 private:
  void start_collection() override {
    is_in_parts_ = true;
    under_way_.emplace(*inner_);
  }
  void wait_for_collected(size_t part) override { under_way_->wait_for_part(part); }
  void finish_collection() override {
    under_way_->finish();
    under_way_.reset();
  }
  /// The last element is another one.
  std::span<const double> changed(std::span<const double> values, Fault fault) const {
    if (fault != fault_ || values.empty()) return values;
    copy_.assign(values.begin(), values.end());
    copy_.back() += 1.0;
    return copy_;
  }

  std::unique_ptr<comm::Communicator> inner_;
  Fault fault_;
  bool is_in_parts_ = false;
  std::optional<comm::Collection> under_way_;
  mutable std::vector<double> copy_;
};

template <Fault WhichFault>
comm::TransportRow faulty_transport() {
  auto row = comm::default_transport();
  row.make = [](comm::RankGroup& ranks, const comm::BlockLayout& layout,
                const comm::CommunicatorOptions& options) -> std::unique_ptr<comm::Communicator> {
    return std::make_unique<FaultyCommunicator>(comm::default_transport().make(ranks, layout, options),
                                                WhichFault, ranks.rank() == ranks.size() - 1);
  };
  return row;
}

TEST(TransportCheckTest, FindsAWrongResultOfEveryOperation) {
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE(grid.name());
    for (const auto& row :
         {faulty_transport<Fault::collection>(), faulty_transport<Fault::part_of_collection>(),
          faulty_transport<Fault::result>(), faulty_transport<Fault::scalars>(),
          faulty_transport<Fault::row_collection>(), faulty_transport<Fault::column_sum>()})
      expect_failed(check_transport(row, grid, 0, group()));
  }
  // The stand-in without a fault passes, and one that is not there is no failure.
  const comm::ProcessGrid line{.columns = 1, .rows = group().size()};
  auto row = faulty_transport<Fault::none>();
  expect_ok(check_transport(row, line, 0, group()));
  row.why_unavailable = [](comm::RankGroup&) { return std::string("no network"); };
  const auto result = check_transport(row, line, 0, group());
  EXPECT_EQ(result.status, CheckStatus::unavailable);
  EXPECT_EQ(result.reason, "no network");
}

// ---------------------------------------------------------------- the benchmark

TEST(BenchmarkCheckTest, FindsAnotherMatrixABrokenKernelAndABrokenTransport) {
  const auto official = *find_class("S");
  auto other_matrix = official;
  other_matrix.nonzer = 6;
  const auto broken_kernel = changed_kernel<drop_last_entry>();
  const auto broken_transport = faulty_transport<Fault::result>();
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE(grid.name());
    const auto check = [&](const Problem& problem, const kernels::KernelRow& kernel,
                           const comm::TransportRow& transport) {
      return check_benchmark(
          problem, {.configuration = {.grid = grid}, .kernels = {&kernel}, .transports = {&transport}},
          group());
    };
    const auto& kernel = kernels::default_kernel();
    const auto& transport = comm::default_transport();
    expect_ok(check(official, kernel, transport));
    expect_ok(check(official, kernels::default_kernel(kernels::Storage::half), transport));
    expect_failed(check(other_matrix, kernel, transport));
    expect_failed(check(official, broken_kernel, transport));
    expect_failed(check(official, kernel, broken_transport));
  }
}

// ---------------------------------------------------------------- all of them

const Progress silent(ProgressMode::quiet, 0);

TEST(MakeChecksTest, ARunBeginsOnlyWithPartsThatAreRightAndNoneBeginsTooLate) {
  auto plan = short_check_plan({.grid = comm::factorizations(group().size()).back(), .kernel = "scalar"}, {});
  EXPECT_NO_THROW(check_before_run(plan, group(), silent));
  const auto several =
      short_check_plan({.grid = plan.grids.front(), .kernel = "csr-short"}, {.vector_count = 2});
  EXPECT_EQ(make_checks(several, group(), silent).front().subject, "csr-short, 2 vectors");
  const auto broken = changed_kernel<drop_last_entry>();
  plan.kernels = {&broken};
  const auto error =
      test::error_of(ExitCode::verification_failed, [&] { check_before_run(plan, group(), silent); });
  EXPECT_NE(error.find("--check: kernel scalar"), std::string::npos) << error;
  plan.time_limit_s = 0.0;
  const auto results = make_checks(plan, group(), silent);
  EXPECT_EQ(count_of(results, CheckStatus::unavailable), std::ssize(results));
  EXPECT_EQ(results.front().reason, "not reached within 0 s");
}

TEST(CheckReportTest, SaysWhatFailed) {
  CheckReport report{.machine = "a processor", .mpi = "an MPI", .blas = "a BLAS"};
  report.instruction_sets = {"portable"};
  auto failure = judged(nan_number, 1.0);
  failure.check = "kernel";
  failure.subject = "sell, avx2";
  auto missing = unavailable("no network");
  missing.check = "transport";
  missing.subject = "put, 1x1";
  report.results = {failure, missing};
  const auto text = write_check_report(report, "text");
  for (const auto* part : {"sell, avx2  failed", "no network", "0 ok, 1 failed, 1 unavailable", "NOT right"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const auto json = write_check_report(report, "json");
  for (const auto* part : {"\"exit_code\": 82", "\"figure\": null"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
}

}  // namespace
}  // namespace cg2d::check_test

// Every check finds a part that is broken, and passes those of this installation.

#include "cg/run/check/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
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

/// The scalar kernel after a change of its block.
template <void (*Change)(kernels::CsrBlock&)>
kernels::KernelRow changed_kernel(const char* name = "scalar") {
  auto row = kernels::kernel_named(name);
  row.make = [](kernels::CsrBlock block, const kernels::KernelOptions& options) {
    Change(block);
    return kernels::kernel_named("scalar").make(std::move(block), options);
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

TEST(KernelCheckTest, FindsALostEntry) {
  expect_failed(check_kernel(changed_kernel<drop_last_entry>(), {}, make_known_products(), group()));
}

TEST(KernelCheckTest, FindsALostEntryOfHalfStorage) {
  auto row = kernels::kernel_named("symmetric-scalar");
  row.make = [](kernels::CsrBlock block, const kernels::KernelOptions& options) {
    drop_last_entry(block);
    return kernels::kernel_named("symmetric-scalar").make(std::move(block), options);
  };
  expect_failed(check_kernel(row, {}, make_known_products(), group()));
}

TEST(KernelCheckTest, FindsAWrongColumnAndNaN) {
  const auto known = make_known_products();
  expect_failed(check_kernel(changed_kernel<move_one_column>(), {}, known, group()));
  expect_failed(check_kernel(changed_kernel<put_nan>(), {}, known, group()));
}

TEST(KernelCheckTest, FindsSharesThatAreTooLarge) {
  auto row = kernels::kernel_named("scalar");
  row.make = [](kernels::CsrBlock block,
                const kernels::KernelOptions&) -> std::unique_ptr<kernels::SpmvKernel> {
    return std::make_unique<WrongMode>(std::move(block));
  };
  expect_failed(check_kernel(row, {}, make_known_products(), group()));
}

TEST(KernelCheckTest, FindsAVectorThatIsMixedUp) {
  auto row = kernels::kernel_named("csr-short");
  row.make = [](kernels::CsrBlock block, const kernels::KernelOptions& options) {
    move_one_column(block);
    return kernels::kernel_named("csr-short").make(std::move(block), options);
  };
  expect_failed(check_kernel(row, {.vector_count = 4}, make_known_products(), group()));
}

TEST(KernelCheckTest, AnExceptionIsAFailureWithItsText) {
  auto row = kernels::kernel_named("scalar");
  row.make = [](kernels::CsrBlock, const kernels::KernelOptions&) -> std::unique_ptr<kernels::SpmvKernel> {
    throw std::runtime_error("illegal instruction");
  };
  const auto result = check_kernel(row, {}, make_known_products(), group());
  expect_failed(result);
  EXPECT_EQ(result.reason, "illegal instruction (rank 0)");
}

TEST(KernelCheckTest, UnavailableWithItsReason) {
  auto row = changed_kernel<drop_last_entry>();
  row.why_unavailable = [] { return std::string("needs another processor"); };
  const auto result = check_kernel(row, {}, make_known_products(), group());
  EXPECT_EQ(result.status, CheckStatus::unavailable);
  EXPECT_EQ(result.reason, "needs another processor");
}

// ---------------------------------------------------------------- transports

enum class Fault {
  none,
  collection,
  part_of_collection,
  summation,
  shuffle,
  scalars,
  row_collection,
  column_sum
};

/// The communicator of the first transport with one fault on the last rank.
class FaultyCommunicator final : public comm::Communicator, public comm::MirroredExchange {
 public:
  FaultyCommunicator(std::unique_ptr<comm::Communicator> inner, Fault fault, bool is_faulty)
      : inner_(std::move(inner)), fault_(is_faulty ? fault : Fault::none) {}

  std::string_view name() const override { return "faulty"; }
  [[nodiscard]] std::span<double> piece() override { return inner_->piece(); }
  std::span<const double> column_block() const override {
    if (is_in_parts_) return changed(inner_->column_block(), Fault::part_of_collection);
    return changed(inner_->column_block(), Fault::collection);
  }
  [[nodiscard]] std::span<double> partial() override { return inner_->partial(); }
  std::span<const double> result() const override {
    return changed(changed(inner_->result(), Fault::summation), Fault::shuffle);
  }
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
  uint64_t waited_ticks() const override { return 0; }

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

template <Fault WhichFault>
void expect_found_on_every_grid() {
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("fault " + std::to_string(static_cast<int>(WhichFault)) + ", " + grid.name());
    expect_failed(check_transport(faulty_transport<WhichFault>(), grid, 0, group()));
  }
}

TEST(TransportCheckTest, FindsAWrongResultOfEveryOperation) {
  expect_found_on_every_grid<Fault::collection>();
  expect_found_on_every_grid<Fault::part_of_collection>();
  expect_found_on_every_grid<Fault::summation>();
  expect_found_on_every_grid<Fault::shuffle>();
  expect_found_on_every_grid<Fault::scalars>();
  expect_found_on_every_grid<Fault::row_collection>();
  expect_found_on_every_grid<Fault::column_sum>();
  // The stand-in without a fault passes.
  expect_ok(check_transport(faulty_transport<Fault::none>(), comm::factorizations(group().size()).front(), 0,
                            group()));
}

TEST(TransportCheckTest, UnavailableWithItsReason) {
  auto row = faulty_transport<Fault::summation>();
  row.why_unavailable = [](comm::RankGroup&) { return std::string("no network"); };
  const auto result = check_transport(row, comm::factorizations(group().size()).front(), 0, group());
  EXPECT_EQ(result.status, CheckStatus::unavailable);
  EXPECT_EQ(result.reason, "no network");
}

// ---------------------------------------------------------------- the benchmark

Configuration configuration_on(const comm::ProcessGrid& grid) {
  Configuration configuration;
  configuration.grid = grid;
  return configuration;
}

/// Class S with the parts of the test.
struct TestParts {
  explicit TestParts(const comm::ProcessGrid& grid) : configuration(configuration_on(grid)) {}

  ProductParts parts(const kernels::KernelRow& kernel = kernels::default_kernel(),
                     const comm::TransportRow& transport = comm::default_transport()) const {
    return {.kernel = kernel, .transport = transport, .configuration = configuration, .tuning = tuning};
  }

  Configuration configuration;
  kernels::Tuning tuning{};
};

TEST(BenchmarkCheckTest, FindsAnotherMatrixABrokenKernelAndABrokenTransport) {
  const auto official = *find_class("S");
  auto other_matrix = official;
  other_matrix.nonzer = 6;
  const auto broken_kernel = changed_kernel<drop_last_entry>();
  const auto broken_transport = faulty_transport<Fault::summation>();
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE(grid.name());
    const TestParts test(grid);
    expect_ok(check_benchmark(official, test.parts(), group()));
    expect_ok(
        check_benchmark(official, test.parts(kernels::default_kernel(kernels::Storage::half)), group()));
    expect_failed(check_benchmark(other_matrix, test.parts(), group()));
    expect_failed(check_benchmark(official, test.parts(broken_kernel), group()));
    expect_failed(
        check_benchmark(official, test.parts(kernels::default_kernel(), broken_transport), group()));
  }
}

// ---------------------------------------------------------------- all of them

const Progress silent(ProgressMode::quiet, 0);

TEST(MakeChecksTest, ThisInstallationPasses) {
  const auto plan = full_check_plan(group().size());
  const auto results = make_checks(plan, group(), silent);
  std::set<std::string> checks;
  for (const auto& result : results) {
    checks.insert(result.check);
    EXPECT_NE(result.status, CheckStatus::failed) << sentence_of(result);
    EXPECT_EQ(result.status == CheckStatus::unavailable, !result.reason.empty()) << result.subject;
  }
  for (const auto& row : check_table()) EXPECT_EQ(checks.count(std::string(row.name)), 1U) << row.name;
  EXPECT_EQ(std::ranges::count(results, "benchmark", &CheckResult::check),
            2 * std::ssize(comm::factorizations(group().size())));
}

TEST(MakeChecksTest, ChecksThatBeginTooLateAreNotMade) {
  auto plan = full_check_plan(group().size());
  plan.time_limit_s = 0.0;
  const auto results = make_checks(plan, group(), silent);
  EXPECT_EQ(count_of(results, CheckStatus::unavailable), std::ssize(results));
  EXPECT_EQ(results.front().reason, "not reached within 0 s");
}

TEST(MakeChecksTest, TheShortPlanHasEveryCheckOnce) {
  auto configuration = configuration_on(comm::factorizations(group().size()).back());
  configuration.kernel = "csr-simd";
  const auto plan = short_check_plan(configuration, {});
  const auto results = make_checks(plan, group(), silent);
  EXPECT_EQ(results.size(), check_table().size());
  EXPECT_EQ(count_of(results, CheckStatus::ok), std::ssize(results));
}

TEST(MakeChecksTest, ARunBeginsOnlyWithPartsThatAreRight) {
  auto configuration = configuration_on(comm::factorizations(group().size()).back());
  configuration.kernel = "scalar";
  auto plan = short_check_plan(configuration, {});
  EXPECT_NO_THROW(check_before_run(plan, group(), silent));
  const auto broken = changed_kernel<drop_last_entry>();
  plan.kernels = {&broken};
  try {
    check_before_run(plan, group(), silent);
    ADD_FAILURE() << "the broken kernel was not found";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), ExitCode::verification_failed);
    EXPECT_NE(std::string(error.what()).find("--check: kernel scalar"), std::string::npos) << error.what();
  }
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
  EXPECT_NE(text.find("sell, avx2  failed"), std::string::npos) << text;
  EXPECT_NE(text.find("no network"), std::string::npos) << text;
  EXPECT_NE(text.find("0 ok, 1 failed, 1 unavailable"), std::string::npos) << text;
  EXPECT_NE(text.find("NOT right"), std::string::npos) << text;
  const auto json = write_check_report(report, "json");
  EXPECT_NE(json.find("\"exit_code\": 82"), std::string::npos) << json;
  EXPECT_NE(json.find("\"figure\": null"), std::string::npos) << json;
  report.results = {judged(0.5, 1.0)};
  EXPECT_NE(write_check_report(report, "text").find("all checks passed"), std::string::npos);
  EXPECT_FALSE(report.has_failures());
}

}  // namespace
}  // namespace cg2d::check_test

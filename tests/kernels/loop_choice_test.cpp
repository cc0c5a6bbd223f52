// The choice among loops: the fastest one by far, else the one that is expected.

#include "kernels/loop_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace cg2d::kernels::loop_choice_test {
namespace {

/// Multiplies nothing; takes some time.
class SlowKernel final : public SpmvKernel {
 public:
  SlowKernel(InstructionSet set, std::chrono::microseconds time) : set_(set), time_(time) {}

  std::string_view name() const override { return "slow"; }
  std::string_view instruction_set() const override { return name_of(set_); }
  int64_t matrix_byte_count() const override { return 0; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return {}; }
  bool has_columns_in_range() const override { return true; }
  void multiply(const Operands& operands, const ProductMode& /*mode*/) override {
    EXPECT_EQ(operands.p_columns.size(), operands.q_columns.size());
    EXPECT_EQ(operands.p_rows.size(), operands.q_rows.size());
    const auto end = std::chrono::steady_clock::now() + time_;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

 private:
  InstructionSet set_;
  std::chrono::microseconds time_;
};

/// Much slower than others: whatever else this machine does, one of 16 rounds tells them apart.
std::unique_ptr<SpmvKernel> make_with_slow_gathers(CsrBlock block, const KernelOptions& options) {
  EXPECT_GT(block.nonzero_count(), 0);
  const bool is_slow = *options.instruction_set >= InstructionSet::avx2;
  return std::make_unique<SlowKernel>(*options.instruction_set,
                                      std::chrono::microseconds(is_slow ? 300 : 20));
}

std::unique_ptr<SpmvKernel> make_alike(CsrBlock /*block*/, const KernelOptions& options) {
  return std::make_unique<SlowKernel>(*options.instruction_set, std::chrono::microseconds(20));
}

std::unique_ptr<SpmvKernel> make_none(CsrBlock /*block*/, const KernelOptions& /*options*/) {
  ADD_FAILURE() << "there is nothing to choose";
  return nullptr;
}

TEST(FastestLoopTest, TakesTheFasterOneAndAmongEqualsTheExpectedOne) {
  using enum InstructionSet;
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {fma, avx512}, avx512), fma);
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {fma, avx512}, fma), fma);
  const std::vector<InstructionSet> sets(all_instruction_sets.begin(), all_instruction_sets.end());
  for (const auto expected : sets) EXPECT_EQ(fastest_loop(make_alike, sets, expected), expected);
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {portable, avx2}, avx512), portable) << "that is missing";
  EXPECT_EQ(fastest_loop(make_none, {portable}, portable), portable) << "nothing is measured";
}

}  // namespace
}  // namespace cg2d::kernels::loop_choice_test

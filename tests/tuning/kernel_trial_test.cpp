// --kernel auto of a solve: the kernels that are tried, and those whose format would take too long to make.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::kernel_trial_test {
namespace {

using test::group;

/// A trial on a Laplacian that is large enough for one, with the default transport.
KernelTrial trial_with(const ConversionLimit& limit, int vector_count = 1) {
  const auto source = source_from("laplace2d:250x300");
  const Configuration configuration{.grid = {.columns = 1, .rows = group().size()}};
  const auto environment = inspect_environment(group(), 1);
  return try_kernels(group(), {.source = *source,
                               .configuration = configuration,
                               .environment = environment,
                               .asked = {},
                               .vector_count = vector_count,
                               .limit = limit});
}

std::vector<std::string> names_in_the_table() {
  const auto environment = inspect_environment(group(), 1);
  return names_where(kernels::kernel_table(), [&](const auto& row) {
    const bool may_serve = !row.stores_half() || !environment.ranks_oversubscribed;
    return row.is_tried && may_serve;
  });
}

TEST(KernelTrialTest, WithoutALimitEveryKernelIsTried) {
  const auto trial = trial_with({.steps = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(names_of(trial.tried), names_in_the_table());
  EXPECT_TRUE(trial.skipped.empty());
  const auto of_several = trial_with({.steps = std::numeric_limits<double>::infinity()}, 4);
  ASSERT_FALSE(of_several.tried.empty());
  for (const auto& name : names_of(of_several.tried)) {
    EXPECT_TRUE(kernels::kernel_named(name).makes_several) << name;
    EXPECT_EQ(kernels::kernel_named(name).has_use_for, nullptr) << name;
  }
}

TEST(KernelTrialTest, TheUsualKernelIsLeftWhereNoConversionIsWorthATrial) {
  const auto trial = trial_with({.steps = 0.0, .seconds = 0.0});
  const std::string usual(kernels::kernel_for_any_pattern().name);
  EXPECT_EQ(trial.best, usual);
  EXPECT_EQ(names_of(trial.tried), std::vector{usual});
  auto expected = names_in_the_table();
  std::erase(expected, usual);
  std::vector<std::string> skipped;
  for (const auto& [name, reason] : trial.skipped) {
    skipped.push_back(name);
    EXPECT_TRUE(reason.starts_with("its conversion would take about ")) << reason;
  }
  EXPECT_EQ(skipped, expected);
  const auto own = json_line(trial);
  for (const auto& other : group().gather_all(own)) EXPECT_EQ(other, own);
}

}  // namespace
}  // namespace cg2d::kernel_trial_test

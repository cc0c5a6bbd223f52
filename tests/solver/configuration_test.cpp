// The configuration of a run, the table of its axes, and --slow-rank.

#include "cg/solver/configuration.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "support/error_of.hpp"

namespace cg2d::configuration_test {
namespace {

TEST(ConfigurationAxes, EachIsUniqueReadsWhatItPrintsAndRefusesWhatIsNoValue) {
  std::set<std::string_view> names;
  std::set<std::string_view> options;
  for (const auto& axis : configuration_axes()) {
    SCOPED_TRACE(axis.name);
    EXPECT_TRUE(names.insert(axis.name).second);
    EXPECT_TRUE(options.insert(axis.option).second) << axis.option;
    EXPECT_EQ(configuration_axis(axis.name).option, axis.option);
    Configuration configuration;
    const auto text = axis.print(configuration);
    axis.parse(configuration, text);
    axis.parse_recorded(configuration, text);
    for (const std::string wrong : {"", "no such value", "-3"}) {
      const auto error = test::error_of(ExitCode::usage, [&] { axis.parse(configuration, wrong); });
      EXPECT_TRUE(error.starts_with(axis.option)) << error;
    }
    EXPECT_EQ(configuration, Configuration()) << text;
  }
}

TEST(ConfigurationAxes, SumIsRefusedWhereTheTransportHasNoSuchForm) {
  Configuration configuration;
  configuration.sum_form = comm::SumForm::whole_block;
  EXPECT_NO_THROW(check_configuration(configuration));
  configuration.transport = "shared";
  EXPECT_EQ(test::error_of(ExitCode::usage, [&] { check_configuration(configuration); }),
            "--sum whole-block: the transport shared has no such form; valid: reduce-scatter");
}

TEST(ConfigurationAxes, NamesOfOtherVersionsAreKeptInFilesOfResults) {
  Configuration configuration;
  configuration_axis("kernel").parse_recorded(configuration, "a kernel of 2031");
  configuration_axis("transport").parse_recorded(configuration, "pigeon");
  EXPECT_EQ(configuration.kernel, "a kernel of 2031");
  EXPECT_EQ(configuration.transport, "pigeon");
  EXPECT_THROW(configuration_axis("sum_form").parse_recorded(configuration, "tree"), InputError);
}

TEST(Configuration, KeySaysWhatIsNotUsualLast) {
  Configuration configuration;
  configuration.grid = {.columns = 2, .rows = 4};
  EXPECT_EQ(configuration_key(configuration), "2x4 auto two-sided 1 thread");
  configuration.thread_count = 2;
  configuration.sum_form = comm::SumForm::whole_block;
  configuration.overlaps = true;
  EXPECT_EQ(configuration_key(configuration), "2x4 auto two-sided 2 threads whole-block overlap");
}

TEST(Configuration, CrossingGivesEveryCombinationOnceTheLastAxisFastest) {
  const AxisValues values{{"overlap", {"off", "on"}}, {"kernel", {"auto", "sell"}}, {"threads", {}}};
  Configuration common;
  common.thread_count = 3;
  const auto all = crossed(common, values);
  ASSERT_EQ(all.size(), 4U);
  const std::vector<std::string> kernels{"auto", "auto", "sell", "sell"};
  for (size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(all[k].kernel, kernels[k]);
    EXPECT_EQ(all[k].overlaps, k % 2 == 1);
    EXPECT_EQ(all[k].thread_count, 3);
  }
}

// ---------------------------------------------------------------- --slow-rank: its texts, and the factors of the ranks in each product

TEST(SlowRanksTest, ATextHasRanksFactorsAndProducts) {
  const auto slow = slow_ranks_from("1:2@600,0:1.5,1:4@700");
  ASSERT_EQ(slow.size(), 3U);
  EXPECT_EQ(slow.front().rank, 0) << "by rising products";
  EXPECT_EQ(text_of(slow),
            " rank 0 by 1.5, rank 1 by 2 from product 600 on, rank 1 by 4 from product 700 on");
  for (const auto* const text : {"", "1", "1:", "1:0.5", "1:101", "-1:2", "1:2@-1", "1:nan", "1:2,", "1:2@x"})
    EXPECT_THROW(slow_ranks_from(text), InputError) << text;
}

TEST(SlowRanksTest, TheLastFactorOfARankHolds) {
  const auto slow = slow_ranks_from("1:2@600,0:1.5,1:4@700");
  EXPECT_EQ(factors_at(slow, 3, 0), (std::vector{1.5, 1.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 3, 600), (std::vector{1.5, 2.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 3, 9000), (std::vector{1.5, 4.0, 1.0}));
  EXPECT_EQ(factors_at(slow, 1, 9000), (std::vector{1.5})) << "without the ranks that there are not";
  EXPECT_EQ(changes_of(slow, 1).size(), 2U);
  EXPECT_TRUE(changes_of(slow, 2).empty());
  EXPECT_EQ(text_of(slow_ranks_from("0:2,1:5,0:3")), " rank 1 by 5, rank 0 by 3")
      << "from the same product on";
}

TEST(SlowRanksTest, RanksMustBeThere) {
  const auto slow = slow_ranks_from("2:2");
  EXPECT_NO_THROW(require_ranks(slow, 3));
  EXPECT_THROW(require_ranks(slow, 2), InputError);
}

}  // namespace
}  // namespace cg2d::configuration_test

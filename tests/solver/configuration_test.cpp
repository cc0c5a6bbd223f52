// The configuration of a run and the table of its axes.

#include "cg/solver/configuration.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace cg2d::configuration_test

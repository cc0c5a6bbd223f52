// The options of features: what their texts are refused for, whatever the feature.

#include <gtest/gtest.h>

#include <string>

#include "cg/base/errors.hpp"
#include "cg/commands/subcommand.hpp"
#include "support/error_of.hpp"

namespace cg2d::feature_options_test {
namespace {

/// Names of files are refused by the parser.
TEST(FeatureOptionsTest, AnEmptyTextIsRefusedAndNotTakenForNone) {
  for (const std::string option :
       {"--checkpoint-interval", "--inject", "--slow-rank", "--rebalance", "--stall-limit"}) {
    const auto message = test::message_of([&] {
      static_cast<void>(
          parse_command_line({"cg2d", "run", "--class", "S", "--checkpoint", "state", option, ""}));
    });
    EXPECT_TRUE(message.starts_with(option)) << message;
  }
}

}  // namespace
}  // namespace cg2d::feature_options_test

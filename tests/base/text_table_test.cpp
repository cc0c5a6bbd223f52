// Tables for people.

#include "cg/base/text_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cg2d::text_table_test {
namespace {

struct Tree {
  std::string name;
  double height_m = 0.0;
};

TEST(TextTableTest, NamesStandAsTheirColumns) {
  TextTable<Tree> table;
  table.column("Tree", "{:<6}", &Tree::name);
  table.column("Height", "{:>7.1f} m", &Tree::height_m);
  table.column("Again", "{}", &Tree::name);
  EXPECT_EQ(table.text(std::vector<Tree>{{"oak", 30.25}, {"rowan", 9.0}}),
            " Tree      Height Again\n"
            " oak       30.2 m oak\n"
            " rowan      9.0 m rowan\n");
}

}  // namespace
}  // namespace cg2d::text_table_test

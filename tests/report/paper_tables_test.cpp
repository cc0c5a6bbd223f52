// Tables 2 to 6 of the paper: their form, captions, and sums.

#include "cg/studies/sweep.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/result_records.hpp"

namespace cg2d::paper_tables_test {
namespace {

using test::phase_record_of;

constexpr PhaseValues phases{10e-6, 80e-6, 1e-6, 2e-6, 5e-6, 2e-6};

std::vector<ResultRecord> sweep_of(const std::vector<std::string>& kernels) {
  std::vector<ResultRecord> records;
  for (const auto& kernel : kernels) {
    for (const int ranks : {2, 4}) {
      for (int columns = 1; columns <= ranks; columns *= 2) {
        auto values = phases;
        values[1] /= ranks;
        if (kernel == "scalar") values[1] *= 2.0;
        records.push_back(phase_record_of(columns, ranks / columns, values));
        records.back().asked.configuration.kernel = kernel;
        // 26 products in 25 steps, as the benchmark has them.
        records.back().work->phases.at(index_of(Phase::multiply)).calls = 1.04 * test::phase_steps;
      }
    }
  }
  return records;
}

/// The lines of a table by their first word: the values by column.
std::map<std::string, std::vector<double>> lines_of(const std::string& text, const std::string& title) {
  std::istringstream table(text.substr(text.find(title)));
  std::map<std::string, std::vector<double>> lines;
  std::string line;
  while (std::getline(table, line) && !line.empty()) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<double> values;
    for (std::string word; words >> word;) {
      if (word.find_first_not_of("0123456789.e-+") != std::string::npos) {
        values.clear();
        break;
      }
      values.push_back(word == "-" ? -1.0 : std::stod(word));
    }
    if (!values.empty()) lines[name] = values;
  }
  return lines;
}

TEST(PaperTablesTest, TheStepsOfAMatvecAddUpToIt) {
  const auto text = paper_tables(verdicts_of(sweep_of({"sell"})).grids);
  const auto iteration = lines_of(text, "Table 3.");
  const auto matvec = lines_of(text, "Table 4.");
  ASSERT_EQ(iteration.at("matvec").size(), 3U);  // Px = 1, 2, 4 on 4 PU
  for (size_t k = 0; k < 3; ++k) {
    double sum = 0.0;
    for (const auto* name : {"Collection", "Multiply", "Summation", "Shuffle"}) sum += matvec.at(name).at(k);
    // Each of the values is rounded to whole clocks.
    EXPECT_NEAR(1.04 * sum, iteration.at("matvec").at(k), 3.0);
  }
  EXPECT_EQ(iteration.at("dotpro").front(), 5000.0);
  EXPECT_EQ(iteration.at("daxpy").front(), 2000.0);
}

TEST(PaperTablesTest, ASecondKernelMakesTables5And6) {
  const auto alone = paper_tables(verdicts_of(sweep_of({"sell"})).grids);
  EXPECT_EQ(alone.find("Table 6."), std::string::npos);
  auto systems = sweep_of({"sell"});
  for (auto& record : systems) record.asked.form = "matrix";
  EXPECT_EQ(paper_tables(verdicts_of(systems).grids), "") << "nothing without the benchmark";
  EXPECT_NE(alone.find("Tables 5 and 6 are of the paper's second loop"), std::string::npos);
  const auto text = paper_tables(verdicts_of(sweep_of({"sell", "scalar"})).grids);
  const auto first = lines_of(text, "Table 4.").at("Multiply");
  const auto second = lines_of(text, "Table 5.").at("Multiply");
  ASSERT_EQ(first.size(), second.size());
  EXPECT_NEAR(second.front() / first.front(), 2.0, 1e-4);
  EXPECT_EQ(lines_of(text, "Table 6.").at("4").front(), 0.006);
  EXPECT_NE(text.substr(text.find("Table 6.")).find("kernel scalar"), std::string::npos);
}

}  // namespace
}  // namespace cg2d::paper_tables_test

// The documents that commands write are read back by their description, and written again alike; texts of options that are refused.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/run/check/check.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/pingpong.hpp"
#include "support/common_folder.hpp"
#include "support/test_extent.hpp"

namespace cg2d::document_test {
namespace {

template <typename Document>
Json again(const Json& json) {
  return json_of(from_json<Document>(json));
}

/// A command, and what reads what it writes.
struct Case {
  std::string words;
  Json (*again)(const Json& json);
};

TEST(DocumentTest, IsReadAndWrittenAlike) {
  const test::CommonFolder folder;
  folder.write("a.mtx",
               "%%MatrixMarket matrix coordinate real symmetric\n"
               "4 4 6\n1 1 4\n2 1 -1\n2 2 4\n3 3 4\n4 3 -1\n4 4 4\n");
  // The document of a command; a matrix stands for @.
  const auto document_of = [&](const std::string& command) {
    const auto output = folder.path() + "/output.json";
    std::vector<std::string> words{"cg2d"};
    std::istringstream text(command);
    for (std::string word; text >> word;) words.push_back(word == "@" ? folder.path() + "/a.mtx" : word);
    words.insert(words.end(), {"--format", "json", "--output", output});
    do_command_line(words, test::group());
    return Json::parse(text_of_file(output).value_or(""), nullptr, false);
  };
  const std::string run = "run --class S --no-profile ";
  const std::string solve = "solve @ --no-profile ";
  std::vector<Case> cases{
      {run + "--repeat 2", again<RunDocument>},
      {run + "--no-phases --kernel symmetric", again<RunDocument>},
      {run + "--papi software --roofline", again<RunDocument>},
      {run + "--guard --inject 3:2", again<RunDocument>},
      {run + "--transport auto --grid auto --overlap on", again<RunDocument>},
      {run + "--slow-rank 0:2 --cut speed", again<RunDocument>},
      {run + "--out-of-core " + folder.path(), again<RunDocument>},
      {run + "--memory-limit 1MB", again<RunDocument>},
      {solve, again<SolveDocument>},
      {solve + "--preconditioner jacobi --symmetrize 0", again<SolveDocument>},
      {solve + "--rhs random:3 --rhs-count 3", again<SolveDocument>},
      {solve + "--guard --max-iterations 1", again<SolveDocument>},
      {"solve --operator laplace3d:8x8x8 --papi software --no-profile", again<SolveDocument>},
      {"solve nothing.mtx --no-profile", again<SolveDocument>},
      {"stencil --shape 8x8x8 --steps 4", again<StencilReport>},
      {"stencil --shape 8x8x8 --method s-step-cg", again<StencilReport>},
      {"events", again<EventList>}};
  if (test::group().size() > 1)
    cases.push_back({"pingpong --class S --sizes 8 --variables 1", again<PingPongReport>});
  if (test::group().size() == 1 || test::is_thorough()) {
    cases.push_back({"check", again<CheckReport>});
    cases.push_back({"model --paper", again<PaperComparison>});
  }
  for (const auto& [words, write_again] : cases) {
    const auto json = document_of(words);
    if (test::group().rank() != 0) continue;
    try {
      EXPECT_EQ(Json::diff(json, write_again(json)), Json::array()) << words;
    } catch (const std::exception& error) {
      ADD_FAILURE() << words << ": " << error.what();
    }
  }
}

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
}  // namespace cg2d::document_test

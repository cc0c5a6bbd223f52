#include "cg/subcommand.hpp"

#include <array>
#include <utility>

#include "cg/agreement.hpp"
#include "cg/output_file.hpp"

namespace cg2d {

std::span<const SubcommandRow> subcommand_table() {
  static const std::array table{run_subcommand(), tune_subcommand(), events_subcommand()};
  return table;
}

Action print_text(std::string text) {
  return [text = std::move(text)](comm::RankGroup& group) {
    agree_on(group, [&] {
      if (group.rank() != 0) return;
      OutputFile standard_output("");
      standard_output.write(text);
      standard_output.commit();
    });
    return ExitCode::success;
  };
}

}  // namespace cg2d

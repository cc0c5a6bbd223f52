#include "cg/commands/subcommand.hpp"

#include <array>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {

// Rows, each defined in its own file.
SubcommandRow run_subcommand();
SubcommandRow tune_subcommand();
SubcommandRow sweep_subcommand();
SubcommandRow scaling_subcommand();
SubcommandRow model_subcommand();
SubcommandRow pingpong_subcommand();
SubcommandRow events_subcommand();
SubcommandRow compare_subcommand();
SubcommandRow export_subcommand();

std::span<const SubcommandRow> subcommand_table() {
  static const std::array table{run_subcommand(),      tune_subcommand(),    sweep_subcommand(),
                                compare_subcommand(),  export_subcommand(),  model_subcommand(),
                                pingpong_subcommand(), scaling_subcommand(), events_subcommand()};
  return table;
}

Action print_text(std::string text) {
  return print_made_text([text = std::move(text)] { return text; });
}

Action print_made_text(std::function<std::string()> make) {
  return [make = std::move(make)](comm::RankGroup& group) {
    agree_on(group, [&] {
      if (group.rank() != 0) return;
      const auto text = make();
      OutputFile standard_output("");
      standard_output.write(text);
      standard_output.commit();
    });
    return ExitCode::success;
  };
}

}  // namespace cg2d

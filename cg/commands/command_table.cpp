#include "cg/commands/subcommand.hpp"

#include <array>

namespace cg2d {

// Each declares its options, their check, and its work.
void declare_run(Subcommand& command);
void declare_solve(Subcommand& command);
void declare_convert(Subcommand& command);
void declare_tune(Subcommand& command);
void declare_check(Subcommand& command);
void declare_pingpong(Subcommand& command);
void declare_stencil(Subcommand& command);
void declare_sweep(Subcommand& command);
void declare_scaling(Subcommand& command);
void declare_compare(Subcommand& command);
void declare_export(Subcommand& command);
void declare_report(Subcommand& command);
void declare_events(Subcommand& command);
void declare_model(Subcommand& command);
void declare_simulate(Subcommand& command);
void declare_explain(Subcommand& command);
void declare_batch(Subcommand& command);
void declare_schema(Subcommand& command);
void declare_help(Subcommand& command);
void declare_version(Subcommand& command);
void declare_completion(Subcommand& command);

std::span<const SubcommandRow> subcommand_table() {
  static constexpr std::array table{SubcommandRow{"run", declare_run, CommandKind::task},
                                    SubcommandRow{"solve", declare_solve, CommandKind::task},
                                    SubcommandRow{"convert", declare_convert},
                                    SubcommandRow{"tune", declare_tune},
                                    SubcommandRow{"check", declare_check, CommandKind::task},
                                    SubcommandRow{"pingpong", declare_pingpong},
                                    SubcommandRow{"stencil", declare_stencil, CommandKind::task},
                                    SubcommandRow{"sweep", declare_sweep},
                                    SubcommandRow{"scaling", declare_scaling},
                                    SubcommandRow{"compare", declare_compare},
                                    SubcommandRow{"export", declare_export},
                                    SubcommandRow{"report", declare_report},
                                    SubcommandRow{"events", declare_events},
                                    SubcommandRow{"model", declare_model},
                                    SubcommandRow{"simulate", declare_simulate},
                                    SubcommandRow{"explain", declare_explain},
                                    SubcommandRow{"batch", declare_batch},
                                    SubcommandRow{"schema", declare_schema, CommandKind::text},
                                    SubcommandRow{"help", declare_help, CommandKind::text},
                                    SubcommandRow{"version", declare_version, CommandKind::text},
                                    SubcommandRow{"completion", declare_completion, CommandKind::text}};
  return table;
}

}  // namespace cg2d

// cg2d help, version, completion and schema: texts about the program itself.

#include <CLI/CLI.hpp>

#include <array>

#include "cg/base/build_info.hpp"
#include "cg/base/describe.hpp"
#include "cg/commands/batch/task_list.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/report/report.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/run/check/check.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/pingpong.hpp"
#include "cg/studies/scaling.hpp"
#include "cg/studies/sweep.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- schema

/// A kind of document.
struct DocumentRow {
  std::string_view name;
  void (*type)(Members& m);
  std::string_view title{};             ///< what writes it; empty: the command of that name
  void (*other)(Members& m) = nullptr;  ///< it may be of that type, too
};

constexpr auto document_table = std::to_array<DocumentRow>(
    {{"run", visit_plan_document, "What cg2d run --format json writes, and a line of cg2d sweep",
      visit_new<RunDocument>},
     {"solve", visit_new<SolveDocument>,
      "What cg2d solve --format json writes, and a line of a sweep of a system"},
     {"sweep", visit_sweep_verdicts, "What cg2d sweep --show FILE --format json writes"},
     {"scaling", visit_new<ScalingStudy>},
     {"compare", visit_new<Comparison>, "What cg2d compare A B --format json writes"},
     {"batch", visit_task_line, "A line of the results of cg2d batch"},
     {"model", visit_model},
     {"paper", visit_new<PaperComparison>, "What cg2d model --paper --format json writes"},
     {"machine", visit_new<Machine>, "A machine description, as cg2d model --machine FILE takes it",
      visit_new<MachineDescription>},
     {"simulate", visit_simulation},
     {"explain", visit_explanation},
     {"pingpong", visit_new<PingPongReport>},
     {"stencil", visit_new<StencilReport>},
     {"check", visit_new<CheckReport>},
     {"events", visit_new<EventList>}});

/// The libraries that the program is built with, and what it does without those that it can do without.
std::string build_text() {
  const auto commit = build_commit();
  const auto no_uring = find_panel_io("io_uring")->why_unavailable();
  return fmt::format(
      " Commit  {}{}\n"
      " Compiler {} ({})\n"
      " MPI     {}\n"
      " BLAS    {}\n"
      " PAPI    {}\n"
      " hwloc   {}\n"
      " zstd    {}\n"
      " io_uring {}\n",
      commit.hash, commit.tree_changed.value_or(false) ? ", with changes" : "", build_info::compiler,
      build_info::flags, name_of_mpi(), blas_version(),
      papi_version().value_or("not in this build: there are no counters"), build_info::hwloc_version,
      build_info::zstd_version,
      no_uring.empty() ? fmt::format("available (liburing {})", build_info::liburing_version)
                       : "not here: " + no_uring);
}

}  // namespace

std::string name_of_mpi() {
  auto text = mpi_library_version();
  text.resize(std::min(text.size(), text.find(',')));
  std::erase(text, ':');
  return text;
}

void declare_schema(Subcommand& command) {
  command.describe("print the JSON Schema of what a command writes or reads",
                   {"cg2d schema run > run.schema.json", "cg2d schema machine"});
  command.add_texts(
      "DOCUMENT " + one_of(names_of(document_table)),
      "the document: that of the command with this name, of model --paper, or a machine description",
      [&](const auto& texts) {
        require_known("DOCUMENT", texts.front(), names_of(document_table));
        command.work = printing([row = *row_named(document_table, texts.front())] {
          const std::array types{row.type, row.other};
          const auto usual_title = fmt::format("What cg2d {} --format json writes", row.name);
          return schema_text(row.title.empty() ? usual_title : row.title,
                             std::span(types).first(row.other == nullptr ? 1 : 2));
        });
      },
      {.is_required = true});
}

void declare_help(Subcommand& command) {
  command.describe("print the help of a command", {"cg2d help sweep", "cg2d help"});
  command.add_texts("COMMAND " + one_of(names_of(subcommand_table())), "a command of cg2d", {},
                    {.standing = "the program"});
  command.check = [&] {
    const auto& program = *command.parser().get_parent();
    const auto name = command.text_of("COMMAND");
    const auto* const parser = name.empty() ? &program : find_command(program, name);
    if (parser == nullptr) throw InputError(unknown_command_message(program, name));
    command.work = printing([text = help_text(*parser)] { return text; });
  };
}

void declare_version(Subcommand& command) {
  command.describe("print the version, and the libraries that it was built with",
                   {"cg2d version", "cg2d --version"});
  command.work = printing([] { return version_text() + "\n" + build_text(); });
}

void declare_completion(Subcommand& command) {
  command.describe("print a script that completes command lines in a shell",
                   {"source <(cg2d completion bash)", "cg2d completion zsh > _cg2d"});
  command.add_texts("SHELL " + one_of(completion_shells()), "the shell that the script is for",
                    [&](const auto& texts) {
                      require_known("SHELL", texts.front(), completion_shells());
                      command.work = printing([script = completion_script(*command.parser().get_parent(),
                                                                          texts.front())] { return script; });
                    },
                    {.is_required = true});
}

}  // namespace cg2d

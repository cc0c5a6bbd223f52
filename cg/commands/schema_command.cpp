// cg2d schema: the JSON that commands write and read, described by JSON Schema.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/describe.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/batch/task_journal.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/report/event_list.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/check/check.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/paper_comparison.hpp"
#include "cg/studies/pingpong_report.hpp"
#include "cg/studies/scaling_table.hpp"
#include "cg/studies/sweep_table.hpp"

namespace cg2d {
namespace {

using VisitType = void (*)(Members&);

/// A kind of document; title: what writes it.
struct DocumentRow {
  std::string_view name;
  std::string_view title;
  VisitType type;
  VisitType other = nullptr;  ///< it may be of that one, too
};

constexpr std::array document_table{
    DocumentRow{"run", "What cg2d run --format json writes, and a line of cg2d sweep", visit_plan_document,
                visit_new<RunDocument>},
    DocumentRow{"solve", "What cg2d solve --format json writes, and a line of a sweep of a system",
                visit_new<SolveDocument>},
    DocumentRow{"sweep", "What cg2d sweep --show FILE --format json writes", visit_sweep_verdicts},
    DocumentRow{"scaling", "What cg2d scaling --format json writes", visit_scaling},
    DocumentRow{"compare", "What cg2d compare A B --format json writes", visit_new<Comparison>},
    DocumentRow{"batch", "A line of the results of cg2d batch", visit_task_line},
    DocumentRow{"model", "What cg2d model --format json writes", visit_model},
    DocumentRow{"paper", "What cg2d model --paper --format json writes", visit_new<PaperComparison>},
    DocumentRow{"machine", "A machine description, as cg2d model --machine FILE takes it", visit_new<Machine>,
                visit_new<MachineDescription>},
    DocumentRow{"simulate", "What cg2d simulate --format json writes", visit_simulation},
    DocumentRow{"explain", "What cg2d explain --format json writes", visit_explanation},
    DocumentRow{"pingpong", "What cg2d pingpong --format json writes", visit_new<PingPongReport>},
    DocumentRow{"stencil", "What cg2d stencil --format json writes", visit_new<StencilReport>},
    DocumentRow{"check", "What cg2d check --format json writes", visit_new<CheckReport>},
    DocumentRow{"events", "What cg2d events --format json writes", visit_new<EventList>}};

struct SchemaArguments {
  std::string document;
};

void add_schema_options(OptionSet& options, SchemaArguments& schema) {
  options.add({"DOCUMENT",
               one_of(names_of(document_table)),
               "the document: that of the command with this name, of model --paper, or a machine description",
               "",
               {.is_required = true}},
              schema.document);
}

Action schema_action(SchemaArguments& schema, const OptionSet& /*given*/) {
  return print_made_text([row = *std::ranges::find(document_table, schema.document, &DocumentRow::name)] {
    const std::array types{row.type, row.other};
    return schema_text(row.title, std::span(types).first(row.other == nullptr ? 1 : 2));
  });
}

}  // namespace

SubcommandRow schema_subcommand() {
  return {.name = "schema",
          .description = "print the JSON Schema of what a command writes or reads",
          .examples = {"cg2d schema run > run.schema.json", "cg2d schema machine"},
          .declare = subcommand_with<SchemaArguments, add_schema_options, schema_action>,
          .takes_config = false};
}

}  // namespace cg2d

#include "cg/stencil/stencil_command.hpp"

#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/stencil/stencil_run.hpp"

namespace cg2d {

ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  StencilRun run(options, group, progress);
  run.prepare();
  const auto output = open_output(options.output, group);
  run.perform();
  const auto& report = run.report();
  write_output(output.get(), group, [&] { return write_stencil_report(report, options.format); });
  if (group.rank() == 0 && report.code() != ExitCode::success) say_on_stderr(verdict_text(report));
  return report.code();
}

}  // namespace cg2d

#include "cg/explain/explain_command.hpp"

#include <array>

#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/explain/explanation.hpp"

namespace cg2d {
namespace {

using Picture = std::string (*)(const Explanation& explained);
/// The kinds of pictures. A new one is a row.
constexpr std::array pictures{NamedValue<Picture>{"text", explanation_text},
                              NamedValue<Picture>{"svg", explanation_svg},
                              NamedValue<Picture>{"json", explanation_json}};

}  // namespace

std::vector<std::string> explain_format_names() { return names_of(pictures); }

ExitCode explain(const ExplainOptions& options, comm::RankGroup& group) {
  const auto output = open_output(options.output, group);
  write_output(output.get(), group, [&] {
    const auto draw = value_in(std::span<const NamedValue<Picture>>(pictures), options.format);
    return draw.value()(explain_step(options.problem, options.configuration, options.step));
  });
  return ExitCode::success;
}

}  // namespace cg2d

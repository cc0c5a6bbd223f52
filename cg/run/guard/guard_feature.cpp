// --guard and --inject: soft errors are found, and what they have spoiled is made again.

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_report.hpp"

namespace cg2d {
namespace {

constexpr std::string_view guard_option = "--guard";
constexpr std::string_view inject_option = "--inject";

void read_guard(const OptionTexts& texts, FeatureSettings& settings) {
  GuardOptions options{.checks = texts.contains(guard_option)};
  if (const auto* const text = text_of(texts, inject_option)) {
    options.injects = true;
    options.inject = inject_options_from(*text);
  }
  if (options.is_used()) settings.set(options);
}

void resolve_guard(const AskedWork& asked) {
  const auto option = asked.options.features.of<GuardOptions>().checks ? guard_option : inject_option;
  const auto refuse_if = [&](bool is_given, const std::string& reason) {
    if (is_given) throw InputError(fmt::format("{}: {}", option, reason));
  };
  if (asked.kind == WorkKind::outer_iterations) return;
  require_matrix(asked, option);
  require_classic_form(asked, option);
  refuse_if(!find_preconditioner(asked.preconditioner)->is_diagonal,
            fmt::format("not for --preconditioner {}; take {}", asked.preconditioner,
                        names_of_diagonal_preconditioners()));
  refuse_if(asked.options.configuration.is_reproducible, "does not go with --reproducible on");
  refuse_if(asked.options.features.of<CheckpointOptions>().is_used(),
            "does not go with --checkpoint and --restart");
}

}  // namespace

FeatureRow guard_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = guard_option,
                    .group = "Soft errors",
                    .help = "check products, steps, residuals and the matrix against soft errors, and redo "
                            "the affected iterations"},
      FeatureOption{.name = inject_option,
                    .value = "SEED[:COUNT]",
                    .default_text = "none",
                    .group = "Soft errors",
                    .help = "flip that many bits (1 unless given) at random, the same ones for the same "
                            "seed; to try --guard"}};
  return {.name = "guard",
          .options = own_options,
          .read = read_guard,
          .is_used = has_settings<GuardOptions>,
          .resolve = resolve_guard,
          .against_several = "--guard and --inject take one",
          .against_streaming =
              "--guard and --inject: go with a matrix in memory only; panels have checksums, not with "
              "--out-of-core",
          .against_moves = "does not go with --guard and --inject, which know the block from its beginning",
          .describe = describe_guard,
          .closing_lines = lines_of<GuardReport, guard_text>};
}

}  // namespace cg2d

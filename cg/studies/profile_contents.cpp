#include "cg/studies/tune_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <system_error>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

std::string conditions_text(const MatrixKey& matrix, const Configuration& configuration) {
  return fmt::format("{}, grid {}, {}", matrix.name, configuration.grid.name(),
                     format_count(configuration.thread_count, "thread"));
}

std::string processor_text(const ProcessorProfile& processor) {
  std::string text;
  if (processor.knows_kernels())
    text += fmt::format("   critical vector length {}, {}\n",
                        vector_length_text(*processor.critical_vector_length), describe(processor.measured));
  for (const auto& tuned : processor.cases) {
    text += fmt::format("   {}: kernel {}, {}\n", conditions_text(tuned.matrix, tuned.configuration),
                        tuned.kernels.front().name, describe(tuned.measured));
  }
  for (const auto& timed : processor.transports) {
    text += fmt::format("   {}, kernel {}: transport {}, {}\n",
                        conditions_text(timed.conditions.matrix, timed.conditions.configuration),
                        timed.conditions.configuration.kernel, timed.transports.front().name,
                        describe(timed.measured));
  }
  for (const auto& timed : processor.speeds) {
    text += fmt::format("   {}, kernel {}: speeds of {}, {}\n",
                        conditions_text(timed.matrix, timed.configuration), timed.configuration.kernel,
                        format_count(std::ssize(timed.ranks), "rank"), describe(timed.measured));
  }
  for (const auto& read : processor.storages) {
    text += fmt::format("   storage of {}, {}: panels of {}, {} under way, {}/s, {}\n", read.folder,
                        format_count(read.rank_count, "rank"), format_bytes(read.panel_bytes), read.depth,
                        format_bytes(saturated(read.bytes_per_s)), describe(read.measured));
  }
  return text;
}

/// "S, W on AMD EPYC, L1d 32 KiB; nothing on Another": the names that can be removed.
std::string names_text(const TuningProfile& profile) {
  std::string text;
  for (const auto& [name, processor] : profile) {
    std::set<std::string> matrices;
    std::apply(
        [&](const auto&... lists) {
          (std::ranges::for_each(lists, [&](const auto& one) { matrices.insert(one.subject()); }), ...);
        },
        processor.case_lists());
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ",
                        matrices.empty() ? "nothing" : fmt::format("{}", fmt::join(matrices, ", ")), name);
  }
  return text.empty() ? "nothing" : text;
}

/// The file that is there. Throws InputError.
std::string place_of(const ProfileSource& source) {
  const auto path = source.path.empty() ? default_profile_path() : std::optional(source.path);
  if (!path) {
    throw InputError("no place for the profile: neither XDG_CACHE_HOME nor HOME is set; give --profile FILE");
  }
  std::error_code error;
  if (!std::filesystem::exists(*path, error))
    throw InputError(fmt::format("no profile at {}; cg2d tune makes one", *path));
  return *path;
}

/// Does the work on rank 0 and prints its text. Collective.
ExitCode print_from_rank_0(comm::RankGroup& group, const std::function<std::string()>& work) {
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    OutputFile output("");
    output.write(work());
    output.commit();
  });
  return ExitCode::success;
}

}  // namespace

std::string contents_text(const TuningProfile& profile) {
  std::string text;
  for (const auto& [name, processor] : profile)
    text += fmt::format(" {}\n{}", name, processor_text(processor));
  return text.empty() ? " nothing\n" : text;
}

ExitCode list_profile(const ProfileSource& source, comm::RankGroup& group) {
  return print_from_rank_0(group, [&] {
    const auto path = place_of(source);
    return fmt::format("\n cg2d tune --list - {}\n\n{}", path, contents_text(read_profile(path)));
  });
}

ExitCode remove_from_profile(const ProfileSource& source, const std::string& name, comm::RankGroup& group) {
  return print_from_rank_0(group, [&] {
    const ProfileSource there{.path = place_of(source)};
    const auto count = ProfileFile(there).remove(name);
    if (count == 0) {
      throw InputError(fmt::format(
          "--remove {}: {} has neither a processor, a matrix nor a folder of that name; it has {}", name,
          there.path, names_text(read_profile(there.path))));
    }
    return fmt::format(" {} of {} removed from {}\n", format_count(count, "measurement"), name, there.path);
  });
}

}  // namespace cg2d

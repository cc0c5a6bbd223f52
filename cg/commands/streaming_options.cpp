#include "cg/commands/streaming_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/run/streaming/out_of_core_options.hpp"

namespace cg2d {

void add_out_of_core_option(CLI::App& parser, std::string& folders) {
  parser
      .add_option("--out-of-core", folders,
                  "keep the matrix in files on local storage, in the folder DIR or, by rank, in several, and "
                  "stream it through the memory of --memory-limit")
      ->check(file_name(FileUse::folder))
      ->type_name("DIR,...")
      ->default_str("in memory");
}

void refuse_out_of_core_if(bool is_given, const std::string& reason) {
  if (is_given) throw InputError(fmt::format("{}, not with --out-of-core", reason));
}

void settle_out_of_core(OutOfCoreOptions& options, const Configuration& configuration,
                        const GuardOptions& guard) {
  refuse_out_of_core_if(configuration.thread_count > 1,
                        "--threads: goes with a matrix in memory only; start more ranks instead");
  refuse_out_of_core_if(configuration.overlaps, "--overlap: goes with a matrix in memory only");
  refuse_out_of_core_if(configuration.is_reproducible, "--reproducible: goes with a matrix in memory only");
  refuse_out_of_core_if(!configuration.has_transport(),
                        "--transport auto: measures with a matrix in memory; name one");
  refuse_out_of_core_if(guard.is_used(),
                        "--guard and --inject: go with a matrix in memory only; panels have checksums");
  options.chooses_kernel = !configuration.has_kernel();
  if (options.chooses_kernel) return;
  const auto has_name = [&](const auto* row) { return row->name == configuration.kernel; };
  if (!std::ranges::any_of(streamed_kernels(1), has_name))
    throw InputError(fmt::format("--kernel {}: has no form that is streamed by --out-of-core; valid: {}",
                                 configuration.kernel, streamed_kernel_names(1)));
}

}  // namespace cg2d

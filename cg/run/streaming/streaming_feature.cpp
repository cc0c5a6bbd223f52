// --out-of-core: the options that it refuses, its section of a result and its lines.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cg/base/describe.hpp"
#include "cg/base/values.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {

/// Choices that need the matrix in memory are not left open.
void resolve_streaming(const AskedWork& asked) {
  const auto refuse_streamed_if = [](bool is_given, const std::string& reason) {
    if (is_given) throw InputError(reason + ", not with --out-of-core");
  };
  const std::string in_memory = ": goes with a matrix in memory only";
  refuse_streamed_if(!asked.against_streaming.empty(), std::string(asked.against_streaming));
  const auto& features = asked.options.features;
  refuse_streamed_if(features.guard.is_used(),
                     "--guard and --inject" + in_memory + "; panels have checksums");
  refuse_streamed_if(features.rebalances, "--rebalance on" + in_memory);
  auto& configuration = asked.options.configuration;
  refuse_streamed_if(configuration.thread_count > 1, "--threads" + in_memory + "; start more ranks instead");
  refuse_streamed_if(configuration.cut == speed_cut, "--cut speed" + in_memory);
  refuse_streamed_if(configuration.overlaps, "--overlap" + in_memory);
  refuse_streamed_if(configuration.is_reproducible, "--reproducible" + in_memory);
  refuse_streamed_if(!configuration.has_transport(),
                     "--transport auto: measures with a matrix in memory; name one");
  refuse_streamed_if(asked.system != nullptr && asked.system->is_matrix_free(),
                     "--operator: has no matrix without --assembled");
  if (asked.system != nullptr)
    refuse_streamed_if(find_preconditioner(asked.system->preconditioner)->needs_diagonal_block,
                       fmt::format("--preconditioner {}{}", asked.system->preconditioner, in_memory));
  auto& options = asked.options.features.out_of_core;
  options.chooses_kernel = !configuration.has_kernel();
  const auto valid = kernel_names_for(1, true);
  if (!options.chooses_kernel && std::ranges::count(valid, configuration.kernel) == 0)
    throw InputError("--kernel {}: has no form that is streamed by --out-of-core; valid: {}",
                     configuration.kernel, fmt::join(valid, ", "));
  // That of a solve follows from its right-hand sides.
  if (options.chooses_kernel && asked.system == nullptr)
    configuration.kernel = shortest_streamed_kernel(1).name;
  asked.options.open_grid.tries_grids = false;
}

void describe_out_of_core(Members& m, OutOfCoreFacts& facts) {
  m.object_if(
      !facts.folders.empty(), "out_of_core",
      meaning("Only with --out-of-core, of work that came to its end."), [&] {
        m("folders", facts.folders, {.fewest = 1});
        m("reader", facts.reader, not_empty());
        m.if_given("memory_limit_bytes", facts.memory_limit_bytes, facts.memory_limit_bytes > 0,
                   or_null(at_least(1, "--memory-limit, of a node; null: none was given.")));
        m("write_s", facts.write_s,
          at_least(0, "The matrix was generated and written in that time; 0: the files were there."));
        m("device_write_s", facts.device_write_s,
          at_least(0, "Of that, writing and waiting for the device, of the slowest rank."));
        m.derived(
            "unbound_memory_limit_bytes",
            at_least(0,
                     "By the rates of the run: with --memory-limit from here on reading takes no longer "
                     "than multiplying. 0 where nothing was streamed."),
            [&] { return limits_of(facts.ranks).unbound_bytes; });
        m.derived(
            "in_core_memory_limit_bytes",
            at_least(0,
                     "With --memory-limit from here on nothing is streamed. 0 where nothing was streamed."),
            [&] { return limits_of(facts.ranks).in_core_bytes; });
        m.list("ranks", facts.ranks, {.fewest = 1}, [&](RankStream& stream, size_t rank) {
          m.derived("rank", rank, at_least(0));
          m("file_bytes", stream.file_bytes, at_least(0, "All panels."));
          m("panels", stream.panel_count, at_least(1));
          m("most_panel_bytes", stream.most_panel_bytes, at_least(0));
          m("resident_panels", stream.memory.resident_count, at_least(0, "These stay in memory."));
          m("buffers", stream.memory.buffer_count, at_least(0, "Of one panel each."));
          m("reused", stream.was_there, meaning("The files of an earlier run were taken."));
          m("direct", stream.is_direct, meaning("Read past the cache of the system (O_DIRECT)."));
          m("products", stream.figures.product_count,
            at_least(0, "Those outside of the timed region included."));
          m("read_bytes", stream.figures.byte_count, at_least(0, "By all of these products."));
          m("wait_s", stream.figures.wait_s, at_least(0, "Products waited for the storage."));
          m("check_s", stream.figures.check_s, at_least(0, "Checksums of what was read."));
          m("product_s", stream.figures.product_s,
            at_least(0, "All of these products, waiting and checking included."));
          m("storage_bytes_per_s", stream.storage_bytes_per_s,
            at_least(0, "Reading alone, while all ranks did so; 0 where nothing was streamed."));
        });
      });
}

std::string stream_lines(const OutOfCoreFacts& facts) {
  if (facts.folders.empty()) return {};
  int64_t file_bytes = 0;
  double resident_bytes = 0.0;
  double bytes_per_s = 0.0;
  for (const auto& rank : facts.ranks) {
    file_bytes += rank.file_bytes;
    resident_bytes += static_cast<double>(rank.memory.resident_count) * static_cast<double>(rank.file_bytes) /
                      static_cast<double>(std::max<int64_t>(rank.panel_count, 1));
    const auto& figures = rank.figures;
    if (figures.product_s > 0.0) bytes_per_s += static_cast<double>(figures.byte_count) / figures.product_s;
  }
  const bool was_there = std::ranges::all_of(facts.ranks, &RankStream::was_there);
  auto text = fmt::format(
      " Streamed {} of matrix from {} ({}), {} of it stay in memory; {} ({})\n"
      " Files   *.panels in these folders stay for the next run of this matrix; remove them when done\n",
      format_bytes(file_bytes), fmt::join(facts.folders, ", "),
      was_there ? "files of an earlier run"
                : fmt::format("made in {:.3g} s, of which writing took {:.3g} s", facts.write_s,
                              facts.device_write_s),
      format_bytes(saturated(resident_bytes)),
      bytes_per_s > 0.0 ? fmt::format("read at {:.3g} GB/s during products", bytes_per_s / 1e9)
                        : "products read nothing",
      facts.reader);
  const auto limits = limits_of(facts.ranks);
  if (limits.in_core_bytes > 0)
    text += fmt::format(
        " By these rates reading takes no longer than multiplying from --memory-limit {} on; from {} on all "
        "stays in memory\n",
        format_bytes(limits.unbound_bytes), format_bytes(limits.in_core_bytes));
  return text;
}

std::vector<std::string> kernel_names_for(int vector_count, bool is_streamed) {
  return names_where(kernels::kernel_table(), [&](const kernels::KernelRow& row) {
    return is_streamed ? row.takes_external(vector_count) : row.takes(vector_count);
  });
}

const kernels::KernelRow& shortest_streamed_kernel(int vector_count) {
  const auto bytes = [&](const kernels::KernelRow& row) {
    return !row.takes_external(vector_count) ? std::numeric_limits<double>::infinity()
                                             : row.bytes_per_nonzero;
  };
  return *std::ranges::min_element(kernels::kernel_table(), {}, bytes);
}

}  // namespace cg2d

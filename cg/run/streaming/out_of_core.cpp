#include "cg/run/streaming/out_of_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {
namespace {

constexpr std::int64_t least_panel_bytes = std::int64_t{1} << 20;
/// While panels are made: the kernel's arrays, beside the strip, and then their image in the file, each with some room, in bytes of a panel.
constexpr double making_per_panel = 1.15;

/// Bytes for a nonzero of a strip while a panel is made of it.
double making_bytes_per_nonzero(const kernels::KernelRow& row) {
  const double arrays = making_per_panel * row.bytes_per_nonzero;
  return std::max(2.0 * arrays, arrays + kernels::CsrBlock::bytes_per_nonzero);
}

kernels::KernelOptions options_of(const ChosenKernel& choice) {
  return {.thread_count = 1, .tuning = choice.tuning, .vector_count = choice.vector_count};
}

PanelFileKey key_of(const StreamedBlockParts& parts, int rank) {
  const auto rows = parts.layout.rows_of(rank);
  const auto columns = parts.layout.columns_of(rank);
  const auto& row = *parts.kernel.kernel;
  PanelFileKey key{
      .matrix_hash = parts.matrix.hash,
      .kernel = {},
      .instruction_set = {},
      .block_width = parts.kernel.tuning.block_width.value_or(row.defaults.block_width.value_or(0)),
      .vector_count = parts.kernel.vector_count,
      .first_row = rows.begin,
      .row_count = rows.size(),
      .first_column = columns.begin,
      .column_count = columns.size()};
  std::ranges::copy(row.name.substr(0, key.kernel.size()), key.kernel.begin());
  if (row.format_depends_on_set && parts.kernel.vector_count == 1) {
    const auto set = kernels::name_of(row.preferred_instruction_set());
    std::ranges::copy(set.substr(0, key.instruction_set.size()), key.instruction_set.begin());
  }
  return key;
}

/// The tuning of the profile for this folder and number of ranks on a node, or else the default.
StreamTuning tuning_of(const StreamedBlockParts& parts, int rank) {
  const auto path = storage_folder(parts.options.folder_of(rank));
  const auto found = std::ranges::find_if(parts.storages, [&](const auto& known) {
    return known.folder == path && known.rank_count == parts.share.node_rank_count;
  });
  if (found == parts.storages.end()) return {};
  return {.most_panel_bytes = found->panel_bytes, .depth = found->depth, .is_tuned = true};
}

/// Expected bytes of this rank's panels together.
double expected_bytes(const StreamedBlockParts& parts, const PanelFileKey& key) {
  const auto n = static_cast<double>(parts.layout.size());
  return parts.kernel.kernel->bytes_per_nonzero * parts.matrix.source.facts().nonzero_count *
         (static_cast<double>(key.row_count) / n) * (static_cast<double>(key.column_count) / n);
}

/// Whether all panels of this rank will stay in memory.
bool will_stay(const StreamedBlockParts& parts, const PanelFileKey& key) {
  constexpr double most_filled = 0.85;
  return expected_bytes(parts, key) <= most_filled * static_cast<double>(parts.memory_bytes);
}

/// As many strips as give panels of a good size, the same on all ranks.
Strips strips_for(const StreamedBlockParts& parts, const PanelFileKey& key, comm::RankGroup& group) {
  // Where all of them stay in memory, long ones are faster: what they read of p and add to q over columns is that of many windows of rows.
  constexpr std::int64_t resident_panels_per_memory = 8;
  const auto tuning = tuning_of(parts, group.rank());
  const auto of_buffers = most_buffer_bytes(parts.memory_bytes) / tuning.depth;
  const auto wanted =
      will_stay(parts, key)
          ? std::max(parts.memory_bytes / resident_panels_per_memory, least_panel_bytes)
          : std::clamp(of_buffers, least_panel_bytes, std::max(tuning.most_panel_bytes, least_panel_bytes));
  const auto& row = *parts.kernel.kernel;
  const auto panels_of = [&](std::int64_t rows) {
    return std::max(1.0, std::ceil(static_cast<double>(key.row_count) / static_cast<double>(rows)));
  };
  const double count = std::ceil(expected_bytes(parts, key) / static_cast<double>(wanted));
  const auto multiple = row.panel_rows;
  return {.count = static_cast<int>(
              group.maximum(std::clamp(count, panels_of(row.most_panel_rows), panels_of(multiple)))),
          .row_multiple = multiple,
          .working_bytes = group.minimum(parts.memory_bytes) / 4};
}

/// Memory for the making of panels, and for two of them.
std::int64_t needed_bytes(const StreamedBlockParts& parts, const PanelFileKey& key, const Strips& strips) {
  const auto& row = *parts.kernel.kernel;
  const auto panel_bytes = saturated(1.1 * expected_bytes(parts, key) / strips.count);
  const double making_factor = making_bytes_per_nonzero(row) / row.bytes_per_nonzero;
  const auto making_bytes = saturated_sum(parts.matrix.source.working_bytes(parts.layout, strips),
                                          saturated(making_factor * static_cast<double>(panel_bytes)));
  return std::max(making_bytes, 2 * panel_bytes + stream_program_bytes);
}

/// Where a rank needs so many bytes for its matrix data. whose: "a rank needs 2 GB", left_for: "it".
[[noreturn]] void refuse_memory(const StreamedBlockParts& parts, std::int64_t needed, std::string_view whose,
                                std::string_view left_for) {
  const auto rank_count = parts.share.node_rank_count;
  throw RunError(
      ExitCode::memory,
      fmt::format("not enough memory: {}, {} are left for {}; {}take more ranks", whose,
                  format_bytes(std::max<std::int64_t>(parts.memory_bytes, 0)), left_for,
                  enough_limit_text(parts.room, (needed - parts.memory_bytes) * rank_count, rank_count)));
}

/// Throws where not even two panels fit, or their making does not. Collective: with more memory panels are longer, up to the least memory
/// that its own panels fit into.
void check_room(StreamedBlockParts parts, const PanelFileKey& key, Strips strips, comm::RankGroup& group) {
  const auto left_bytes = parts.memory_bytes;
  auto needed = group.maximum(needed_bytes(parts, key, strips));
  if (group.minimum(left_bytes - needed_bytes(parts, key, strips)) >= 0) return;
  constexpr int most_rounds = 100;
  for (int round = 0; round < most_rounds; ++round) {
    parts.memory_bytes = needed + needed / 100;
    strips = strips_for(parts, key, group);
    needed = std::max(needed, group.maximum(needed_bytes(parts, key, strips)));
    if (needed <= parts.memory_bytes) break;
  }
  needed = parts.memory_bytes;
  parts.memory_bytes = left_bytes;
  agree_on(group, [&] {
    refuse_memory(parts, needed,
                  fmt::format("with --out-of-core a rank needs {} beside its vectors", format_bytes(needed)),
                  "it");
  });
}

/// More strips where one of them would be much longer than expected, and that helps: rows may be of very different lengths. Of all
/// columns, of which each process column has its part.
Strips shortened(Strips strips, const StreamedBlockParts& parts, const PanelFileKey& key,
                 comm::RankGroup& group) {
  const auto longest_of = [&](const Strips& some) {
    std::int64_t longest = 0;
    agree_on(group, [&] { longest = parts.matrix.source.longest_strip(parts.layout, group.rank(), some); });
    return static_cast<double>(group.maximum(longest));
  };
  constexpr int most_times = 64;
  constexpr double much_longer = 2.0;
  constexpr double worthwhile = 0.75;
  const auto multiple = strips.row_multiple;
  const auto most = std::min<std::int64_t>(group.maximum((key.row_count + multiple - 1) / multiple),
                                           std::int64_t{most_times} * strips.count);
  const auto n = static_cast<double>(parts.layout.size());
  const double expected = parts.matrix.source.facts().nonzero_count *
                          static_cast<double>(group.maximum(key.row_count)) / n / strips.count;
  auto longest = longest_of(strips);
  auto count = static_cast<std::int64_t>(strips.count);
  while (longest > much_longer * expected && count < most) {
    count = std::min(2 * count, most);
    auto more = strips;
    more.count = static_cast<int>(count);
    if (const auto now = longest_of(more); now <= worthwhile * longest) {
      strips = more;
      longest = now;
    }
  }
  agree_on(group, [&] {
    const double bytes_per_nonzero = making_bytes_per_nonzero(*parts.kernel.kernel);
    const auto needed = saturated(bytes_per_nonzero * longest * static_cast<double>(key.column_count) / n);
    if (needed > parts.memory_bytes)
      refuse_memory(parts, needed,
                    fmt::format("rows that are converted together take about {}", format_bytes(needed)),
                    "them");
  });
  return strips;
}

/// The panels' share, without what the program takes by and by.
std::optional<StreamMemory> memory_of(const PanelSizes& panels, const StreamedBlockParts& parts, int rank) {
  return stream_memory(panels, parts.memory_bytes - stream_program_bytes, tuning_of(parts, rank).depth);
}

PanelSizes sizes_of(const PanelFile& file) {
  return {.count = std::ssize(file.panels()), .most_bytes = file.most_panel_bytes()};
}

/// Generates, converts and writes panel after panel. Returns the seconds of writing on this rank.
double write_panels(const StreamedBlockParts& parts, const PanelFileKey& key, PanelFolder& folder,
                    const Strips& strips, comm::RankGroup& group) {
  std::unique_ptr<PanelFileWriter> writer;
  agree_on(group, [&] {
    folder.remove_file();
    writer = std::make_unique<PanelFileWriter>(folder.folder(), folder.file_name(), key);
    writer->reserve(saturated(expected_bytes(parts, key)));
  });
  PanelFileFigures figures;
  const auto& choice = parts.kernel;
  const auto options = options_of(choice);
  std::int64_t panel_count = 0;
  const HalfStorageRule rule(parts.layout);
  const comm::IndexRange columns{.begin = key.first_column, .end = key.first_column + key.column_count};
  std::int64_t first_row = key.first_row;
  Agreement agreement(group);
  figures.source =
      parts.matrix.source.build_strips(parts.layout, group, 1, strips, [&](kernels::CsrBlock strip) {
        agreement.attempt([&] {
          const auto lengths = row_lengths(strip, choice.critical_vector_length);
          figures.row_lengths = panel_count++ == 0 ? lengths : merged(figures.row_lengths, lengths);
          figures.nonzero_count += strip.nonzero_count();
          const auto row_count = strip.row_count;
          if (parts.matrix.sums_values)
            figures.value_sum += value_sum(
                strip, {.first_row = first_row, .first_column = columns.begin, .order = parts.layout.size()});
          if (choice.kernel->stores_half())
            keep_half(strip, {.begin = first_row, .end = first_row + row_count}, columns, rule);
          first_row += row_count;
          const auto panel = choice.kernel->maker_for(options)(std::move(strip), options);
          writer->append(*panel, row_count);
        });
      });
  agreement.attempt([&] { writer->finish(figures); });
  agreement.reach();
  return writer->write_s();
}

}  // namespace

double RankStream::multiply_s() const {
  if (figures.product_count == 0) return 0.0;
  return (figures.product_s - figures.wait_s) / static_cast<double>(figures.product_count);
}

StreamLimits limits_of(const OutOfCoreFacts& facts) {
  StreamLimits limits;
  for (const auto& rank : facts.ranks) {
    if (rank.storage_bytes_per_s <= 0.0 || rank.figures.product_count == 0) return {};
    // While the panels of a product are multiplied, so much is read.
    const auto read_meanwhile = saturated(rank.storage_bytes_per_s * rank.multiply_s());
    const auto resident = std::max<std::int64_t>(rank.file_bytes - read_meanwhile, 0);
    const auto buffers = rank.tuning.depth * rank.most_panel_bytes;
    const auto of_node = [&](std::int64_t panel_bytes) {
      return (rank.share.beside_bytes + std::min(panel_bytes, rank.file_bytes + rank.most_panel_bytes)) *
             rank.share.node_rank_count;
    };
    limits.unbound_bytes = std::max(limits.unbound_bytes, of_node(resident + buffers));
    limits.in_core_bytes = std::max(limits.in_core_bytes, of_node(rank.file_bytes + rank.most_panel_bytes));
  }
  return limits;
}

StreamPlan plan_stream(const StreamedBlockParts& parts, double multiply_s, comm::RankGroup& group) {
  constexpr std::int64_t sample_bytes = std::int64_t{256} << 20;  // bytes of the sample on a node
  constexpr double least_s = 0.3;
  const auto key = key_of(parts, group.rank());
  const auto strips = strips_for(parts, key, group);
  const auto& folder = parts.options.folder_of(group.rank());
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(folder, ignored);
  group.barrier();
  RankStream mine{.file_bytes = saturated(expected_bytes(parts, key)),
                  .panel_count = strips.count,
                  .most_panel_bytes = saturated(expected_bytes(parts, key) / strips.count),
                  .memory = {},
                  .figures = {.product_count = multiply_s > 0.0 ? 1 : 0, .product_s = multiply_s},
                  .share = parts.share,
                  .tuning = tuning_of(parts, group.rank())};
  std::int64_t free_bytes = 0;
  std::unique_ptr<PanelFolder> place;
  std::optional<StorageSample> sample;
  const auto panel_bytes = std::max(
      (mine.most_panel_bytes + panel_alignment - 1) / panel_alignment * panel_alignment, least_panel_bytes);
  const auto panel_count = std::max<std::int64_t>(sample_bytes / parts.share.node_rank_count / panel_bytes,
                                                  std::int64_t{2} * mine.tuning.depth);
  check_room(parts, key, strips, group);
  agree_on(group, [&] {
    place = std::make_unique<PanelFolder>(folder, group.rank(), group.size());
    free_bytes = folder_room(folder).available_bytes;
    sample.emplace(folder, panel_bytes * panel_count);
  });
  group.barrier();
  agree_on(group, [&] {
    mine.storage_bytes_per_s =
        sample->rate(usual_panel_io(), {.panel_bytes = panel_bytes, .depth = mine.tuning.depth}, least_s);
  });
  sample.reset();
  place.reset();
  group.barrier();
  if (!was_there) std::filesystem::remove(folder, ignored);  // if it is empty
  const auto memory =
      memory_of({.count = mine.panel_count, .most_bytes = mine.most_panel_bytes}, parts, group.rank());
  const auto resident_bytes = memory ? memory->resident_count * mine.most_panel_bytes : 0;
  const auto streamed = std::max<std::int64_t>(mine.file_bytes - resident_bytes, 0);
  StreamPlan plan{.file_bytes = group.sum(mine.file_bytes),
                  .largest_file_bytes = group.maximum(mine.file_bytes),
                  .free_bytes = group.minimum(free_bytes),
                  .streamed_bytes = group.sum(streamed),
                  .reading_s = group.maximum(static_cast<double>(streamed) / mine.storage_bytes_per_s),
                  .multiply_s = multiply_s,
                  .limits = {}};
  OutOfCoreFacts facts;
  facts.ranks = group.gather_one(mine);
  for (const auto& rank : facts.ranks) plan.storage_bytes_per_s += rank.storage_bytes_per_s;
  if (multiply_s > 0.0) plan.limits = limits_of(facts);
  return plan;
}

StreamedBlock make_streamed_block(const StreamedBlockParts& parts, comm::RankGroup& group,
                                  const Progress& progress) {
  StreamedBlock block;
  auto& stream = block.stream;
  const auto key = key_of(parts, group.rank());
  std::unique_ptr<PanelFile> file;
  agree_on(group, [&] {
    block.folder =
        std::make_unique<PanelFolder>(parts.options.folder_of(group.rank()), group.rank(), group.size());
    std::string reason;
    file = block.folder->existing(key, reason);
    if (file && !memory_of(sizes_of(*file), parts, group.rank())) file = nullptr;
  });
  if (!block.folder->claim().is_locked()) progress.warn(block.folder->claim().warning());
  stream.was_there = group.maximum(file ? 0.0 : 1.0) == 0.0;
  const auto strips = strips_for(parts, key, group);
  // Panels of a run of little memory would make one whose panels all stay in memory slower than it need be.
  constexpr std::int64_t much_shorter = 2;
  const std::int64_t panel_count = group.maximum(file ? std::ssize(file->panels()) : 0);
  const bool may_be_short =
      group.minimum(will_stay(parts, key) ? 1 : 0) == 1 && panel_count >= much_shorter * strips.count;
  auto panels = strips;
  if (!stream.was_there || may_be_short) {
    check_room(parts, key, strips, group);
    panels = shortened(strips, parts, key, group);
    stream.was_there = stream.was_there && panel_count < much_shorter * panels.count;
  }
  if (!stream.was_there) {
    file = nullptr;
    progress.say(
        fmt::format("writing the matrix to {}, in {} panels per rank", block.folder->folder(), panels.count));
    group.barrier();
    const Stopwatch stopwatch;
    block.device_write_s = group.maximum(write_panels(parts, key, *block.folder, panels, group));
    block.generation_s = group.maximum(stopwatch.seconds());
  }
  agree_on(group, [&] {
    if (!stream.was_there) file = std::make_unique<PanelFile>(block.folder->file_path());
    const auto memory = memory_of(sizes_of(*file), parts, group.rank());
    if (!memory)
      refuse_memory(
          parts, 2 * file->most_panel_bytes() + stream_program_bytes,
          fmt::format("two panels of {} take {}", file->path(), format_bytes(2 * file->most_panel_bytes())),
          "them");
    block.figures = file->figures();
    block.kernel = std::make_unique<StreamedKernel>(*parts.kernel.kernel, options_of(parts.kernel),
                                                    std::move(file), *memory, usual_panel_io());
  });
  // The storage is measured while all ranks read, and do nothing else.
  constexpr double least_s = 0.2;
  group.barrier();
  stream.storage_bytes_per_s = block.kernel->measure_reading(least_s);
  if (const auto error = group.maximum(std::int64_t{block.kernel->reader_refusal()}); error != 0)
    progress.warn(refusal_warning(static_cast<int>(error)));
  const auto& written = block.kernel->file();
  stream.file_bytes = written.panel_bytes();
  stream.panel_count = std::ssize(written.panels());
  stream.most_panel_bytes = written.most_panel_bytes();
  stream.memory = block.kernel->memory();
  stream.is_direct = written.is_direct();
  stream.share = parts.share;
  stream.tuning = tuning_of(parts, group.rank());
  return block;
}

}  // namespace cg2d

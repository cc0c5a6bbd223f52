#include "cg/run/streaming/out_of_core.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <system_error>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {
namespace {

constexpr int64_t least_panel_bytes = int64_t{1} << 20;
constexpr int64_t usual_panel_bytes = int64_t{16} << 20;  // of those that do not stay in memory
/// While panels are made: the kernel's arrays, beside the strip, and then their image in the file, each with some room, in bytes of a panel.
constexpr double making_per_panel = 1.15;

/// Bytes for a nonzero of a strip while a panel is made of it.
double making_bytes_per_nonzero(const kernels::KernelRow& row) {
  const double arrays = making_per_panel * row.bytes_per_nonzero;
  return std::max(2.0 * arrays, arrays + kernels::CsrBlock::bytes_per_nonzero);
}

/// How the panels of a rank's block are cut, and made. Holds references. All but memory_of() is collective.
struct PanelMaker {
  PanelMaker(const FeatureContext& context, const StreamedMatrix& asked, const comm::BlockLayout& blocks)
      : group(context.group), matrix(asked), layout(blocks), choice(context.report.kernel_choice) {
    const int rank = group.rank();
    const auto& environment = *context.report.environment;
    room = environment.node_of(rank).memory;
    memory_bytes = environment.memory_of_rank(rank) - matrix.vector_bytes;
    stream.beside_bytes = environment.process_bytes + matrix.vector_bytes;
    stream.node_rank_count = environment.node_of(rank).rank_count;
    folder = folder_of_rank(context.options.features.out_of_core.folders, rank);
    const auto rows = layout.rows_of(rank);
    const auto columns = layout.columns_of(rank);
    key = {.matrix_hash = matrix.hash,
           .block_width = choice.tuning.block_width.value_or(row.defaults.block_width.value_or(0)),
           .vector_count = choice.vector_count,
           .first_row = rows.begin,
           .row_count = rows.size(),
           .first_column = columns.begin,
           .column_count = columns.size()};
    std::ranges::copy(row.name.substr(0, key.kernel.size()), key.kernel.begin());
    if (row.format_depends_on_set && choice.vector_count == 1) {
      const auto set = kernels::name_of(row.preferred_instruction_set());
      std::ranges::copy(set.substr(0, key.instruction_set.size()), key.instruction_set.begin());
    }
    const auto n = static_cast<double>(layout.size());
    expected_bytes = row.bytes_per_nonzero * matrix.source.facts().nonzero_count *
                         (static_cast<double>(rows.size()) / n) * (static_cast<double>(columns.size()) / n) +
                     static_cast<double>(row.window_bytes(rows.size(), columns.size()));
  }

  /// The number of strips that gives panels of a good size, the same on all ranks.
  Strips strips_for(int64_t bytes) const {
    // Where all of them stay in memory, long ones are faster: what they read of p and add to q over columns is that of many windows of rows.
    constexpr int64_t resident_panels_per_memory = 8;
    // More for buffers, and the rest of the memory has to keep less of the matrix.
    const auto most_buffer_bytes = bytes * 3 / 16;
    const auto wanted = will_stay(bytes) ? std::max(bytes / resident_panels_per_memory, least_panel_bytes)
                                         : std::clamp(most_buffer_bytes / streamed_panels, least_panel_bytes,
                                                      usual_panel_bytes);
    const auto panels_of = [&](int64_t rows) {
      return std::max(1.0, std::ceil(static_cast<double>(key.row_count) / static_cast<double>(rows)));
    };
    const double count = std::ceil(expected_bytes / static_cast<double>(wanted));
    return {.count = static_cast<int>(
                group.maximum(std::clamp(count, panels_of(row.most_panel_rows), panels_of(row.panel_rows)))),
            .row_multiple = row.panel_rows,
            .working_bytes = group.minimum(bytes) / 4};
  }

  /// Memory for the making of panels, and for two of them.
  int64_t needed_bytes(const Strips& strips) const {
    const auto panel_bytes = saturated(1.1 * expected_bytes / strips.count);
    const double making_factor = making_bytes_per_nonzero(row) / row.bytes_per_nonzero;
    const auto making_bytes = saturated_sum(matrix.source.working_bytes(layout, strips),
                                            saturated(making_factor * static_cast<double>(panel_bytes)));
    return std::max(making_bytes, 2 * panel_bytes + stream_program_bytes);
  }

  /// Throws where not even two panels fit, or their making does not. With more memory panels are longer, up to the least memory that its own
  /// panels fit into.
  void check_room(const Strips& strips) const {
    auto needed = group.maximum(needed_bytes(strips));
    if (group.minimum(memory_bytes - needed_bytes(strips)) >= 0) return;
    int64_t enough = 0;
    constexpr int most_rounds = 100;
    for (int round = 0; round < most_rounds && needed > enough; ++round) {
      enough = needed + needed / 100;
      needed = std::max(needed, group.maximum(needed_bytes(strips_for(enough))));
    }
    agree_on(group, [&] {
      if (memory_bytes >= enough) return;  // the text is that of a rank that lacks memory
      refuse_memory(
          enough, fmt::format("with --out-of-core a rank needs {} beside its vectors", format_bytes(enough)),
          "it");
    });
  }

  /// More strips where one of them would be much longer than expected, and that helps: rows may be of very different lengths. Of all
  /// columns, of which each process column has its part.
  Strips shortened(Strips strips) const {
    const auto longest_of = [&](const Strips& some) {
      int64_t longest = 0;
      agree_on(group, [&] { longest = matrix.source.longest_strip(layout, group.rank(), some); });
      return static_cast<double>(group.maximum(longest));
    };
    constexpr int most_times = 64;
    constexpr double much_longer = 2.0;
    constexpr double worthwhile = 0.75;
    const auto multiple = strips.row_multiple;
    const auto most = std::min<int64_t>(group.maximum((key.row_count + multiple - 1) / multiple),
                                        int64_t{most_times} * strips.count);
    const auto n = static_cast<double>(layout.size());
    const double expected = matrix.source.facts().nonzero_count *
                            static_cast<double>(group.maximum(key.row_count)) / n / strips.count;
    auto longest = longest_of(strips);
    for (auto more = strips; longest > much_longer * expected && more.count < most;) {
      more.count = static_cast<int>(std::min(int64_t{2} * more.count, most));
      if (const auto now = longest_of(more); now <= worthwhile * longest) {
        strips = more;
        longest = now;
      }
    }
    agree_on(group, [&] {
      const auto needed =
          saturated(making_bytes_per_nonzero(row) * longest * static_cast<double>(key.column_count) / n);
      if (needed > memory_bytes)
        refuse_memory(needed,
                      fmt::format("rows that are converted together take about {}", format_bytes(needed)),
                      "them");
    });
    return strips;
  }

  /// Generates, converts and writes panel after panel. Returns the seconds of writing on this rank.
  double write_panels(PanelFolder& place, const Strips& strips) const {
    std::unique_ptr<PanelFileWriter> writer;
    agree_on(group, [&] {
      place.remove_file();
      writer = std::make_unique<PanelFileWriter>(place.folder, place.file_name, key);
      writer->reserve(saturated(expected_bytes));
    });
    PanelFileFigures figures;
    figures.row_lengths.critical_vector_length = choice.critical_vector_length;
    const HalfStorageRule rule(layout);
    const auto columns = layout.columns_of(group.rank());
    int64_t first_row = key.first_row;
    Agreement agreement(group);
    figures.source = matrix.source.build_strips(layout, group, 1, strips, [&](kernels::CsrBlock strip) {
      agreement.attempt([&] {
        figures.row_lengths = merged(figures.row_lengths, row_lengths(strip, choice.critical_vector_length));
        figures.nonzero_count += strip.nonzero_count();
        const auto row_count = strip.row_count;
        if (matrix.sums_values)
          figures.value_sum += value_sum(
              strip, {.first_row = first_row, .first_column = columns.begin, .order = layout.size()});
        if (row.stores_half())
          keep_half(strip, {.begin = first_row, .end = first_row + row_count}, columns, rule);
        first_row += row_count;
        const auto panel = row.make(std::move(strip), options);
        writer->append(*panel, row_count);
      });
    });
    agreement.attempt([&] { writer->finish(figures); });
    agreement.reach();
    return writer->write_s();
  }

  /// Whether all panels of this rank stay in so much memory.
  bool will_stay(int64_t bytes) const {
    constexpr double most_filled = 0.85;
    return expected_bytes <= most_filled * static_cast<double>(bytes);
  }

  /// The panels' share, without what the program takes by and by.
  std::optional<StreamMemory> memory_of(int64_t panel_count, int64_t most_panel_bytes) const {
    return stream_memory(panel_count, most_panel_bytes, memory_bytes - stream_program_bytes, streamed_panels);
  }
  std::optional<StreamMemory> memory_of(const PanelFile& file) const {
    return memory_of(std::ssize(file.panels), file.most_panel_bytes);
  }

  /// Where a rank needs so many bytes for its matrix data. whose: "a rank needs 2 GB", left_for: "it".
  [[noreturn]] void refuse_memory(int64_t needed, std::string_view whose, std::string_view left_for) const {
    const auto rank_count = stream.node_rank_count;
    throw RunError(ExitCode::memory, "not enough memory: {}, {} are left for {}; {}take more ranks", whose,
                   format_bytes(std::max<int64_t>(memory_bytes, 0)), left_for,
                   enough_limit_text(room, (needed - memory_bytes) * rank_count, rank_count));
  }

  comm::RankGroup& group;
  const StreamedMatrix& matrix;
  const comm::BlockLayout& layout;
  const ChosenKernel& choice;
  const kernels::KernelRow& row = *choice.kernel;
  const kernels::KernelOptions options{
      .thread_count = 1, .tuning = choice.tuning, .vector_count = choice.vector_count};
  std::string folder;
  MemoryRoom room;           // of all ranks of the node
  int64_t memory_bytes = 0;  // for this rank's matrix data
  RankStream stream;         // its share
  PanelFileKey key;
  double expected_bytes = 0.0;  // of this rank's panels together
};

}  // namespace

StreamLimits limits_of(std::span<const RankStream> ranks) {
  StreamLimits limits;
  if (std::ranges::none_of(ranks, [](const auto& rank) { return rank.storage_bytes_per_s > 0.0; })) return {};
  for (const auto& rank : ranks) {
    if (rank.figures.product_count == 0) return {};
    // While the panels of a product are multiplied, without waiting for the storage, so much is read.
    const auto& figures = rank.figures;
    const double multiply_s =
        (figures.product_s - figures.wait_s) / static_cast<double>(figures.product_count);
    const auto read_meanwhile = saturated(rank.storage_bytes_per_s * multiply_s);
    const auto resident = std::max<int64_t>(rank.file_bytes - read_meanwhile, 0);
    const auto buffers = streamed_panels * rank.most_panel_bytes;
    const auto of_node = [&](int64_t panel_bytes) {
      return (rank.beside_bytes + std::min(panel_bytes, rank.file_bytes + rank.most_panel_bytes)) *
             rank.node_rank_count;
    };
    limits.unbound_bytes = std::max(limits.unbound_bytes, of_node(resident + buffers));
    limits.in_core_bytes = std::max(limits.in_core_bytes, of_node(rank.file_bytes + rank.most_panel_bytes));
  }
  return limits;
}

StreamPlan StreamingFeature::plan(const StreamedMatrix& matrix, const comm::BlockLayout& layout,
                                  double multiply_s) const {
  constexpr int64_t sample_bytes = int64_t{256} << 20;  // bytes of the sample on a node
  constexpr double least_s = 0.3;
  auto& group = context_.group;
  const PanelMaker maker(context_, matrix, layout);
  const auto strips = maker.strips_for(maker.memory_bytes);
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(maker.folder, ignored);
  group.barrier();
  auto mine = maker.stream;
  mine.file_bytes = saturated(maker.expected_bytes);
  mine.panel_count = strips.count;
  mine.most_panel_bytes = saturated(maker.expected_bytes / strips.count);
  mine.figures = {.product_count = multiply_s > 0.0 ? 1 : 0, .product_s = multiply_s};
  int64_t free_bytes = 0;
  std::unique_ptr<PanelFolder> place;
  std::optional<StorageSample> sample;
  const auto panel_bytes = std::max(
      (mine.most_panel_bytes + panel_alignment - 1) / panel_alignment * panel_alignment, least_panel_bytes);
  const auto panel_count =
      std::max<int64_t>(sample_bytes / mine.node_rank_count / panel_bytes, int64_t{2} * streamed_panels);
  maker.check_room(strips);
  agree_on(group, [&] {
    place = std::make_unique<PanelFolder>(maker.folder, group.rank(), group.size());
    free_bytes = folder_room(maker.folder).available_bytes;
    sample.emplace(maker.folder, panel_bytes * panel_count);
  });
  group.barrier();
  agree_on(group, [&] { mine.storage_bytes_per_s = sample->rate(panel_bytes, streamed_panels, least_s); });
  sample.reset();
  place.reset();
  group.barrier();
  if (!was_there) std::filesystem::remove(maker.folder, ignored);  // if it is empty
  const auto memory = maker.memory_of(mine.panel_count, mine.most_panel_bytes);
  const auto resident_bytes = memory ? memory->resident_count * mine.most_panel_bytes : 0;
  const auto streamed = std::max<int64_t>(mine.file_bytes - resident_bytes, 0);
  StreamPlan plan{.file_bytes = group.sum(mine.file_bytes),
                  .largest_file_bytes = group.maximum(mine.file_bytes),
                  .free_bytes = group.minimum(free_bytes),
                  .streamed_bytes = group.sum(streamed),
                  .reading_s = group.maximum(static_cast<double>(streamed) / mine.storage_bytes_per_s),
                  .multiply_s = multiply_s};
  const auto ranks = group.gather_one(mine);
  for (const auto& rank : ranks) plan.storage_bytes_per_s += rank.storage_bytes_per_s;
  if (multiply_s > 0.0) plan.limits = limits_of(ranks);
  return plan;
}

std::unique_ptr<BlockProduct> StreamingFeature::make_product(const StreamedMatrix& matrix,
                                                             const comm::BlockLayout& layout) {
  auto& group = context_.group;
  const auto& progress = context_.progress;
  const PanelMaker maker(context_, matrix, layout);
  stream_ = maker.stream;
  std::unique_ptr<PanelFile> file;
  agree_on(group, [&] {
    folder_ = std::make_unique<PanelFolder>(maker.folder, group.rank(), group.size());
    file = folder_->existing(maker.key);
    if (file && !maker.memory_of(*file)) file = nullptr;
  });
  if (!folder_->claim.is_locked()) progress.warn(folder_->claim.warning());
  stream_.was_there = group.maximum(file ? 0.0 : 1.0) == 0.0;
  auto strips = maker.strips_for(maker.memory_bytes);
  // Panels of a run of little memory would make one whose panels all stay in memory slower than it need be.
  constexpr int64_t much_shorter = 2;
  const int64_t panel_count = group.maximum(file ? std::ssize(file->panels) : 0);
  const bool may_be_short = group.minimum(maker.will_stay(maker.memory_bytes) ? 1 : 0) == 1 &&
                            panel_count >= much_shorter * strips.count;
  if (!stream_.was_there || may_be_short) {
    maker.check_room(strips);
    strips = maker.shortened(strips);
    stream_.was_there = stream_.was_there && panel_count < much_shorter * strips.count;
  }
  if (!stream_.was_there) {
    file = nullptr;
    progress.say(
        fmt::format("writing the matrix to {}, in {} panels per rank", folder_->folder, strips.count));
    group.barrier();
    const Stopwatch stopwatch;
    facts_.device_write_s = group.maximum(maker.write_panels(*folder_, strips));
    facts_.write_s = group.maximum(stopwatch.seconds());
  }
  std::unique_ptr<StreamedKernel> kernel;
  agree_on(group, [&] {
    if (!stream_.was_there) file = std::make_unique<PanelFile>(folder_->file_path());
    const auto memory = maker.memory_of(*file);
    if (!memory)
      maker.refuse_memory(
          2 * file->most_panel_bytes + stream_program_bytes,
          fmt::format("two panels of {} take {}", file->path, format_bytes(2 * file->most_panel_bytes)),
          "them");
    kernel = std::make_unique<StreamedKernel>(maker.row, maker.options, std::move(file), *memory,
                                              usual_panel_io());
  });
  kernel_ = kernel.get();
  // The storage is measured while all ranks read, and do nothing else.
  constexpr double least_s = 0.2;
  group.barrier();
  stream_.storage_bytes_per_s = kernel->measure_reading(least_s);
  const auto& written = kernel->file();
  stream_.file_bytes = written.panel_bytes;
  stream_.panel_count = std::ssize(written.panels);
  stream_.most_panel_bytes = written.most_panel_bytes;
  stream_.memory = kernel->memory();
  stream_.is_direct = written.is_direct();
  auto& mine = context_.mine;
  mine.nonzero_count = written.header.figures.nonzero_count;
  mine.row_lengths = written.header.figures.row_lengths;
  mine.block_bytes = kernel->matrix_byte_count();
  mine.streamed_bytes_per_product = static_cast<double>(kernel->streamed_byte_count());
  return std::make_unique<BlockProduct>(maker.row, std::move(kernel), layout.columns_of(group.rank()).size(),
                                        maker.choice.vector_count);
}

void StreamingFeature::check_region() {
  agree_on(context_.group, [&] {
    if (kernel_ != nullptr && kernel_->failure()) throw RunError(*kernel_->failure());
  });
}

void StreamingFeature::finish() {
  if (kernel_ == nullptr) return;
  context_.report.is_streamed = true;
  stream_.figures = kernel_->figures();
  facts_.folders = context_.options.features.out_of_core.folders;
  facts_.reader = usual_panel_io().name;
  facts_.memory_limit_bytes = context_.options.memory_limit_bytes;
  facts_.ranks = context_.group.gather_one(stream_);
  context_.report.features.out_of_core = facts_;
}

int64_t StreamingFeature::panel_bytes() const {
  const bool is_read = kernel_ != nullptr && kernel_->streamed_byte_count() > 0;
  return is_read ? kernel_->file().most_panel_bytes : 0;
}

}  // namespace cg2d

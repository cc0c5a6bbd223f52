#include "cg/matrix/files/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/line_blocks.hpp"
#include "cg/matrix/files/market_text.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
namespace {

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

/// The name of a file without its folders, if any (npos + 1 is 0).
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// The entries in so many lines, with those that symmetry adds.
std::int64_t with_mirrored(const MarketHeader& header, std::int64_t line_count) {
  if (header.symmetry == MarketSymmetry::general) return line_count;
  return line_count + std::max<std::int64_t>(line_count - header.row_count, 0);  // the diagonal has no mirror
}

std::string entries_text(std::int64_t count) {
  return count == 1 ? "1 entry" : fmt::format("{} entries", count);
}

EntryValues values_of(const MarketHeader& header) {
  return header.field == MarketField::pattern ? EntryValues::ones : EntryValues::any;
}

/// A matrix that is symmetric by its form has no means to take, and no triangle to mirror.
void refuse_to_symmetrize(const MatrixFileOptions& options) {
  if (options.symmetrize_tolerance || options.mirrors)
    throw InputError("{}: the matrix of {} is symmetric by its form; leave it out",
                     options.mirrors ? "--mirror" : "--symmetrize", options.path);
}

/// One reading of a Matrix Market file.
class MarketReading {
 public:
  MarketReading(const MatrixFileOptions& options, comm::RankGroup& group)
      : options_(options), group_(group) {}

  std::unique_ptr<StoredMatrix> read() {
    require_same_file(options_.path, group_);
    agree_on(group_, [&] {
      located_ = read_market_header(options_.path);
      if (header().form == MarketForm::array)
        throw FileError(options_.path, 1,
                        "found \"array\", expected coordinate, the form of sparse matrices");
      if (header().row_count != header().column_count)
        throw FileError(options_.path, located_.line_count,
                        "found {} rows and {} columns, expected a square matrix", header().row_count,
                        header().column_count);
      if (header().symmetry != MarketSymmetry::general) refuse_to_symmetrize(options_);
      if (options_.mirrors && options_.symmetrize_tolerance)
        throw InputError("--symmetrize: not with --mirror, which makes the matrix symmetric");
    });
    if (options_.mirrors) located_.header.symmetry = MarketSymmetry::symmetric;
    const auto values = values_of(header());
    require_place(values);
    if (options_.permutation_seed) permutation_.emplace(header().row_count, *options_.permutation_seed);
    EntryCollector collector(header().row_count, group_, values, make_scratch());
    collector.attempt([&] { parse_share(collector); });
    auto store = collector.finish();
    require_complete();
    const auto lower_count = group_.sum(lower_count_);
    const auto upper_count = group_.sum(upper_count_);
    if (lower_count > 0 && upper_count > 0)
      throw RunError(ExitCode::bad_data,
                     "{}: found {} below the diagonal and {} above it, expected one triangle, which "
                     "--mirror mirrors; leave it out",
                     options_.path, entries_text(lower_count), upper_count);
    auto matrix =
        std::make_unique<StoredMatrix>(std::move(store), name_of(options_.path), permutation_, group_);
    if (options_.symmetrize_tolerance)
      matrix->symmetrize(*options_.symmetrize_tolerance, make_scratch(), group_);
    return matrix;
  }

 private:
  [[nodiscard]] const MarketHeader& header() const { return located_.header; }

  /// Room for the entries: in memory, or in the scratch folder.
  void require_place(EntryValues values) {
    const auto order = header().row_count;
    // Those that are announced, but no more than the bytes of the file can hold; 0 where these are not known. A file may announce anything.
    constexpr std::int64_t shortest_line = 4;  // "1 1" and its end
    const auto size = std::max<std::int64_t>(ByteSource(options_.path).size(), 0);
    const auto entries = with_mirrored(header(), std::min(header().line_count, size / shortest_line));
    // The halves of each entry, at both of its places, until they are in order.
    const auto half_count = options_.symmetrize_tolerance ? 2 * entries : 0;
    if (options_.scratch_folder.empty()) {
      auto expected =
          expected_matrix(order, entries, half_count > 0 ? EntryValues::any : values, group_.size());
      if (half_count > 0)
        expected.making_bytes =
            expected_matrix(order, half_count, EntryValues::any, group_.size()).making_bytes;
      return require_memory(options_.check_memory, options_.path, expected, group_);
    }
    const auto open_bytes = EntryStore::open_bytes(RowDeal(order, group_.size()));
    require_memory(options_.check_memory, options_.path,
                   {.order = order,
                    .entry_count = entries,
                    .making_bytes = stored_bytes(order, 0, values) + open_bytes * group_.size()},
                   group_);
    const auto all_bytes =
        stored_entry_bytes(values) * entries + stored_entry_bytes(EntryValues::any) * half_count;
    require_room("--scratch", options_.scratch_folder, all_bytes / group_.size(),
                 comm::make_node_map(group_, 0).node_of(group_.rank()), group_);
  }

  /// nullptr: the entries stay in memory.
  [[nodiscard]] std::unique_ptr<ScratchChunks> make_scratch() const {
    std::unique_ptr<ScratchChunks> scratch;
    if (options_.scratch_folder.empty()) return scratch;
    agree_on(group_, [&] { scratch = std::make_unique<ScratchChunks>(options_.scratch_folder); });
    return scratch;
  }

  /// Parses until the end of the share or the first fault. Takes part in exchanges meanwhile.
  void parse_share(EntryCollector& collector) {
    LineBlocks blocks(options_.path);
    const auto& source = blocks.source();
    const auto body = located_.body_offset;
    // Parts of a stream are much longer than a line: a reader may go beyond the end of one by a line.
    constexpr std::int64_t part_bytes = std::int64_t{1} << 22;
    const std::int64_t stride = group_.size() * part_bytes;
    comm::IndexRange part{.begin = body, .end = LineBlocks::end_of_file};
    if (source.can_be_cut()) {
      part.end = std::max(source.size(), body);
      part = comm::share_of(part, group_.rank(), group_.size());
    } else if (group_.size() > 1) {
      part = {.begin = body + group_.rank() * part_bytes, .end = body + (group_.rank() + 1) * part_bytes};
    }
    try {
      for (;;) {
        blocks.start(part.begin, part.end);
        for (auto lines = blocks.next(); !lines.empty(); lines = blocks.next())
          parse_lines(lines, blocks, collector);
        if (source.can_be_cut() || blocks.at_end_of_file()) break;
        part = {.begin = part.begin + stride, .end = part.end + stride};
      }
    } catch (const TextFault& fault) {
      fault_ = fault;
    }
  }

  void parse_lines(std::string_view lines, const LineBlocks& blocks, EntryCollector& collector) {
    const auto stored = [&](std::int64_t index) { return permutation_ ? (*permutation_)(index) : index; };
    const auto add = [&](const MatrixEntry& entry) {
      collector.add(stored(entry.row), stored(entry.column), entry.value);
    };
    auto written = header();
    if (options_.mirrors) written.symmetry = MarketSymmetry::general;
    try {
      parse_entries(lines, written, [&](const MatrixEntry& entry) {
        ++entry_count_;
        if (options_.mirrors && entry.value != 0.0) {
          lower_count_ += entry.row > entry.column ? 1 : 0;
          upper_count_ += entry.row < entry.column ? 1 : 0;
        }
        visit_images(entry, header().symmetry, add);
      });
    } catch (const TextFault& fault) {
      throw TextFault(blocks.offset() + fault.offset(), fault.what());
    }
    if (options_.progress && blocks.source().can_be_cut())
      options_.progress(static_cast<double>(blocks.offset() - located_.body_offset) * group_.size() /
                        static_cast<double>(blocks.source().size()));
  }

  /// Throws the first fault of the file, whichever rank has met it.
  void require_complete() {
    const auto own_offset = fault_ ? fault_->offset() : nowhere;
    const auto offset = group_.minimum(own_offset);
    const auto entry_count = group_.sum(entry_count_);
    if (offset == nowhere && entry_count == header().line_count) return;
    const auto messages = group_.gather_all(own_offset == offset && fault_ ? fault_->what() : std::string());
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      const auto line = locate_line(options_.path, offset, header().line_count);
      if (line.is_surplus)
        throw FileError(options_.path, line.number,
                        "found one more entry, expected the end of the file after the {} that are announced",
                        header().line_count);
      if (offset != nowhere) throw FileError(options_.path, line.number, *std::ranges::max_element(messages));
      throw FileError(options_.path, line.number,
                      "found the end of the file after {}, expected the {} that are announced",
                      entries_text(entry_count), header().line_count);
    });
  }

  const MatrixFileOptions& options_;
  comm::RankGroup& group_;
  LocatedHeader located_;
  std::optional<RandomPermutation> permutation_;
  std::int64_t entry_count_ = 0;
  std::int64_t lower_count_ = 0;  // entries that are not 0, of a triangle that is mirrored
  std::int64_t upper_count_ = 0;
  std::optional<TextFault> fault_;  // the first line that this rank could not parse
};

}  // namespace

std::unique_ptr<StoredMatrix> read_market_matrix(const MatrixFileOptions& options, comm::RankGroup& group) {
  return MarketReading(options, group).read();
}

std::unique_ptr<SystemMatrix> open_matrix(const MatrixFileOptions& options, comm::RankGroup& group) {
  bool is_cache = false;
  agree_on(group, [&] { is_cache = is_cache_file(options.path); });
  if (!is_cache) return read_market_matrix(options, group);
  refuse_to_symmetrize(options);
  auto cached = std::make_unique<CachedMatrix>(options.path, name_of(options.path), group);
  if (!options.permutation_seed) return cached;
  const RandomPermutation permutation(cached->order(), *options.permutation_seed);
  require_memory(options.check_memory, options.path,
                 expected_matrix(cached->order(), cached->nonzero_count(), EntryValues::any, group.size()),
                 group);
  EntryCollector collector(cached->order(), group);
  collector.attempt([&] { cached->add_own_entries(collector, permutation); });
  return std::make_unique<StoredMatrix>(collector.finish(), name_of(options.path), permutation, group);
}

std::unique_ptr<SystemMatrix> open_binary_matrix(const std::string& path, std::string_view wanted_by,
                                                 comm::RankGroup& group) {
  agree_on(group, [&] {
    if (is_cache_file(path)) return;
    const auto header = read_market_header(path).header;
    const auto bytes =
        stored_bytes(header.row_count, with_mirrored(header, header.line_count), values_of(header));
    throw InputError(
        "{} needs the binary form of {}: make it by cg2d convert, which takes {} of memory on all ranks "
        "together and 64 MB on each, or that much of a device with --scratch DIR",
        wanted_by, path, format_bytes(bytes));
  });
  return std::make_unique<CachedMatrix>(path, name_of(path), group);
}

std::unique_ptr<SystemMatrix> generate_matrix(const MatrixFileOptions& options, comm::RankGroup& group) {
  const auto source = source_from(options.path);
  const auto order = source->facts().key.order;
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = group.size()});
  const auto nonzeros = static_cast<std::int64_t>(source->facts().nonzero_count);
  auto expected = expected_matrix(order, nonzeros, EntryValues::any, group.size());
  const auto block_bytes = 12 * nonzeros + 8 * order;  // made first, and then stored
  // The source's working memory is gone when the rows are stored.
  const auto storing_bytes = expected.making_bytes;
  expected.making_bytes =
      block_bytes + std::max(storing_bytes, group.size() * source->working_bytes(layout, {}));
  require_memory(options.check_memory, options.path, expected, group);
  const auto first_row = layout.row_block(group.rank()).begin;
  const auto block = source->build(layout, group, 1).block;
  const double sign = source_row_of(options.path).is_negative_definite ? -1.0 : 1.0;
  std::optional<RandomPermutation> permutation;
  if (options.permutation_seed) permutation.emplace(order, *options.permutation_seed);
  const auto stored = [&](std::int64_t index) { return permutation ? (*permutation)(index) : index; };
  EntryCollector collector(order, group);
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto stored_row = stored(first_row + row);
    const auto columns = block.columns_of(row);
    const auto values = block.values_of(row);
    for (std::size_t k = 0; k < columns.size(); ++k)
      collector.add(stored_row, stored(columns[k]), sign * values[k]);
  }
  return std::make_unique<StoredMatrix>(collector.finish(), options.path, permutation, group);
}

}  // namespace cg2d

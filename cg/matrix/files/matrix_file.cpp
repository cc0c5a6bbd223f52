#include "cg/matrix/files/matrix_file.hpp"

#include <cmath>

#include "cg/base/storage/unnamed_file.hpp"
#include "cg/matrix/files/market_file.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
namespace {

/// The name of a file without its folders, if any (npos + 1 is 0).
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string entries_text(int64_t count) { return count == 1 ? "1 entry" : fmt::format("{} entries", count); }

/// A matrix that is symmetric by its form has no means to take, and no triangle to mirror.
void refuse_to_symmetrize(const MatrixFileOptions& options) {
  if (options.symmetrize_tolerance || options.mirrors)
    throw InputError("{}: the matrix of {} is symmetric by its form; leave it out",
                     options.mirrors ? "--mirror" : "--symmetrize", options.path);
}

/// One reading of a Matrix Market file.
struct MarketReading {
  std::unique_ptr<StoredMatrix> read() {
    require_same_file(options.path, group);
    agree_on(group, [&] {
      located = read_market_header(options.path);
      if (header.form == MarketForm::array)
        throw FileError(options.path, 1, "found \"array\", expected coordinate, the form of sparse matrices");
      if (header.row_count != header.column_count)
        throw FileError(options.path, located.line_count,
                        "found {} rows and {} columns, expected a square matrix", header.row_count,
                        header.column_count);
      if (header.symmetry != MarketSymmetry::general) refuse_to_symmetrize(options);
      if (options.mirrors && options.symmetrize_tolerance)
        throw InputError("--symmetrize: not with --mirror, which makes the matrix symmetric");
    });
    if (options.mirrors) header.symmetry = MarketSymmetry::symmetric;
    require_place();
    if (options.permutation_seed) permutation.emplace(header.row_count, *options.permutation_seed);
    EntryCollector collector(header.row_count, group, make_scratch());
    collector.attempt([&] { parse_share(collector); });
    auto store = collector.finish();
    require_complete();
    lower_count = group.sum(lower_count);
    upper_count = group.sum(upper_count);
    if (lower_count > 0 && upper_count > 0)
      throw RunError(ExitCode::bad_data,
                     "{}: found {} below the diagonal and {} above it, expected one triangle, which "
                     "--mirror mirrors; leave it out",
                     options.path, entries_text(lower_count), upper_count);
    auto matrix = std::make_unique<StoredMatrix>(std::move(store), name_of(options.path), permutation, group);
    if (options.symmetrize_tolerance)
      matrix->symmetrize(*options.symmetrize_tolerance, make_scratch(), group);
    return matrix;
  }

  /// Room for the entries: in memory, or in the scratch folder.
  void require_place() {
    const auto order = header.row_count;
    // Those that are announced, but no more than the bytes of the file can hold; 0 where these are not known. A file may announce anything.
    constexpr int64_t shortest_line = 4;  // "1 1" and its end
    const auto size = std::max<int64_t>(ByteSource(options.path).size(), 0);
    auto entries = std::min(header.line_count, size / shortest_line);
    if (header.symmetry == MarketSymmetry::symmetric)
      entries += std::max<int64_t>(entries - order, 0);  // the diagonal has no mirror
    // Each entry, and its halves at both of its places.
    const auto stored_count = options.symmetrize_tolerance ? 3 * entries : entries;
    if (options.scratch_folder.empty()) {
      auto expected = expected_matrix(order, entries, group.size());
      expected.making_bytes = expected_matrix(order, stored_count, group.size()).making_bytes;
      return require_memory(options.check_memory, options.path, expected, group);
    }
    const auto open_bytes = EntryStore::open_bytes(RowShares(order, group.size()));
    require_memory(options.check_memory, options.path,
                   {.order = order,
                    .entry_count = entries,
                    .making_bytes = stored_bytes(order, 0) + open_bytes * group.size()},
                   group);
    require_room("--scratch", options.scratch_folder, stored_entry_bytes * stored_count / group.size(),
                 comm::make_node_map(group, 0).node_of(group.rank()), group);
  }

  /// nullptr: the entries stay in memory.
  std::unique_ptr<ScratchChunks> make_scratch() const {
    std::unique_ptr<ScratchChunks> scratch;
    if (options.scratch_folder.empty()) return scratch;
    agree_on(group, [&] { scratch = std::make_unique<ScratchChunks>(options.scratch_folder); });
    return scratch;
  }

  /// Parses until the end of the share or the first fault. Takes part in exchanges meanwhile.
  void parse_share(EntryCollector& collector) {
    LineBlocks blocks(options.path);
    const auto& source = blocks.source();
    const auto body = located.body_offset;
    // Parts of a stream are much longer than a line: a reader may go beyond the end of one by a line.
    constexpr int64_t part_bytes = int64_t{1} << 22;
    const int64_t stride = group.size() * part_bytes;
    comm::IndexRange part{.begin = body, .end = LineBlocks::end_of_file};
    if (source.can_be_cut()) {
      part.end = std::max(source.size(), body);
      part = comm::share_of(part, group.rank(), group.size());
    } else if (group.size() > 1) {
      part = {.begin = body + group.rank() * part_bytes, .end = body + (group.rank() + 1) * part_bytes};
    }
    try {
      for (;;) {
        blocks.start(part.begin, part.end);
        for (auto lines = blocks.next(); !lines.empty(); lines = blocks.next())
          parse_lines(lines, blocks, collector);
        if (source.can_be_cut() || blocks.at_end_of_file()) break;
        part = {.begin = part.begin + stride, .end = part.end + stride};
      }
    } catch (const TextFault& found) {
      fault = found;
    }
  }

  void parse_lines(std::string_view lines, const LineBlocks& blocks, EntryCollector& collector) {
    const auto stored = [&](int64_t index) { return permutation ? (*permutation)(index) : index; };
    const auto add = [&](const MatrixEntry& entry) {
      collector.add(stored(entry.row), stored(entry.column), entry.value);
    };
    const auto symmetry = header.symmetry;
    auto written = header;
    if (options.mirrors) written.symmetry = MarketSymmetry::general;
    const auto take = [&](const MatrixEntry& entry) {
      ++entry_count;
      if (options.mirrors && entry.value != 0.0) {
        lower_count += entry.row > entry.column ? 1 : 0;
        upper_count += entry.row < entry.column ? 1 : 0;
      }
      visit_images(entry, symmetry, add);
    };
    parse_entries(lines, written, take, blocks.offset());
    if (options.progress && blocks.source().can_be_cut())
      options.progress(static_cast<double>(blocks.offset() - located.body_offset) * group.size() /
                       static_cast<double>(blocks.source().size()));
  }

  /// Throws the first fault of the file, whichever rank has met it.
  void require_complete() {
    entry_count = group.sum(entry_count);
    auto first = first_fault(fault, group);
    if (!first && entry_count != header.line_count)
      first.emplace(LineBlocks::end_of_file,
                    fmt::format("found the end of the file after {}, expected the {} that are announced",
                                entries_text(entry_count), header.line_count));
    agree_on(group, [&] {
      if (first && group.rank() == 0)
        throw FileError(options.path, line_number_at(options.path, first->offset()), first->what());
    });
  }

  const MatrixFileOptions& options;
  comm::RankGroup& group;
  LocatedHeader located{};
  MarketHeader& header = located.header;
  std::optional<RandomPermutation> permutation{};
  int64_t entry_count = 0;
  int64_t lower_count = 0;  ///< entries that are not 0, of a triangle that is mirrored
  int64_t upper_count = 0;
  std::optional<TextFault> fault{};  ///< the first line that this rank could not parse
};

/// Makes the strips of one of the library's own sources whenever they are asked for. Each rank keeps the lengths of its share of the rows, and
/// their diagonal: 12 bytes for each.
class SourceMatrix final : public SystemMatrix {
 public:
  SourceMatrix(const MatrixFileOptions& options, std::optional<int64_t> memory_bytes, comm::RankGroup& group)
      : row_(source_row_of(options.path)), source_(source_from(options.path)) {
    facts_.key = {.name = options.path, .order = source_->facts().key.order};
    // Strips of a sixteenth of the memory, but not so short that making them costs more than their entries.
    constexpr double bytes_per_entry = 12.0;
    constexpr int64_t least_bytes = int64_t{1} << 20;
    constexpr int64_t most_bytes = int64_t{32} << 20;
    constexpr int64_t strips_per_memory = 16;
    const auto layout = own_layout(group);
    const auto share_bytes = bytes_per_entry * source_->facts().nonzero_count / group.size();
    const auto strip_bytes =
        memory_bytes ? std::clamp(*memory_bytes / strips_per_memory, least_bytes, most_bytes) : most_bytes;
    const auto most_count = static_cast<double>(std::max<int64_t>(order() / group.size(), 1));
    strips_.count = static_cast<int>(group.maximum(
        std::clamp(std::ceil(share_bytes / static_cast<double>(strip_bytes)), 1.0, most_count)));
    if (memory_bytes) strips_.working_bytes = group.minimum(*memory_bytes) / 4;
    constexpr double making = 2.0;  // a strip, and room that it grows into
    const auto needed = saturated_sum(source_->working_bytes(layout, strips_),
                                      saturated(making * share_bytes / strips_.count));
    ExpectedMatrix expected{
        .order = order(),
        .entry_count = saturated(source_->facts().nonzero_count),
        .making_bytes = saturated(static_cast<double>(group.maximum(needed)) * group.size())};
    // The memory of whole blocks, on any grid.
    const auto pieces = comm::piece_starts_of_shares(order(), comm::equal_shares(group.size()));
    for (const auto& grid : comm::factorizations(group.size())) {
      if (!memory_bytes)
        expected.working_bytes = std::max(expected.working_bytes,
                                          SourceMatrix::working_bytes(comm::BlockLayout(grid, pieces), {}));
    }
    require_memory(options.check_memory, options.path, expected, group);
    agree_on(group, [&] {
      if (!memory_bytes || needed <= *memory_bytes) return;
      throw RunError(
          ExitCode::memory,
          "not enough memory: counting the rows of {} takes {} on a rank, {} are left for it; raise "
          "--memory-limit or take more ranks",
          options.path, format_bytes(needed), format_bytes(std::max<int64_t>(*memory_bytes, 0)));
    });
    survey(options.path, comm::share_of(order(), group.rank(), group.size()), group);
  }

  int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const override {
    return saturated_sum(source_->working_bytes(layout, strips), kept_bytes(layout, strips));
  }
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override {
    return source_->build_strips(layout, group, thread_count, strips, [&](kernels::CsrBlock strip) {
      if (row_.is_negative_definite)
        std::ranges::transform(strip.values.span(), strip.values.data(), std::negate());
      sink(std::move(strip));
    });
  }
  /// A hash of the source and the parameters that place and make its entries.
  std::optional<uint64_t> content_hash() const override {
    return hash_of_text(fmt::format("source {} {}", row_.name, source_->facts().key.pattern_hash));
  }

 private:
  comm::BlockLayout own_layout(comm::RankGroup& group) const {
    return comm::BlockLayout::even(order(), {.columns = 1, .rows = group.size()});
  }
  /// Makes the matrix once more, strip by strip.
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override {
    const auto layout = own_layout(group);
    auto row = layout.row_block(group.rank()).begin;
    Agreement agreement(group);
    build_strips(layout, group, 1, strips_, [&](const kernels::CsrBlock& strip) {
      agreement.attempt([&] {
        for (int64_t local = 0; local < strip.row_count; ++local, ++row)
          visit({.row = row, .columns = strip.columns_of(local), .values = strip.values_of(local)});
      });
    });
    agreement.reach();
  }

  const SourceRow& row_;
  std::unique_ptr<MatrixSource> source_;
  Strips strips_;  // strips of a rank's share of the rows
};

}  // namespace

std::unique_ptr<StoredMatrix> read_market_matrix(const MatrixFileOptions& options, comm::RankGroup& group) {
  return MarketReading{options, group}.read();
}

std::unique_ptr<SystemMatrix> open_matrix(const MatrixFileOptions& options, comm::RankGroup& group) {
  bool is_cache = false;
  agree_on(group, [&] { is_cache = is_cache_file(options.path); });
  if (!is_cache) return read_market_matrix(options, group);
  refuse_to_symmetrize(options);
  return open_cache(options, name_of(options.path), group);
}

std::unique_ptr<SystemMatrix> open_binary_matrix(const std::string& path, std::string_view wanted_by,
                                                 comm::RankGroup& group) {
  agree_on(group, [&] {
    if (is_cache_file(path)) return;
    throw InputError(
        "{} needs the binary form of {}: make it by cg2d convert, which takes 14 bytes of memory for each "
        "entry, or of a device with --scratch DIR",
        wanted_by, path);
  });
  return open_cache({.path = path}, name_of(path), group);
}

std::unique_ptr<SystemMatrix> open_source(const MatrixFileOptions& options,
                                          std::optional<int64_t> memory_bytes, comm::RankGroup& group) {
  return in_asked_order(std::make_unique<SourceMatrix>(options, memory_bytes, group), options, group);
}

std::unique_ptr<SystemMatrix> in_asked_order(std::unique_ptr<SystemMatrix> matrix,
                                             const MatrixFileOptions& options, comm::RankGroup& group) {
  if (!options.permutation_seed) return matrix;
  const auto order = matrix->order();
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = group.size()});
  auto expected = expected_matrix(order, matrix->nonzero_count(), group.size());
  constexpr int64_t bytes_per_row = 8 + 12;  // of the block, and lengths and diagonal
  const auto block_bytes =
      12 * matrix->nonzero_count() + bytes_per_row * order;  // made first, and then stored
  expected.making_bytes =
      block_bytes + std::max(expected.making_bytes, group.size() * matrix->working_bytes(layout, {}));
  require_memory(options.check_memory, options.path, expected, group);
  const auto first_row = layout.row_block(group.rank()).begin;
  const auto block = matrix->build(layout, group, 1).block;
  const RandomPermutation permutation(order, *options.permutation_seed);
  EntryCollector collector(order, group);
  collector.attempt([&] {
    for (int64_t row = 0; row < block.row_count; ++row) {
      const auto moved_row = permutation(first_row + row);
      const auto columns = block.columns_of(row);
      const auto values = block.values_of(row);
      for (size_t k = 0; k < columns.size(); ++k)
        collector.add(moved_row, permutation(columns[k]), values[k]);
    }
  });
  return std::make_unique<StoredMatrix>(collector.finish(), matrix->facts().key.name, permutation, group);
}

std::optional<TextFault> first_fault(const std::optional<TextFault>& own, comm::RankGroup& group) {
  constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();
  const auto own_offset = own ? own->offset() : nowhere;
  const auto offset = group.minimum(own_offset);
  if (offset == nowhere) return std::nullopt;
  const auto messages = group.gather_all(own_offset == offset ? own->what() : std::string());
  return TextFault(offset, *std::ranges::max_element(messages));
}

void require_same_file(const std::string& path, comm::RankGroup& group) {
  constexpr size_t compared_bytes = size_t{1} << 20;
  std::array<int64_t, 2> own{};  // size and checksum
  agree_on(group, [&] {
    const OpenFile file(path);
    std::vector<std::byte> first(compared_bytes);
    const auto count = file.read_at(0, first);
    own = {file.size(), crc32c(std::span(first).first(count))};
  });
  const auto all = group.gather_one(own);
  const auto other = std::ranges::find_if(all, [&](const auto& theirs) { return theirs != all.front(); });
  if (other == all.end()) return;
  throw FileError(path,
                  "found another content on rank {} than on rank 0, expected the same file on "
                  "every node",
                  other - all.begin());
}

}  // namespace cg2d

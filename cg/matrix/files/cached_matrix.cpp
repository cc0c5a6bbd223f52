#include "cg/matrix/files/matrix_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/crc32c.hpp"

namespace cg2d {
namespace {

// 3 MB at a time: strips are made where there is little memory.
constexpr int64_t window_entries = int64_t{1} << 18;

// ---------------------------------------------------------------- writing

/// A file that all ranks write, under a temporary name until it is complete. Keeps what the data add to the checksums of their chunks:
/// these are of what was meant, whatever the device has.
class SharedOutput {
 public:
  SharedOutput(std::string path, const CacheLayout& layout, comm::RankGroup& group)
      : path_(std::move(path)), layout_(layout), shares_(static_cast<size_t>(layout.chunk_count)) {
    std::string temporary_name;
    agree_on(group, [&] {
      if (group.rank() != 0) return;
      std::error_code unknown;
      const auto status = std::filesystem::status(path_, unknown);
      const auto target = output_target(path_);
      if ((exists(status) && !is_regular_file(status)) || !can_be_replaced(target))
        refuse(
            "it cannot be replaced (a folder, a pipe, a device, a mount point, or another user's file in a "
            "folder with the sticky bit); name another file");
      path_ = target;
      file_.emplace(path_, group.size() == 1 ? FileNaming::at_the_end : FileNaming::temporary_at_once);
      if (!file_->is_open()) cannot_create(path_);
      temporary_name = file_->temporary_name();
    });
    temporary_name = group.broadcast(temporary_name);
    agree_on(group, [&] {
      if (group.rank() == 0) return;
      file_.emplace(temporary_name, FileNaming::of_another_process);
      if (!file_->is_open())
        refuse(
            fmt::format("rank {} cannot open what rank 0 has made there ({}); name a file in a folder that "
                        "all ranks can write",
                        group.rank(), std::strerror(errno)));
    });
  }

  void write(int64_t position, std::span<const std::byte> bytes) const {
    if (!write_whole(file_->descriptor(), position, bytes)) cannot_write(path_);
  }
  /// Bytes between CacheLayout::data_begin and data_end, in any order.
  void write_data(int64_t position, std::span<const std::byte> bytes) {
    write(position, bytes);
    while (!bytes.empty()) {
      const auto chunk = (position - CacheLayout::data_begin) / CacheLayout::chunk_bytes;
      const auto end = CacheLayout::chunk_begin(chunk) + layout_.chunk_size(chunk);
      const auto piece = bytes.first(std::min(bytes.size(), static_cast<size_t>(end - position)));
      position += std::ssize(piece);
      shares_[static_cast<size_t>(chunk)] ^= crc32c_share(crc32c(piece), std::ssize(piece), end - position);
      bytes = bytes.subspan(piece.size());
    }
  }
  /// On rank 0 the checksums of all chunks, from the shares of all ranks in them. Collective.
  std::vector<uint32_t> checksums(comm::RankGroup& group) const {
    std::vector<uint32_t> all;
    if (group.rank() == 0) {
      all.assign(shares_.size(), crc32c_of_zeros(CacheLayout::chunk_bytes));
      all.back() = crc32c_of_zeros(layout_.chunk_size(layout_.chunk_count - 1));
    }
    WordRounds rounds(group, [&](WordRounds::Words words, int /*sender*/) {
      for (const auto word : words)
        all[static_cast<size_t>(high_of(word))] ^= static_cast<uint32_t>(low_of(word));
    });
    for (int64_t chunk = 0; chunk < layout_.chunk_count; ++chunk) {
      const auto share = shares_[static_cast<size_t>(chunk)];
      // Numbers of chunks fit into 32 bits: files up to 256 TiB.
      if (share != 0) rounds.to(0, 1).push_back(pair_of(chunk, share));
    }
    rounds.finish();
    return all;
  }
  /// On every rank, after its last write: the system tells of a write that it has lost later to those that ask, each once.
  void put_on_disk() const {
    if (!put_on_device(file_->descriptor())) cannot_write(path_);
  }
  /// On rank 0, when all is on the disk. The permissions come last: ranks must open the file before.
  void put_in_place() {
    keep_permissions(path_, file_->descriptor());
    if (file_->take_name()) return;
    const auto* const reason = std::strerror(errno);
    auto place = file_->keep();
    if (!place.empty()) place = "; the result is in " + place;
    throw RunError(ExitCode::cannot_write, "cannot write {}: {}{}", path_, reason, place);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw RunError(ExitCode::cannot_create, "cannot create {}: {}", path_, reason);
  }

  std::string path_;
  const CacheLayout& layout_;
  std::optional<UnnamedFile> file_;
  std::vector<uint32_t> shares_;  // by number of the chunk, of what this rank has written, 0 for nothing
};

// ---------------------------------------------------------------- reading

/// The matrix of such a file. Blocks are read as often as they are asked for; lengths and diagonal of this rank's rows are kept. A rank
/// reads the rows of its block, all columns of them. Every byte that it takes is checked.
class CachedMatrix final : public SystemMatrix {
 public:
  CachedMatrix(const std::string& path, std::string name, comm::RankGroup& group) {
    require_same_file(path, group);
    agree_on(group, [&] {
      reader_ = std::make_unique<CacheReader>(path);
      const auto rows = comm::share_of(reader_->header().order, group.rank(), group.size());
      const auto starts = row_starts_of(rows);
      own_rows_ = rows;
      nonzeros_before_ = starts.front();
      row_lengths_.reserve(static_cast<size_t>(rows.size()));
      for (size_t k = 1; k < starts.size(); ++k)
        row_lengths_.push_back(static_cast<uint32_t>(starts[k] - starts[k - 1]));
      diagonal_.resize(row_lengths_.size());
      reader_->read_diagonal(rows.begin, diagonal_);
    });
    const auto& header = reader_->header();
    nonzero_count_ = header.nonzero_count;
    pattern_sum_ = header.pattern_sum;
    set_facts(std::move(name), header.order, group);
  }

  /// The window, the row starts of what is read, and the figures of the rows.
  int64_t working_bytes(const comm::BlockLayout& layout, const Strips& strips) const override {
    const auto start_bytes = 8 * (order() / layout.grid().rows / strips.count + 2);
    return 12 * window_entries + start_bytes + kept_bytes(layout, strips);
  }

  /// Counts all columns. Cost: 64 KiB of the file for each strip.
  int64_t longest_strip(const comm::BlockLayout& layout, int rank, const Strips& strips) const override {
    const auto rows = layout.rows_of(rank);
    int64_t longest = 0;
    auto begin = reader_->row_start(rows.begin);
    for (int strip = 0; strip < strips.count; ++strip) {
      const auto end = reader_->row_start(strips.rows_of(strip, rows).end);
      longest = std::max(longest, end - begin);
      begin = end;
    }
    return longest;
  }

  /// A rank that cannot read goes on without strips until all come to the end.
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int /*thread_count*/,
                           const Strips& strips, const StripSink& sink) const override {
    Agreement agreement(group);
    const auto columns = layout.columns_of(group.rank());
    for (int strip = 0; strip < strips.count; ++strip) {
      agreement.attempt(
          [&] { sink(read_block(strips.rows_of(strip, layout.rows_of(group.rank())), columns)); });
    }
    agreement.reach();
    return {};
  }

  /// A hash of all checksums of the file.
  std::optional<uint64_t> content_hash() const override {
    const auto checksums = std::as_bytes(reader_->checksums());
    const auto of_checksums =
        hash_of_text({reinterpret_cast<const char*>(checksums.data()), checksums.size()});
    const auto& header = reader_->header();
    return hash_of_text(fmt::format("cg2d convert {} {} {} {}", header.order, header.nonzero_count,
                                    header.pattern_sum, of_checksums));
  }

 private:
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override {
    agree_on(group, [&] { for_each_row_part<false>(own_rows_, row_starts_of(own_rows_), visit); });
  }

  /// The row starts of these rows, and the end of the last one.
  std::vector<int64_t> row_starts_of(const comm::IndexRange& rows) const {
    std::vector<int64_t> starts(static_cast<size_t>(rows.size()) + 1);
    reader_->read_row_starts(rows.begin, starts);
    return starts;
  }

  /// Calls visit(part) for the parts of these rows, as far as they are read together. starts: those of the rows, and the end of the last one.
  template <bool HasValues, typename Visit>
  void for_each_row_part(const comm::IndexRange& rows, std::span<const int64_t> starts,
                         const Visit& visit) const {
    std::vector<int32_t> columns;
    std::vector<double> values;
    size_t row = 0;
    for (auto first = starts.front(); first < starts.back();) {
      const auto end = std::min(first + window_entries, starts.back());
      columns.resize(static_cast<size_t>(end - first));
      reader_->read_columns(first, columns);
      if (HasValues) {
        values.resize(columns.size());
        reader_->read_values(first, values);
      }
      for (size_t at = 0; first < end; row += starts[row + 1] == first ? 1 : 0) {
        const auto count = static_cast<size_t>(std::min(starts[row + 1], end) - first);
        visit(RowPart{.row = rows.begin + static_cast<int64_t>(row),
                      .columns = std::span(columns).subspan(at, count),
                      .values = HasValues ? std::span(values).subspan(at, count) : std::span<double>()});
        at += count;
        first += static_cast<int64_t>(count);
      }
    }
  }

  /// The entries of these rows and columns. Room is reserved for those of all columns, and taken by those that are there.
  kernels::CsrBlock read_block(const comm::IndexRange& rows, const comm::IndexRange& columns) const {
    const auto starts = row_starts_of(rows);
    auto block = kernels::CsrBlock::with_room(rows.size(), columns.size(),
                                              static_cast<size_t>(starts.back() - starts.front()));
    size_t kept = 0;
    for_each_row_part<true>(rows, starts, [&](const RowPart& part) {
      for (size_t k = 0; k < part.columns.size(); ++k) {
        if (!columns.contains(part.columns[k])) continue;
        ++block.row_starts[static_cast<size_t>(part.row - rows.begin) + 1];
        block.columns[kept] = static_cast<int32_t>(part.columns[k] - columns.begin);
        block.values[kept++] = part.values[k];
      }
    });
    block.make_room_by_lengths();
    return block;
  }

  std::unique_ptr<CacheReader> reader_;
};

}  // namespace

void write_cache(const StoredMatrix& matrix, const std::string& path, comm::RankGroup& group) {
  const auto& store = matrix.store();
  CacheHeader header{
      .order = matrix.order(), .nonzero_count = matrix.nonzero_count(), .pattern_sum = matrix.pattern_sum_};
  const CacheLayout layout(header);
  SharedOutput output(path, layout, group);
  agree_on(group, [&] {
    // This rank's rows, bucket by bucket, at their places.
    std::vector<int64_t> row_starts;
    std::vector<double> values;
    std::vector<int32_t> columns;
    auto start = matrix.nonzeros_before_;
    for (size_t bucket = 0; bucket < store.bucket_count(); ++bucket) {
      const auto [first_row, end_row] = store.rows_of(bucket);
      const auto local_row = matrix.local_row(first_row);
      const auto row_count = static_cast<size_t>(end_row - first_row);
      const auto lengths = std::span(matrix.row_lengths_).subspan(local_row, row_count);
      row_starts.resize(row_count);
      std::exclusive_scan(lengths.begin(), lengths.end(), row_starts.begin(), start);
      values.clear();
      columns.clear();
      store.for_each_part(bucket, [&](const RowPart& part) {
        values.insert(values.end(), part.values.begin(), part.values.end());
        columns.insert(columns.end(), part.columns.begin(), part.columns.end());
      });
      output.write_data(layout.row_starts + 8 * first_row, std::as_bytes(std::span(row_starts)));
      output.write_data(layout.diagonal + 8 * first_row,
                        std::as_bytes(std::span(matrix.diagonal_).subspan(local_row, row_count)));
      output.write_data(layout.values + 8 * start, std::as_bytes(std::span(values)));
      output.write_data(layout.columns + 4 * start, std::as_bytes(std::span(columns)));
      start += std::ssize(columns);
    }
    if (group.rank() == 0)
      output.write_data(layout.row_starts + 8 * header.order,
                        std::as_bytes(std::span(&header.nonzero_count, 1)));
    output.put_on_disk();
  });
  const auto checksums = output.checksums(group);
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    header.checksum_of_checksums = crc32c(std::as_bytes(std::span(checksums)));
    output.write(layout.data_end, std::as_bytes(std::span(checksums)));
    output.write(0, sealed(header));
    output.put_on_disk();
    output.put_in_place();
  });
}

std::unique_ptr<SystemMatrix> open_cache(const MatrixFileOptions& options, const std::string& name,
                                         comm::RankGroup& group) {
  return in_asked_order(std::make_unique<CachedMatrix>(options.path, name, group), options, group);
}

}  // namespace cg2d

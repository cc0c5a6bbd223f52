// Matrices and vectors in files: plain, gzip and zstd; cut into shares as ranks do it.

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/matrix/files/market_file.hpp"
#include "fuzz/market_entries.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

constexpr int64_t end_of_file = std::numeric_limits<int64_t>::max();

/// The entries of the lines that begin within a part of the content.
ParsedEntries entries_within(const std::string& path, const MarketHeader& header, int64_t begin,
                             int64_t end) {
  LineBlocks blocks(path);
  blocks.start(begin, end);
  return parsed_by([&](const auto& take) {
    for (auto lines = blocks.next(); !lines.empty(); lines = blocks.next()) {
      promise(lines.ends_with('\n'), "blocks are whole lines");
      parse_entries(lines, header, take, blocks.offset());
    }
  });
}

/// Parsed by shares that begin anywhere, as ranks do it, up to the first fault.
ParsedEntries entries_by_shares(const std::string& path, const LocatedHeader& located,
                                const std::vector<int64_t>& borders) {
  ParsedEntries all;
  for (size_t k = 0; k + 1 < borders.size() && all.fault.empty(); ++k) {
    auto part = entries_within(path, located.header, borders[k], borders[k + 1]);
    all.entries.insert(all.entries.end(), part.entries.begin(), part.entries.end());
    all.fault = std::move(part.fault);
    all.fault_offset = part.fault_offset;
  }
  return all;
}

bool take_matrix(const std::string& path, const LocatedHeader& located) {
  const auto whole = entries_within(path, located.header, located.body_offset, end_of_file);
  const auto size = ByteSource(path).size();
  const auto body_size = std::max<int64_t>(size - located.body_offset, 0);
  // A compressed file has no known size: some borders within its first bytes.
  const auto scale = size < 0 ? int64_t{30} : body_size;
  const auto last = size < 0 ? end_of_file : located.body_offset + body_size;
  const auto parts = entries_by_shares(
      path, located,
      {located.body_offset, located.body_offset + scale / 3, located.body_offset + scale * 2 / 3, last});
  promise(is_same(parts.entries, whole.entries), "shares have the same entries as the whole file");
  promise(parts.fault == whole.fault && parts.fault_offset == whole.fault_offset,
          "shares have the same first fault as the whole file");
  if (!whole.fault.empty()) {
    promise(line_number_at(path, whole.fault_offset) > located.line_count,
            "a fault is in a line after the header");
    return false;
  }
  return std::ssize(whole.entries) == located.header.line_count;
}

using Values = std::map<int64_t, uint64_t>;

std::optional<TextFault> read_values(const std::string& path, const LocatedHeader& located,
                                     const comm::IndexRange& lines, Values& values) {
  auto fault = parse_vector_lines(path, located, lines, [&](int64_t index, double value) {
    const auto& header = located.header;
    promise(index >= 0 && index < header.row_count * header.column_count, "values are within the vectors");
    values[index] = std::bit_cast<uint64_t>(value);
  });
  if (fault) promise_one_line(fault->what());
  return fault;
}

/// Parsed as a whole, and by three ranks.
bool take_vectors(const std::string& path, const LocatedHeader& located) {
  const auto line_count = located.header.line_count;
  Values whole;
  if (read_values(path, located, {.begin = 0, .end = line_count}, whole)) return false;
  Values parts;
  const std::array borders{int64_t{0}, line_count / 3, line_count - line_count / 3, line_count};
  for (size_t k = 0; k + 1 < borders.size(); ++k) {
    const auto fault = read_values(path, located, {.begin = borders[k], .end = borders[k + 1]}, parts);
    promise(!fault, "a part of a file without a fault has none");
  }
  promise(parts == whole, "three ranks read the same values as one");
  return true;
}

}  // namespace

bool take_market_file(std::string_view input) {
  const MemoryFile file(input);
  bool is_taken = false;
  const bool is_accepted = accepts<FileError>([&] {
    const auto located = read_market_header(file.path());
    const bool is_vector = take_vectors(file.path(), located);
    is_taken = located.header.form == MarketForm::array ? is_vector : take_matrix(file.path(), located);
  });
  return is_accepted && is_taken;
}

}  // namespace cg2d::fuzz

// A matrix in binary form: what is accepted has right checksums, stays within the matrix, and can be written again as the
// same bytes.

#include <algorithm>
#include <string_view>

#include "cg/matrix/files/cache_file.hpp"
#include "fuzz/cache_bytes.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

void check_contents(const CacheReader& reader, const CacheContents& contents, std::string_view input) {
  const auto order = reader.header().order;
  const auto nonzero_count = reader.header().nonzero_count;
  promise(cache_bytes(contents) == input, "an accepted file is the one that its contents are written as");
  promise(std::ranges::is_sorted(contents.row_starts), "rows stand one after the other");
  promise(contents.row_starts.front() == 0 && contents.row_starts.back() == nonzero_count,
          "the rows have all nonzeros");
  promise(std::ranges::all_of(contents.columns, [&](auto column) { return column >= 0 && column < order; }),
          "columns are within the matrix");
}

/// Elements read alone are those of the whole.
void check_parts(const CacheReader& reader, const CacheContents& contents) {
  for (size_t row = 0; row < contents.row_starts.size(); ++row)
    promise(reader.row_start(static_cast<int64_t>(row)) == contents.row_starts[row],
            "a row start is the same when it is read alone");
  const auto half = contents.columns.size() / 2;
  std::vector<int32_t> columns(contents.columns.size() - half);
  reader.read_columns(static_cast<int64_t>(half), columns);
  promise(std::ranges::equal(columns, std::span(contents.columns).subspan(half)),
          "columns are the same when they are read in parts");
}

}  // namespace

bool take_cache(std::string_view input) {
  const MemoryFile file(input);
  return accepts<FileError>([&] {
    const bool looks_right = is_cache_file(file.path());
    const CacheReader reader(file.path());
    promise(looks_right, "what is read as a matrix in binary form looks like one");
    const auto contents = contents_of(reader);
    check_contents(reader, contents, input);
    check_parts(reader, contents);
  });
}

}  // namespace cg2d::fuzz

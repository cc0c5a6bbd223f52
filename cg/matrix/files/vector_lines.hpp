#pragma once

// The values in a file of vectors. No MPI.

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cg/matrix/files/line_blocks.hpp"
#include "cg/matrix/files/market_text.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// A line that breaks the rules, counted from 1.
struct LineFault {
  std::int64_t line = 0;
  std::string message{};
};

/// Goes through all lines of a file in array or coordinate form, and parses some.
class VectorLines {
 public:
  /// parsed: of the values that the header announces; the others are counted only. The header must outlive this.
  VectorLines(const LocatedHeader& located, const comm::IndexRange& parsed)
      : located_(located), parsed_(parsed) {}

  /// Calls put(index, value) for each of them, and for its mirror image in a symmetric file; the index counts the columns
  /// of the file one after the other. Returns the first
  /// fault; a file with more or fewer lines than announced has one. Throws FileError.
  template <typename Put>
  std::optional<LineFault> parse(const std::string& path, const Put& put) {
    LineBlocks blocks(open_source(path));
    blocks.start(located_.body_offset, LineBlocks::end_of_file);
    std::int64_t line_number = located_.line_count + 1;  // number of the next line, whole or too long
    try {
      blocks.for_each_line([&](std::string_view line, std::int64_t /*position*/) {
        take_line(line, put);
        ++line_number;
        return true;
      });
      require_all_lines();
    } catch (const TextFault& fault) {
      return LineFault{.line = line_number, .message = fault.what()};
    }
    return std::nullopt;
  }

 private:
  template <typename Put>
  void take_line(std::string_view line, const Put& put) {
    if (is_blank_line(line)) return;
    const auto index = line_index_++;
    const auto& header = located_.header;
    if (index == header.line_count) {
      throw TextFault(0,
                      fmt::format("found one more value, expected the end of the file after the {} that are "
                                  "announced",
                                  header.line_count));
    }
    auto entry = header.form == MarketForm::array ? next_place() : MatrixEntry{};
    if (!parsed_.contains(index)) return;
    if (header.form == MarketForm::array) {
      entry.value = *parse_value_line(line, header);
    } else {
      entry = *parse_entry_line(line, header);
    }
    visit_images(entry, header.symmetry, [&](const MatrixEntry& image) {
      put(image.row + image.column * header.row_count, image.value);
    });
  }

  /// The order of an array: column by column, of a symmetric one from the diagonal on.
  MatrixEntry next_place() {
    const MatrixEntry place{.row = static_cast<std::int32_t>(row_),
                            .column = static_cast<std::int32_t>(column_)};
    if (++row_ == located_.header.row_count) {
      ++column_;
      row_ = located_.header.symmetry == MarketSymmetry::symmetric ? column_ : 0;
    }
    return place;
  }

  void require_all_lines() const {
    if (line_index_ == located_.header.line_count) return;
    throw TextFault(0, fmt::format("found the end of the file after {}, expected the {} that are announced",
                                   line_index_ == 1 ? "1 value" : fmt::format("{} values", line_index_),
                                   located_.header.line_count));
  }

  const LocatedHeader& located_;
  comm::IndexRange parsed_;
  std::int64_t line_index_ = 0;  // lines with a value so far
  std::int64_t row_ = 0;         // row of the next value of an array
  std::int64_t column_ = 0;
};

}  // namespace cg2d

#include "cg/matrix/files/market_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr std::string_view banner_example = "\"%%MatrixMarket matrix coordinate real symmetric\"";

TextFault fault(const std::string& found, std::string_view expected) {
  return {0, fmt::format("found {}, expected {}", found, expected)};
}

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  for (auto begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

bool is_same_word(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower_letter, lower_letter);
}

template <typename Value>
Value value_of(std::string_view word, std::initializer_list<NamedValue<Value>> words,
               std::string_view expected) {
  for (const auto& [name, value] : words) {
    if (is_same_word(name, word)) return value;
  }
  throw fault(quoted(word), expected);
}

/// A count or an index. `meaning`: of the number, for the message.
int64_t number_within(std::string_view word, int64_t least, int64_t largest, std::string_view meaning) {
  const auto value = number_from<int64_t>(word);
  if (!value || *value < least || *value > largest)
    throw fault(quoted(word), fmt::format("{} ({} to {})", meaning, least, largest));
  return *value;
}

/// A finite number; numbers below the smallest double become 0 or that.
double real_number(std::string_view word) {
  constexpr std::string_view expected = "a finite number";
  auto digits = word;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
    throw fault(quoted(word), expected);
  if (error ==
      std::errc::result_out_of_range) {  // in the notation of C whatever the locale of the program is
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    value = strtod_l(std::string(digits).c_str(), nullptr, c_locale);
  }
  if (!std::isfinite(value)) throw fault(quoted(word), expected);
  return value;
}

double value_of_field(std::string_view word, MarketField field) {
  if (field == MarketField::real) return real_number(word);
  const auto value = number_from<int64_t>(word);
  if (!value) throw fault(quoted(word), "a whole number of 64 bits");
  return static_cast<double>(*value);
}

void require_word_count(const std::vector<std::string_view>& words, size_t count, std::string_view meaning) {
  if (words.size() < count) throw fault(fmt::format("{} of {} numbers", words.size(), count), meaning);
  if (words.size() > count)
    throw fault(fmt::format("{} after {} numbers", quoted(words[count]), count), meaning);
}

/// Takes the first line.
void take_banner(std::string_view line, MarketHeader& header) {
  const auto words = words_of(line);
  if (words.empty() || !is_same_word(words[0], "%%MatrixMarket"))
    throw fault(quoted(line), fmt::format("a line such as {}", banner_example));
  constexpr size_t word_count = 5;
  if (words.size() != word_count)
    throw fault(fmt::format("{} words", words.size()),
                fmt::format("{} words, as in {}", word_count, banner_example));
  if (!is_same_word(words[1], "matrix")) throw fault(quoted(words[1]), "matrix");
  header.form =
      value_of<MarketForm>(words[2], {{"coordinate", MarketForm::coordinate}, {"array", MarketForm::array}},
                           "coordinate or array");
  header.field = value_of<MarketField>(words[3],
                                       {{"real", MarketField::real},
                                        {"double", MarketField::real},
                                        {"integer", MarketField::integer},
                                        {"pattern", MarketField::pattern}},
                                       "real, integer or pattern");
  header.symmetry = value_of<MarketSymmetry>(
      words[4], {{"general", MarketSymmetry::general}, {"symmetric", MarketSymmetry::symmetric}},
      "general or symmetric");
  if (header.form == MarketForm::array && header.field == MarketField::pattern)
    throw fault("\"pattern\"", "real or integer, since an array has values");
}

void take_sizes(std::string_view line, MarketHeader& header) {
  const auto words = words_of(line);
  const bool is_coordinate = header.form == MarketForm::coordinate;
  require_word_count(words, is_coordinate ? 3 : 2,
                     is_coordinate ? "3 sizes: rows, columns and entries" : "2 sizes: rows and columns");
  header.row_count = number_within(words[0], 1, largest_order, "the number of rows");
  header.column_count = number_within(words[1], 1, largest_order, "the number of columns");
  const auto n = header.row_count;  // below 2^31, as the columns
  const bool is_symmetric = header.symmetry == MarketSymmetry::symmetric;
  if (is_symmetric && n != header.column_count)
    throw fault(fmt::format("{} rows and {} columns", n, header.column_count),
                "a square matrix, since the file is symmetric");
  const auto value_count = is_symmetric ? n * (n + 1) / 2 : n * header.column_count;
  header.line_count =
      is_coordinate ? number_within(words[2], 0, INT64_MAX, "the number of entries") : value_count;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t most_bytes = 40;
  std::string result = "\"";
  for (const char letter : text.substr(0, most_bytes)) {
    if (letter >= ' ' && letter <= '~') {
      result += letter;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(letter));
    }
  }
  return result + (text.size() > most_bytes ? "...\"" : "\"");
}

bool MarketHeaderParser::take(std::string_view line) {
  line = without_carriage_return(line);
  if (!has_banner) {
    take_banner(without_byte_order_mark(line), header);
    has_banner = true;
    return false;
  }
  if (line.starts_with('%') || words_of(line).empty()) return false;
  take_sizes(line, header);
  return true;
}

TextFault MarketHeaderParser::end_fault() const {
  if (!has_banner) return fault("an empty file", fmt::format("a line such as {}", banner_example));
  return fault("the end of the file", "the line of sizes");
}

std::optional<MatrixEntry> parse_entry_line(std::string_view line, const MarketHeader& header) {
  const auto words = words_of(without_carriage_return(line));
  if (words.empty()) return std::nullopt;
  if (words[0].starts_with('%'))
    throw fault("a comment", "an entry: comments stand before the line of sizes");
  const bool has_value = header.field != MarketField::pattern;
  require_word_count(words, has_value ? 3 : 2, has_value ? "row, column and value" : "row and column");
  const auto row = number_within(words[0], 1, header.row_count, "a row");
  const auto column = number_within(words[1], 1, header.column_count, "a column");
  if (header.symmetry == MarketSymmetry::symmetric && column > row) {
    throw fault(fmt::format("entry ({}, {}) above the diagonal", row, column),
                "entries on or below it, since the file is symmetric");
  }
  return MatrixEntry{.row = static_cast<int32_t>(row - 1),
                     .column = static_cast<int32_t>(column - 1),
                     .value = has_value ? value_of_field(words[2], header.field) : 1.0};
}

std::optional<double> parse_value_line(std::string_view line, const MarketHeader& header) {
  const auto words = words_of(without_carriage_return(line));
  if (words.empty()) return std::nullopt;
  if (words[0].starts_with('%')) throw fault("a comment", "a value: comments stand before the line of sizes");
  require_word_count(words, 1, "one value");
  return value_of_field(words[0], header.field);
}

}  // namespace cg2d

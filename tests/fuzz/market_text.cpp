// The Matrix Market format as text in memory: header, entries, values.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/matrix/files/market_file.hpp"
#include "fuzz/market_entries.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

/// Takes the first line off a text, without its end.
std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The header, which is taken off the text; empty if there is none.
std::optional<MarketHeader> header_of(std::string_view& text) {
  MarketHeaderParser parser;
  const bool is_accepted = accepts<TextFault>([&] {
    while (!text.empty()) {
      if (parser.take(next_line(text))) return;
    }
    throw parser.end_fault();
  });
  if (!is_accepted) return std::nullopt;
  const auto& header = parser.header;
  promise(header.row_count >= 1 && header.row_count <= largest_order, "a matrix has as many rows as can be");
  promise(header.column_count >= 1 && header.column_count <= largest_order, "likewise columns");
  promise(header.line_count >= 0, "a matrix has no negative number of entries");
  return header;
}

/// By the fast parser. The lines are copied to where the sanitizer sees a read beyond their end.
ParsedEntries parsed_fast(std::string_view lines, const MarketHeader& header) {
  const std::vector<char> exact(lines.begin(), lines.end());
  return parsed_by([&](const auto& take) { parse_entries({exact.data(), exact.size()}, header, take); });
}

/// Line by line, by the parser whose messages the fast one gives.
ParsedEntries parsed_exactly(std::string_view lines, const MarketHeader& header) {
  ParsedEntries parsed;
  for (auto rest = lines; !rest.empty();) {
    const auto offset = static_cast<int64_t>(rest.data() - lines.data());
    try {
      if (const auto entry = parse_entry_line(next_line(rest), header)) parsed.entries.push_back(*entry);
    } catch (const TextFault& fault) {
      parsed.fault = fault.what();
      parsed.fault_offset = offset;
      break;
    }
  }
  return parsed;
}

bool take_entries(const std::string& body, const MarketHeader& header) {
  const auto fast = parsed_fast(body, header);
  const auto exact = parsed_exactly(body, header);
  promise(is_same(fast.entries, exact.entries), "both parsers find the same entries");
  promise(fast.fault_offset == exact.fault_offset && fast.fault == exact.fault,
          "both parsers find the same fault");
  for (const auto& entry : fast.entries) {
    promise(entry.row >= 0 && entry.row < header.row_count, "rows are within the matrix");
    promise(entry.column >= 0 && entry.column < header.column_count, "columns are within the matrix");
    promise(header.symmetry == MarketSymmetry::general || entry.column <= entry.row,
            "symmetric matrices have no entries above the diagonal");
    promise(entry.value - entry.value == 0.0, "values are finite");
  }
  auto plain = header;
  if (plain.field == MarketField::integer) plain.field = MarketField::real;
  const auto again = parsed_fast(canonical_lines(fast.entries, header.field == MarketField::pattern), plain);
  promise(again.fault.empty() && is_same(again.entries, fast.entries),
          "entries can be written and read back");
  return fast.fault.empty();
}

bool take_values(std::string_view body, const MarketHeader& header) {
  return accepts<TextFault>([&] {
    while (!body.empty()) {
      const auto value = parse_value_line(next_line(body), header);
      promise(!value || *value - *value == 0.0, "values are finite");
    }
  });
}

}  // namespace

bool take_market_text(std::string_view input) {
  auto rest = input;
  const auto header = header_of(rest);
  if (!header) return false;
  std::string body(rest);
  if (!body.empty() && !body.ends_with('\n')) body += '\n';
  return header->form == MarketForm::array ? take_values(body, *header) : take_entries(body, *header);
}

}  // namespace cg2d::fuzz

#include "cg/solver/matrix_cut.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/line_file.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {
namespace {

constexpr std::string_view cut_option = "--cut";
constexpr std::string_view file_prefix = "file:";

std::string text_of(const std::string& path) {
  const OpenFile file(path);  // which refuses all but regular files
  try {
    return text_of_file(path).value_or("");
  } catch (const InputError& error) {
    file.refuse(error.what());
  }
}

struct Word {
  std::string_view text;
  std::int64_t line_number;
};

/// The words outside of comments.
std::vector<Word> words_outside_comments(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\f\v";
  std::vector<Word> words;
  std::int64_t line_number = 0;
  for (auto line : lines_of(text)) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    for (auto begin = line.find_first_not_of(blanks); begin != std::string_view::npos;
         begin = line.find_first_not_of(blanks)) {
      line.remove_prefix(begin);
      const auto word = line.substr(0, line.find_first_of(blanks));
      line.remove_prefix(word.size());
      words.push_back({.text = word, .line_number = line_number});
    }
  }
  return words;
}

/// Rank 0 reads the file, and all get the same shares or the same error.
std::vector<double> read_shares(const std::string& path, comm::RankGroup& group) {
  std::vector<double> shares;
  agree_on(group, [&] {
    if (group.rank() == 0) shares = shares_of_file(path, group.size());
  });
  return group.gather_all(std::span<const double>(shares)).front();
}

}  // namespace

MatrixCut matrix_cut_from(std::string_view text) {
  using enum MatrixCut::Kind;
  if (text == automatic_choice) return {.kind = automatic};
  if (text == even_cut) return {.kind = even};
  if (text == nonzeros_cut) return {.kind = nonzeros};
  if (text == speed_cut) return {.kind = speed};
  if (const auto seed = seed_from(cut_option, text)) return {.kind = random, .seed = *seed};
  if (text.starts_with(file_prefix) && text.size() > file_prefix.size())
    return {.kind = file, .path = std::string(text.substr(file_prefix.size()))};
  throw InputError("{} {}: unknown; valid: auto, nonzeros, even, speed, random:SEED, file:FILE{}", cut_option,
                   text, did_you_mean(std::string(text), {"nonzeros", "even", "speed"}));
}

void require_cut_of_benchmark(std::string_view text) {
  if (matrix_cut_from(text).kind == MatrixCut::Kind::random)
    throw InputError(
        "--cut {}: the benchmark's rows are in a random order already; valid: even, nonzeros, "
        "speed, file:FILE",
        text);
}

Configuration with_cut(Configuration configuration, std::string_view usual) {
  if (configuration.cut == automatic_choice) configuration.cut = usual;
  return configuration;
}

std::vector<std::int64_t> piece_starts_for(const MatrixCut& cut, const MatrixSource& source,
                                           comm::RankGroup& group) {
  switch (cut.kind) {
    case MatrixCut::Kind::nonzeros:
      return source.balanced_piece_starts(comm::equal_shares(group.size()), group);
    case MatrixCut::Kind::file:
      return source.balanced_piece_starts(read_shares(cut.path, group), group);
    default:
      return {};
  }
}

std::vector<double> shares_of_file(const std::string& path, int piece_count) {
  return shares_in(text_of(path), path, piece_count);
}

std::optional<int> rank_count_for(const MatrixCut& cut, comm::RankGroup& group) {
  if (cut.kind != MatrixCut::Kind::file) return std::nullopt;
  int count = 0;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    const auto text = text_of(cut.path);
    count = static_cast<int>(words_outside_comments(text).size());
    static_cast<void>(shares_in(text, cut.path, std::max(count, 1)));
  });
  return static_cast<int>(group.maximum(std::int64_t{count}));
}

std::vector<double> shares_in(std::string_view text, const std::string& path, int piece_count) {
  std::vector<double> shares;
  for (const auto& [word, line_number] : words_outside_comments(text)) {
    const auto share = number_from<double>(word);
    if (!share || !std::isfinite(*share) || !(*share > 0.0))
      throw FileError(path, line_number, "found \"{}\", expected a share: a finite number greater than 0",
                      word);
    if (std::ssize(shares) == piece_count)
      throw FileError(path, line_number, "found more than {}, expected one for each rank",
                      format_count(piece_count, "share"));
    shares.push_back(*share);
  }
  if (std::ssize(shares) < piece_count)
    throw FileError(path, "found {}, expected {}, one for each rank",
                    format_count(std::ssize(shares), "share"), piece_count);
  return shares;
}

HugePageVector moved_piece(std::span<const double> piece, const comm::BlockLayout& from,
                           const comm::BlockLayout& to, comm::RankGroup& group) {
  const auto range = to.own_piece(group.rank());
  HugePageVector moved(static_cast<std::size_t>(range.size()));
  const auto index_of = [&](std::size_t k) { return range.begin + static_cast<std::int64_t>(k); };
  fetch(from, piece, index_of, moved, group);
  return moved;
}

}  // namespace cg2d

#include "cg/solver/matrix_cut.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/matrix/files/word_rounds.hpp"

namespace cg2d {
namespace {

constexpr std::string_view cut_option = "--cut";
constexpr std::string_view file_prefix = "file:";
constexpr int any_piece_count = 0;

/// Rank 0 reads the file, and all get the same shares or the same error. Collective.
std::vector<double> common_shares_of(const MatrixCut& cut, int piece_count, comm::RankGroup& group) {
  std::vector<double> shares;
  agree_on(group, [&] {
    if (group.rank() == 0) shares = shares_of_file(cut.path, piece_count);
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

std::vector<int64_t> piece_starts_for(const MatrixCut& cut, const MatrixSource& source,
                                      comm::RankGroup& group) {
  if (cut.kind == MatrixCut::Kind::file)
    return source.balanced_piece_starts(common_shares_of(cut, group.size(), group), group);
  if (cut.kind == MatrixCut::Kind::nonzeros)
    return source.balanced_piece_starts(comm::equal_shares(group.size()), group);
  return {};
}

std::vector<double> shares_of_file(const std::string& path, int piece_count) {
  const OpenFile file(path);  // which refuses all but regular files
  try {
    return shares_in(text_of_file(path).value_or(""), path, piece_count);
  } catch (const InputError& error) {
    file.refuse(error.what());
  }
}

std::optional<int> rank_count_for(const MatrixCut& cut, comm::RankGroup& group) {
  if (cut.kind != MatrixCut::Kind::file) return std::nullopt;
  return static_cast<int>(std::ssize(common_shares_of(cut, any_piece_count, group)));
}

std::vector<double> shares_in(std::string_view text, const std::string& path, int piece_count) {
  std::vector<double> shares;
  int64_t line_number = 0;
  for (const auto line : lines_of(text)) {
    ++line_number;
    std::istringstream words(std::string(line.substr(0, line.find('#'))));
    for (std::string word; words >> word;) {
      const auto share = number_from<double>(word);
      if (!share || !std::isfinite(*share) || !(*share > 0.0))
        throw FileError(path, line_number, "found \"{}\", expected a share: a finite number greater than 0",
                        word);
      if (piece_count != any_piece_count && std::ssize(shares) == piece_count)
        throw FileError(path, line_number, "found more than {}, expected one for each rank",
                        format_count(piece_count, "share"));
      shares.push_back(*share);
    }
  }
  if (const int fewest = std::max(piece_count, 1); std::ssize(shares) < fewest)
    throw FileError(path, "found {}, expected {}, one for each rank",
                    format_count(std::ssize(shares), "share"), fewest);
  return shares;
}

HugePageVector moved_piece(std::span<const double> piece, const comm::BlockLayout& from,
                           const comm::BlockLayout& to, comm::RankGroup& group) {
  const auto range = to.own_piece(group.rank());
  HugePageVector moved(static_cast<size_t>(range.size()));
  const auto index_of = [&](size_t k) { return range.begin + static_cast<int64_t>(k); };
  fetch(from, piece, index_of, moved, group);
  return moved;
}

}  // namespace cg2d

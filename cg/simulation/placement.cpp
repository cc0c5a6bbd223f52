#include "cg/simulation/step_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"

namespace cg2d {
namespace {

std::vector<int> in_order(int rank_count) {
  std::vector<int> places(static_cast<std::size_t>(rank_count));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Tiles of `width` columns and `height` rows, one after the other along the rows of tiles.
std::vector<int> in_tiles(const comm::ProcessGrid& grid, int together) {
  // The widest tile that is no wider than high, of so many ranks at most.
  int width = 1;
  while ((width + 1) * (width + 1) <= together && width < grid.columns) ++width;
  const int height = std::min(std::max(together / width, 1), grid.rows);
  std::vector<int> ranks = in_order(grid.rank_count());
  const auto tile_of = [&](int rank) {
    return std::pair(grid.row_of(rank) / height, grid.column_of(rank) / width);
  };
  std::ranges::stable_sort(ranks, {}, tile_of);
  std::vector<int> places(ranks.size());
  for (std::size_t place = 0; place < ranks.size(); ++place)
    places[static_cast<std::size_t>(ranks[place])] = static_cast<int>(place);
  return places;
}

/// Fisher and Yates, by SplitMix64: generators of the library differ from machine to machine.
std::vector<int> shuffled(int rank_count, std::uint64_t seed) {
  const auto next = [&seed] { return splitmix_bits(seed += golden_ratio_bits); };
  auto places = in_order(rank_count);
  for (std::size_t rest = places.size(); rest > 1; --rest) std::swap(places[rest - 1], places[next() % rest]);
  return places;
}

std::vector<int> in_file(const std::string& path, int rank_count) {
  std::istringstream words(text_of_named_file("--placement file:" + path, path));
  std::vector<int> places;
  for (int place = 0; words >> place;) places.push_back(place);
  if (!words.eof() || std::ssize(places) != rank_count)
    throw InputError("--placement file:{}: must have a whole number for each of the {} ranks", path,
                     rank_count);
  auto sorted = places;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || std::ranges::adjacent_find(sorted) != sorted.end())
    throw InputError("--placement file:{}: places must be 0 or greater, each once", path);
  return places;
}

}  // namespace

std::vector<int> places_from(std::string_view placement, const comm::ProcessGrid& grid, int together) {
  constexpr std::string_view file = "file:";
  if (placement == "row-major") return in_order(grid.rank_count());
  if (placement == "blocked") return in_tiles(grid, together);
  if (placement.starts_with(file))
    return in_file(std::string(placement.substr(file.size())), grid.rank_count());
  if (const auto seed = seed_from("--placement", placement)) return shuffled(grid.rank_count(), *seed);
  throw InputError("--placement {}: unknown; valid: {}", placement, placement_values);
}

}  // namespace cg2d

#include "cg/studies/sweep_rounds.hpp"

#include <algorithm>

namespace cg2d {

std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision) {
  std::vector<ConfiguredProblem> open;
  const auto add = [&](const Ranking& ranking) {
    for (const auto index : open_alternatives(ranking.verdict, precision)) {
      const auto& asked = ranking.alternatives[index].asked;
      if (std::ranges::find(open, asked) == open.end()) open.push_back(asked);
    }
  };
  const auto verdicts = verdicts_of(records);
  for (const auto& row : verdicts.grids) add(row.ranking);
  for (const auto& choice : verdicts.choices) add(choice.ranking);
  return open;
}

RoundRange added_rounds(const std::vector<ResultRecord>& records,
                        const std::vector<ConfiguredProblem>& open) {
  int last = 0;
  for (const auto& record : records) {
    if (std::ranges::find(open, record.asked) != open.end()) last = std::max(last, record.round);
  }
  return {.first = last + 1, .last = rounds_after_next_block(last, open.size())};
}

}  // namespace cg2d

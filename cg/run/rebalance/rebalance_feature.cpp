#include "cg/run/rebalance/rebalance_feature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {
namespace {

constexpr size_t window = 3;
constexpr double least_gain = 0.02;    // of the products of an outer iteration: less is noise
constexpr double least_return = 1.25;  // of the cost of a move, since what is measured now need not last

double total_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// Nonzeros per second of each rank. One without nonzeros, or without a time, counts as fast as the mean of the others.
std::vector<double> speeds_of(const ProductLoad& load) {
  const auto& [seconds, nonzeros] = load;
  std::vector<double> speeds;
  double sum = 0.0;
  double count = 0.0;
  for (size_t rank = 0; rank < nonzeros.size(); ++rank) {
    const bool is_known = nonzeros[rank] > 0.0 && seconds[rank] > 0.0;
    speeds.push_back(is_known ? nonzeros[rank] / seconds[rank] : 0.0);
    sum += speeds.back();
    count += is_known ? 1.0 : 0.0;
  }
  for (double& speed : speeds) {
    if (speed == 0.0) speed = count > 0.0 ? sum / count : 1.0;
  }
  return speeds;
}

}  // namespace

void describe_rebalance(Members& m, std::optional<std::vector<Move>>& asked_moves) {
  m.object_if(asked_moves, "rebalance", meaning("Only with --rebalance on."), [&](std::vector<Move>& moves) {
    m.list("moves", moves, {}, [&](Move& move, size_t /*index*/) {
      m("run", move.repeat_number, at_least(0, "From 1."));
      m("after_outer_iteration", move.after_step, at_least(0));
      m("slowest_rank", move.slowest_rank, at_least(0, "Whose products took longest before it."));
      m("slowness", move.slowness, positive("Times as long as the mean of all ranks."));
      m("before_s", move.before_s,
        at_least(0, "Products of the slowest rank in an outer iteration, mean of the last before it."));
      m("after_s", move.after_s, at_least(0, "Mean of those after it."));
      m("cost_s", move.cost_s, at_least(0, "Seconds that the move took."));
      m("gained_s", move.gained_s,
        meaning("What the outer iterations after it took less, without its cost."));
      m.list("ranks", move.ranks, {.meaning = "After it: 0 where no outer iteration came.", .fewest = 1},
             [&](MovedRank& rank, size_t /*index*/) {
               m("rank", rank.rank, at_least(0));
               m("nonzeros_before", rank.nonzeros_before, at_least(0));
               m("before_s", rank.before_s,
                 at_least(0, "Its products in an outer iteration, mean of the last before it."));
               m("nonzeros_after", rank.nonzeros_after, at_least(0));
               m("after_s", rank.after_s, at_least(0, "Mean of those after it."));
             });
    });
  });
}

std::string rebalance_lines(const std::optional<std::vector<Move>>& moves) {
  if (!moves) return {};
  if (moves->empty()) return " Rebalanced never: no other cut would have paid for the move\n";
  std::string text;
  for (const auto& move : *moves)
    text += fmt::format(
        " Rebalanced after outer iteration {}{}: products of rank {} took {:.2f} times the mean; those of "
        "the "
        "slowest {:.3g} -> {:.3g} s, in {:.3g} s, {} {:.3g} s\n",
        move.after_step, move.repeat_number > 1 ? fmt::format(" of run {}", move.repeat_number) : "",
        move.slowest_rank, move.slowness, move.before_s, move.after_s, move.cost_s,
        move.gained_s < 0.0 ? "lost" : "gained", std::abs(move.gained_s));
  return text;
}

void resolve_rebalance(const AskedWork& asked) {
  constexpr std::string_view what = "--rebalance on";
  refuse_if(!asked.options.time_phases, what, "compares the times of products; leave --no-phases out");
  refuse_if(asked.options.features.guard.is_used(), what,
            "does not go with --guard and --inject, which know the block from its beginning");
}

void DriftWatch::note(ProductLoad load) {
  loads_.push_back(std::move(load));
  if (loads_.size() > window) loads_.pop_front();
}

bool DriftWatch::pays(const MoveCost& cost, std::span<const double> shares) const {
  if (loads_.size() < window) return false;
  return std::ranges::all_of(loads_, [&](const auto& load) {
    const auto speeds = speeds_of(load);
    const double speed = shares.empty() ? total_of(speeds) : comm::speed_of_shares(shares, speeds, grid_);
    const double now_s = std::ranges::max(load.seconds);
    const double gain_s = now_s - total_of(load.nonzeros) / speed;
    return gain_s > least_gain * now_s && gain_s * cost.steps_left > least_return * cost.seconds;
  });
}

std::vector<double> DriftWatch::speeds() const { return speeds_of(mean_load()); }

ProductLoad DriftWatch::mean_load() const {
  ProductLoad mean{.seconds = std::vector(loads_.front().seconds.size(), 0.0),
                   .nonzeros = loads_.front().nonzeros};  // all are of the same blocks
  auto& seconds = mean.seconds;
  for (const auto& load : loads_) std::ranges::transform(seconds, load.seconds, seconds.begin(), std::plus());
  for (double& one : seconds) one /= static_cast<double>(loads_.size());
  return mean;
}

double DriftWatch::slowest_s() const {
  double sum = 0.0;
  for (const auto& load : loads_) sum += std::ranges::max(load.seconds);
  return sum / static_cast<double>(loads_.size());
}

void Rebalancer::begin_repeat(int repeat_number, int outer_step_count) {
  repeat_number_ = repeat_number;
  outer_step_count_ = outer_step_count;
  drift_.forget();
  work_sum_ = {};
  work_count_ = 0;
}

void Rebalancer::finish() {
  if (work_count_ > 0)
    product_work() = {.call_count = work_sum_.call_count / work_count_,
                      .byte_count = work_sum_.byte_count / work_count_,
                      .flop_count = work_sum_.flop_count / work_count_};
  context_.report.features.moves = moves_;
}

void Rebalancer::before_outer_step() {
  before_ = timer_.records()[index_of(Phase::multiply)];
  clocks_before_ = read_cycle_counter();
  watch_ = {};
}

void Rebalancer::after_outer_step(int number, const OuterStep& step) {
  const double seconds_per_clock =
      watch_.seconds() / static_cast<double>(std::max<uint64_t>(read_cycle_counter() - clocks_before_, 1));
  const auto& record = timer_.records()[index_of(Phase::multiply)];
  const auto clocks = (record.clocks - before_.clocks) - (record.waited_clocks - before_.waited_clocks);
  work_sum_ = work_sum_ + product_work();
  ++work_count_;
  // The time of this rank's products, and of all ranks'.
  const std::array mine{seconds_per_clock * static_cast<double>(clocks),
                        static_cast<double>(context_.mine.nonzero_count)};
  ProductLoad load;
  for (const auto& [rank_s, nonzeros] : context_.group.gather_one(mine)) {
    load.seconds.push_back(rank_s);
    load.nonzeros.push_back(nonzeros);
  }
  if (!moves_.empty()) {
    auto& move = moves_.back();
    const double slowest_s = std::ranges::max(load.seconds);
    ++move.steps_after;
    move.after_s += (slowest_s - move.after_s) / move.steps_after;
    move.gained_s += move.before_s - slowest_s;
    for (size_t rank = 0; rank < move.ranks.size(); ++rank) {
      auto& moved = move.ranks[rank];
      moved.nonzeros_after = std::llround(load.nonzeros[rank]);
      moved.after_s += (load.seconds[rank] - moved.after_s) / move.steps_after;
    }
  }
  drift_.note(std::move(load));
  const MoveCost cost{.seconds = move_s_, .steps_left = outer_step_count_ - number};
  if (must_stop(step) || !drift_.pays(cost)) return;
  const auto shares = agreed_shares(context_.group, drift_.speeds(), context_.report.configuration.grid);
  if (drift_.pays(cost, shares)) move(number, shares);
}

void Rebalancer::move(int number, const std::vector<double>& shares) {
  Move move{.repeat_number = repeat_number_, .after_step = number, .before_s = drift_.slowest_s()};
  const auto [seconds, nonzeros] = drift_.mean_load();
  const auto slowest = std::ranges::max_element(seconds);
  move.slowest_rank = static_cast<int>(slowest - seconds.begin());
  move.slowness =
      *slowest * static_cast<double>(seconds.size()) / std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (size_t rank = 0; rank < seconds.size(); ++rank)
    move.ranks.push_back({.rank = static_cast<int>(rank),
                          .nonzeros_before = std::llround(nonzeros[rank]),
                          .before_s = seconds[rank]});
  context_.progress.say(
      fmt::format("repartitioning the matrix: products of rank {} take {:.2f} times the mean",
                  move.slowest_rank, move.slowness));
  const Stopwatch stopwatch;
  move_matrix_(shares);
  move_s_ = move.cost_s = context_.group.maximum(stopwatch.seconds());
  move.gained_s = -move.cost_s;
  moves_.push_back(move);
  drift_.forget();
}

}  // namespace cg2d

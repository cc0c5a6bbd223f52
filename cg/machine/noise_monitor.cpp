#include "cg/machine/noise_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>

#include "cg/base/describe.hpp"

namespace cg2d {
namespace {

constexpr double most_lost_share = 0.02;
constexpr double most_loop_difference = 0.10;

/// Seconds of a fixed amount of work in registers. Four chains keep the multiplier busy, so that work of the
/// core's other hardware thread shows, too. The fastest of 8 pieces of about 0.1 ms: an interrupt in one of
/// them does not count, a slower clock does.
double fixed_loop_s() {
  constexpr int piece_count = 8;
  constexpr int step_count = 1 << 16;
  constexpr uint64_t factor = 6364136223846793005U;
  double least_s = std::numeric_limits<double>::infinity();
  for (int piece = 0; piece < piece_count; ++piece) {
    uint64_t a = 1;
    uint64_t b = 2;
    uint64_t c = 3;
    uint64_t d = 4;
    const Stopwatch stopwatch;
    for (int step = 0; step < step_count; ++step) {
      a = a * factor + 1;
      b = b * factor + 1;
      c = c * factor + 1;
      d = d * factor + 1;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));  // no compiler may shorten the chains
    }
    least_s = std::min(least_s, stopwatch.seconds());
  }
  return least_s;
}

/// The largest growth of a thread's waiting. Each time that a thread gets a processor may be the end of a
/// sleep, and waking takes up to 0.1 ms without any other process: that much of each is left out.
double most_growth_s(const std::map<int, ThreadDelay>& before, const std::map<int, ThreadDelay>& after) {
  constexpr double wake_up_s = 1e-4;
  if (after.empty()) return -1.0;
  double most_s = 0.0;
  for (const auto& [thread, now] : after) {
    const auto then = before.contains(thread) ? before.at(thread) : ThreadDelay{};
    const auto slice_count = static_cast<double>(now.slice_count - then.slice_count);
    most_s = std::max(most_s, now.delay_s - then.delay_s - wake_up_s * slice_count);
  }
  return most_s;
}

/// The larger one of a figure that may be unknown and a value.
void keep_larger(std::optional<double>& figure, double value) {
  figure = std::max(figure.value_or(value), value);
}

/// Takes the load of one node, as one of its ranks has read it, into the figures.
void add_load(std::span<const RankQuiet> ranks, QuietResult& quiet) {
  const auto reader = std::ranges::find_if(ranks, [](const auto& rank) { return rank.node.is_read; });
  if (reader == ranks.end() || reader->node.processor_count == 0) return;
  const auto& load = reader->node;
  const double region_s = reader->region_s;
  double own_s = 0.0;
  for (const auto& rank : ranks) own_s += rank.cpu_s;
  // Busy and own time may differ by so much without any other process: the system counts in ticks, and ranks read their own time a moment
  // before or after the node's.
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  constexpr double ticks_of_reading = 5.0;
  const double unsure_s = tick_s * (ticks_of_reading + static_cast<double>(ranks.size()));
  const double other_s = std::max(0.0, load.busy_s - own_s - unsure_s);
  const auto processor_count = static_cast<double>(load.processor_count);
  if (region_s * processor_count <= unsure_s) keep_larger(quiet.too_short_s, region_s);
  const double other_load = std::min(other_s / region_s, processor_count);
  keep_larger(quiet.other_load, other_load);
  keep_larger(quiet.other_share, other_load / processor_count);
  constexpr double ticks_of_rounding = 2.0;
  const double steal_s = std::max(0.0, load.most_steal_s - ticks_of_rounding * tick_s);
  keep_larger(quiet.steal_share, std::min(1.0, steal_s / region_s));
}

RankRange range_of(std::span<const RankQuiet> ranks, double RankQuiet::*loop) {
  const auto [least, most] = std::ranges::minmax(ranks, {}, loop);
  return {.minimum = least.*loop, .maximum = most.*loop};
}

void add_rank(const RankQuiet& rank, QuietResult& quiet) {
  constexpr double least_s = 1e-3;
  const auto switches = static_cast<double>(rank.involuntary_switches);
  quiet.switches_per_s = std::max(quiet.switches_per_s, switches / std::max(rank.cpu_s, least_s));
  quiet.involuntary_switches += rank.involuntary_switches;
  quiet.most_involuntary_switches = std::max(quiet.most_involuntary_switches, rank.involuntary_switches);
  // The system counts a wait when it ends: one that began before a short region is longer than it.
  if (rank.most_delay_s >= 0.0)
    keep_larger(quiet.delay_share, std::min(1.0, rank.most_delay_s / rank.region_s));
  const double change = rank.loop_after_s / rank.loop_before_s - 1.0;
  if (std::abs(change) > std::abs(quiet.loop_change)) quiet.loop_change = change;
}

/// The criteria that count only where each thread finds a core.
void judge_threads(QuietResult& quiet) {
  if (quiet.delay_share.value_or(0.0) > most_lost_share)
    quiet.disturbances.push_back(
        fmt::format("a thread waited {:.1f} % of the time for a processor", 100.0 * *quiet.delay_share));
  if (quiet.loop_spread > most_loop_difference)
    quiet.disturbances.push_back(
        fmt::format("CPU speed differs by {:.1f} % between ranks of a node", 100.0 * quiet.loop_spread));
  if (std::abs(quiet.loop_change) > most_loop_difference)
    // The processor's speed after the region by that before, minus 1.
    quiet.disturbances.push_back(fmt::format("CPU speed changed by {:+.1f} % during the run",
                                             100.0 * (1.0 / (1.0 + quiet.loop_change) - 1.0)));
}

}  // namespace

std::string QuietResult::reason() const { return fmt::format("{}", fmt::join(disturbances, "; ")); }

std::string QuietResult::text() const {
  if (is_disturbed()) return "no: timing unreliable: " + reason();
  if (too_short_s) return fmt::format("unknown: {:.2g} ms are too short to tell", 1e3 * *too_short_s);
  return is_oversubscribed ? "yes, but the ranks outnumber the cores" : "yes: machine otherwise idle";
}

QuietResult judge_quiet(std::span<const RankQuiet> ranks, const Environment& environment) {
  QuietResult quiet;
  quiet.is_oversubscribed = environment.oversubscribed;
  quiet.loop_before_s = range_of(ranks, &RankQuiet::loop_before_s);
  quiet.loop_after_s = range_of(ranks, &RankQuiet::loop_after_s);
  for (const auto& rank : ranks) add_rank(rank, quiet);
  for (size_t node = 0; node < environment.nodes.size(); ++node) {
    std::vector<RankQuiet> on_node;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (environment.ranks.at(rank).node == static_cast<int>(node)) on_node.push_back(ranks[rank]);
    }
    add_load(on_node, quiet);
    if (on_node.empty() || !environment.nodes[node].has_like_processors) continue;
    for (const auto loop : {&RankQuiet::loop_before_s, &RankQuiet::loop_after_s}) {
      const auto [least_s, most_s] = range_of(on_node, loop);
      quiet.loop_spread = std::max(quiet.loop_spread, most_s / least_s - 1.0);
    }
  }
  if (!quiet.is_oversubscribed) judge_threads(quiet);
  if (quiet.steal_share.value_or(0.0) > most_lost_share)
    quiet.disturbances.push_back(
        fmt::format("the hypervisor took {:.1f} % of a processor's time", 100.0 * *quiet.steal_share));
  if (quiet.other_share.value_or(0.0) > most_lost_share)
    quiet.disturbances.push_back(
        fmt::format("other processes kept {:.2f} processors of a node busy", *quiet.other_load));
  return quiet;
}

NoiseMonitor::NoiseMonitor(comm::RankGroup& group, const Environment& environment, SystemFolders folders)
    : group_(group), environment_(environment), folders_(std::move(folders)) {
  mine_.node.is_read = environment.node_of(group.rank()).first_rank == group.rank();
}

void NoiseMonitor::begin() {
  mine_.loop_before_s = fixed_loop_s();
  if (mine_.node.is_read) node_before_ = read_node_times(folders_);
  delays_before_ = read_thread_delays(folders_);
  usage_before_ = system_usage(UsageScope::process);
  region_ = Stopwatch();
}

void NoiseMonitor::end() {
  mine_.region_s = region_.seconds();
  const auto usage = system_usage(UsageScope::process);
  mine_.involuntary_switches = usage.involuntary_switches - usage_before_.involuntary_switches;
  mine_.cpu_s = 1e-9 * static_cast<double>(usage.processor_ns - usage_before_.processor_ns);
  mine_.most_delay_s = most_growth_s(delays_before_, read_thread_delays(folders_));
  if (auto& node = mine_.node; node.is_read) {
    const auto after = read_node_times(folders_);
    node.busy_s = after.busy_s - node_before_.busy_s;
    node.processor_count = static_cast<int>(after.steal_s.size());
    node.most_steal_s = 0.0;
    for (const auto& [processor, before_s] : node_before_.steal_s) {
      if (after.steal_s.contains(processor))
        node.most_steal_s = std::max(node.most_steal_s, after.steal_s.at(processor) - before_s);
    }
  }
  mine_.loop_after_s = fixed_loop_s();
}

QuietResult NoiseMonitor::result() { return judge_quiet(group_.gather_one(mine_), environment_); }

void describe_disturbance(Members& m, QuietResult& quiet) {
  std::optional known(quiet);
  describe_disturbance(m, known);
  quiet = known.value_or(quiet);
}

void describe_disturbance(Members& m, std::optional<QuietResult>& quiet) {
  m.object_if(quiet, "quiet",
              meaning("Whether other work on the machine disturbed the measurements, and how."),
              [&](QuietResult& known) {
                auto reason = known.reason();
                m.derived("disturbed", known.is_disturbed());
                m("reason", reason, meaning("Empty where quiet."));
                if (m.reads() && !reason.empty()) known.disturbances = {reason};
              });
}

void describe(Members& m, RankRange& range) {
  m("minimum", range.minimum, at_least(0));
  m("maximum", range.maximum, at_least(0));
}

void describe(Members& m, QuietResult& quiet) {
  m.derived("disturbed", quiet.is_disturbed());
  m("reasons", quiet.disturbances);
  m.object("involuntary_switches", meaning("Of all ranks, and of the rank with most."), [&] {
    m("total", quiet.involuntary_switches, at_least(0));
    m("maximum", quiet.most_involuntary_switches, at_least(0));
  });
  m("delay_share", quiet.delay_share,
    or_null(labelled(
        "Threads waited", "%",
        "A thread was ready and waited for a processor, less 0.1 ms for each time that it got one.")));
  m("steal_share", quiet.steal_share, or_null(labelled("Steal", "%", "The hypervisor ran another guest.")));
  m("other_load", quiet.other_load,
    or_null(
        labelled("Other processes", "processors", "Processors of a node that other processes kept busy.")));
  m("other_share", quiet.other_share, or_null(at_least(0, "The same by the node's processors.")));
  m.object("loop_s", meaning("A fixed loop on every rank: the fastest and the slowest rank's."), [&] {
    m("before", quiet.loop_before_s);
    m("after", quiet.loop_after_s);
  });
  m("loop_spread", quiet.loop_spread,
    labelled("Speed spread", "%", "Slowest rank of a node by its fastest, minus 1."));
  m("loop_change", quiet.loop_change,
    {.meaning = "After by before, minus 1, of the rank where it differs most.",
     .label = "Slowing down",
     .unit = "%"});
}

}  // namespace cg2d

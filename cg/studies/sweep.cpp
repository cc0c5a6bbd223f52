#include "cg/studies/sweep.hpp"

#include <set>

#include "cg/matrix/stencil.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"

namespace cg2d {
namespace {

template <typename Value>
bool has(const std::vector<Value>& values, const Value& one) {
  return std::ranges::find(values, one) != values.end();
}

std::vector<comm::DomainGrid> wanted_domains(const SweepAxes& axes, const std::string& operator_text,
                                             int rank_count) {
  const auto extents = stencil_from(operator_text).extents;
  auto domains = comm::domain_grids(rank_count);
  std::erase_if(domains, [&](const comm::DomainGrid& grid) {
    for (size_t dimension = 0; dimension < comm::dimension_count; ++dimension) {
      if (grid.parts[dimension] > extents[dimension]) return true;
    }
    return !axes.domains.empty() && !has(axes.domains, grid);
  });
  if (domains.empty())
    throw InputError("--domain: no cut of {} into {} {}", operator_text, format_count(rank_count, "part"),
                     axes.domains.empty() ? "has points for each" : "is among these");
  return domains;
}

class GridSweep final : public Study {
 public:
  GridSweep(const SweepOptions& sweep, comm::RankGroup& group) : Study(sweep, group), sweep_(sweep) {}

 private:
  void plan(const Environment& /*environment*/) override {
    auto axes = sweep_.axes;
    const bool names_ranks = !axes.rank_counts.empty();
    if (!names_ranks) axes.rank_counts = usual_rank_counts(axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", std::ranges::max(axes.rank_counts), group_.size());
    const auto& system = options_.system;
    auto& session = options_.session();
    if (axes.values["transport"].empty()) {
      session.configuration = with_default_transport(group_, session.configuration, axes.values);
      session.transport_origin = ChoiceOrigin::built_in_rule;
    }
    const auto text = system ? system->operator_text : std::string();
    const auto forms = system ? forms_of(*system) : forms_of(axes.problems, session.configuration);
    const auto configurations = configurations_of(axes, forms, text);
    for (const auto& asked : configurations) {
      auto& one = cases_.emplace_back(StudyCase{
          .work = {.key = asked.key(), .kind = asked.problem}, .asked = asked, .operator_text = text});
      if (!system) one.problem = *std::ranges::find(axes.problems, asked.problem, &problem_name);
    }
    const int needed = rounds_for_verdicts(configurations);
    round_count_ = options_.round_count.value_or(needed);
    progress_.say(fmt::format("{}, {}; a verdict on them needs {}",
                              format_count(std::ssize(cases_), "configuration"),
                              format_count(round_count_, "round"), needed));
  }

  std::string view() const override { return sweep_tables(file_->records(), sweep_.tables); }

  const SweepOptions& sweep_;
};

}  // namespace

std::vector<comm::ProcessGrid> grids_for(const NamedGrids& named, int rank_count) {
  if (named.are_all()) return comm::factorizations(rank_count);
  auto grids = named.grids;
  std::erase_if(grids, [&](const auto& grid) { return grid.rank_count() != rank_count; });
  if (!named.has_official) return grids;
  const auto official = *grid_named_by({.columns = {}, .is_official = true}, rank_count);
  if (!has(grids, official)) grids.push_back(official);
  return grids;
}

std::vector<int> usual_rank_counts(const NamedGrids& named, int started) {
  std::set<int> counts;
  for (const auto& grid : named.grids) counts.insert(grid.rank_count());
  if (named.are_all() || named.has_official) counts.insert(started);
  return {counts.begin(), counts.end()};
}

std::vector<ConfiguredProblem> forms_of(const std::vector<Problem>& problems, const Configuration& common) {
  std::vector<ConfiguredProblem> forms;
  for (const auto& problem : problems)
    forms.push_back({.problem = problem_name(problem), .configuration = common});
  return forms;
}

std::vector<ConfiguredProblem> forms_of(const SystemOptions& system) {
  std::vector<ConfiguredProblem> forms;
  const auto add = [&](std::string_view form) {
    forms.push_back(
        {.problem = system_name(system), .configuration = system.configuration, .form = std::string(form)});
  };
  const auto& text = system.operator_text;
  if (const auto* const row = find_matrix_free(text)) add(row->uses_grid ? factor_form : domain_form);
  if (text.empty() || system.assembles) add(matrix_form);
  return forms;
}

std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes,
                                                 const std::vector<ConfiguredProblem>& forms,
                                                 const std::string& operator_text) {
  std::vector<ConfiguredProblem> all;
  for (auto form : forms) {
    const bool cuts_domain = form.cuts_domain();
    auto values = axes.values;
    if (cuts_domain) {  // stencils have neither a kernel nor a form of the sum
      values.erase("kernel");
      values.erase("sum_form");
    }
    const auto crossing = crossed(form.configuration, values);
    const auto add_on = [&](const comm::ProcessGrid& grid) {
      for (const auto& configuration : crossing) {
        auto one = form;
        one.configuration = configuration;
        one.configuration.grid = grid;
        if (one.is_matrix_free()) one.configuration.cut = automatic_choice;
        one.configuration = with_cut(one.configuration, one.usual_cut());
        if (!has(all, one)) all.push_back(std::move(one));
      }
    };
    for (const auto& grid : axes.named.grids) {
      if (!cuts_domain && !has(axes.rank_counts, grid.rank_count()))
        throw InputError("--grid {}: is for {}, which --ranks does not name", grid.name(),
                         format_count(grid.rank_count(), "rank"));
    }
    for (const int rank_count : axes.rank_counts) {
      if (!cuts_domain) {
        // Where the official program has no grid, those that are named beside it count.
        auto named = axes.named;
        if (!named.grids.empty() && !official_grid(rank_count)) named.has_official = false;
        auto grids = grids_for(named, rank_count);
        const auto& columns = axes.columns;
        std::erase_if(grids, [&](const auto& one) { return !columns.empty() && !has(columns, one.columns); });
        if (grids.empty())
          throw InputError("--grid, --px: none of those named is for {}; valid grids (PXxPY): {}",
                           format_count(rank_count, "rank"), valid_grids(rank_count));
        std::ranges::for_each(grids, add_on);
        continue;
      }
      for (const auto& domain : wanted_domains(axes, operator_text, rank_count)) {
        form.form = fmt::format("{} {}", domain_form, domain.name());
        add_on({.columns = 1, .rows = rank_count});
      }
    }
  }
  return all;
}

int rounds_for_verdicts(const std::vector<ConfiguredProblem>& configurations) {
  return rounds_for_verdicts(configurations, [](const ConfiguredProblem& one) {
    const auto& configuration = one.configuration;
    return std::tuple(one.problem, configuration.grid.rank_count(), configuration.thread_count);
  });
}

ExitCode sweep(const SweepOptions& options, comm::RankGroup& group) {
  return GridSweep(options, group).execute();
}

}  // namespace cg2d

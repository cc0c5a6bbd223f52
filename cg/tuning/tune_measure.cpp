#include "cg/tuning/trial.hpp"

#include <array>

#include "cg/base/agreement.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/matrix/npb_vectors.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// Times products with copies of that block in turns.
RaceResult race_products(comm::RankGroup& group, const kernels::CsrBlock& block, int thread_count,
                         const std::vector<ChosenKernel>& tried, const RaceLimits& limits) {
  std::vector<std::function<void()>> calls;
  agree_on(group, [&] {
    for (const auto& one : tried)
      calls.push_back(local_product(*one.kernel, block.copy(), thread_count, one.tuning));
  });
  return race(group, calls, limits);
}

std::vector<const kernels::KernelRow*> tuned_kernels() {
  std::vector<const kernels::KernelRow*> tuned;
  for (const auto& kernel : kernels::kernel_table()) {
    if (kernel.has_use_for == nullptr) tuned.push_back(&kernel);
  }
  return tuned;
}

// Lengths for the curves: from 1 to the rows of class B on one process column.
constexpr std::array curve_row_lengths{1, 2, 3, 4, 6, 8, 11, 16, 20, 24, 32, 46, 64, 91, 128, 183};
constexpr int64_t curve_nonzero_count = 1 << 20;

/// add(length, nonzeros, times) for each length: with blocks like those of class B with 8 process columns, whose part of p fits the
/// second-level cache, and whose matrix fits no cache.
template <typename Add>
void race_row_lengths(comm::RankGroup& group, int thread_count, const std::vector<ChosenKernel>& tried,
                      const RaceLimits& limits, const Add& add) {
  constexpr int64_t column_count = 9375;
  for (const int length : curve_row_lengths) {
    const auto block = constant_rows_block(length, curve_nonzero_count / length, column_count);
    add(length, static_cast<double>(block.nonzero_count()),
        race_products(group, block, thread_count, tried, limits));
  }
}

constexpr std::array critical_vector_lengths{0, 8, 16, 32, 64, never_in_vectors};
constexpr std::array block_widths{1024, 2048, 4096, 8192};
constexpr std::array prefetch_distances{0, 128, 256, 512, 1024, 2048};
/// With the value to begin with; counted for every kernel.
constexpr auto most_searched = static_cast<int64_t>(
    1 + std::max({critical_vector_lengths.size(), block_widths.size(), prefetch_distances.size()}));

/// A setting of kernels, and the values that are tried beside the one to begin with.
struct TriedSetting {
  std::optional<int> kernels::Tuning::*member;
  std::span<const int> values;
};
constexpr std::array tried_settings{
    TriedSetting{&kernels::Tuning::critical_vector_length, critical_vector_lengths},
    TriedSetting{&kernels::Tuning::block_width, block_widths},
    TriedSetting{&kernels::Tuning::prefetch_distance, prefetch_distances}};

/// Tries the values of each setting on a sample and keeps the best; the value to begin with stays unless another one is clearly faster.
kernels::Tuning search_settings(comm::RankGroup& group, const kernels::KernelRow& kernel,
                                const kernels::CsrBlock& sample, const CaseConfig& config) {
  constexpr double clearly_faster = 0.985;
  auto tuning = kernel.defaults;
  // The search begins at the crossover on rows of one length; rows of many lengths may want another one.
  if (tuning.critical_vector_length) tuning.critical_vector_length = config.critical_vector_length;
  for (const auto& [member, values] : tried_settings) {
    if (!(tuning.*member)) continue;
    std::vector<ChosenKernel> tried{{.kernel = &kernel, .tuning = tuning}};
    for (const int value : values) {
      if (value == *(tuning.*member)) continue;
      tried.push_back(tried.front());
      tried.back().tuning.*member = value;
    }
    const auto seconds =
        race_products(group, sample, config.configuration.thread_count, tried, {.budget_s = 0.6}).medians();
    const auto best = std::ranges::min_element(seconds) - seconds.begin();
    if (seconds[static_cast<size_t>(best)] < clearly_faster * seconds.front())
      tuning = tried[static_cast<size_t>(best)].tuning;
  }
  return tuning;
}

constexpr double race_budget_s = 12.0;
// Larger than the caches, and small enough for a search of a minute.
constexpr int64_t sample_nonzeros = 4'000'000;

}  // namespace

std::string CaseConfig::name() const {
  return fmt::format("class {}, grid {}", source->facts().key.name, configuration.grid.name());
}

std::vector<Work> works_of_case(const CaseConfig& config) {
  // Per nonzero and core; measured on two cores of an AMD EPYC (Zen 5) at classes A to C, 2026-11-24.
  constexpr double generation_s = 60e-9;
  constexpr double search_s = 400e-9;  // of a sample, mean of the kernels
  constexpr double round_s = 15e-9;    // an outer step of one kernel
  const auto& matrix = config.source->facts();
  const auto kernels = tuned_kernels();
  const double nonzeros = matrix.nonzero_count / config.configuration.grid.rank_count();
  const double sample = std::min(nonzeros, static_cast<double>(sample_nonzeros));
  std::vector<Work> works{
      {.key = config.name() + ": generating the matrix", .amount = generation_s * nonzeros}};
  for (const auto* kernel : kernels) {
    works.push_back(
        {.key = fmt::format("{}: settings of {}", config.name(), kernel->name), .amount = search_s * sample});
  }
  // Each three times; about half of them are not hopeless, and go on within the budget.
  const double rounds_s = 3.0 * round_s * nonzeros * static_cast<double>(kernels.size());
  works.push_back({.key = fmt::format("{}: CG steps of {} kernels", config.name(), kernels.size()),
                   .amount = rounds_s + std::min(race_budget_s, 4.0 * rounds_s)});
  return works;
}

std::function<void()> local_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                    int thread_count, const kernels::Tuning& tuning) {
  const auto rows = static_cast<size_t>(block.row_count);
  const auto columns = static_cast<size_t>(block.column_count);
  const bool is_half = kernel.stores_half();
  const std::shared_ptr made =
      kernel.make(std::move(block), {.thread_count = thread_count, .tuning = tuning});
  return
      [made, p_columns = std::vector(columns, 1.0), p_rows = std::vector(is_half ? rows : 0, 1.0),
       q_rows = std::vector<double>(rows), q_columns = std::vector<double>(is_half ? columns : 0)]() mutable {
        made->multiply({.p_columns = p_columns, .p_rows = p_rows, .q_rows = q_rows, .q_columns = q_columns});
      };
}

kernels::CsrBlock constant_rows_block(int64_t row_length, int64_t row_count, int64_t column_count) {
  auto block =
      kernels::CsrBlock::with_room(row_count, column_count, static_cast<size_t>(row_length * row_count));
  RandomStream stream;
  size_t entry = 0;
  for (int64_t row = 0; row < row_count; ++row) {
    for (int64_t k = 0; k < row_length; ++k, ++entry) {
      const double place =
          (static_cast<double>(k) + RandomStream::number(stream.next())) / static_cast<double>(row_length);
      block.columns[entry] = static_cast<int32_t>(place * static_cast<double>(column_count));
      block.values[entry] = 1.0;
    }
    block.row_starts[static_cast<size_t>(row) + 1] = static_cast<int64_t>(entry);
  }
  return block;
}

int64_t row_length_bytes() {
  // Three blocks with row starts, and the products' vectors, for the shortest rows.
  constexpr double blocks = 3.0;
  constexpr double row_bytes = sizeof(int64_t);
  const auto shortest = static_cast<double>(std::ranges::min(curve_row_lengths));
  const double per_nonzero =
      blocks * (kernels::CsrBlock::bytes_per_nonzero + row_bytes / shortest) + blocks * row_bytes / shortest;
  return saturated(per_nonzero * static_cast<double>(curve_nonzero_count));
}

ProcessorProfile measure_row_lengths(comm::RankGroup& group, int thread_count) {
  constexpr kernels::Tuning tuning{.critical_vector_length = 0};
  ProcessorProfile found;
  race_row_lengths(group, thread_count,
                   {{.kernel = &kernels::reference_kernel(kernels::Storage::whole), .tuning = tuning},
                    {.kernel = &kernels::critical_length_kernel(), .tuning = tuning}},
                   {.budget_s = 0.1, .hopeless_factor = 10.0},
                   [&](int length, double nonzeros, const RaceResult& result) {
                     const auto seconds = result.medians();
                     const double ns = 1e9 / nonzeros;
                     found.curve.push_back(
                         {.row_length = length, .scalar_ns = ns * seconds[0], .vector_ns = ns * seconds[1]});
                     auto& spread = found.measured.spread;
                     spread = std::max(spread, result.spread());
                   });
  found.critical_vector_length = critical_vector_length_of(found.curve);
  return found;
}

std::vector<RowLengthCost> measure_row_lengths_of(comm::RankGroup& group, const kernels::KernelRow& kernel,
                                                  const kernels::Tuning& tuning, int thread_count) {
  const int stored_times = kernel.stores_half() ? 2 : 1;
  std::vector<RowLengthCost> curve;
  race_row_lengths(
      group, thread_count, {{.kernel = &kernel, .tuning = tuning}}, {.budget_s = 0.05},
      [&](int length, double nonzeros, const RaceResult& result) {
        curve.push_back({.row_length = static_cast<double>(stored_times * length),
                         .seconds_per_nonzero = result.medians().front() / (stored_times * nonzeros)});
      });
  return curve;
}

int64_t case_bytes(const CaseConfig& config, int rank) {
  const auto& source = *config.source;
  auto configuration = config.configuration;
  const auto layout = make_layout(source.facts(), configuration);
  const auto plan_of = [&](const kernels::KernelRow& kernel) {
    configuration.kernel = kernel.name;
    return plan_memory(source, configuration, layout, rank);
  };
  const auto& csr = kernels::reference_kernel(kernels::Storage::whole);
  const auto block = plan_of(csr);
  const auto block_nonzeros = static_cast<double>(block.format_bytes) / csr.bytes_per_nonzero;
  const double share = std::min(1.0, static_cast<double>(sample_nonzeros) / std::max(block_nonzeros, 1.0));
  const auto of_sample = [&](int64_t bytes) { return saturated(share * static_cast<double>(bytes)); };
  // The block and its sample, whole and half, stay; formats are made from copies. The products of a search are in memory at once.
  auto kept = block.format_bytes + 3 * of_sample(block.format_bytes);
  auto beside = block.format_bytes;
  for (const auto* kernel : tuned_kernels()) {
    const auto own = plan_of(*kernel).kept_bytes();
    kept += own;
    beside = std::max(beside, of_sample(most_searched * own));
  }
  return std::max(saturated_sum(block.block_bytes, block.working_bytes), kept + beside);
}

TunedCase measure_case(comm::RankGroup& group, const CaseConfig& config,
                       const std::function<void(const std::string&)>& say) {
  const auto& source = *config.source;
  const auto& configuration = config.configuration;
  const auto layout = make_layout(source.facts(), configuration);
  const auto kernels = tuned_kernels();
  size_t next = 0;
  const auto say_next = [&, works = works_of_case(config)] { say(works[next++].key); };
  say_next();
  const auto block = source.build(layout, group, configuration.thread_count).block;
  TunedCase tuned{.matrix = source.facts().key,
                  .configuration = configuration,
                  .nonzeros_per_rank = static_cast<double>(group.sum(block.nonzero_count())) / group.size()};

  const auto starts = block.row_starts.span();
  const auto sample = block.first_rows(std::upper_bound(starts.begin() + 1, starts.end(), sample_nonzeros) -
                                       starts.begin() - 1);
  auto half_sample = sample.copy();
  keep_stored(half_sample, kernels::Storage::half, layout, group.rank());

  const std::shared_ptr<comm::Communicator> communicator =
      make_communicator(*comm::find_transport(configuration.transport), group, layout,
                        communicator_options(configuration, true));
  std::vector<kernels::Tuning> tunings;
  std::vector<TrialCandidate> candidates;
  for (const auto* kernel : kernels) {
    say_next();
    const auto tuning = search_settings(group, *kernel, kernel->stores_half() ? half_sample : sample, config);
    tunings.push_back(tuning);
    kernels::CsrBlock copy;
    agree_on(group, [&] { copy = block.copy(); });
    auto product = convert_block(std::move(copy), {.group = group,
                                                   .layout = layout,
                                                   .configuration = configuration,
                                                   .kernel = *kernel,
                                                   .tuning = tuning})
                       .product;
    agree_on(group, [&] {
      candidates.push_back(
          {.name = std::string(kernel->name),
           .work = trial_work(std::make_shared<AssembledOperator>(std::move(product), communicator, group,
                                                                  configuration.thread_count),
                              config.shift)});
    });
  }
  say_next();
  Trial trial;
  race_candidates(group, candidates,
                  {.thing = "kernel",
                   .step_count = cg_steps_per_solve,
                   .limits = {.fewest_rounds = 3, .budget_s = race_budget_s}},
                  trial);
  for (size_t k = 0; k < kernels.size(); ++k) trial.tried[k].tuning = tunings[k];
  rank_by_time(trial);
  tuned.kernels = trial.tried;
  tuned.verdict = trial.verdict.text();
  tuned.measured = trial.measured;
  return tuned;
}

}  // namespace cg2d

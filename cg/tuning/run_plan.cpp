#include "cg/tuning/run_plan.hpp"

#include "cg/base/agreement.hpp"

namespace cg2d {
namespace {

/// For a profile that knows nothing of the processors here: throws InputError where it was named and is not to be added to.
void refuse_useless(const ProfileSource& source, const std::string& reason) {
  if (source.path.empty() || source.may_be_new) return;
  throw InputError("--profile {}: {}", source.path, reason);
}

/// The profile's settings of a kernel: those of this very case, else those of the nearest one.
std::optional<kernels::Tuning> tuning_in(const ProcessorProfile& profile, std::string_view kernel,
                                         const MatrixFacts& matrix, const Configuration& configuration) {
  if (const auto* tuned = profile.find_case(matrix.key, configuration)) {
    if (const auto* const found = row_named(tuned->kernels, kernel)) return found->tuning;
  }
  return profile.nearest_tuning(kernel, nonzeros_per_rank(matrix, configuration.grid));
}

/// The first kernel of a case, where there is one, that this program has, or nullptr.
const kernels::KernelRow* first_in(const TunedCase* tuned) {
  if (tuned == nullptr) return nullptr;
  for (const auto& candidate : tuned->kernels) {
    if (const auto* const kernel = kernels::find_kernel(candidate.name)) return kernel;
  }
  return nullptr;
}

/// For each setting that the kernel has, the value asked for, else the tuned one, else the default.
kernels::Tuning resolved(const kernels::Tuning& defaults, const kernels::Tuning& asked_for,
                         const kernels::Tuning& tuned) {
  using kernels::Tuning;
  Tuning tuning;
  for (const auto setting :
       {&Tuning::critical_vector_length, &Tuning::prefetch_distance, &Tuning::block_width}) {
    if (const auto& own = defaults.*setting)
      tuning.*setting = (asked_for.*setting).value_or((tuned.*setting).value_or(*own));
  }
  return tuning;
}

/// The largest memory while the kernel's format is made. The source makes the whole block as CSR; for
/// symmetric storage half of it is dropped at once.
double peak_bytes_per_nonzero(const kernels::KernelRow& kernel, double copied_share) {
  constexpr double csr = kernels::CsrBlock::bytes_per_nonzero;
  const double kept_csr = kernel.stores_half() ? 0.5 * csr : csr;
  const double converted =
      kernel.converts ? std::max(kernel.bytes_per_nonzero, kernel.conversion_bytes_per_nonzero) : 0.0;
  // Strips that are there already are no larger than the CSR that they were.
  return std::max({csr, kept_csr + converted, kept_csr * (1.0 + copied_share)});
}

/// Memory of strips of columns beside the block that they are cut from, while they are made.
struct StripCost {
  double copied_share = 0.0;  ///< share of the entries that one strip takes: in memory twice for a moment
  int64_t count = 0;
};

/// None where the product is in one part. The last strip takes over what the others have left.
StripCost strip_cost(const Configuration& configuration, const comm::BlockLayout& layout, int rank) {
  StripCost cost;
  if (!configuration.overlaps || layout.grid().rows == 1) return cost;
  const auto columns = layout.columns_of(rank).size();
  int64_t copied = 0;
  int64_t last = 0;
  for (const auto& part : comm::collection_parts(layout, rank)) {
    for (const auto& strip : part) {
      copied = std::max(copied, last);
      last = strip.size();
      ++cost.count;
    }
  }
  if (columns > 0) cost.copied_share = static_cast<double>(copied) / static_cast<double>(columns);
  return cost;
}

/// Elements of the buffers for what a rank receives and adds in one summation.
int64_t received_to_add(const comm::Schedule& schedule, const comm::GroupPieces& pieces) {
  int64_t count = 0;
  for (const auto& step : schedule.steps) {
    if (step.receive_from != comm::ScheduleStep::no_partner && step.combine == comm::Combine::add)
      count += pieces.element_count(step.received);
  }
  return count;
}

}  // namespace

std::optional<std::string> common_processor(const Environment& environment) {
  const auto name = environment.nodes.front().processor_with_caches();
  const bool is_common = std::ranges::all_of(
      environment.nodes, [&](const auto& node) { return node.processor_with_caches() == name; });
  return is_common ? std::optional(name) : std::nullopt;
}

LoadedProfile load_profile(const ProfileSource& source, const Environment& environment,
                           comm::RankGroup& group) {
  if (!source.is_used) return {.processor = {}, .path = {}, .absence = "profiles are ignored (--no-profile)"};
  LoadedProfile loaded;
  const bool was_named = !source.path.empty();
  std::string text;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    const auto path = was_named ? std::optional(source.path) : default_profile_path();
    if (!path) {
      loaded.absence = "no place for profiles: neither XDG_CACHE_HOME nor HOME is set";
      return;
    }
    loaded.path = *path;
    try {
      const auto found = text_of_file(*path);
      if (!found && was_named && !source.may_be_new) throw InputError("there is no such file");
      if (found) static_cast<void>(parse_profile(*found));
      text = found.value_or("");
      if (text.empty()) loaded.absence = fmt::format("no profile at {}; cg2d tune makes one", *path);
    } catch (const InputError& error) {
      const auto reason = fmt::format("is no tuning profile: {}; cg2d tune makes one", error.what());
      if (was_named) throw InputError(fmt::format("--profile {}: {}", *path, reason), error.code());
      loaded.absence = fmt::format("{} {}", *path, reason);
    }
  });
  loaded.path = group.broadcast(loaded.path);
  loaded.absence = group.broadcast(loaded.absence);
  text = group.broadcast(text);
  if (!loaded.absence.empty()) return loaded;
  auto profile = parse_profile(text);
  const auto processor = common_processor(environment);
  if (!processor) {
    loaded.processor.speeds = profile[environment.nodes.front().processor_with_caches()].speeds;
    loaded.absence = "the nodes have different processors";
    refuse_useless(source, loaded.absence + ", and a profile is for one; leave it out");
    return loaded;
  }
  const auto known = profile.find(*processor);
  if (known == profile.end()) {
    refuse_useless(source, fmt::format("knows nothing of this processor ({}); leave it out, or add it by "
                                       "cg2d tune --profile {}",
                                       *processor, source.path));
  } else {
    loaded.processor = known->second;
  }
  if (!loaded.processor.knows_kernels())
    loaded.absence = fmt::format("{} knows nothing of {}this processor ({}); cg2d tune adds it", loaded.path,
                                 known == profile.end() ? "" : "kernels on ", *processor);
  return loaded;
}

std::span<const NamedValue<ChoiceOrigin>> words_of(ChoiceOrigin /*origin*/) {
  static constexpr std::array words{NamedValue<ChoiceOrigin>{"asked for", ChoiceOrigin::asked_for},
                                    NamedValue<ChoiceOrigin>{"profile", ChoiceOrigin::profile},
                                    NamedValue<ChoiceOrigin>{"trial", ChoiceOrigin::trial},
                                    NamedValue<ChoiceOrigin>{"built-in rule", ChoiceOrigin::built_in_rule}};
  return words;
}

AssemblyPlan assembly_plan(comm::RankGroup& group, const comm::BlockLayout& layout,
                           const Configuration& configuration, const ChosenKernel& chosen) {
  return {.group = group,
          .layout = layout,
          .configuration = configuration,
          .kernel = *chosen.kernel,
          .tuning = chosen.tuning,
          .vector_count = chosen.vector_count,
          .sums_reproducibly = configuration.is_reproducible};
}

ChosenKernel choose_kernel(const MatrixFacts& matrix, const Configuration& configuration,
                           const KernelChoiceConfig& config) {
  ChosenKernel choice{.vector_count = config.vector_count};
  const bool is_for_several = config.vector_count > 1;
  const auto& known = config.profile.processor;
  if (configuration.has_kernel()) {
    choice.kernel = &kernels::kernel_named(configuration.kernel);
    choice.kernel_origin = ChoiceOrigin::asked_for;
  } else if (is_for_several) {
    choice.kernel = &kernels::default_kernel_for_several();
  } else if (configuration.is_reproducible) {
    choice.kernel = &kernels::default_reproducible_kernel();
  } else if (const auto* first = first_in(known.find_case(matrix.key, configuration))) {
    choice.kernel = first;
    choice.kernel_origin = ChoiceOrigin::profile;
  } else {
    choice.kernel = &built_in_kernel(matrix, configuration.grid, config.ranks_oversubscribed);
  }
  auto usual_length = kernels::critical_length_kernel().defaults.critical_vector_length;
  if (is_for_several) {
    choice.tuning = config.asked;
  } else {
    const auto tuned = tuning_in(known, choice.kernel->name, matrix, configuration);
    if (tuned) choice.tuning_origin = ChoiceOrigin::profile;
    choice.tuning = resolved(choice.kernel->defaults, config.asked, tuned.value_or(kernels::Tuning{}));
    if (known.critical_vector_length) usual_length = known.critical_vector_length;
  }
  choice.critical_vector_length = choice.tuning.critical_vector_length.value_or(
      config.asked.critical_vector_length.value_or(*usual_length));
  return choice;
}

MemoryPlan plan_memory(const MatrixSource& source, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank, int64_t leaving_bytes) {
  return plan_memory(source.facts(), source.working_bytes(layout, {}), configuration, layout, rank,
                     leaving_bytes);
}

MemoryPlan plan_memory(const MatrixFacts& matrix, int64_t working_bytes, const Configuration& configuration,
                       const comm::BlockLayout& layout, int rank, int64_t leaving_bytes) {
  const auto& kernel = planned_kernel(configuration);
  const auto rows = layout.rows_of(rank);
  const auto columns = layout.columns_of(rank);
  const auto piece = layout.own_piece(rank);
  MemoryPlan plan;
  const auto strips = strip_cost(configuration, layout, rank);
  // The block's share of the plane, as if its nonzeros were spread evenly.
  const auto n = static_cast<double>(matrix.key.order);
  const double nonzeros = matrix.nonzero_count * (static_cast<double>(rows.size()) / n) *
                          (static_cast<double>(columns.size()) / n);
  const auto row_start_bytes = static_cast<int64_t>(sizeof(int64_t)) * (rows.size() + 1) * (1 + strips.count);
  const double peak = peak_bytes_per_nonzero(kernel, strips.copied_share);
  plan.block_bytes = saturated_sum(
      saturated(peak * nonzeros),
      row_start_bytes + kernel.window_bytes(rows.size(), columns.size(), configuration.thread_count));
  plan.format_bytes = saturated_sum(saturated(kernel.bytes_per_nonzero * nonzeros),
                                    row_start_bytes + kernel.window_bytes(rows.size(), columns.size()));
  constexpr int64_t solver_pieces = 4;  // x, z, r, and q where it has to move
  int64_t elements = columns.size() + rows.size() + solver_pieces * piece.size() +
                     received_to_add(comm::summation_schedule(layout, rank, configuration.sum_form),
                                     comm::block_pieces(layout, comm::Line::process_row, rank));
  if (kernel.stores_half()) {
    elements +=
        columns.size() * configuration.thread_count * kernel.doubles_per_column + rows.size() + piece.size() +
        received_to_add(
            comm::summation_schedule(layout, rank, configuration.sum_form, comm::Line::process_column),
            comm::block_pieces(layout, comm::Line::process_column, rank));
  }
  if (strips.count > 1) elements += rows.size();  // the partial sums of one strip
  plan.vector_bytes = elements * int64_t{sizeof(double)};
  const auto making_format_bytes = saturated((peak - kernels::CsrBlock::bytes_per_nonzero) * nonzeros);
  plan.working_bytes = working_bytes - std::min(leaving_bytes, making_format_bytes);
  return plan;
}

int64_t piece_bytes(const MatrixFacts& matrix, const comm::BlockLayout& layout, int rank,
                    const PieceMemory& memory) {
  const auto row_count = static_cast<double>(layout.own_piece(rank).size());
  const double mean_length = matrix.nonzero_count / static_cast<double>(std::max<int64_t>(layout.size(), 1));
  return saturated(row_count * (static_cast<double>(memory.bytes_per_row) +
                                mean_length * static_cast<double>(memory.bytes_per_nonzero)));
}

void check_memory(const MatrixSource& source, const Configuration& configuration,
                  const comm::BlockLayout& layout, const Environment& environment) {
  check_memory(environment,
               [&](int rank) { return plan_memory(source, configuration, layout, rank).total_bytes(); });
}

void check_memory(const Environment& environment, const std::function<int64_t(int rank)>& bytes_of_rank,
                  std::string_view advice) {
  for (size_t node = 0; node < environment.nodes.size(); ++node) {
    int64_t needed = 0;
    int64_t largest = 0;
    for (size_t rank = 0; rank < environment.ranks.size(); ++rank) {
      if (environment.ranks[rank].node != static_cast<int>(node)) continue;
      const auto bytes = bytes_of_rank(static_cast<int>(rank));
      needed = saturated_sum(needed, bytes);
      largest = std::max(largest, bytes);
    }
    const auto& info = environment.nodes[node];
    if (needed <= info.memory.available_bytes) continue;
    // With what a start may add, so that a --memory-limit of what is needed does.
    const auto process_bytes = environment.process_bytes + process_grain_bytes;
    throw RunError(
        ExitCode::memory,
        "not enough memory on {}: the run needs {} there ({}, up to {} each, {} of it the process itself), "
        "{} are available; {}{}",
        info.name, format_bytes_above(saturated_sum(needed, process_bytes * info.rank_count)),
        format_count(info.rank_count, "rank"), format_bytes_above(saturated_sum(largest, process_bytes)),
        format_bytes(process_bytes), format_bytes(environment.memory_of_node(info)),
        enough_limit_text(info.memory, needed - info.memory.available_bytes, info.rank_count), advice);
  }
}

}  // namespace cg2d

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
    const auto* const kernel = kernels::find_kernel(candidate.name);
    if (kernel != nullptr && kernel->why_unavailable().empty()) return kernel;
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

}  // namespace

std::optional<std::string> common_processor(const Environment& environment) {
  const auto name = environment.nodes.front().processor_with_caches();
  const bool is_common = std::ranges::all_of(
      environment.nodes, [&](const auto& node) { return node.processor_with_caches() == name; });
  return is_common ? std::optional(name) : std::nullopt;
}

LoadedProfile load_profile(const ProfileSource& source, const Environment& environment,
                           comm::RankGroup& group) {
  LoadedProfile loaded;
  if (!source.is_used) {
    loaded.absence = "profiles are ignored (--no-profile)";
    return loaded;
  }
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
    std::string names;
    for (const auto& [name, processor_profile] : profile) names += (names.empty() ? "" : " and ") + name;
    refuse_useless(source,
                   fmt::format("knows nothing of this processor ({}), but of {}; leave it out, or add it by "
                               "cg2d tune --profile {}",
                               *processor, names.empty() ? "none" : names, source.path));
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

}  // namespace cg2d

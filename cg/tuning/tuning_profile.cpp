#include "cg/tuning/tuning_profile.hpp"

#include <array>
#include <cmath>

#include "cg/base/describe_json.hpp"
#include "cg/machine/machine_description.hpp"

namespace cg2d {
namespace {

/// The document of a profile.
struct ProfileDocument {
  TuningProfile processors;
};

void describe(Members& m, ProfileDocument& document) {
  m.constant("schema_version", 1);
  m("processors", document.processors);
}

/// The members of every case. NPB matrices go by the numbers that they are generated from, all others by
/// their hash.
void describe_case(Members& m, MatrixKey& matrix, Configuration& configuration) {
  std::optional<int> nonzer;
  if (!m.reads()) nonzer = matrix.nonzer;
  m("class", matrix.name, not_empty());
  m("n", matrix.order, at_least(1));
  m("nonzer", nonzer, at_least(1));
  if (!nonzer) describe_hexadecimal(m, "pattern_hash", matrix.pattern_hash);
  if (m.reads() && nonzer) matrix = npb_matrix_key(matrix.name, matrix.order, *nonzer);
  m.object("grid", [&] { describe_columns(m, configuration.grid); });
  m("threads", configuration.thread_count, at_least(1));
}

}  // namespace

void describe(Members& m, TimedCandidate& kernel) {
  auto& tuning = kernel.tuning;
  m("name", kernel.name, not_empty());
  m("critical_vector_length", tuning.critical_vector_length, or_null(at_least(0)));
  m("prefetch_distance", tuning.prefetch_distance, or_null(at_least(0)));
  m("block_width", tuning.block_width, or_null(at_least(1)));
  m("step_s", kernel.step_s, positive_cost());
  if (m.reads() && tuning.block_width && !kernels::is_block_width(*tuning.block_width))
    m.complain(
        fmt::format("{} is {}: no kernel has such blocks", m.where("block_width"), *tuning.block_width));
}

void describe(Members& m, TunedCase& tuned) {
  describe_case(m, tuned.matrix, tuned.configuration);
  m("nonzeros_per_rank", tuned.nonzeros_per_rank, positive_cost());
  m("kernels", tuned.kernels, {.fewest = 1});
  describe_measured(m, tuned.measured);
}

void describe(Members& m, TransportCase& timed) {
  auto& [matrix, configuration, node_count, wait_mode, transports, measured] = timed;
  describe_case(m, matrix, configuration);
  m("nodes", node_count, at_least(1));
  m.one_of("sum_form", configuration.sum_form, sum_form_table());
  m("kernel", configuration.kernel, not_empty());
  m.one_of("waiting", wait_mode, wait_mode_table());
  m("overlap", configuration.overlaps);
  m("ranks_per_node", configuration.ranks_per_node, at_least(0));
  m("cut", configuration.cut, not_empty());
  m.list("transports", transports, {.fewest = 1}, [&](TimedCandidate& transport, size_t /*index*/) {
    m("name", transport.name, not_empty());
    m("step_s", transport.step_s, positive_cost());
  });
  describe_measured(m, measured);
}

void describe(Members& m, SpeedCase& timed) {
  auto& [matrix, configuration, ranks, measured] = timed;
  describe_case(m, matrix, configuration);
  m("kernel", configuration.kernel, not_empty());
  m.list("ranks", timed.ranks, {.fewest = 1}, [&](PlacedSpeed& rank, size_t /*index*/) {
    m("place", rank.place, not_empty());
    m("nonzeros_per_s", rank.nonzeros_per_s, positive_cost());
    m("share", rank.share, positive_cost());
    m("rank_here", rank.rank_here, at_least(0));
  });
  describe_measured(m, timed.measured);
  if (!m.reads()) return;
  std::vector<int> standing;
  for (const auto& one : ranks) standing.push_back(one.rank_here);
  std::ranges::sort(standing);
  const int rank_count = configuration.grid.rank_count();
  bool has_each_once = std::ssize(standing) == rank_count;
  for (int rank = 0; const int found : standing) has_each_once = has_each_once && found == rank++;
  if (!has_each_once)
    m.complain(fmt::format("{} must have each of the {} of the grid once", m.where("ranks"),
                           format_count(rank_count, "rank")));
}

int critical_vector_length_of(const std::vector<RowLengthPoint>& curve) {
  int length = never_in_vectors;
  for (auto point = curve.rbegin(); point != curve.rend() && point->vector_ns <= point->scalar_ns; ++point)
    length = point->row_length;
  return length;
}

std::string why_unphysical(const std::vector<RowLengthPoint>& curve, int thread_count) {
  constexpr double clearly_faster = 0.9;
  constexpr int much_longer = 4;  // nearby ones differ: 11 fills two vectors of 8 worse than 8 fills one
  int first_win = 0;
  for (const auto& [length, scalar_ns, vector_ns] : curve) {
    for (const double ns : {scalar_ns, vector_ns}) {
      if (ns * 1e-9 * thread_count >= PhysicalBounds::least_element_s &&
          ns * 1e-9 <= PhysicalBounds::most_element_s)
        continue;
      return fmt::format("{:.4g} ns per nonzero on rows of {} are beyond what a machine can do", ns, length);
    }
    if (first_win == 0 && vector_ns < clearly_faster * scalar_ns) first_win = length;
    if (first_win > 0 && length >= much_longer * first_win && vector_ns > scalar_ns) {
      return fmt::format("vectors are faster on rows of {} and slower on rows of {}: there is no crossing",
                         first_win, length);
    }
  }
  return {};
}

std::string why_unphysical_steps(const std::vector<TimedCandidate>& timed, double nonzeros_per_thread) {
  const double least_s = PhysicalBounds::least_element_s * nonzeros_per_thread;
  const auto fault = std::ranges::find_if(timed, [&](const auto& one) { return !(one.step_s >= least_s); });
  if (fault == timed.end()) return {};
  return fmt::format("{}: {:.4g} s for a CG step are beyond what a machine can do", fault->name,
                     fault->step_s);
}

std::span<const NamedValue<comm::WaitMode>> wait_mode_table() {
  using comm::WaitMode;
  static constexpr std::array rows{
      NamedValue<WaitMode>{"spin", WaitMode::spin}, NamedValue<WaitMode>{"yield", WaitMode::yield},
      NamedValue<WaitMode>{"sleep", WaitMode::sleep}, NamedValue<WaitMode>{"block", WaitMode::block}};
  return rows;
}

/// A processor with kernels (the results of cg2d tune), transports, speeds, or several of them. Earlier programs kept storage, too, which is read
/// past.
void describe(Members& m, ProcessorProfile& processor) {
  bool knows_kernels = processor.knows_kernels() || !m.writes();
  if (m.reads()) {
    const bool had_storage = m.has("storage");
    knows_kernels =
        m.has("critical_vector_length") || !(had_storage || m.has("transports") || m.has("speeds"));
  }
  if (knows_kernels) {
    auto length = processor.critical_vector_length.value_or(0);
    m("critical_vector_length", length, at_least(0));
    processor.critical_vector_length = length;
    describe_measured(m, processor.measured);
    m.list("row_lengths", processor.curve, {}, [&](RowLengthPoint& point, size_t /*index*/) {
      m("row_length", point.row_length, at_least(1));
      m("scalar_ns_per_nonzero", point.scalar_ns, positive_cost());
      m("vector_ns_per_nonzero", point.vector_ns, positive_cost());
    });
    m("cases", processor.cases);
  }
  const auto if_any = [&](std::string_view name, auto& cases) {
    m.if_given(name, cases, !cases.empty(), {.fewest = 1});
  };
  if_any("transports", processor.transports);
  if_any("speeds", processor.speeds);
}

bool TunedCase::is_like(const TunedCase& other) const {
  return matrix == other.matrix && configuration.grid == other.configuration.grid &&
         configuration.thread_count == other.configuration.thread_count;
}

const TunedCase* ProcessorProfile::find_case(const MatrixKey& matrix,
                                             const Configuration& configuration) const {
  const auto found = find_like(cases, {.matrix = matrix, .configuration = configuration});
  return found == cases.end() ? nullptr : &*found;
}

const MeasurementRecord& ProcessorProfile::record_for(const MatrixKey& matrix,
                                                      const Configuration& configuration) const {
  const auto* const tuned = find_case(matrix, configuration);
  return tuned != nullptr ? tuned->measured : measured;
}

std::optional<kernels::Tuning> ProcessorProfile::nearest_tuning(std::string_view kernel,
                                                                double nonzeros_per_rank) const {
  std::optional<kernels::Tuning> nearest;
  double least_distance = std::numeric_limits<double>::infinity();
  for (const auto& tuned : cases) {
    const double distance = std::abs(std::log(tuned.nonzeros_per_rank / nonzeros_per_rank));
    const auto* const found = row_named(tuned.kernels, kernel);
    if (found == nullptr || distance >= least_distance) continue;
    least_distance = distance;
    nearest = found->tuning;
  }
  return nearest;
}

void ProcessorProfile::add(const ProcessorProfile& found) {
  if (found.knows_kernels()) {
    critical_vector_length = found.critical_vector_length;
    curve = found.curve;
    measured = found.measured;
  }
  for (const auto& one : found.cases) put(one);
  for (const auto& one : found.transports) put(one);
  for (const auto& one : found.speeds) put(one);
}

bool SpeedCase::is_like(const SpeedCase& other) const {
  return matrix == other.matrix && configuration.grid == other.configuration.grid &&
         configuration.thread_count == other.configuration.thread_count &&
         configuration.kernel == other.configuration.kernel &&
         std::ranges::equal(ranks, other.ranks, {}, &PlacedSpeed::place, &PlacedSpeed::place);
}

int remove_measurements(TuningProfile& profile, const std::string& name) {
  size_t count = 0;
  if (const auto found = profile.find(name); found != profile.end()) {
    const auto& known = found->second;
    count = known.cases.size() + known.transports.size() + known.speeds.size() + known.knows_kernels();
    profile.erase(found);
    return static_cast<int>(count);
  }
  const auto remove_from = [&](auto& cases) {
    count += std::erase_if(cases, [&](const auto& one) { return one.matrix.name == name; });
  };
  for (auto& [_, processor] : profile) {
    remove_from(processor.cases);
    remove_from(processor.transports);
    remove_from(processor.speeds);
  }
  return static_cast<int>(count);
}

TuningProfile parse_profile(std::string_view text) {
  try {
    return from_json<ProfileDocument>(json_from(text)).processors;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_profile(const TuningProfile& profile) {
  auto known = profile;
  // A processor of which nothing is left is not written: it would be read as one that lacks its kernels.
  std::erase_if(known, [](const auto& one) {
    const auto& [name, processor] = one;
    return !processor.knows_kernels() && processor.transports.empty() && processor.speeds.empty();
  });
  return document_text(ProfileDocument{std::move(known)});
}

std::string ProfileSource::place() const {
  if (!path.empty()) return path;
  if (auto usual = default_profile_path()) return *std::move(usual);
  throw InputError("no place for the profile: neither XDG_CACHE_HOME nor HOME is set; give --profile FILE");
}

std::string writable_profile(const ProfileSource& source) {
  if (!source.is_used) return {};
  auto path = source.place();
  profile_file.require_writable(path, source.path.empty());
  return path;
}

void add_to_profile(const std::string& path, const std::string& processor, const ProcessorProfile& found) {
  profile_file.change(path, [&](TuningProfile& known) { known[processor].add(found); });
}

}  // namespace cg2d

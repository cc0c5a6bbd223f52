#include "cg/machine/environment.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/control_group.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/system_files.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/topology.hpp"

namespace cg2d {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see BesideOtherTasks
int job_ranks_on_node = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int job_cores_on_node = 0;

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Cores with at least one processor in the union of the masks: what they have of it.
std::vector<std::string> allowed_cores(const Topology& topology, const std::vector<std::string>& masks) {
  ProcessorSet allowed;
  for (const auto& mask : masks) allowed = all_processors(allowed, processors_from(mask));
  std::vector<std::string> cores;
  for (const auto& core : topology.cores) {
    if (const auto mine = common_processors(core, allowed); !mine.empty()) cores.push_back(list_of(mine));
  }
  return cores;
}

/// A quota of 2 processors on 4 cores is worth 2 cores: of ranks that wait for each other no more should spin.
void apply_quota(NodeInfo& node) {
  const auto quota = control_group_limits().processors;
  if (!quota || *quota >= node.core_count) return;
  node.processor_quota = *quota;
  node.core_count = std::max(1, static_cast<int>(*quota));
}

NodeInfo inspect_node(const std::string& host, const std::vector<std::string>& masks, int thread_count) {
  NodeInfo node;
  node.host = host;
  node.rank_count = static_cast<int>(masks.size());
  node.job_rank_count = job_ranks_on_node;
  node.job_core_count = job_cores_on_node;
  node.memory = enforced_room(node.rank_count, thread_count);
  node.free = free_room();
  node.governor = frequency_governor();
  node.numa_nodes = numa_node_count();
  node.load_average = load_average();
  const auto topology = machine_topology();
  node.processor = topology.processor;
  node.cores = allowed_cores(topology, masks);
  node.caches = topology.caches;
  const auto core_count = topology.cores.empty() ? sysconf(_SC_NPROCESSORS_ONLN) : std::ssize(node.cores);
  node.core_count = std::max(1, static_cast<int>(core_count));
  apply_quota(node);
  if (node.job_rank_count > node.rank_count) {
    for (auto* const room : {&node.memory, &node.free})
      room->available_bytes = room->available_bytes / node.job_rank_count * node.rank_count;
  }
  return node;
}

std::string encode(const NodeInfo& node) {
  nlohmann::ordered_json json{{"processor", node.processor},
                              {"core_count", node.core_count},
                              {"job_ranks", node.job_rank_count},
                              {"job_cores", node.job_core_count},
                              {"quota", node.processor_quota}};
  for (const auto& room : {node.memory, node.free})
    json["rooms"].push_back({room.available_bytes, room.bound, room.limit_bytes});
  json["cores"] = node.cores;
  json["governor"] = value_or_null(node.governor);
  json["numa_nodes"] = value_or_null(node.numa_nodes);
  json["load_average"] = value_or_null(node.load_average);
  json["caches"] = nlohmann::ordered_json::array();
  for (const auto& cache : node.caches)
    json["caches"].push_back({cache.level, cache.byte_count, cache.shared_by_cores});
  return json_text(json);
}

template <typename Value>
void read_known(const nlohmann::json& value, std::optional<Value>& known) {
  if (!value.is_null()) known = value.get<Value>();
}

void decode(const std::string& text, NodeInfo& node) {
  const auto json = nlohmann::json::parse(text);
  node.processor = json.at("processor");
  node.core_count = json.at("core_count");
  node.job_rank_count = json.at("job_ranks");
  node.job_core_count = json.at("job_cores");
  node.processor_quota = json.at("quota");
  node.cores = json.at("cores").get<std::vector<std::string>>();
  const auto room_from = [](const auto& room) {
    return MemoryRoom{.available_bytes = room.at(0), .bound = room.at(1), .limit_bytes = room.at(2)};
  };
  node.memory = room_from(json.at("rooms").at(0));
  node.free = room_from(json.at("rooms").at(1));
  read_known(json.at("governor"), node.governor);
  read_known(json.at("numa_nodes"), node.numa_nodes);
  read_known(json.at("load_average"), node.load_average);
  for (const auto& cache : json.at("caches"))
    node.caches.push_back({.level = cache.at(0), .byte_count = cache.at(1), .shared_by_cores = cache.at(2)});
}

/// The setting in brackets of "always [madvise] never"; empty where there is none.
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const auto open = line.find('[');
  const auto close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return line.substr(open + 1, close - open - 1);
}

/// "32 KiB", "1 MiB": caches have powers of two, or small multiples of them.
std::string format_cache_size(std::int64_t byte_count) {
  constexpr std::int64_t kibi = 1024;
  constexpr std::int64_t mebi = kibi * kibi;
  if (byte_count < mebi) return fmt::format("{:.4g} KiB", static_cast<double>(byte_count) / kibi);
  return fmt::format("{:.4g} MiB", static_cast<double>(byte_count) / mebi);
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  comm::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  // "MPICH Version:\t4.0.2\nMPICH Release date: ...": the first line suffices.
  std::string version(text.data());
  version = version.substr(0, version.find('\n'));
  std::replace(version.begin(), version.end(), '\t', ' ');
  return version;
}

}  // namespace

std::string NodeInfo::processor_with_caches() const {
  std::string text = processor;
  for (const auto& cache : caches)
    text += fmt::format(", L{}{} {}", cache.level, cache.level == 1 ? "d" : "",
                        format_cache_size(cache.byte_count));
  return text;
}

bool NodeInfo::is_oversubscribed(int thread_count) const {
  return rank_count * thread_count > core_count ||
         job_rank_count * thread_count > std::max(job_core_count, core_count);
}

bool Environment::is_beside_other_tasks() const {
  return std::ranges::any_of(nodes, [](const auto& node) { return node.job_rank_count > 0; });
}

BesideOtherTasks::BesideOtherTasks(int rank_count, int core_count) {
  job_ranks_on_node = rank_count;
  job_cores_on_node = core_count;
}

BesideOtherTasks::~BesideOtherTasks() { job_ranks_on_node = job_cores_on_node = 0; }

// The affinity mask from the kernel: no topology is needed for it, so ranks that need none load none.
std::string allowed_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return {};
  ProcessorSet processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<unsigned>(processor), &mask)) processors.push_back(processor);
  }
  return list_of(processors);
}

void name_by_host(Environment& environment) {
  for (auto& node : environment.nodes) node.name = node.host;
}

/// What the ranks of the node may make: within what the system holds them to, the user's limit, or without one what is free.
void set_memory(NodeInfo& node, std::int64_t growth, std::int64_t memory_limit_bytes,
                Environment& environment) {
  for (auto* const room : {&node.memory, &node.free}) room->available_bytes -= growth * node.rank_count;
  if (memory_limit_bytes == 0) return node.memory.tighten(node.free);
  const MemoryRoom user{.available_bytes = memory_limit_bytes - environment.process_bytes * node.rank_count,
                        .bound = MemoryRoom::Bound::user,
                        .limit_bytes = memory_limit_bytes};
  node.memory.tighten(user);
  if (node.free.available_bytes < node.memory.available_bytes)
    environment.memory_warning =
        fmt::format("--memory-limit {}: the system says that {} has {} left for its ranks; the limit counts",
                    format_bytes(memory_limit_bytes), node.name,
                    format_bytes(std::max<std::int64_t>(node.free.available_bytes, 0)));
}

Environment inspect_environment(comm::RankGroup& group, int thread_count, std::int64_t memory_limit_bytes) {
  Environment environment;
  const auto hosts = group.gather_all(host_name());
  const auto masks = group.gather_all(allowed_processors());
  std::vector<std::vector<std::string>> node_masks;
  std::vector<int> first_ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto known = std::find_if(environment.nodes.begin(), environment.nodes.end(),
                                    [&](const auto& node) { return node.host == hosts[rank]; });
    const auto node = static_cast<std::size_t>(known - environment.nodes.begin());
    if (node == environment.nodes.size()) {
      auto& added = environment.nodes.emplace_back();
      added.host = hosts[rank];
      added.name = fmt::format("node {}", node);
      node_masks.emplace_back();
      first_ranks.push_back(static_cast<int>(rank));
    }
    node_masks[node].push_back(masks[rank]);
    environment.ranks.push_back({.processors = masks[rank], .node = static_cast<int>(node)});
  }

  const auto my_node =
      static_cast<std::size_t>(environment.ranks[static_cast<std::size_t>(group.rank())].node);
  std::string answer;
  if (first_ranks[my_node] == group.rank())
    answer = encode(inspect_node(environment.nodes[my_node].host, node_masks[my_node], thread_count));
  const auto answers = group.gather_all(answer);
  for (std::size_t node = 0; node < environment.nodes.size(); ++node) {
    auto& info = environment.nodes[node];
    decode(answers[static_cast<std::size_t>(first_ranks[node])], info);
    info.rank_count = static_cast<int>(node_masks[node].size());
    environment.ranks_oversubscribed |= info.is_oversubscribed(1);
    environment.oversubscribed |= info.is_oversubscribed(thread_count);
  }
  environment.process_bytes = group.maximum(planned_process_bytes(thread_count));
  const auto growth = std::max<std::int64_t>(0, environment.process_bytes - group.minimum(resident_bytes()));
  for (auto& node : environment.nodes) set_memory(node, growth, memory_limit_bytes, environment);
  environment.mpi_version = mpi_library_version();
  environment.blas = blas_version();
  if (auto setting = group.broadcast(huge_page_setting()); !setting.empty())
    environment.transparent_huge_pages = std::move(setting);
  return environment;
}

Environment inspect_environment(comm::RankGroup& group, int thread_count, std::int64_t memory_limit_bytes,
                                const Progress& progress) {
  auto environment = inspect_environment(group, thread_count, memory_limit_bytes);
  if (!environment.memory_warning.empty()) progress.warn(environment.memory_warning);
  return environment;
}

const NodeInfo& Environment::node_of(int rank) const {
  return nodes[static_cast<std::size_t>(ranks[static_cast<std::size_t>(rank)].node)];
}

std::int64_t Environment::memory_of_node(const NodeInfo& node) const {
  return std::max<std::int64_t>(saturated_sum(node.memory.available_bytes, process_bytes * node.rank_count),
                                0);
}

std::int64_t Environment::memory_of_rank(int rank) const {
  const auto& node = node_of(rank);
  return node.memory.available_bytes / node.rank_count;
}

}  // namespace cg2d

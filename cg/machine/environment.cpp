#include "cg/machine/environment.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "cg/base/describe_json.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/system_files.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see BesideOtherTasks
int job_ranks_on_node = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int job_cores_on_node = 0;

/// Completes the node of that rank, whose names and ranks are known. Returns it.
NodeInfo& inspect_node(Environment& environment, int rank, int thread_count) {
  const int number = environment.ranks[static_cast<size_t>(rank)].node;
  auto& node = environment.nodes[static_cast<size_t>(number)];
  node.job_rank_count = job_ranks_on_node;
  node.job_core_count = job_cores_on_node;
  node.memory = enforced_room(node.rank_count, thread_count);
  node.free = free_room();
  node.governor = frequency_governor();
  if (std::array<double, 3> means{}; getloadavg(means.data(), 3) == 3) node.load_average = means;
  static_cast<Topology&>(node) = machine_topology();
  const bool knows_cores = !node.cores.empty();
  ProcessorSet allowed;
  for (const auto& place : environment.ranks) {
    if (place.node == number) allowed = all_processors(allowed, processors_from(place.processors));
  }
  if (!allowed.empty()) {  // else they are not known
    for (auto& core : node.cores) core = common_processors(core, allowed);
  }
  std::erase(node.cores, ProcessorSet());
  node.core_count =
      std::max(1, static_cast<int>(knows_cores ? std::ssize(node.cores) : sysconf(_SC_NPROCESSORS_ONLN)));
  // A quota of 2 processors on 4 cores is worth 2 cores: of ranks that wait for each other no more should spin.
  if (const auto quota = control_group_limits().processors; quota && *quota < node.core_count) {
    node.processor_quota = *quota;
    node.core_count = std::max(1, static_cast<int>(*quota));
  }
  if (node.job_rank_count > node.rank_count) {
    for (auto* const room : {&node.memory, &node.free})
      room->available_bytes = room->available_bytes / node.job_rank_count * node.rank_count;
  }
  return node;
}

/// A node as its first rank tells the others, but for its NodeFigures.
struct InspectedNode {
  NodeInfo& node;
};
void describe(Members& m, InspectedNode& inspected) {
  describe(m, inspected.node);
  m("core_list", inspected.node.cores);
  m("like_processors", inspected.node.has_like_processors);
}

/// The setting in brackets of "always [madvise] never"; empty where there is none.
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const auto open = line.find('[');
  const auto close = line.find(']', std::min(open, line.size()));
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

}  // namespace

std::string NodeInfo::processor_with_caches() const {
  std::string text = processor;
  for (const auto& cache : caches) {
    constexpr double kibi = 1024.0;  // caches have powers of two, or small multiples of them
    const double size = static_cast<double>(cache.byte_count) / kibi;
    text += fmt::format(", L{}{} {:.4g} {}", cache.level, cache.level == 1 ? "d" : "",
                        size < kibi ? size : size / kibi, size < kibi ? "KiB" : "MiB");
  }
  return text;
}

bool NodeInfo::is_oversubscribed(int thread_count) const {
  return rank_count * thread_count > core_count ||
         job_rank_count * thread_count > std::max(job_core_count, core_count);
}

BesideOtherTasks::BesideOtherTasks(int rank_count, int core_count) {
  job_ranks_on_node = rank_count;
  job_cores_on_node = core_count;
}

BesideOtherTasks::~BesideOtherTasks() { job_ranks_on_node = job_cores_on_node = 0; }

namespace {

// The system tells no mask to a program that has room for fewer processors than there may be.
constexpr int most_processors = 16 * CPU_SETSIZE;
using ProcessorMask = std::array<cpu_set_t, most_processors / CPU_SETSIZE>;

}  // namespace

// Masks from and to the system itself: hwloc would need the topology for them, which most ranks do not load.
std::string allowed_processors() {
  ProcessorMask mask{};
  if (sched_getaffinity(0, sizeof(mask), mask.data()) != 0) return {};
  ProcessorSet processors;
  for (int processor = 0; processor < most_processors; ++processor) {
    if (CPU_ISSET_S(static_cast<unsigned>(processor), sizeof(mask), mask.data()))
      processors.push_back(processor);
  }
  return list_of(processors);
}

bool run_on(const ProcessorSet& processors) {
  ProcessorMask mask{};
  for (const int processor : processors) {
    if (processor < most_processors) CPU_SET_S(static_cast<unsigned>(processor), sizeof(mask), mask.data());
  }
  return sched_setaffinity(0, sizeof(mask), mask.data()) == 0;
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  comm::check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  // "MPICH Version:\t4.0.2\nMPICH Release date: ...", "Open MPI v4.1.4, package: ...": the beginning suffices.
  std::string line(text.data());
  line = line.substr(0, line.find_first_of("\n,"));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

void name_by_host(Environment& environment) {
  for (auto& node : environment.nodes) node.name = node.host;
}

namespace {

/// What the ranks of the node may make: within what the system holds them to, the user's limit, or without one what is free.
void set_memory(NodeInfo& node, int64_t growth, int64_t memory_limit_bytes, Environment& environment) {
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
                    format_bytes(std::max<int64_t>(node.free.available_bytes, 0)));
}

}  // namespace

Environment inspect_environment(comm::RankGroup& group, int thread_count, int64_t memory_limit_bytes,
                                const Progress* progress) {
  Environment environment;
  const auto hosts = group.gather_all(comm::host_name());
  const auto masks = group.gather_all(allowed_processors());
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto known = std::ranges::find(environment.nodes, hosts[rank], &NodeInfo::host);
    const auto node = known - environment.nodes.begin();
    if (known == environment.nodes.end()) {
      auto& added = environment.nodes.emplace_back();
      added.host = hosts[rank];
      added.name = fmt::format("node {}", node);
      added.first_rank = static_cast<int>(rank);
    }
    ++environment.nodes[static_cast<size_t>(node)].rank_count;
    environment.ranks.push_back({.processors = masks[rank], .node = static_cast<int>(node)});
  }

  std::string answer;
  NodeFigures mine;
  if (environment.node_of(group.rank()).first_rank == group.rank()) {
    auto& node = inspect_node(environment, group.rank(), thread_count);
    answer = json_line(InspectedNode{node});
    mine = static_cast<const NodeFigures&>(node);
  }
  const auto answers = group.gather_all(answer);
  const auto figures = group.gather_one(mine);
  for (auto& info : environment.nodes) {
    InspectedNode inspected{info};
    read_into(visit_of(inspected), json_from(answers[static_cast<size_t>(info.first_rank)]));
    static_cast<NodeFigures&>(info) = figures[static_cast<size_t>(info.first_rank)];
    environment.ranks_oversubscribed |= info.is_oversubscribed(1);
    environment.oversubscribed |= info.is_oversubscribed(thread_count);
    environment.beside_other_tasks |= info.job_rank_count > 0;
  }
  environment.process_bytes = group.maximum(planned_process_bytes(thread_count));
  const auto growth = std::max<int64_t>(0, environment.process_bytes - group.minimum(resident_bytes()));
  for (auto& node : environment.nodes) set_memory(node, growth, memory_limit_bytes, environment);
  environment.mpi_version = mpi_library_version();
  environment.blas = blas_version();
  constexpr auto papi = build_info::papi_version;
  if (!papi.empty()) environment.papi = papi;
  environment.hwloc = build_info::hwloc_version;
  if (auto setting = group.broadcast(huge_page_setting()); !setting.empty())
    environment.transparent_huge_pages = std::move(setting);
  if (progress != nullptr && !environment.memory_warning.empty()) progress->warn(environment.memory_warning);
  return environment;
}

const NodeInfo& Environment::node_of(int rank) const {
  return nodes[static_cast<size_t>(ranks[static_cast<size_t>(rank)].node)];
}

int64_t Environment::memory_of_node(const NodeInfo& node) const {
  return std::max<int64_t>(saturated_sum(node.memory.available_bytes, process_bytes * node.rank_count), 0);
}

int64_t Environment::memory_of_rank(int rank) const {
  const auto& node = node_of(rank);
  return node.memory.available_bytes / node.rank_count;
}

void describe(Members& m, NodeInfo& node) {
  auto available_bytes = std::max<int64_t>(node.memory.available_bytes, 0);
  m("name", node.name,
    {.meaning = "node 0, node 1, ...; with --hostname that of the host.", .label = "Node", .fewest = 1});
  m("processor", node.processor, {.label = "Processor", .fewest = 1});
  m("cores", node.core_count, {.label = "Cores", .least = 1.0});
  m("ranks", node.rank_count, at_least(1));
  m("available_bytes", available_bytes, at_least(0));
  if (m.reads()) node.memory.available_bytes = available_bytes;
  m("governor", node.governor,
    or_null({.meaning = "Of the first processor's frequency; null: not known, as in most virtual machines.",
             .label = "Governor"}));
  m("numa_nodes", node.numa_nodes,
    or_null({.meaning = "That this job may use.", .label = "NUMA nodes", .least = 1.0}));
  m("load_average", node.load_average,
    or_null({.meaning = "Of 1, 5 and 15 minutes, before the run.", .label = "Load"}));
  m.list("caches", node.caches, {}, [&](CacheInfo& cache, size_t /*index*/) {
    m("level", cache.level, at_least(1));
    m("bytes", cache.byte_count, at_least(0));
    m("shared_by_cores", cache.shared_by_cores, at_least(1));
  });
}

void describe(Members& m, Environment& environment, std::vector<std::vector<std::string>>* threads) {
  m("mpi", environment.mpi_version, labelled("MPI", {}, not_empty()));
  m("blas", environment.blas, labelled("BLAS", {}, not_empty()));
  m("papi", environment.papi, or_null("The version that the program was built beside; null: none."));
  m("hwloc", environment.hwloc,
    or_null("Version of the library that named cores and caches; null: the program was built without it, and "
            "read the files of Linux."));
  m("compiler", environment.compiler, labelled("compiler", {}, not_empty()));
  m("flags", environment.flags, labelled("flags"));
  m("build_type", environment.build_type);
  m("transparent_huge_pages", environment.transparent_huge_pages,
    or_null({.meaning = "The setting of the system where rank 0 runs, such as madvise; null: not known.",
             .label = "Huge pages"}));
  m("oversubscribed", environment.oversubscribed, meaning("Ranks x threads exceed the cores of some node."));
  m("beside_other_tasks", environment.beside_other_tasks,
    meaning(
        "Other tasks of a batch ran on the same nodes at the same time: no verdict compares such times."));
  m("nodes", environment.nodes, {.fewest = 1});
  m.list("binding", environment.ranks,
         {.meaning = "Where every rank may run by its launcher, in rank order.", .fewest = 1},
         [&](RankAffinity& place, size_t rank) {
           std::optional<std::vector<std::string>> processors;
           if (threads != nullptr && rank < threads->size()) processors = (*threads)[rank];
           m.derived("rank", rank, at_least(0));
           m("node", place.node, at_least(0, "Index in nodes."));
           m("processors", place.processors, meaning("Logical processors."));
           m("threads", processors,
             meaning("Where each of the rank's threads might run, once the run had bound them or not."));
           if (m.reads() && threads != nullptr && processors) threads->push_back(std::move(*processors));
         });
}

}  // namespace cg2d

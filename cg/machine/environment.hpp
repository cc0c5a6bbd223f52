#pragma once

// The machine under the program: nodes, cores, caches, memory, versions.

#include <array>
#include <optional>

#include "cg/base/build_info.hpp"
#include "cg/base/process_memory.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Progress;
class Members;

// ---------------------------------------------------------------- processors, cores and caches of this node, by hwloc

/// Numbers of logical processors, rising.
using ProcessorSet = std::vector<int>;

/// "0-3,8" -> 0, 1, 2, 3, 8. Empty for an empty text.
ProcessorSet processors_from(const std::string& list);
/// 0, 1, 2, 3, 8 -> "0-3,8".
std::string list_of(const ProcessorSet& processors);

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right);
ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right);

/// One cache level of a processor.
struct CacheInfo {
  int level = 0;
  int64_t byte_count = 0;
  int shared_by_cores = 0;
};

struct Topology {
  std::string processor = "unknown";  ///< model name
  /// The logical processors of each core that is online, neighbours in the topology beside each other.
  std::vector<ProcessorSet> cores;
  std::vector<CacheInfo> caches;  ///< data and unified caches, one of each level
  std::optional<int> numa_nodes;
  /// False where kinds of them differ: then a loop takes longer on some of them.
  bool has_like_processors = true;
};

/// Topology of the calling rank's node; no cores where nothing is known. Local. Cost: some milliseconds.
Topology machine_topology();

// ---------------------------------------------------------------- the nodes of the ranks

/// A rank's node, and the processors that it may run on.
struct RankAffinity {
  std::string processors;  ///< the logical processors that it may run on, as a list "0-3,8"
  int node = 0;            ///< number of its host, in the order of the ranks
};

/// Figures of a node that are in no result. Trivially copyable: ranks send them as they are.
struct NodeFigures {
  /// Ranks of all tasks that this job does on the node at the same time, and the cores of these; 0: there are no others. See
  /// BesideOtherTasks.
  int job_rank_count = 0;
  int job_core_count = 0;
  /// A control group's quota of processor time, in processors, where it is less than the cores; otherwise 0.
  double processor_quota = 0.0;
  /// For what the ranks make, without what each of the processes takes for itself. Less than zero bytes where not even the processes fit.
  MemoryRoom memory{.available_bytes = 0};
  MemoryRoom free{};  ///< the same by what the system says is free
};

/// One node, as the first rank on it sees it. Its cores are those that its ranks may run on, with what these have of each.
struct NodeInfo : Topology, NodeFigures {
  std::string host;  ///< tells nodes apart; results show the name
  std::string name;  ///< "node 0", or that of the host where the user asks for it
  /// Cores that the node's ranks may run on, all masks together, and no more than a quota pays for.
  int core_count = 0;
  int first_rank = 0;  ///< which inspects it and reads its load; set by inspect_environment()
  int rank_count = 0;
  std::optional<std::string> governor{};  ///< governor of the frequency; empty: not known
  /// Means of 1, 5 and 15 minutes, when it was inspected.
  std::optional<std::array<double, 3>> load_average{};

  /// The processor with its caches, since virtual machines hide the model: "AMD EPYC, L1d 32 KiB, L2 1 MiB".
  std::string processor_with_caches() const;
  /// Whether ranks with so many threads each outnumber the cores that they share with all of the job.
  bool is_oversubscribed(int thread_count) const;
};

struct Environment {
  std::vector<RankAffinity> ranks;
  std::vector<NodeInfo> nodes;
  std::string mpi_version;
  std::string blas;
  std::optional<std::string> transparent_huge_pages{};  ///< the system's setting where rank 0 runs, if known
  int64_t process_bytes = 0;    ///< planned_process_bytes() of the rank with most, when it was inspected
  bool oversubscribed = false;  ///< on some node ranks x threads outnumber the cores
  bool ranks_oversubscribed = false;  ///< on some node the ranks alone do: waiting ranks yield
  std::string memory_warning{};  ///< the user's limit is more than the system says is free; empty: it is not
  /// The job does other tasks on some node at the same time, which slow this one down.
  bool beside_other_tasks = false;
  // Properties of the program.
  std::optional<std::string> papi{};   ///< version; empty: built without it
  std::optional<std::string> hwloc{};  ///< version; empty in results of programs that were built without it
  std::string compiler{build_info::compiler};
  std::string flags{build_info::flags};
  std::string build_type{build_info::build_type};

  comm::WaitMode wait_mode() const {
    return ranks_oversubscribed ? comm::WaitMode::yield : comm::WaitMode::spin;
  }
  const NodeInfo& node_of(int rank) const;
  /// Memory of a node for its ranks with their processes: the limit, where it is the user's.
  int64_t memory_of_node(const NodeInfo& node) const;
  /// The rank's part of the available memory of its node.
  int64_t memory_of_rank(int rank) const;
};

/// During its lifetime other ranks of this job do other tasks on this node: those that inspect the environment count them in, so that
/// waiting ranks give way to them, and each task has its part of the memory. Of the process; one at a time.
class BesideOtherTasks {
 public:
  /// rank_count: all ranks on the node that may work at the same time, those of this task, too; core_count: the cores that they may run on.
  BesideOtherTasks(int rank_count, int core_count);
  ~BesideOtherTasks();
  BesideOtherTasks(const BesideOtherTasks&) = delete;
  BesideOtherTasks& operator=(const BesideOtherTasks&) = delete;
};

/// Collective. Every rank gets the whole answer. Nodes are named by their numbers. memory_limit_bytes: of each node, for its ranks with their
/// processes (--memory-limit; 0: what is free there). It counts in place of what the system says is free, within what it holds processes to.
/// progress: of a command that reports no warnings of its own; the user is told there of a limit that is more than the system says is free.
Environment inspect_environment(comm::RankGroup& group, int thread_count, int64_t memory_limit_bytes = 0,
                                const Progress* progress = nullptr);

/// Gives each node its host's name.
void name_by_host(Environment& environment);

/// The MPI library as it calls itself: "MPICH Version: 4.0.2".
std::string mpi_library_version();
/// The logical processors that the calling thread may run on, as a list "0-3,8"; empty if not known.
std::string allowed_processors();
/// Lets the calling thread run on those processors. Whether the system does so.
bool run_on(const ProcessorSet& processors);

void describe(Members& m, NodeInfo& node);
/// Nodes with their processors and caches, the place of each rank, versions. threads: [rank], the processors of each thread, where they
/// are known.
void describe(Members& m, Environment& environment, std::vector<std::vector<std::string>>* threads = nullptr);

}  // namespace cg2d

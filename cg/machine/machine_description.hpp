#pragma once

// The costs of a machine: start-up and bytes of a message, additions, vector operations, products. From a
// JSON file.

#include "cg/machine/interconnect.hpp"
#include "cg/machine/measurement_record.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// A loop over the rows as the paper describes it: rows from the critical vector length on pay a start-up and
/// a rate, shorter ones a rate of the scalar loop.
struct RowLoopCost {
  int critical_vector_length = 0;
  double row_start_up_s = 0.0;
  double seconds_per_nonzero = 0.0;
  double short_row_seconds_per_nonzero = 0.0;
};

/// Measured costs of CG steps on a block of one shape, all ranks at the same time, caches and threads
/// included.
struct BlockShapeCost {
  double rows = 0.0;
  double columns = 0.0;
  double nonzeros = 0.0;
  double seconds_per_nonzero = 0.0;  ///< seconds of the product per nonzero; mean over the ranks
  /// Time of one pass over a vector between products of such a block, which take the caches from it.
  double dot_s_per_element = 0.0;
  double update_s_per_element = 0.0;
  /// Time that the ranks waited for each other after the product, over the product's own: ranks that share
  /// cores do not end together.
  double waiting_share = 0.0;
};

/// A product on rows of one length, measured with blocks that are alike otherwise.
struct RowLengthCost {
  double row_length = 0.0;
  double seconds_per_nonzero = 0.0;
};

/// A matrix-vector product: by its loop, or by measured shapes (at least one), between which the model
/// interpolates.
struct KernelCost {
  std::string name;
  bool is_symmetric = false;  ///< half storage: collects and sums twice
  std::optional<RowLoopCost> loop{};
  std::vector<BlockShapeCost> shapes{};
  /// By growing length; empty if not measured. Scales the time per nonzero of a measured shape to shorter or
  /// longer rows.
  std::vector<RowLengthCost> row_lengths{};

  /// Seconds per nonzero on rows of that length, linear in its logarithm between the measured ones; the ends
  /// hold beyond them. 1 without a curve.
  double at_row_length(double row_length) const;
};

/// Times of the network as one rank sees them.
struct NetworkCost {
  double start_up_s = 0.0;
  double bytes_per_s = 0.0;  ///< infinity: more bytes take no longer
  double add_s_per_element = 0.0;
  /// Times of the software beside the wire, in each step of a collection or summation: addresses, copies, waiting for the partner.
  double software_step_s = 0.0;
  double software_s_per_byte = 0.0;

  static constexpr auto element_bytes = static_cast<double>(sizeof(double));
  /// Beside the wire, in a step of a collection or a summation. A message without elements costs nothing.
  double software_s(double elements) const {
    return elements > 0.0 ? software_step_s + elements * element_bytes * software_s_per_byte : 0.0;
  }
};

/// The network through one transport.
struct TransportCost {
  std::string name;
  NetworkCost network{};
};

/// Time of one pass over the elements of a vector, and of the call itself.
struct VectorCost {
  double dot_s_per_element = 0.0;
  double dot_call_s = 0.0;
  double update_s_per_element = 0.0;  ///< y := y + a x and the like
  double update_call_s = 0.0;
};

/// Ranks of one node, in their order, that share a link to the others. 0: no sharing.
struct NodeSharing {
  int ranks = 0;
  double link_bytes_per_s = 0.0;
  std::optional<NetworkCost> network{};  ///< between ranks of a node; empty: as between others
};

/// The network between nodes, for `cg2d simulate`.
struct InterconnectCost {
  InterconnectShape shape{};
  /// The rate of each link and direction; 0: as one rank's messages, or as a node's link.
  double link_bytes_per_s = 0.0;
  double hop_s = 0.0;  ///< more for each link of a message
};

struct MachineDescription {
  std::string name;
  std::string description{};
  std::vector<std::string> sources{};
  double clock_hz = 0.0;  ///< only for the keys in clocks, and for showing clocks
  NetworkCost network{};  ///< through the default transport
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  /// A rank whose piece stays with it takes as long in the shuffle as if it sent it.
  bool shuffles_kept_pieces = false;
  VectorCost vectors{};
  NodeSharing node{};
  std::optional<InterconnectCost> interconnect{};
  /// Time of a run outside of its phases, by the nonzeros of a rank.
  double outside_s_per_nonzero = 0.0;
  std::string default_kernel{};  ///< empty: the fastest of each grid
  std::vector<KernelCost> kernels{};
  /// The ranks and threads that a calibration ran on. 0: good for any number.
  int calibrated_ranks = 0;
  int calibrated_threads = 0;
  std::vector<TransportCost> transports{};  ///< the others; empty if not known
  MeasurementRecord measured{};             ///< record of the calibration

  /// The network of messages between two ranks: the node's own where both are on one and it has one.
  const NetworkCost& network_between(int rank, int partner) const {
    return node.network && partner / node.ranks == rank / node.ranks ? *node.network : network;
  }
  /// This machine through another transport: with its network where it is known, else unchanged.
  MachineDescription through(std::string_view transport) const;
  bool has_kernel(std::string_view kernel_name) const;
  /// Throws InputError that lists the known names.
  const KernelCost& kernel(std::string_view kernel_name) const;
};

/// One machine in as many conditions as it was calibrated in: ranks that share cores cost more.
struct Machine {
  std::vector<MachineDescription> conditions;  ///< at least one

  /// The condition whose number of ranks is nearest, in ratio.
  const MachineDescription& for_ranks(int rank_count) const;
  /// Replaces the condition of the same ranks and threads, or adds one.
  void put(MachineDescription condition);
};
void describe(Members& m, MachineDescription& machine);
void describe(Members& m, Machine& machine);

/// Throws InputError that has every problem: which key is wrong and what it must be, without the name of the file. A file
/// holds one description, or several as {"schema_version": 1, "conditions": [...]}.
Machine parse_machine(std::string_view text);
std::string format_machine(const Machine& machine);
/// The files of calibrations.
inline constexpr MeasurementFile<Machine> machine_file{
    .option = "--machine", .noun = "machine description", .parse = &parse_machine, .format = &format_machine};

/// The machines that come with the program: one for each cg/machine/descriptions/NAME.json.
struct ShippedMachine {
  std::string_view name;
  std::string_view text;
};
std::span<const ShippedMachine> shipped_machines();
/// "cp-pacs, ...".
std::string shipped_machine_names();

/// A value of --machine: a shipped machine's name, or a file. Local: reads the file. Throws InputError that names the option.
Machine find_machine(const std::string& name_or_file);

// ---------------------------------------------------------------- bounds that no machine passes
// A fit beyond them was disturbed, or has hit the end of its range.

/// The bounds of measured times.
struct PhysicalBounds {
  /// Two 512-bit units at 5 GHz do 80 additions or multiplications a ns: no operation on an element of a
  /// vector or a nonzero takes less on one thread.
  static constexpr double least_element_s = 1e-9 / 80.0;
  /// A load from memory takes 0.1 us, so ten loads for one element: beyond any kernel.
  static constexpr double most_element_s = 1e-6;
  /// A cache line takes 20 ns and more from one core to another, so half of that. A fit through the origin has
  /// 0: its bound.
  static constexpr double least_start_up_s = 1e-8;
  /// Ten times a slice of the scheduler: ranks that share a core wait that long for a message.
  static constexpr double most_start_up_s = 0.1;
  /// A core writes 64 bytes a clock into its first-level cache at best, 320 GB/s at 5 GHz, and a copy reads
  /// them, too. A level fit has infinity.
  static constexpr double most_bytes_per_s = 320e9;
  static constexpr double least_bytes_per_s = 1e5;
  static constexpr double most_waiting_share = 1.0;
};

/// One phrase that names the first value beyond the bounds, empty if there is none. Transports that read in
/// place copy nothing, so their rate has no upper bound. Ranks that have cores of their own do not wait for others longer
/// than they multiply, unless something else took the cores.
std::string why_unphysical(const MachineDescription& machine, bool ranks_share_cores = false);

/// cg2d/machine.json beside the default tuning profile; empty where there is no such place.
std::optional<std::string> default_machine_path();

/// The condition in that file of the processor and number of threads whose number of ranks is nearest; empty
/// if there is no file, or none in it. Throws InputError for a file that cannot be read.
std::optional<MachineDescription> calibrated_condition(std::string_view processor, int rank_count,
                                                       int thread_count);

}  // namespace cg2d

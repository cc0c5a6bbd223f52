#pragma once

// The messages that the transport "shared" needs between nodes, as an interface: MPI's, or those of a test.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

/// One message to or from one rank: these ranges of the buffer, none of them empty.
struct NodeMessage {
  int partner = 0;
  std::span<double> buffer;
  std::vector<IndexRange> ranges;
};

/// The messages of one rank in one operation, made once and used many times. `which`: the index in the list
/// that they were made from. Everything throws MpiError.
class NodeMessages : public Interface {
 public:
  /// From here on messages may write to the buffers.
  virtual void start_receives() = 0;
  /// The data must be there, and stay until wait_for_send().
  virtual void start_send(size_t which) = 0;
  virtual void wait_for_receive(size_t which) = 0;
  virtual void wait_for_send(size_t which) = 0;
};

/// Makes messages; must outlive them.
class NodeLink : public Interface {
 public:
  virtual std::unique_ptr<NodeMessages> prepare(Operation operation, const std::vector<NodeMessage>& sends,
                                                const std::vector<NodeMessage>& receives) = 0;
  /// The sum of the values over `ranks`, one of each node, in the order of an all-reduce. Called by these
  /// ranks only.
  virtual std::unique_ptr<PreparedOperation> prepare_sum(std::span<double> values,
                                                         const std::vector<int>& ranks) = 0;
};

/// Makes a link, which counts in `sent` what it sends.
using MakeNodeLink = std::function<std::unique_ptr<NodeLink>(TrafficCounts& sent)>;

}  // namespace cg2d::comm

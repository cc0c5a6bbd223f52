#pragma once

// The plan that cg2d simulate gives its simulator (main.cpp), and the result that it gets: two programs of one build, which know the same
// structs. No MPI.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <type_traits>
#include <vector>

namespace cg2d {

enum class Phase;

/// The next thing that a rank does: it works, sends and receives at the same time, and works. Messages leave as soon as they are sent,
/// whether they are waited for or not.
struct RankOperation {
  static constexpr int nobody = -1;

  Phase phase{};
  int round = 0;  ///< of the messages of its phase
  double before_s = 0.0;
  int to = nobody;
  int64_t byte_count = 0;    ///< sent
  double bytes_per_s = 0.0;  ///< of one rank's messages there
  int from = nobody;
  double after_s = 0.0;
};

struct PlannedLink {
  double bytes_per_s = 0.0;
  double latency_s = 0.0;
};

/// The links of messages from one node to another.
struct PlannedRoute {
  size_t from = 0;
  size_t to = 0;
  std::vector<size_t> links;

  void visit(const auto& take) { take(from, to, links); }
};

struct PlannedRank {
  size_t node = 0;
  std::vector<RankOperation> operations;  ///< of one repeat

  void visit(const auto& take) { take(node, operations); }
};

struct ReplayPlan {
  int repeats = 1;
  size_t node_count = 0;
  std::vector<PlannedLink> links{};
  std::vector<PlannedRoute> routes{};
  std::vector<PlannedRank> ranks{};

  void visit(const auto& take) { take(repeats, node_count, links, routes, ranks); }
};

/// Begin and end of an operation, seconds.
struct SimulatedEvent {
  double begin_s = 0.0;
  double end_s = 0.0;
};

/// One rank: [operation], one repeat after the other.
using SimulatedRank = std::vector<SimulatedEvent>;

/// Writes a value to a file (std::ostream) or reads one (std::istream), as memory has it. What is read of a file that ends too early is no
/// value, and the stream says so.
template <typename File, typename Value>
void transfer(File& file, Value& value) {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    if constexpr (std::derived_from<File, std::istream>) {
      file.read(reinterpret_cast<char*>(&value), sizeof value);
    } else {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  } else if constexpr (requires { value.front(); }) {
    auto size = value.size();
    transfer(file, size);
    value.resize(file ? size : 0);
    for (auto& item : value) transfer(file, item);
  } else {
    value.visit([&](auto&... members) { (transfer(file, members), ...); });
  }
}

}  // namespace cg2d

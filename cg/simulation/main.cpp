// The simulator of cg2d simulate: replays what each rank does on a network of SimGrid, and says how long each phase took on each rank.
//
//     simulator PLAN RESULT
//
// It knows nothing of CG. PLAN, all numbers by words:
//
//     phases NUMBER repeats NUMBER events 0 or 1
//     links NUMBER                  then for each: BYTES-PER-S SECONDS
//     routes NUMBER                 then for each: FROM TO NUMBER LINK...        between nodes
//     nodes NUMBER
//     ranks NUMBER                  then for each: NODE NUMBER                   and for each of its operations:
//         PHASE SECONDS-BEFORE TO BYTES BYTES-PER-S FROM SECONDS-AFTER
//
// An operation waits for SECONDS-BEFORE, sends to rank TO and receives from rank FROM at the same time (-1: does not), at most at
// BYTES-PER-S, and waits for SECONDS-AFTER. Messages leave as soon as they are sent, whether they are waited for or not.
//
// RESULT, a line for each rank: the seconds of each phase in all repeats, and messages and bytes received in each; then, where events are asked
// for, the seconds at which each operation began and ended, in its order.

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;

struct Operation {
  std::size_t phase = 0;
  double before_s = 0.0;
  int to = -1;
  std::uint64_t byte_count = 0;
  double bytes_per_s = 0.0;
  int from = -1;
  double after_s = 0.0;
};

struct Part {
  double seconds = 0.0;
  std::int64_t message_count = 0;
  std::int64_t byte_count = 0;
};

struct Rank {
  std::size_t node = 0;
  std::vector<Operation> operations;
  std::vector<Part> parts;  // by phase
  std::vector<std::pair<double, double>> events{};
};

struct Extent {
  std::size_t repeats = 1;
  bool has_events = false;
};

template <typename Value>
Value next(std::istream& text) {
  Value value{};
  if (!(text >> value)) throw std::runtime_error("the plan ends too early");
  return value;
}

std::size_t count_after(std::istream& text, const std::string& word) {
  if (next<std::string>(text) != word) throw std::runtime_error("\"" + word + "\" is missing in the plan");
  return next<std::size_t>(text);
}

/// Where messages between two ranks meet. Its receiver is known, so that they leave at once.
s4u::Mailbox* mailbox(std::size_t from, std::size_t to) {
  return s4u::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void wait(double seconds) {
  if (seconds > 0.0) s4u::this_actor::sleep_for(seconds);
}

/// One rank's actor.
void replay(Rank& rank, std::size_t number, const Extent& extent) {
  for (const auto& operation : rank.operations) {
    if (operation.from >= 0)
      mailbox(static_cast<std::size_t>(operation.from), number)->set_receiver(s4u::Actor::self());
  }
  for (std::size_t repeat = 0; repeat < extent.repeats; ++repeat) {
    for (const auto& operation : rank.operations) {
      auto& part = rank.parts[operation.phase];
      const double begin_s = s4u::Engine::get_clock();
      wait(operation.before_s);
      s4u::CommPtr sent;
      if (operation.to >= 0) {
        // Its size is all that matters; the payload says it to the receiver.
        auto size = std::make_unique<std::uint64_t>(operation.byte_count);
        sent = mailbox(number, static_cast<std::size_t>(operation.to))
                   ->put_init(size.release(), operation.byte_count)
                   ->set_rate(operation.bytes_per_s);
        sent->start();
      }
      if (operation.from >= 0) {
        const auto size =
            mailbox(static_cast<std::size_t>(operation.from), number)->get_unique<std::uint64_t>();
        ++part.message_count;
        part.byte_count += static_cast<std::int64_t>(*size);
      }
      if (sent) sent->wait();
      wait(operation.after_s);
      const double end_s = s4u::Engine::get_clock();
      part.seconds += end_s - begin_s;
      if (extent.has_events) rank.events.emplace_back(begin_s, end_s);
    }
  }
}

std::vector<Rank> read_ranks(std::istream& plan, std::size_t phase_count, std::size_t node_count) {
  std::vector<Rank> ranks(count_after(plan, "ranks"));
  for (auto& rank : ranks) {
    rank.node = next<std::size_t>(plan);
    if (rank.node >= node_count) throw std::runtime_error("a rank is on a node that there is not");
    rank.operations.resize(next<std::size_t>(plan));
    for (auto& operation : rank.operations) {
      operation.phase = next<std::size_t>(plan);
      operation.before_s = next<double>(plan);
      operation.to = next<int>(plan);
      operation.byte_count = next<std::uint64_t>(plan);
      operation.bytes_per_s = next<double>(plan);
      operation.from = next<int>(plan);
      operation.after_s = next<double>(plan);
    }
    rank.parts.resize(phase_count);
  }
  return ranks;
}

void simulate(s4u::Engine& engine, const std::string& plan_path, const std::string& result_path) {
  std::ifstream plan(plan_path);
  const auto phase_count = count_after(plan, "phases");
  Extent extent{.repeats = count_after(plan, "repeats")};
  extent.has_events = count_after(plan, "events") > 0;
  auto* const zone = s4u::create_full_zone("machine");
  std::vector<s4u::Link*> links(count_after(plan, "links"));
  for (std::size_t k = 0; k < links.size(); ++k) {
    const auto bytes_per_s = next<double>(plan);
    links[k] = zone->create_link("link" + std::to_string(k), bytes_per_s);
    links[k]->set_latency(next<double>(plan))->seal();
  }
  struct Route {
    std::size_t from = 0;
    std::size_t to = 0;
    std::vector<s4u::LinkInRoute> links;
  };
  std::vector<Route> routes(count_after(plan, "routes"));
  for (auto& route : routes) {
    route.from = next<std::size_t>(plan);
    route.to = next<std::size_t>(plan);
    const auto count = next<std::size_t>(plan);
    for (std::size_t k = 0; k < count; ++k) route.links.emplace_back(links.at(next<std::size_t>(plan)));
  }
  std::vector<s4u::Host*> nodes(count_after(plan, "nodes"));
  for (std::size_t k = 0; k < nodes.size(); ++k)
    nodes[k] = zone->create_host("node" + std::to_string(k), 1.0)->seal();
  for (const auto& route : routes)
    zone->add_route(nodes.at(route.from)->get_netpoint(), nodes.at(route.to)->get_netpoint(), nullptr,
                    nullptr, route.links, false);
  zone->seal();
  auto ranks = read_ranks(plan, phase_count, nodes.size());
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    s4u::Actor::create("rank" + std::to_string(number), nodes[ranks[number].node],
                       [&rank = ranks[number], number, extent] { replay(rank, number, extent); });
  }
  engine.run();
  std::ofstream result(result_path);
  result.precision(17);
  for (const auto& rank : ranks) {
    for (const auto& part : rank.parts)
      result << part.seconds << ' ' << part.message_count << ' ' << part.byte_count << ' ';
    for (const auto& [begin_s, end_s] : rank.events) result << begin_s << ' ' << end_s << ' ';
    result << '\n';
  }
  result.flush();
  if (!result) throw std::runtime_error("the result cannot be written");
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::cerr << "usage: simulator PLAN RESULT\n";
    return 64;
  }
  try {
    const std::string plan(arguments[1]);
    const std::string result(arguments[2]);
    // Flows share links fairly, as fast as their links allow; nothing of TCP.
    std::vector<std::string> words{arguments[0],
                                   "--log=root.thres:error",
                                   "--cfg=network/model:CM02",
                                   "--cfg=network/TCP-gamma:0",
                                   "--cfg=network/weight-S:0",
                                   "--cfg=network/crosstraffic:no",
                                   "--cfg=network/loopback-bw:1e18",
                                   "--cfg=network/loopback-lat:0",
                                   "--cfg=contexts/stack-size:64",
                                   "--cfg=contexts/guard-size:0"};
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    int word_count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    s4u::Engine engine(&word_count, pointers.data());
    simulate(engine, plan, result);
  } catch (const std::exception& error) {
    std::cerr << "cg2d: simulate: " << error.what() << '\n';
    return 70;
  }
  return 0;
}

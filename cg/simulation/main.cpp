// The simulator of cg2d simulate: replays what each rank does on a network of SimGrid, and says when each operation began and ended.
//
//     simulator PLAN RESULT
//
// It knows nothing of CG. PLAN is a ReplayPlan, RESULT a SimulatedRank for each of its ranks.

#include <fstream>
#include <iostream>
#include <new>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>

#include "cg/simulation/replay_plan.hpp"

namespace {

namespace s4u = simgrid::s4u;

/// Where messages between two ranks meet. Its receiver is known, so that they leave at once.
s4u::Mailbox* mailbox(size_t from, size_t to) {
  return s4u::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void wait(double seconds) {
  if (seconds > 0.0) s4u::this_actor::sleep_for(seconds);
}

/// One rank's actor.
void replay(const cg2d::ReplayPlan& plan, size_t number, cg2d::SimulatedRank& rank) {
  const auto& operations = plan.ranks[number].operations;
  for (const auto& operation : operations) {
    if (operation.from >= 0)
      mailbox(static_cast<size_t>(operation.from), number)->set_receiver(s4u::Actor::self());
  }
  for (int repeat = 0; repeat < plan.repeats; ++repeat) {
    for (const auto& operation : operations) {
      const double begin_s = s4u::Engine::get_clock();
      wait(operation.before_s);
      s4u::CommPtr sent;
      if (operation.to >= 0) {
        // Its size is all that matters; nobody looks at the payload, which must be there.
        sent = mailbox(number, static_cast<size_t>(operation.to))
                   ->put_init(s4u::Actor::self(), static_cast<uint64_t>(operation.byte_count))
                   ->set_rate(operation.bytes_per_s);
        sent->start();
      }
      if (operation.from >= 0) mailbox(static_cast<size_t>(operation.from), number)->get<s4u::Actor>();
      if (sent) sent->wait();
      wait(operation.after_s);
      rank.push_back({begin_s, s4u::Engine::get_clock()});
    }
  }
}

/// The plan's nodes and the links between them.
std::vector<s4u::Host*> make_nodes(const cg2d::ReplayPlan& plan) {
  auto* const zone = s4u::create_full_zone("machine");
  std::vector<s4u::Link*> links;
  for (const auto& link : plan.links) {
    links.push_back(zone->create_link("link" + std::to_string(links.size()), link.bytes_per_s));
    links.back()->set_latency(link.latency_s)->seal();
  }
  std::vector<s4u::Host*> nodes;
  for (size_t k = 0; k < plan.node_count; ++k)
    nodes.push_back(zone->create_host("node" + std::to_string(k), 1.0)->seal());
  for (const auto& route : plan.routes) {
    std::vector<s4u::LinkInRoute> route_links;
    for (const auto link : route.links) route_links.emplace_back(links.at(link));
    zone->add_route(nodes.at(route.from)->get_netpoint(), nodes.at(route.to)->get_netpoint(), nullptr,
                    nullptr, route_links, false);
  }
  zone->seal();
  return nodes;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::cerr << "usage: simulator PLAN RESULT\n";
    return 64;
  }
  try {
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
    cg2d::ReplayPlan plan;
    std::ifstream plan_file(arguments[1]);
    cg2d::transfer(plan_file, plan);
    if (!plan_file) throw std::runtime_error("the plan ends too early");
    const auto nodes = make_nodes(plan);
    std::vector<cg2d::SimulatedRank> ranks(plan.ranks.size());
    for (size_t number = 0; number < ranks.size(); ++number) {
      s4u::Actor::create("rank" + std::to_string(number), nodes.at(plan.ranks[number].node),
                         [&plan, number, &rank = ranks[number]] { replay(plan, number, rank); });
    }
    engine.run();
    // SimGrid ends the actors of ranks that wait for each other, and goes on.
    for (size_t number = 0; number < ranks.size(); ++number) {
      if (ranks[number].size() != plan.ranks[number].operations.size() * static_cast<size_t>(plan.repeats))
        throw std::runtime_error("not every message has arrived");
    }
    std::ofstream result(arguments[2]);
    cg2d::transfer(result, ranks);
    if (!result.flush()) throw std::runtime_error("the result cannot be written");
  } catch (const std::bad_alloc&) {
    return 71;  // cg2d simulate says so
  } catch (const std::exception& error) {
    std::cerr << "cg2d: simulate: " << error.what() << '\n';
    return 70;
  }
  return 0;
}

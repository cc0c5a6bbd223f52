#include "comm/shared_sum.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cg2d::comm {
namespace {

/// sum := all sources, added in their order. At least one source, unless the sum is empty.
void add_up(const std::vector<const double*>& sources, std::span<double> sum) {
  const auto count = sum.size();
  if (count == 0) return;
  if (sources.size() == 1) {
    std::copy_n(sources.front(), count, sum.begin());
    return;
  }
  const double* const first = sources[0];
  const double* const second = sources[1];
  double* const target = sum.data();
#pragma omp simd
  for (size_t k = 0; k < count; ++k) target[k] = first[k] + second[k];
  for (size_t source = 2; source < sources.size(); ++source) {
    const double* const next = sources[source];
#pragma omp simd
    for (size_t k = 0; k < count; ++k) target[k] += next[k];
  }
}

/// The rank's piece in the partial sums of those ranks of its group that are on this node, in their order.
std::vector<const double*> local_sources(const SharedStand& stand, Line over, int rank) {
  const auto& layout = stand.layout;
  const int group = summing_group(layout, over, rank);
  const auto offset = layout.own_piece(rank).begin - layout.block_of(over, group).begin;
  std::vector<const double*> sources;
  for (const int other : layout.grid().ranks_of(over, group)) {
    if (stand.nodes.node_of(other) == stand.node())
      sources.push_back(stand.areas.partial(over, other).data() + offset);
  }
  return sources;
}

}  // namespace

SharedSum::SharedSum(const SharedStand& stand, Line over, MessageLink* link,
                     std::pmr::memory_resource& memory)
    : stand_(stand),
      over_(over),
      partial_(stand.areas.partial(over, stand.rank)),
      my_group_(stand.layout.grid().line_of(over, stand.rank)),
      summed_group_(summing_group(stand.layout, over, stand.rank)) {
  in_place_ = stand.layout.grid().line_size(over) == 1;
  if (!in_place_) {
    local_counts_ = ranks_on_node(stand.layout, stand.nodes, over, stand.node());
    result_ = Buffer(memory, static_cast<size_t>(stand.layout.own_piece(stand.rank).size()));
  }
  prepare(link);
}

/// Sources node after node: of this one each rank by itself, of another its sum. The buffers for messages hold the sums of one node after the
/// other, too.
void SharedSum::prepare(MessageLink* link) {
  const auto& areas = stand_.areas;
  NodeExchange::Way sent{.buffer = areas.outgoing(over_)};
  NodeExchange::Way received{.buffer = areas.incoming(over_)};
  int64_t sent_end = 0;
  int64_t received_end = 0;
  const auto next = [](int64_t& end, const NodeSums& sums) {
    const auto begin = std::exchange(end, end + sums.element_count);
    return begin == end ? std::vector<IndexRange>() : std::vector{IndexRange{.begin = begin, .end = end}};
  };
  for (int node = 0; node < stand_.nodes.node_count(); ++node) {
    if (node == stand_.node()) {
      const auto local = local_sources(stand_, over_, stand_.rank);
      sources_.insert(sources_.end(), local.begin(), local.end());
      sent.ranges.emplace_back();
      received.ranges.emplace_back();
      continue;
    }
    const auto theirs = sums_between(stand_.layout, stand_.nodes, over_, node, stand_.node());
    const auto mine = std::ranges::find(theirs.pieces, stand_.rank, &NodeSum::rank);
    if (mine != theirs.pieces.end()) sources_.push_back(received.buffer.data() + received_end + mine->offset);
    received.ranges.push_back(next(received_end, theirs));
    const auto ours = sums_between(stand_.layout, stand_.nodes, over_, stand_.node(), node);
    add_shares(ours, sent_end);
    sent.ranges.push_back(next(sent_end, ours));
  }
  if (in_place_ || stand_.nodes.node_count() == 1) return;
  assert(link != nullptr);
  exchange_.emplace(stand_, Operation::sum, sent, received,
                    areas.node_control().sums[static_cast<size_t>(over_)].incoming_ready, *link);
}

/// This rank's share of the sums for another node, which begin there in the buffer: each rank of the node has an equal share of all sums.
void SharedSum::add_shares(const NodeSums& sums, int64_t begin) {
  const auto outgoing = stand_.areas.outgoing(over_);
  const auto mine = share_of(std::ssize(outgoing), stand_.place(), std::ssize(stand_.local_ranks()));
  for (const auto& piece : sums.pieces) {
    const auto first = begin + piece.offset;
    const IndexRange share{.begin = std::max(mine.begin, first),
                           .end = std::min(mine.end, first + stand_.layout.own_piece(piece.rank).size())};
    if (share.size() <= 0) continue;
    auto sources = local_sources(stand_, over_, piece.rank);
    for (auto& source : sources) source += share.begin - first;
    shares_.push_back(
        {.group = summing_group(stand_.layout, over_, piece.rank),
         .sources = std::move(sources),
         .target = outgoing.subspan(static_cast<size_t>(share.begin), static_cast<size_t>(share.size()))});
  }
}

void SharedSum::wait_for_partials(int group) {
  stand_.areas.partial_ready(over_, group).wait_for(local_count(group) * number_, stand_.waiter);
}

std::span<double> SharedSum::partial(const ScalarSumCounts& scalar_sums) {
  if (number_ > 0 && scalar_sums.finished <= scalars_at_run_) {
    stand_.wait_until_all_are_done(static_cast<size_t>(over_), number_);
  }
  return partial_;
}

std::span<const double> SharedSum::result() const {
  if (in_place_) return {sources_.front(), partial_.size()};
  return result_.span();
}

void SharedSum::run(const ScalarSumCounts& scalar_sums) {
  if (in_place_) return;
  ++number_;
  scalars_at_run_ = scalar_sums.begun;
  stand_.areas.partial_ready(over_, my_group_).add_one(local_count(my_group_));
  if (exchange_ && exchange_->is_needed()) exchange();
  wait_for_partials(summed_group_);
  add_up(sources_, result_.span());
  if (exchange_) exchange_->wait_for_sends();
  stand_.announce_done(static_cast<size_t>(over_), number_);
}

/// Sends other nodes the sums of this one, and receives theirs.
void SharedSum::exchange() {
  // No rank of this node reads the last sums any more: partial() or a sum_scalars() has waited for that.
  exchange_->start_receives();
  for (const auto& share : shares_) {
    wait_for_partials(share.group);
    add_up(share.sources, share.target);
  }
  auto& ready = stand_.areas.node_control().sums[static_cast<size_t>(over_)].outgoing_ready;
  const auto ranks = static_cast<uint64_t>(stand_.local_ranks().size());
  ready.add_one(ranks);
  exchange_->send([&](size_t) { ready.wait_for(ranks * number_, stand_.waiter); });
  exchange_->receive();
  exchange_->wait_until_arrived(number_);
}

// ---------------------------------------------------------------- messages between nodes

NodeExchange::NodeExchange(const SharedStand& stand, Operation operation, const Way& sent,
                           const Way& received, SharedCounter& arrived, MessageLink& link)
    : waiter_(stand.waiter), arrived_(arrived) {
  const auto& nodes = stand.nodes;
  const int here = stand.node();
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int there = 0; there < nodes.node_count(); ++there) {
    if (there == here) continue;
    const bool is_mine = nodes.carrier(here, there) == stand.rank;
    const int partner = nodes.carrier(there, here);
    if (const auto& ranges = sent.ranges[static_cast<size_t>(there)]; !ranges.empty()) {
      ++outgoing_;
      if (is_mine) {
        sent_.push_back(ranges);
        sends.push_back({.partner = partner, .buffer = sent.buffer, .ranges = ranges});
      }
    }
    if (const auto& ranges = received.ranges[static_cast<size_t>(there)]; !ranges.empty()) {
      ++incoming_;
      if (is_mine) receives.push_back({.partner = partner, .buffer = received.buffer, .ranges = ranges});
    }
  }
  receive_count_ = receives.size();
  if (sends.size() + receives.size() > 0) messages_ = link.prepare(operation, sends, receives);
}

void NodeExchange::start_receives() {
  for (size_t k = 0; k < receive_count_; ++k) messages_->start_receive(k);
}

void NodeExchange::receive() {
  for (size_t k = 0; k < receive_count_; ++k) {
    messages_->wait_for_receive(k);
    arrived_.add_one(incoming_);
  }
}

void NodeExchange::wait_until_arrived(uint64_t runs) { arrived_.wait_for(incoming_ * runs, waiter_); }

void NodeExchange::wait_for_sends() {
  for (size_t k = 0; k < sent_.size(); ++k) messages_->wait_for_send(k);
}

}  // namespace cg2d::comm

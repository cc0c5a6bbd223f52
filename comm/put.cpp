// The transport "put": remote memory access by MPI. Pieces are put straight into the receiver's memory,
// completed by one flush, and announced by a number that is put after them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "comm/doorbells.hpp"
#include "comm/halo.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/put_link.hpp"
#include "comm/rank_group.hpp"
#include "comm/rma_window.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

RmaWindow::RmaWindow(RankGroup& group, int64_t element_count, int ranks_per_node)
    : ranks_per_node_(ranks_per_node),
      place_(make_node_place(
          group, ranks_per_node,
          [&](const NodeMap& /*nodes*/) { return static_cast<size_t>(element_count) * sizeof(double); })),
      reachable_(static_cast<size_t>(group.size())) {
  const auto& local_ranks = place_.nodes.ranks_of(place_.nodes.node_of(group.rank()));
  for (size_t index = 0; index < local_ranks.size(); ++index) {
    reachable_[static_cast<size_t>(local_ranks[index])] = {reinterpret_cast<double*>(place_.parts[index]),
                                                           static_cast<size_t>(element_count)};
  }
  memory_ = reachable(group.rank());
  if (place_.nodes.node_count() == 1) return;
  MPI_Win window = MPI_WIN_NULL;
  check(MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(memory_.size_bytes()), sizeof(double),
                       MPI_INFO_NULL, group.handle(), &window),
        "MPI_Win_create");
  window_.emplace(window);
}

namespace {

class MpiPutPort final : public PutPort {
 public:
  MpiPutPort(RankGroup& group, int64_t element_count, int ranks_per_node)
      : group_(group), answer_offset_(group.maximum(element_count)) {
    window_ = group.borrow_window(answer_offset_ + 1, ranks_per_node);
    std::ranges::fill(window_->memory(), 0.0);
    if (window_->is_window()) check(MPI_Win_sync(window_->handle()), "MPI_Win_sync");
    group.barrier();
    if (group.waiter().mode() == WaitMode::yield) {
      bells_ = std::make_unique<Doorbells>(group);
      if (!bells_->reaches(group.rank())) bells_.reset();
    }
  }

  [[nodiscard]] std::span<double> memory() override { return window_->memory(); }

  void put(int rank, int64_t offset, std::span<const double> values) override {
    if (const auto theirs = window_->reachable(rank); !theirs.empty()) {
      std::ranges::copy(values, theirs.begin() + offset);
      return;
    }
    const int count = int_count(values.size());
    check(MPI_Put(values.data(), count, MPI_DOUBLE, rank, offset, count, MPI_DOUBLE, window_->handle()),
          "MPI_Put");
  }

  /// Stores need no completion: the release of the number that follows them is enough.
  void complete(int rank) override {
    if (!window_->reachable(rank).empty()) return;
    // MPI may need a call of the target to complete the puts, and the target may sleep.
    ring(rank);
    wait_for_answer(rank);
    check(MPI_Win_flush(rank, window_->handle()), "MPI_Win_flush");
  }

  void notify(int rank, int64_t flag, uint64_t number) override {
    if (const auto theirs = window_->reachable(rank); !theirs.empty()) {
      flag_of(theirs, flag).store(number, std::memory_order_release);
    } else {
      check(MPI_Put(&number, 1, MPI_UINT64_T, rank, flag, 1, MPI_UINT64_T, window_->handle()), "MPI_Put");
      complete(rank);
    }
    ring(rank);
  }

  void wait_for(int sender, int64_t flag, uint64_t number) override {
    const auto seen = flag_of(window_->memory(), flag);
    // Some MPIs let puts in only while they are called. By time, not by looks, since looks become rare.
    constexpr std::chrono::microseconds time_between_calls{2};
    std::chrono::steady_clock::time_point last_call{};
    uint64_t rung = 0;
    group_.waiter().expect(sender);
    const auto is_there = [&] {
      if (bells_) rung = bells_->rung(Bell::sent);
      if (seen.load(std::memory_order_acquire) == number) return true;
      if (!window_->is_window()) return false;
      const auto now = std::chrono::steady_clock::now();
      if (now - last_call >= time_between_calls) {
        let_mpi_work();
        last_call = now;
      }
      return false;
    };
    const auto sleep = [&] {
      bells_->sleep_unless_rung(Bell::sent, rung);
      let_mpi_work();
    };
    bells_ ? group_.waiter().wait_until(is_there, sleep) : group_.waiter().wait_until(is_there);
    if (window_->is_window()) check(MPI_Win_sync(window_->handle()), "MPI_Win_sync");
  }

  [[nodiscard]] bool has(int64_t flag, uint64_t number) override {
    let_mpi_work();
    return flag_of(window_->memory(), flag).load(std::memory_order_acquire) == number;
  }

  void wait_for_all() override { group_.barrier(); }
  std::vector<std::vector<PutSlot>> gather(const std::vector<PutSlot>& mine) override {
    return group_.gather_all(std::span<const PutSlot>(mine));
  }

 private:
  /// Returns when the target has called MPI. A flush that comes before spins inside MPI until then, and may
  /// keep the target from its core: with 3 x 2 ranks of three hosts on 4 cores class S took more than 30 s.
  void wait_for_answer(int rank) {
    double answer = 0.0;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Rget(&answer, 1, MPI_DOUBLE, rank, answer_offset_, 1, MPI_DOUBLE, window_->handle(), &request),
          "MPI_Rget");
    group_.waiter().expect(rank);
    group_.waiter().wait_all({&request, 1});
  }
  static std::atomic_ref<uint64_t> flag_of(std::span<double> memory, int64_t flag) {
    return std::atomic_ref<uint64_t>(reinterpret_cast<uint64_t&>(memory[static_cast<size_t>(flag)]));
  }
  void ring(int rank) {
    if (bells_) bells_->ring(Bell::sent, rank);
  }
  void let_mpi_work() {
    if (!window_->is_window()) return;
    int is_there = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group_.handle(), &is_there, MPI_STATUS_IGNORE),
          "MPI_Iprobe");
  }

  RankGroup& group_;
  int64_t answer_offset_;  // offset of an element that nobody writes, after the others
  std::shared_ptr<RmaWindow> window_;
  std::unique_ptr<Doorbells> bells_;  // only where waiting ranks yield, and share memory for them
};

/// element_count: of memory on this rank.
MakeLink put_link(RankGroup& group, int64_t element_count, int ranks_per_node) {
  return [&group, element_count, ranks_per_node](TrafficCounts& sent) {
    return std::make_unique<PutLink>(std::make_unique<MpiPutPort>(group, element_count, ranks_per_node),
                                     group.rank(), sent);
  };
}

}  // namespace

TransportRow put_transport() {
  return {
      .name = "put",
      .description =
          "remote memory access: puts into the receiver's memory, one flush for each notification; slow "
          "between nodes where "
          "ranks outnumber cores",
      .shares_memory = true,
      .needs_calls_of_target = true,
      .why_unavailable = &why_not_mapped,
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator(
            "put", {group.rank(), group.waiter()}, layout, options,
            put_link(group, put_memory_size(layout, group.rank(), options), options.ranks_per_node));
      },
      .make_halo = [](RankGroup& group, const DomainLayout& layout,
                      const HaloOptions& options) -> std::unique_ptr<HaloExchange> {
        const auto element_count = put_halo_memory_size(layout, group.rank(), options.shape);
        return make_message_halo(put_link(group, element_count, options.ranks_per_node), group.rank(), layout,
                                 options);
      },
  };
}

}  // namespace cg2d::comm

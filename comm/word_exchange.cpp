#include "comm/word_exchange.hpp"

#include <utility>

#include "comm/mpi_handles.hpp"

namespace cg2d::comm {

WordExchange::WordExchange(RankGroup& group)
    : group_(group),
      incoming_counts_(static_cast<size_t>(group.size())),
      incoming_(static_cast<size_t>(group.size())) {}

void WordExchange::exchange(std::span<const std::vector<uint64_t>> outgoing) {
  constexpr int tag = 1;
  const auto ranks = incoming_.size();
  const auto me = static_cast<size_t>(group_.rank());
  std::vector<int64_t> outgoing_counts(ranks);
  for (size_t r = 0; r < ranks; ++r)
    outgoing_counts[r] = r == me ? 0 : static_cast<int64_t>(outgoing[r].size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ialltoall(outgoing_counts.data(), 1, MPI_INT64_T, incoming_counts_.data(), 1, MPI_INT64_T,
                      group_.handle(), &request),
        "MPI_Ialltoall");
  group_.waiter().wait_all({&request, 1});

  std::vector<MPI_Request> requests;
  for (size_t r = 0; r < ranks; ++r) {
    const auto count = static_cast<size_t>(incoming_counts_[r]);
    if (incoming_[r].size() < count) incoming_[r].resize(count);
    post_in_parts(count, requests, [&](size_t begin, int part, MPI_Request* posted) {
      check(MPI_Irecv(incoming_[r].data() + begin, part, MPI_UINT64_T, int_count(r), tag, group_.handle(),
                      posted),
            "MPI_Irecv");
    });
  }
  for (size_t step = 1; step < ranks; ++step) {
    const size_t r = (me + step) % ranks;  // not everybody to rank 0 first
    post_in_parts(outgoing[r].size(), requests, [&](size_t begin, int part, MPI_Request* posted) {
      check(MPI_Isend(outgoing[r].data() + begin, part, MPI_UINT64_T, int_count(r), tag, group_.handle(),
                      posted),
            "MPI_Isend");
    });
  }
  group_.waiter().wait_all(requests);
}

std::vector<std::vector<uint64_t>> WordExchange::take_received() {
  for (size_t r = 0; r < incoming_.size(); ++r) incoming_[r].resize(static_cast<size_t>(incoming_counts_[r]));
  return std::exchange(incoming_, std::vector<std::vector<uint64_t>>(incoming_.size()));
}

}  // namespace cg2d::comm

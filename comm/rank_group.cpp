#include "comm/rank_group.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "comm/rank_kind.hpp"
#include "comm/rma_window.hpp"
#include "comm/word_exchange.hpp"

namespace cg2d::comm {
namespace {

constexpr int text_size_tag = 2;
constexpr int text_tag = 3;
constexpr int part_tag = 4;
constexpr int word_tag = 5;

}  // namespace

RankGroup::RankGroup(MPI_Comm communicator, WaitMode mode) : waiter_(mode) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  wait(start_duplicate(communicator, duplicate));
  communicator_ = OwnedCommunicator(duplicate);
  check(MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(duplicate, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(duplicate, &size_), "MPI_Comm_size");
}

RankGroup RankGroup::first_ranks(int rank_count, WaitMode mode) const {
  if (rank_count == size_) return RankGroup(handle(), mode);
  std::vector<int> ranks(static_cast<size_t>(rank_count));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto communicator = make_part(ranks);
  return RankGroup(communicator.get(), mode);
}

MPI_Comm RankGroup::part(const std::vector<int>& ranks) {
  const auto found = parts_.find(ranks);
  if (found != parts_.end()) return found->second.get();
  return parts_.emplace(ranks, make_part(ranks)).first->second.get();
}

std::shared_ptr<RmaWindow> RankGroup::borrow_window(int64_t element_count, int ranks_per_node) {
  const auto is_free = [&](const std::shared_ptr<RmaWindow>& window) {
    return window.use_count() == 1 && window->ranks_per_node() == ranks_per_node;
  };
  for (const auto& window : windows_) {
    if (is_free(window) && std::ssize(window->memory()) >= element_count) return window;
  }
  // The new one serves in place of all that were too small. A little larger, so that it serves more often.
  std::erase_if(windows_, is_free);
  const int64_t size = element_count + element_count / 16;
  return windows_.emplace_back(std::make_shared<RmaWindow>(*this, size, ranks_per_node));
}

OwnedCommunicator RankGroup::make_part(const std::vector<int>& ranks) const {
  MPI_Group raw_group = MPI_GROUP_NULL;
  check(MPI_Comm_group(handle(), &raw_group), "MPI_Comm_group");
  const OwnedGroup everybody(raw_group);
  check(MPI_Group_incl(everybody.get(), int_count(ranks.size()), ranks.data(), &raw_group), "MPI_Group_incl");
  const OwnedGroup members(raw_group);
  MPI_Comm raw_communicator = MPI_COMM_NULL;
  check(MPI_Comm_create_group(handle(), members.get(), part_tag, &raw_communicator), "MPI_Comm_create_group");
  OwnedCommunicator communicator(raw_communicator);
  check(MPI_Comm_set_errhandler(raw_communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return communicator;
}

void RankGroup::wait(MPI_Request request) { waiter_.wait_all({&request, 1}); }

void RankGroup::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(handle(), &request), "MPI_Ibarrier");
  wait(request);
}

int64_t RankGroup::reduce(int64_t value, MPI_Op operation) {
  reduce_in_place(handle(), &value, 1, MPI_INT64_T, operation);
  return value;
}

int64_t RankGroup::sum(int64_t value) { return reduce(value, MPI_SUM); }
int64_t RankGroup::maximum(int64_t value) { return reduce(value, MPI_MAX); }
int64_t RankGroup::minimum(int64_t value) { return reduce(value, MPI_MIN); }

double RankGroup::maximum(double value) {
  reduce_in_place(handle(), &value, 1, MPI_DOUBLE, MPI_MAX);
  return value;
}

void RankGroup::reduce_in_place(MPI_Comm ranks, void* values, size_t count, MPI_Datatype type,
                                MPI_Op operation) {
  wait(start_all_reduce(ranks, {.values = values, .count = int_count(count), .type = type}, operation));
}

void RankGroup::maxima(const std::vector<int>& ranks, std::span<double> values) {
  reduce_in_place(part(ranks), values.data(), values.size(), MPI_DOUBLE, MPI_MAX);
}

void RankGroup::sums(std::span<int64_t> values) {
  reduce_in_place(communicator_.get(), values.data(), values.size(), MPI_INT64_T, MPI_SUM);
}

void RankGroup::sums(const std::vector<int>& ranks, std::span<int64_t> values) {
  reduce_in_place(part(ranks), values.data(), values.size(), MPI_INT64_T, MPI_SUM);
}

int64_t RankGroup::sum_of_lower_ranks(int64_t value) {
  int64_t result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iexscan(&value, &result, 1, MPI_INT64_T, MPI_SUM, handle(), &request), "MPI_Iexscan");
  wait(request);
  return rank_ == 0 ? 0 : result;  // MPI leaves rank 0's result undefined
}

std::vector<std::vector<std::byte>> RankGroup::gather_bytes(std::span<const std::byte> mine) {
  const auto ranks = static_cast<size_t>(size_);
  const int my_count = int_count(mine.size());
  std::vector<int> counts(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&my_count, 1, MPI_INT, counts.data(), 1, MPI_INT, handle(), &request),
        "MPI_Iallgather");
  wait(request);

  std::vector<int> starts(ranks + 1, 0);
  for (size_t r = 0; r < ranks; ++r) starts[r + 1] = int_count(int64_t{starts[r]} + counts[r]);
  std::vector<std::byte> all(static_cast<size_t>(starts.back()));
  check(MPI_Iallgatherv(mine.data(), my_count, MPI_BYTE, all.data(), counts.data(), starts.data(), MPI_BYTE,
                        handle(), &request),
        "MPI_Iallgatherv");
  wait(request);

  std::vector<std::vector<std::byte>> result(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    result[r].assign(all.begin() + starts[r], all.begin() + starts[r + 1]);
  }
  return result;
}

std::vector<std::string> RankGroup::gather_all(const std::string& mine) {
  std::vector<std::string> result;
  for (const auto& text : gather_all(std::span<const char>(mine)))
    result.emplace_back(text.begin(), text.end());
  return result;
}

std::string RankGroup::broadcast(std::string value) {
  auto size = static_cast<int64_t>(value.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(&size, 1, MPI_INT64_T, 0, handle(), &request), "MPI_Ibcast");
  wait(request);
  value.resize(static_cast<size_t>(size));
  check(MPI_Ibcast(value.data(), int_count(size), MPI_CHAR, 0, handle(), &request), "MPI_Ibcast");
  wait(request);
  return value;
}

std::vector<std::vector<uint64_t>> RankGroup::exchange(std::vector<std::vector<uint64_t>> outgoing) {
  WordExchange words(*this);
  words.exchange(outgoing);
  auto incoming = words.take_received();
  incoming[static_cast<size_t>(rank_)] = std::move(outgoing[static_cast<size_t>(rank_)]);
  return incoming;
}

void RankGroup::send_text(const std::string& text, int destination) {
  const auto size = static_cast<int64_t>(text.size());
  std::vector<MPI_Request> requests(1);
  check(MPI_Isend(&size, 1, MPI_INT64_T, destination, text_size_tag, handle(), requests.data()), "MPI_Isend");
  post_in_parts(text.size(), requests, [&](size_t begin, int count, MPI_Request* posted) {
    check(MPI_Isend(text.data() + begin, count, MPI_CHAR, destination, text_tag, handle(), posted),
          "MPI_Isend");
  });
  waiter_.wait_all(requests);
}

void RankGroup::send_word(uint64_t word, int destination) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(&word, 1, MPI_UINT64_T, destination, word_tag, handle(), &request), "MPI_Isend");
  wait(request);
}

uint64_t RankGroup::receive_word(int source) {
  uint64_t word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(&word, 1, MPI_UINT64_T, source, word_tag, handle(), &request), "MPI_Irecv");
  wait(request);
  return word;
}

std::string RankGroup::receive_text(int source) {
  int64_t size = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(&size, 1, MPI_INT64_T, source, text_size_tag, handle(), &request), "MPI_Irecv");
  wait(request);
  std::string text(static_cast<size_t>(size), '\0');
  std::vector<MPI_Request> requests;
  post_in_parts(text.size(), requests, [&](size_t begin, int count, MPI_Request* posted) {
    check(MPI_Irecv(text.data() + begin, count, MPI_CHAR, source, text_tag, handle(), posted), "MPI_Irecv");
  });
  waiter_.wait_all(requests);
  return text;
}

int RankGroup::await_text() {
  MPI_Status status;
  waiter_.serve_until([&] {
    int has_come = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, text_size_tag, handle(), &has_come, &status), "MPI_Iprobe");
    return has_come != 0;
  });
  return status.MPI_SOURCE;
}

double sum_blocking(RankGroup& group, double value) {
  double sum = 0.0;
  check(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, group.handle()), "MPI_Allreduce");
  return sum;
}

double sum_nonblocking(RankGroup& group, double value) {
  double sum = 0.0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, group.handle(), &request), "MPI_Iallreduce");
  group.waiter().wait_all({&request, 1});
  return sum;
}

}  // namespace cg2d::comm

#pragma once

// Messages that are longer than MPI counts: its counts are ints, so they go in parts.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "comm/mpi_handles.hpp"

namespace cg2d::comm {

/// Calls post(begin, count, request) for each part of a message of that many elements, and appends the requests.
template <typename Post>
void post_in_parts(size_t count, std::vector<MPI_Request>& requests, const Post& post) {
  constexpr size_t largest_message = size_t{1} << 27;
  for (size_t begin = 0; begin < count; begin += largest_message) {
    MPI_Request request = MPI_REQUEST_NULL;
    post(begin, int_count(std::min(largest_message, count - begin)), &request);
    requests.push_back(request);
  }
}

}  // namespace cg2d::comm

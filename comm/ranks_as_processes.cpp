#include <chrono>
#include <thread>

#include "comm/mpi_handles.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d::comm {

bool has_own_process() { return true; }

WaitMode possible_mode(WaitMode mode) { return mode; }

void spend_simulated_time(double /*work*/) {}

void give_way() {
  constexpr std::chrono::microseconds moment{100};
  std::this_thread::sleep_for(moment);
}

MPI_Request start_duplicate(MPI_Comm communicator, MPI_Comm& duplicate) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(communicator, &duplicate, &request), "MPI_Comm_idup");
  return request;
}

MPI_Request start_all_reduce(MPI_Comm communicator, const ReducedValues& reduced, MPI_Op operation) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, reduced.values, reduced.count, reduced.type, operation, communicator,
                       &request),
        "MPI_Iallreduce");
  return request;
}

}  // namespace cg2d::comm

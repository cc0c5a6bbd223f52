#include "comm/plain_sums.hpp"

#include "comm/mpi_handles.hpp"

namespace cg2d::comm {

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

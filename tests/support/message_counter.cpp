// A library for LD_PRELOAD that counts what a program sends by MPI, through MPI's profiling interface, and writes it when
// MPI ends: CG2D_MESSAGE_COUNTS/<rank> has the number of messages.
//
// A message is a send, a started persistent send, a collective that moves data (of those that a step can make), or a put of one unsigned number: the
// transport "put" announces each message by one, after the puts of the data.

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace {

struct Counts {
  int64_t messages = 0;
  std::set<MPI_Request> persistent_sends;
};

Counts& counts() {
  static Counts all;
  return all;
}

void write_counts() {
  const char* const folder = std::getenv("CG2D_MESSAGE_COUNTS");
  if (folder == nullptr) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ofstream(folder + ("/" + std::to_string(rank))) << counts().messages << '\n';
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming, readability-named-parameter)
extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm ranks,
              MPI_Request* request) {
  ++counts().messages;
  return PMPI_Isend(data, count, type, to, tag, ranks, request);
}
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm ranks,
                  MPI_Request* request) {
  const int code = PMPI_Send_init(data, count, type, to, tag, ranks, request);
  counts().persistent_sends.insert(*request);
  return code;
}
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm ranks,
                  MPI_Request* request) {
  const int code = PMPI_Recv_init(data, count, type, from, tag, ranks, request);
  counts().persistent_sends.erase(*request);
  return code;
}
int MPI_Start(MPI_Request* request) {
  if (counts().persistent_sends.contains(*request)) ++counts().messages;
  return PMPI_Start(request);
}
int MPI_Put(const void* data, int count, MPI_Datatype type, int to, MPI_Aint place, int to_count,
            MPI_Datatype to_type, MPI_Win window) {
  if (type == MPI_UINT64_T) ++counts().messages;
  return PMPI_Put(data, count, type, to, place, to_count, to_type, window);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm ranks,
                   MPI_Request* request) {
  ++counts().messages;
  return PMPI_Iallreduce(from, to, count, type, operation, ranks, request);
}
int MPI_Ireduce_scatter(const void* from, void* to, const int to_counts[], MPI_Datatype type,
                        MPI_Op operation, MPI_Comm ranks, MPI_Request* request) {
  ++counts().messages;
  return PMPI_Ireduce_scatter(from, to, to_counts, type, operation, ranks, request);
}
int MPI_Iallgatherv(const void* from, int count, MPI_Datatype type, void* to, const int to_counts[],
                    const int starts[], MPI_Datatype to_type, MPI_Comm ranks, MPI_Request* request) {
  ++counts().messages;
  return PMPI_Iallgatherv(from, count, type, to, to_counts, starts, to_type, ranks, request);
}
int MPI_Ineighbor_alltoallv(const void* from, const int counts_[], const int starts[], MPI_Datatype type,
                            void* to, const int to_counts[], const int to_starts[], MPI_Datatype to_type,
                            MPI_Comm ranks, MPI_Request* request) {
  ++counts().messages;
  return PMPI_Ineighbor_alltoallv(from, counts_, starts, type, to, to_counts, to_starts, to_type, ranks,
                                  request);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm ranks, MPI_Request* request) {
  ++counts().messages;
  return PMPI_Ibcast(data, count, type, root, ranks, request);
}
int MPI_Finalize() {
  write_counts();
  return PMPI_Finalize();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, readability-named-parameter)

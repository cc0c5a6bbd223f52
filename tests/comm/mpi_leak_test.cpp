// Every object of MPI that a transport makes is freed again, and data that are put are complete before a number announces them: the calls are
// counted, by functions that replace MPI's own (its profiling interface).

#include <gtest/gtest.h>
#include <mpi.h>

#include <map>
#include <set>
#include <string>

#include "comm/communicator.hpp"
#include "comm/halo.hpp"
#include "comm/rank_group.hpp"
#include "support/halo_check.hpp"
#include "support/product_check.hpp"

namespace {

/// Numbers of existing objects, by kind.
std::map<std::string, int>& live_objects() {
  static std::map<std::string, int> counts;
  return counts;
}

int made(const char* kind, int code) {
  if (code == MPI_SUCCESS) ++live_objects()[kind];
  return code;
}
int freed(const char* kind, int code) {
  if (code == MPI_SUCCESS) --live_objects()[kind];
  return code;
}

/// Puts of the transport "put" between nodes: doubles, and after them a number that announces them.
struct Puts {
  std::set<int> ranks_with_open_data;  // no flush has completed it
  int number_count = 0;
  int early_number_count = 0;  // to those ranks
};
Puts& puts() {
  static Puts all;
  return all;
}

}  // namespace

// The MPI functions that the transports call. A missing one shows as a negative count.
extern "C" {

int MPI_Comm_idup(MPI_Comm communicator, MPI_Comm* duplicate, MPI_Request* request) {
  return made("communicator", PMPI_Comm_idup(communicator, duplicate, request));
}
int MPI_Comm_create_group(MPI_Comm communicator, MPI_Group members, int tag, MPI_Comm* created) {
  return made("communicator", PMPI_Comm_create_group(communicator, members, tag, created));
}
int MPI_Dist_graph_create_adjacent(MPI_Comm communicator, int source_count, const int sources[],
                                   const int source_weights[], int target_count, const int targets[],
                                   const int target_weights[], MPI_Info info, int reorder,
                                   MPI_Comm* created) {
  return made("communicator",
              PMPI_Dist_graph_create_adjacent(communicator, source_count, sources, source_weights,
                                              target_count, targets, target_weights, info, reorder, created));
}
int MPI_Comm_free(MPI_Comm* communicator) { return freed("communicator", PMPI_Comm_free(communicator)); }

int MPI_Comm_group(MPI_Comm communicator, MPI_Group* members) {
  return made("group", PMPI_Comm_group(communicator, members));
}
int MPI_Group_incl(MPI_Group all, int count, const int ranks[], MPI_Group* members) {
  return made("group", PMPI_Group_incl(all, count, ranks, members));
}
int MPI_Group_free(MPI_Group* members) { return freed("group", PMPI_Group_free(members)); }

int MPI_Type_indexed(int count, const int lengths[], const int starts[], MPI_Datatype element,
                     MPI_Datatype* type) {
  return made("datatype", PMPI_Type_indexed(count, lengths, starts, element, type));
}
int MPI_Type_free(MPI_Datatype* type) { return freed("datatype", PMPI_Type_free(type)); }

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                  MPI_Comm communicator, MPI_Request* request) {
  return made("persistent request",
              PMPI_Send_init(buffer, count, type, destination, tag, communicator, request));
}
int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm communicator,
                  MPI_Request* request) {
  return made("persistent request", PMPI_Recv_init(buffer, count, type, source, tag, communicator, request));
}
int MPI_Request_free(MPI_Request* request) { return freed("persistent request", PMPI_Request_free(request)); }

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm communicator,
                   MPI_Win* window) {
  return made("window", PMPI_Win_create(base, size, unit, info, communicator, window));
}
int MPI_Win_free(MPI_Win* window) { return freed("window", PMPI_Win_free(window)); }

int MPI_Put(const void* source, int count, MPI_Datatype type, int rank, MPI_Aint place, int target_count,
            MPI_Datatype target_type, MPI_Win window) {
  if (type == MPI_UINT64_T) {
    ++puts().number_count;
    puts().early_number_count += puts().ranks_with_open_data.contains(rank) ? 1 : 0;
  } else {
    puts().ranks_with_open_data.insert(rank);
  }
  return PMPI_Put(source, count, type, rank, place, target_count, target_type, window);
}
int MPI_Win_flush(int rank, MPI_Win window) {
  puts().ranks_with_open_data.erase(rank);
  return PMPI_Win_flush(rank, window);
}

}  // extern "C"

namespace cg2d::comm::mpi_leak_test {
namespace {

TEST(MpiLeakTest, TransportsFreeWhatTheyMake) {
  const auto before = live_objects();
  bool has_made_requests = false;
  {
    RankGroup group(MPI_COMM_WORLD);
    for (const auto& transport : transport_table()) {
      if (!transport.why_unavailable(group).empty()) continue;
      for (const auto& grid : factorizations(group.size())) {
        const auto layout = BlockLayout::even(97, grid);
        for (const int ranks_per_node : {0, 1}) {
          const auto communicator =
              transport.make(group, layout, {.mirrored = true, .ranks_per_node = ranks_per_node});
          test::ProductCheck product(*communicator, layout, group.rank());
          product.expect_collection(0);
          product.expect_sum_and_shuffle(0);
          product.expect_scalar_sum(2, 0);
          const DomainLayout domain({5, 4, 3}, best_domain_grid({5, 4, 3}, group.size()));
          const HaloShape shape{.has_corners = true};
          const auto halo =
              transport.make_halo(group, domain, {.shape = shape, .ranks_per_node = ranks_per_node});
          const test::HaloCheck exchange(*halo, domain, group.rank(), shape);
          const auto operand = halo->operand();
          exchange.write(operand, 0);
          exchange.expect_exchange(operand, 0);
          has_made_requests = has_made_requests || live_objects()["persistent request"] > 0;
        }
      }
    }
  }
  EXPECT_TRUE(has_made_requests);
  for (const auto& [kind, count] : live_objects()) {
    const auto known = before.find(kind);
    EXPECT_EQ(count, known == before.end() ? 0 : known->second) << kind;
  }
}

TEST(PutTest, BetweenNodesANumberFollowsDataThatAreComplete) {
  RankGroup group(MPI_COMM_WORLD);
  const auto* const transport = find_transport("put");
  if (!transport->why_unavailable(group).empty()) GTEST_SKIP() << "ranks cannot map each other's memory here";
  const auto layout = BlockLayout::even(97, {.columns = 2, .rows = 2});
  const auto communicator = transport->make(group, layout, {.mirrored = true, .ranks_per_node = 1});
  test::ProductCheck product(*communicator, layout, group.rank());
  product.expect_collection(0);
  product.expect_sum_and_shuffle(0);
  EXPECT_GT(puts().number_count, 0);
  EXPECT_EQ(puts().early_number_count, 0);
}

}  // namespace
}  // namespace cg2d::comm::mpi_leak_test

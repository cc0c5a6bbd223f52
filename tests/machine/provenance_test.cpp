// The origin of a result: which variables, and no names of hosts.

#include "cg/machine/provenance.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "cg/machine/blas/blas_library.hpp"

extern "C" void openblas_set_num_threads(int count);

namespace cg2d::provenance_test {
namespace {

int blas_threads = 0;  ///< what OpenBLAS was asked for last

Environment two_hosts() {
  Environment environment;
  for (const std::string host : {"vm", "worker-7"}) {
    auto& node = environment.nodes.emplace_back();
    node.host = host;
    node.name = "node " + std::to_string(environment.nodes.size() - 1);
  }
  return environment;
}

const std::vector<std::string> all_variables{"UCX_TLS=tcp",
                                             "HOME=/home/someone",
                                             "OMP_WAIT_POLICY=passive",
                                             "MPICH_INTERFACE_HOSTNAME=vm",
                                             "FI_NAME=vm",
                                             "PAPI_EVENTS=",
                                             "UCX_NET_DEVICES=vm0,worker-7:1,worker-70",
                                             "MPIR_CVAR_CH4=x=y",
                                             "OPENBLAS_NUM_THREADS"};

TEST(ProvenanceTest, VariablesOfTheLibrariesAndHostsWhereAskedFor) {
  const std::vector<Variable> expected{{"MPIR_CVAR_CH4", "x=y"},
                                       {"OMP_WAIT_POLICY", "passive"},
                                       {"OPENBLAS_NUM_THREADS", ""},
                                       {"PAPI_EVENTS", ""},
                                       {"UCX_TLS", "tcp"}};
  EXPECT_EQ(relevant_variables(all_variables, two_hosts(), false), expected);
  const auto variables = relevant_variables(all_variables, two_hosts(), true);
  EXPECT_EQ(variables.front(), Variable("FI_NAME", "vm"));
  EXPECT_EQ(variables.at(1), Variable("MPICH_INTERFACE_HOSTNAME", "vm"));
}

TEST(ProvenanceTest, TimeCommandCommitAndSystem) {
  record_command_line({"cg2d", "run"});
  const auto provenance = inspect_provenance(two_hosts(), false);
  EXPECT_TRUE(std::regex_match(provenance.time, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d\d:\d\d)")))
      << provenance.time;
  EXPECT_EQ(provenance.command, (std::vector<std::string>{"cg2d", "run"}));
  // A commit, or none; its state is known where the commit is.
  const std::string hash(provenance.commit.hash);
  EXPECT_TRUE(std::regex_match(hash, std::regex("unknown|[0-9a-f]{40,64}"))) << hash;
  EXPECT_EQ(provenance.commit.tree_changed.has_value(), hash != "unknown");
  EXPECT_FALSE(provenance.kernel.empty());
  EXPECT_FALSE(provenance.libc.empty());
}

/// A serial OpenBLAS has one thread whatever it is asked for, so this program has the function in its place.
TEST(BlasLibraryTest, OpenBlasIsAskedForOneThread) {
  if (!blas_version().starts_with("OpenBLAS")) GTEST_SKIP() << "cg2d was built with another BLAS";
  keep_blas_on_one_thread();
  EXPECT_EQ(blas_threads, 1);
}

}  // namespace
}  // namespace cg2d::provenance_test

void openblas_set_num_threads(int count) { cg2d::provenance_test::blas_threads = count; }

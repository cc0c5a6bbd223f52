// The misuse of collections, without MPI. (The contract of all communicators is tested in communicator_contract_test.cpp.)

#include <gtest/gtest.h>

#include <stdexcept>

#include "comm/communicator.hpp"

namespace cg2d::comm::collection_test {
namespace {

/// Moves nothing.
class IdleCommunicator final : public Communicator {
 public:
  std::string_view name() const override { return "idle"; }
  [[nodiscard]] std::span<double> piece() override { return {}; }
  std::span<const double> column_block() const override { return {}; }
  [[nodiscard]] std::span<double> partial() override { return {}; }
  std::span<const double> result() const override { return {}; }
  void collect() override {}
  void sum() override {}
  void shuffle() override {}
  void sum_scalars(std::span<double> /*values*/) override {}
  uint64_t waited_ticks() const override { return 0; }

 protected:
  void start_collection() override {}
  void wait_for_collected(size_t /*part*/) override {}
  void finish_collection() override {}
};

/// The calls in the wrong order. Without assertions they do no harm.
TEST(CollectionTest, MisuseIsAsserted) {
  EXPECT_DEBUG_DEATH(
      {
        IdleCommunicator communicator;
        const Collection collection(communicator);
      },
      "without finish");
  EXPECT_DEBUG_DEATH(
      {
        IdleCommunicator communicator;
        Collection first(communicator);
        Collection second(communicator);
        second.finish();
        first.finish();
      },
      "not finished");
  EXPECT_DEBUG_DEATH(
      {
        IdleCommunicator communicator;
        Collection collection(communicator);
        collection.finish();
        collection.wait_for_part(0);
      },
      "is_finished_");
}

TEST(CollectionTest, AnExceptionOnItsWayMayLeaveItUnfinished) {
  IdleCommunicator communicator;
  EXPECT_THROW(
      {
        const Collection collection(communicator);
        throw std::runtime_error("as MpiError from a product between two parts");
      },
      std::runtime_error);
}

}  // namespace
}  // namespace cg2d::comm::collection_test

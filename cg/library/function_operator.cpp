#include "cg/library/function_operator.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

FunctionOperator::FunctionOperator(std::size_t local_size, Product product, comm::RankGroup& group)
    : product_(std::move(product)), group_(group) {
  agree_on(group, [&] {
    p_.resize(local_size);
    q_.resize(local_size);
  });
  // Vectors without elements: only the sums over all ranks are used.
  sums_ = make_communicator(comm::default_transport(), group,
                            equal_pieces(0, {.columns = 1, .rows = group.size()}), {});
}

void FunctionOperator::apply() {
  const auto fail = [&](ExitCode code, const char* reason) {
    if (!failure_)
      failure_ = RunError(code, "the user's product failed on rank {}: {}", group_.rank(), reason);
    std::ranges::fill(q_, std::numeric_limits<double>::quiet_NaN());
  };
  try {
    product_(p_, q_);
  } catch (const RunError& error) {
    fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    fail(ExitCode::memory, "out of memory");
  } catch (const std::exception& error) {
    fail(ExitCode::usage, error.what());
  } catch (...) {
    fail(ExitCode::usage, "an exception that is no std::exception");
  }
}

void FunctionOperator::throw_failure() {
  const auto failure = std::exchange(failure_, std::nullopt);
  agree_on(group_, [&] {
    if (failure) throw RunError(*failure);
  });
}

}  // namespace cg2d

// The program: MPI, command line, and every ending.

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "cg/base/errors.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/commands/thread_waiting.hpp"
#include "cg/solver/vector_ops.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"

namespace {

using cg2d::ExitCode;

/// One line on stderr, from rank 0.
void say_error(int rank, const std::string& text) {
  if (rank == 0) cg2d::say_on_stderr(text);
}

/// Ends every rank when this one cannot go on and the others do not know: the only way out without a hang.
[[noreturn]] void abort_all(ExitCode code, const std::string& text) {
  cg2d::say_on_stderr(text);
  std::fflush(nullptr);
  cg2d::wait_for_readers_of_stderr();
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

/// Ranks may be started with different arguments (mpiexec's colon syntax); they would wait for each other for
/// ever.
void require_same_arguments(int argument_count, char** arguments, cg2d::comm::RankGroup& group) {
  std::string all;
  for (int k = 1; k < argument_count; ++k) all += std::string(arguments[k]) + '\n';
  const auto hash = static_cast<std::int64_t>(std::hash<std::string>{}(all) >> 1);
  if (group.minimum(hash) != group.maximum(hash))
    throw cg2d::InputError("the ranks were started with different arguments; start all with the same");
}

/// The number that the launcher gave to this rank, before MPI says so; 0 without a launcher that does.
int rank_of_launcher() {
  for (const auto* const name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
    if (const char* const text = std::getenv(name)) return cg2d::number_from<int>(text).value_or(0);
  }
  return 0;
}

ExitCode run_program(int argument_count, char** arguments, cg2d::comm::RankGroup& group) {
  require_same_arguments(argument_count, arguments, group);
  return cg2d::parse_command_line(argument_count, arguments)(group);
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    cg2d::let_threads_sleep_if_crowded(argument_count, arguments);
    cg2d::expect_signals(cg2d::SignalEnd::by_the_signal, rank_of_launcher() == 0);
    const cg2d::comm::MpiSession session(argument_count, arguments);
    cg2d::keep_blas_on_one_thread();
    cg2d::comm::RankGroup group(MPI_COMM_WORLD);
    cg2d::expect_signals(cg2d::SignalEnd::by_exit_code, group.rank() == 0);
    try {
      return static_cast<int>(run_program(argument_count, arguments, group));
    } catch (const cg2d::RunError& error) {  // thrown on every rank alike
      say_error(group.rank(), error.what());
      return static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
      abort_all(ExitCode::memory,
                fmt::format("out of memory on rank {}; take a smaller class or more nodes", group.rank()));
    } catch (const std::exception& error) {
      abort_all(ExitCode::internal, fmt::format("defect of cg2d on rank {}: {}", group.rank(), error.what()));
    }
  } catch (const std::exception& error) {
    cg2d::say_on_stderr(fmt::format("MPI did not start: {}", error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}

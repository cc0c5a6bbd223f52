#include "bench/instruction_counter.hpp"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/instruction_mark.hpp"
#include "cg/base/errors.hpp"
#include "cg/timing/events.hpp"

namespace cg2d::bench {
namespace {

using Work = std::function<void()>;

/// No file has that number, so that without the plugin nothing happens.
void mark() { syscall(SYS_close, instruction_mark); }

int64_t count_by_emulator(const std::string& file, const Work& work) {
  mark();
  work();
  mark();
  int64_t count = 0;
  if (!(std::ifstream(file) >> count))
    throw RunError(ExitCode::unavailable, file + ": the emulator's plugin has counted nothing");
  return count;
}

int64_t count_by_processor(EventCounters& counters, const Work& work) {
  CounterValues before{};
  CounterValues after{};
  counters.read(before);
  work();
  counters.read(after);
  return after[0] - before[0];
}

int64_t count_by_steps(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 && raise(SIGSTOP) == 0) work();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    throw RunError(ExitCode::unavailable,
                   "no process can be traced here, to count its instructions by single steps");
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
  int64_t count = 0;
  while (WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, signal) != 0 || waitpid(child, &status, 0) != child)
      throw RunError(ExitCode::unavailable,
                     "the process whose instructions were counted by single steps was lost");
    ++count;
  }
  if (!WIFEXITED(status))
    throw RunError(ExitCode::internal,
                   "the process whose instructions were counted by single steps was ended by a signal");
  return count;
}

}  // namespace

InstructionCounter make_instruction_counter() {
  if (const char* file = std::getenv("CG2D_INSTRUCTION_COUNT"); file != nullptr)
    return {.means = "emulator", .count_with_own = [name = std::string(file)](const Work& work) {
              return count_by_emulator(name, work);
            }};
  try {
    const auto counters =
        std::make_shared<EventCounters>(std::vector<std::string>{"PAPI_TOT_INS"}, false, UsageScope::thread);
    if (counters->refused().empty())
      return {.means = "counter of the processor",
              .count_with_own = [counters](const Work& work) { return count_by_processor(*counters, work); }};
  } catch (const RunError&) {  // PAPI does not start: single steps need nothing of it
  }
  return {.means = "single steps", .count_with_own = &count_by_steps};
}

}  // namespace cg2d::bench

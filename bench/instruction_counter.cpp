#include "bench/instruction_counter.hpp"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench/instruction_mark.hpp"
#include "cg/base/errors.hpp"
#include "cg/timing/events.hpp"

namespace cg2d::bench {
namespace {

class EmulatorCounter final : public InstructionCounter {
 public:
  explicit EmulatorCounter(std::string file) : file_(std::move(file)) {}

  std::string_view means() const override { return "emulator"; }
  int64_t count_with_own(const std::function<void()>& work) override {
    mark();
    work();
    mark();
    int64_t count = 0;
    if (!(std::ifstream(file_) >> count))
      throw RunError(ExitCode::unavailable, file_ + ": the emulator's plugin has counted nothing");
    return count;
  }

 private:
  /// No file has that number, so that without the plugin nothing happens.
  static void mark() { syscall(SYS_close, instruction_mark); }

  std::string file_;
};

class ProcessorCounter final : public InstructionCounter {
 public:
  ProcessorCounter() : counters_({"PAPI_TOT_INS"}, false, UsageScope::thread) {}

  bool counts() const { return counters_.refused().empty(); }
  std::string_view means() const override { return "counter of the processor"; }
  int64_t count_with_own(const std::function<void()>& work) override {
    CounterValues before{};
    CounterValues after{};
    counters_.read(before);
    work();
    counters_.read(after);
    return after[0] - before[0];
  }

 private:
  EventCounters counters_;
};

class SingleSteps final : public InstructionCounter {
 public:
  std::string_view means() const override { return "single steps"; }
  int64_t count_with_own(const std::function<void()>& work) override {
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
};

}  // namespace

std::unique_ptr<InstructionCounter> make_instruction_counter() {
  if (const char* file = std::getenv("CG2D_INSTRUCTION_COUNT"); file != nullptr)
    return std::make_unique<EmulatorCounter>(file);
  try {
    if (auto counter = std::make_unique<ProcessorCounter>(); counter->counts()) return counter;
  } catch (const RunError&) {  // PAPI does not start: single steps need nothing of it
  }
  return std::make_unique<SingleSteps>();
}

}  // namespace cg2d::bench

#pragma once

// How many instructions a piece of work takes, by what this machine has to count them.

#include <cstdint>
#include <functional>
#include <string_view>

namespace cg2d::bench {

struct InstructionCounter {
  std::string_view means;  ///< for people, such as "single steps"
  /// The instructions of this thread in user mode while it works, and a few of the counter's own, always the same. Throws RunError
  /// (unavailable).
  std::function<int64_t(const std::function<void()>& work)> count_with_own;

  /// The instructions of the work alone.
  int64_t count(const std::function<void()>& work) const {
    return count_with_own(work) - count_with_own([] {});
  }
};

/// The emulator's plugin (instruction_plugin.cpp), where it runs this program and the environment's CG2D_INSTRUCTION_COUNT names its file;
/// else the processor's counter; else, where it has none, as on most virtual machines, single steps: a process of its own that is
/// stopped after each instruction (3 us each, Zen 5 as a virtual machine, 2026-11). Throws RunError (unavailable) where nothing counts.
InstructionCounter make_instruction_counter();

}  // namespace cg2d::bench

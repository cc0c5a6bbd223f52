#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

/// Ends every rank when this one cannot go on and the others do not know: the only way out without a hang.
[[noreturn]] void abort_all(ExitCode code, const std::string& text) {
  say_last_on_stderr(text);
  std::fflush(nullptr);
  end_all_ranks(code);
}

/// Throws InputError where the texts of the ranks differ. Collective.
void require_same(const std::string& text, const std::string& complaint, comm::RankGroup& group) {
  const auto hash = static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
  if (group.minimum(hash) != group.maximum(hash)) throw InputError(complaint);
}

}  // namespace

ExitCode do_command_line(const std::vector<std::string>& arguments, comm::RankGroup& group) {
  record_command_line(arguments);
  try {
    // Ranks may be started with different arguments (mpiexec's colon syntax), or find different files under one name:
    // they would wait for each other for ever.
    const auto given = std::span(arguments).subspan(std::min<std::size_t>(1, arguments.size()));
    require_same(fmt::format("{}", fmt::join(given, "\n")),
                 "the ranks were started with different arguments; start all with the same", group);
    require_same(config_file_text(arguments),
                 "--config: the ranks find different files under its name; put the same file on every node",
                 group);
    Action action;
    // A file of --config may be unreadable on one rank only, a processor of another kind than the others.
    agree_on(group, [&] {
      require_instruction_set();
      action = parse_command_line(arguments).action;
    });
    return action(group);
  } catch (const RunError& error) {  // thrown on every rank alike
    if (group.rank() == 0) say_on_stderr(error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    abort_all(ExitCode::memory,
              fmt::format("out of memory on rank {}; take a smaller matrix or more nodes", group.rank()));
  } catch (const std::exception& error) {
    abort_all(ExitCode::internal, fmt::format("defect of cg2d on rank {}: {}", group.rank(), error.what()));
  }
}

}  // namespace cg2d

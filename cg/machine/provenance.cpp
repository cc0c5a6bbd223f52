#include "cg/machine/provenance.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

#include "cg/base/describe.hpp"

namespace cg2d {
namespace {

constexpr std::array<std::string_view, 11> relevant_prefixes{"OMP_",       "GOMP_",     "KMP_",  "MPICH_",
                                                             "MPIR_CVAR_", "OMPI_MCA_", "UCX_",  "FI_",
                                                             "PAPI_",      "OPENBLAS_", "I_MPI_"};

/// "2026-11-22T11:20:00+01:00".
std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  const auto offset = fmt::format("{:%z}", parts);  // "+0100"
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}{}:{}", parts, offset.substr(0, 3), offset.substr(3));
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a process does one command at a time
std::vector<std::string> noted_command_line;

/// In single quotes unless it consists of harmless letters.
std::string shell_word(const std::string& argument) {
  const auto is_harmless = [](char letter) {
    return is_letter_or_digit(letter) ||
           std::string_view("-_./=,:%+@").find(letter) != std::string_view::npos;
  };
  return !argument.empty() && std::ranges::all_of(argument, is_harmless) ? argument : shell_quoted(argument);
}

}  // namespace

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const auto& argument : command) text += (text.empty() ? "" : " ") + shell_word(argument);
  return text;
}

std::vector<Variable> relevant_variables(std::span<const std::string> all, const Environment& environment,
                                         bool names_hosts) {
  std::vector<Variable> variables;
  for (const auto& entry : all) {
    const auto end = std::min(entry.find('='), entry.size());
    const auto name = entry.substr(0, end);
    const auto begins_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
    const auto value = entry.substr(std::min(end + 1, entry.size()));
    const bool is_about_hosts = name.find("HOST") != std::string::npos ||
                                std::ranges::any_of(environment.nodes, [&](const auto& node) {
                                  return !node.host.empty() && value.find(node.host) != std::string::npos;
                                });
    if (std::ranges::any_of(relevant_prefixes, begins_with) && (names_hosts || !is_about_hosts))
      variables.emplace_back(name, value);
  }
  std::ranges::sort(variables);
  return variables;
}

void record_command_line(std::vector<std::string> arguments) { noted_command_line = std::move(arguments); }

Provenance inspect_provenance(const Environment& environment, bool names_hosts) {
  utsname system{};
  const bool is_known = uname(&system) == 0;
  std::array<char, 64> libc{};  // stays empty where it is not glibc
  confstr(_CS_GNU_LIBC_VERSION, libc.data(), libc.size());
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return {.time = local_time(),
          .command = noted_command_line,
          .commit = build_commit(),
          .kernel = is_known ? fmt::format("{} {}", system.sysname, system.release) : "unknown",
          .libc = libc.front() == '\0' ? "unknown" : libc.data(),
          .variables = relevant_variables(variables, environment, names_hosts)};
}

void describe(Members& m, Provenance& provenance) {
  m("time", provenance.time,
    {.meaning = "Of the start, local, with the offset of the zone.", .label = "Date", .column = "date"});
  m("command", provenance.command, meaning("Program and arguments."));
  m("commit", provenance.commit.hash,
    {.meaning = "That the program was built from; unknown outside of a work tree of git.",
     .label = "Commit",
     .column = "commit"});
  m("tree_changed", provenance.commit.tree_changed,
    or_null({.meaning = "Whether files that git tracks differed from it; null: not known.",
             .label = "Tree changed"}));
  m("kernel", provenance.kernel, {.label = "System"});
  m("libc", provenance.libc, {.label = "C library"});
  m("variables", provenance.variables,
    {.meaning = "Of rank 0's environment, for OpenMP, MPI and its networks, OpenBLAS and PAPI; those about "
                "hosts only with --hostname.",
     .label = "Environment"});
}

}  // namespace cg2d

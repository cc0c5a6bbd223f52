#pragma once

// The origin of a result: when, by which command, from which sources, on which system, and with which
// settings. Hosts have no names here unless the user asks for them.

#include "cg/machine/environment.hpp"

namespace cg2d {

/// The commit that the program was built from.
struct BuildCommit {
  std::string hash;                  ///< "unknown" where it was not built in a work tree of git
  std::optional<bool> tree_changed;  ///< whether tracked files differed from it; empty: not known
};
BuildCommit build_commit();

/// A variable of the process environment: name and value.
using Variable = std::pair<std::string, std::string>;

struct Provenance {
  std::string time;                  ///< begin of the run, local time with the offset of the zone: ISO 8601
  std::vector<std::string> command;  ///< program and arguments
  BuildCommit commit;
  std::string kernel;               ///< "Linux 6.1.0"
  std::string libc;                 ///< "glibc 2.36"
  std::vector<Variable> variables;  ///< those of relevant_variables()
};

void describe(Members& m, Provenance& provenance);

/// The command that this process does from now on: arguments, the program's name first.
void record_command_line(std::vector<std::string> arguments);

/// Local: of the calling rank, and of this moment. names_hosts: as relevant_variables().
Provenance inspect_provenance(const Environment& environment, bool names_hosts);

/// The arguments as a shell takes them.
std::string command_text(const std::vector<std::string>& command);

/// The variables that MPI, its networks, OpenMP, OpenBLAS and PAPI read, by name, from texts "NAME=value".
/// Without names_hosts, variables that are about hosts or name one of the environment's are left out.
std::vector<Variable> relevant_variables(std::span<const std::string> all, const Environment& environment,
                                         bool names_hosts);

}  // namespace cg2d

#include "cg/commands/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/transport_choice.hpp"
#include "comm/communicator.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

ProfileOptionTexts profile_is_used() {
  return {.profile = "tuning profile to use instead of the default one (cg2d tune)",
          .no_profile = "use no tuning profile"};
}

void add_profile_options(CLI::App& parser, ProfileSource& profile, const ProfileOptionTexts& texts,
                         const std::string& group) {
  parser.add_option("--profile", profile.path, texts.profile)
      ->check(file_name())
      ->type_name("FILE")
      ->group(group);
  parser
      .add_flag_callback(
          "--no-profile", [&profile] { profile.is_used = false; }, texts.no_profile)
      ->group(group);
}

void add_ranks_per_node_option(CLI::App& parser, int& count, const std::string& group) {
  parser
      .add_option("--ranks-per-node", count,
                  "pretend nodes of so many ranks, to see on one machine what shared and put do on several")
      ->transform(decimal<int>())
      ->group(group);
}

void add_memory_limit_option(CLI::App& parser, std::int64_t& bytes, const std::string& group) {
  parser.add_option("--memory-limit", bytes, "memory that a node's ranks may take, such as 8GB or 512MiB")
      ->transform(byte_count())
      ->type_name("SIZE")
      ->group(group);
}

void add_bind_option(CLI::App& parser, std::string& word, const std::string& group) {
  parser.add_option("--bind", word, "auto (several threads per rank: each to a core of its own) or none")
      ->group(group);
}

void check_profile(const ProfileSource& profile) {
  if (!profile.is_used && !profile.path.empty()) {
    throw InputError("--no-profile and --profile contradict each other: give one of them");
  }
}

void require_ranks_per_node(int count) { require_not_negative("--ranks-per-node", count); }

void require_kernel_name(const std::string& name) {
  auto names = names_of(kernels::kernel_table());
  names.emplace_back("auto");
  require_known("--kernel", name, names);
}

void require_transport_name(const std::string& name) {
  auto names = names_of(comm::transport_table());
  names.emplace_back(automatic_choice);
  require_known("--transport", name, names);
}

comm::SumForm sum_form_from(const std::string& name) {
  require_known("--sum", name, sum_form_names());
  return *find_sum_form(name);
}

void require_sum_form(const std::string& transport, const std::vector<comm::SumForm>& asked) {
  if (!sum_forms_for(transport, asked).empty()) return;
  std::vector<std::string> valid;
  for (const auto form : sum_forms_of(transport)) valid.push_back(sum_form_name(form));
  throw InputError(fmt::format("--sum {}: the transport {} has no such form; valid: {}",
                               sum_form_name(asked.front()), transport, fmt::join(valid, ", ")));
}

bool overlap_from(const std::string& name) {
  require_known("--overlap", name, {"off", "on"});
  return name == "on";
}

}  // namespace cg2d

#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {
namespace {

/// The files of each generation, the newest first.
using Generations = std::map<std::int64_t, std::vector<CheckpointName>, std::greater<>>;

std::vector<CheckpointName> names_in(const std::string& folder) {
  std::vector<CheckpointName> names;
  std::error_code error;
  // Step by step: the loop over a range throws.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto name = checkpoint_name_from(entry->path().filename().string())) names.push_back(*name);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw FileError(folder,
                    fmt::format("cannot be read as a folder: {}; name one of --checkpoint", error.message()));
  return names;
}

/// The generations that rank 0 sees in a folder, on every rank.
Generations generations_in(const std::string& folder, comm::RankGroup& group) {
  std::string text;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    for (const auto& name : names_in(folder)) text += name.text() + "\n";
  });
  text = group.broadcast(std::move(text));
  Generations generations;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    const std::string_view names = text;
    const auto name = *checkpoint_name_from(names.substr(begin, end - begin));
    generations[name.generation].push_back(name);
    begin = end + 1;
  }
  return generations;
}

/// Why files are not all those of a checkpoint, by their names; empty where they are.
std::string what_is_missing(const std::vector<CheckpointName>& names) {
  const int rank_count = names.front().rank_count;
  const bool are_alike =
      std::ranges::all_of(names, [&](const CheckpointName& name) { return name.rank_count == rank_count; });
  if (!are_alike) return "found files of different numbers of ranks, expected those of one";
  // Names differ from each other, so their number tells whether all are there.
  if (std::ssize(names) != rank_count)
    return fmt::format("found {} of its {} files", names.size(), rank_count);
  return {};
}

/// The first of all ranks' reasons, on every rank; empty where no rank has one.
std::string first_reason(const std::string& mine, comm::RankGroup& group) {
  for (auto& reason : group.gather_all(mine)) {
    if (!reason.empty()) return std::move(reason);
  }
  return {};
}

/// Runs a local step; returns its FileError's text, alike on every rank. Collective.
template <typename Step>
std::string complaint_of(comm::RankGroup& group, const Step& step) {
  std::string reason;
  agree_on(group, [&] {
    try {
      step();
    } catch (const FileError& error) {
      reason = error.what();
    }
  });
  return first_reason(reason, group);
}

/// Why headers, one for each rank that wrote, are not of one checkpoint; empty where they are.
std::string contradiction_of(const std::vector<CheckpointHeader>& headers) {
  const auto& first = headers.front();
  std::int64_t end = 0;
  auto sorted = headers;
  std::ranges::sort(sorted, {},
                    [](const CheckpointHeader& header) { return std::pair(header.begin, header.end); });
  for (const auto& header : sorted) {
    if (header.begin != end) return "its files do not cut the vectors into pieces";
    end = header.end;
    const bool is_alike = header.kind == first.kind && header.vector_count == first.vector_count &&
                          header.matrix_hash == first.matrix_hash && header.order == first.order &&
                          header.step == first.step && header.state_bytes == first.state_bytes &&
                          header.state_checksum == first.state_checksum;
    if (!is_alike) return "its files are not of the same state";
  }
  return end == first.order ? std::string() : "its files do not have whole vectors";
}

/// A generation that has all files, by their names. The reason why it is not taken, alike on every rank; empty: it is in `found`.
std::string why_not(const std::string& folder, const std::vector<CheckpointName>& names,
                    FoundCheckpoint& found, comm::RankGroup& group) {
  std::vector<CheckpointHeader> mine;
  std::string state;
  auto reason = complaint_of(group, [&] {
    const int rank_count = names.front().rank_count;
    for (int rank = group.rank(); rank < rank_count; rank += group.size()) {
      const CheckpointName name{names.front().generation, rank, rank_count};
      const CheckpointReader reader(name.path_in(folder), name);
      reader.read({}, {});
      if (rank == 0) state = reader.state();
      mine.push_back(reader.header());
    }
  });
  if (!reason.empty()) return reason;
  found.headers.clear();
  for (const auto& headers : group.gather_all(std::span<const CheckpointHeader>(mine)))
    found.headers.insert(found.headers.end(), headers.begin(), headers.end());
  std::ranges::sort(found.headers, {}, &CheckpointHeader::rank);
  if (reason = contradiction_of(found.headers); !reason.empty()) return folder + ": " + reason;
  found.state = group.broadcast(std::move(state));
  found.generation = names.front().generation;
  return {};
}

}  // namespace

FoundCheckpoint newest_checkpoint(const std::string& folder, comm::RankGroup& group) {
  FoundCheckpoint found;
  found.folder = folder;
  for (const auto& [generation, names] : generations_in(folder, group)) {
    auto reason = what_is_missing(names);
    if (reason.empty()) reason = why_not(folder, names, found, group);
    if (reason.empty()) return found;
    found.rejected.push_back(fmt::format("generation {}: {}", generation, reason));
  }
  if (found.rejected.empty())
    throw FileError(folder, "found no checkpoint, expected a folder that --checkpoint wrote to");
  throw FileError(
      folder, fmt::format("found no intact checkpoint ({}), expected one", fmt::join(found.rejected, "; ")));
}

void read_vectors(const FoundCheckpoint& found, const comm::IndexRange& range,
                  std::span<const std::span<double>> targets, comm::RankGroup& group) {
  agree_on(group, [&] {
    for (const auto& header : found.headers) {
      if (std::min(header.end, range.end) <= std::max(header.begin, range.begin)) continue;
      const CheckpointName name{header.generation, header.rank, header.rank_count};
      const CheckpointReader reader(name.path_in(found.folder), name);
      // A generation that another program has replaced meanwhile.
      if (std::memcmp(&reader.header(), &header, sizeof(header)) != 0)
        throw FileError(found.folder, "found another checkpoint than a moment ago, expected the same");
      reader.read(range, targets);
    }
  });
}

bool has_no_checkpoint(const std::string& folder, comm::RankGroup& group) {
  const auto generations = generations_in(folder, group);
  return generations.empty() ||
         (generations.size() == 1 && !what_is_missing(generations.begin()->second).empty());
}

bool are_same_folder(const std::string& first, const std::string& second, comm::RankGroup& group) {
  bool are_same = false;
  if (group.rank() == 0) {
    std::error_code error;
    are_same = first == second || std::filesystem::equivalent(first, second, error);
  }
  return group.maximum(std::int64_t{are_same ? 1 : 0}) > 0;
}

RestartChoice choose_restart(const CheckpointOptions& asked, std::string_view what, comm::RankGroup& group) {
  RestartChoice choice;
  if (!asked.folder.empty()) {
    choice.claim = claim_checkpoints(asked.folder, group);
    const auto& claim = choice.claim->of_rank_0;
    if (claim && !claim->is_locked()) choice.warnings.push_back(claim->warning());
  }
  if (asked.restart.empty()) return choice;
  const bool saves_there = !asked.folder.empty() && are_same_folder(asked.folder, asked.restart, group);
  if (saves_there && has_no_checkpoint(asked.restart, group)) {
    choice.warnings.push_back(
        fmt::format("--restart {}: no checkpoint there yet, so the {} begins anew", asked.restart, what));
    return choice;
  }
  choice.found = newest_checkpoint(asked.restart, group);
  if (saves_there) choice.generation = choice.found->generation;
  for (const auto& rejected : choice.found->rejected)
    choice.warnings.push_back(fmt::format("--restart: not from {}", rejected));
  return choice;
}

CheckpointClaim claim_checkpoints(std::string folder, comm::RankGroup& group) {
  CheckpointClaim claim{.folder = std::move(folder), .of_rank_0 = nullptr};
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    claim.of_rank_0 = std::make_unique<FolderClaim>(
        ClaimedFolder{.option = "--checkpoint", .folder = claim.folder, .lock_name = "checkpoints.lock"});
    remove_unfinished_files(claim.folder,
                            [](std::string_view name) { return checkpoint_name_from(name).has_value(); });
  });
  return claim;
}

CheckpointWriter::CheckpointWriter(CheckpointClaim claim, std::optional<std::int64_t> restarted_from,
                                   comm::RankGroup& group)
    : folder_(claim.folder), claim_(std::move(claim)), group_(group), last_good_(restarted_from.value_or(0)) {
  const auto generations = generations_in(folder_, group_);
  if (!generations.empty()) next_ = generations.begin()->first + 1;
  for (const auto& [generation, names] : generations) {
    if (restarted_from || !what_is_missing(names).empty()) continue;
    throw InputError(
        fmt::format("--checkpoint {0}: has a checkpoint already (generation {1}): go on from it by --restart "
                    "{0}, or name another folder",
                    folder_, generation));
  }
  for (const auto& [generation, names] : generations) {
    if (group_.rank() == 0 && !what_is_missing(names).empty()) remove(names);
  }
  rehearse({});
}

CheckpointWriter::CheckpointWriter(std::string folder, std::optional<std::int64_t> restarted_from,
                                   comm::RankGroup& group)
    : CheckpointWriter(claim_checkpoints(std::move(folder), group), restarted_from, group) {}

CheckpointHeader CheckpointWriter::header_of(const CheckpointState& state) const {
  CheckpointHeader header;
  header.kind = state.kind;
  header.matrix_hash = state.matrix_hash;
  header.order = state.order;
  header.generation = next_;
  header.step = state.step;
  header.begin = state.range.begin;
  header.end = state.range.end;
  header.rank = group_.rank();
  header.rank_count = group_.size();
  return header;
}

double CheckpointWriter::rehearse(const CheckpointState& state) {
  const Stopwatch stopwatch;
  agree_on(group_, [&] { rehearse_checkpoint_file(folder_, header_of(state), state.data); });
  return group_.maximum(stopwatch.seconds());
}

/// The ranks agree that all files are there before one of an earlier generation goes.
double CheckpointWriter::save(const CheckpointState& state) {
  const Stopwatch stopwatch;
  const auto header = header_of(state);
  const auto generation = next_++;
  bool is_written = false;
  try {
    agree_on(group_, [&] {
      write_checkpoint_file(folder_, header, state.data);
      is_written = true;
    });
  } catch (const RunError&) {
    const CheckpointName name{generation, group_.rank(), group_.size()};
    if (is_written) unlink(name.path_in(folder_).c_str());
    throw;
  }
  remove_others(generation);
  last_good_ = generation;
  return group_.maximum(stopwatch.seconds());
}

bool CheckpointWriter::first_says(bool value) const {
  return group_.maximum(std::int64_t{value && group_.rank() == 0 ? 1 : 0}) > 0;
}

/// Removes files by their names. One that cannot be removed stays: it does no harm.
void CheckpointWriter::remove(const std::vector<CheckpointName>& names) const {
  for (const auto& name : names) unlink(name.path_in(folder_).c_str());
}

void CheckpointWriter::remove_others(std::int64_t generation) const {
  if (group_.rank() != 0) return;
  try {
    auto names = names_in(folder_);
    std::erase_if(names, [&](const CheckpointName& name) {
      return name.generation == generation || name.generation == last_good_;
    });
    remove(names);
  } catch (const FileError&) {
    // The next checkpoint tries again.
  }
}

}  // namespace cg2d

#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

// ---------------------------------------------------------------- one file

namespace {

constexpr int64_t header_bytes = sizeof(CheckpointHeader);
constexpr int64_t element_bytes = sizeof(double);

}  // namespace

std::string CheckpointName::text() const {
  return fmt::format("{:08}.{}-of-{}.checkpoint", generation, rank, rank_count);
}

std::optional<CheckpointName> checkpoint_name_from(std::string_view text) {
  const auto parts = split_at(text, '.');
  const auto ranks = parts.size() == 3 ? split_at(parts[1], '-') : std::vector<std::string>();
  if (ranks.size() != 3) return std::nullopt;
  const CheckpointName name{.generation = number_from<int64_t>(parts[0]).value_or(0),
                            .rank = number_from<int>(ranks[0]).value_or(-1),
                            .rank_count = number_from<int>(ranks[2]).value_or(0)};
  constexpr int64_t most_generations = 1'000'000'000'000'000;  // a number that can be counted on from
  if (name.generation < 1 || name.generation > most_generations || name.rank < 0 ||
      name.rank >= name.rank_count || name.text() != text)
    return std::nullopt;
  return name;
}

void write_checkpoint_file(const std::string& folder, const CheckpointName& name,
                           const CheckpointState& state, bool takes_name) {
  NewFile file(folder, name.text());
  const auto text = std::as_bytes(std::span(state.text));
  auto header = state.header;
  header.generation = name.generation;
  header.rank = name.rank;
  header.rank_count = name.rank_count;
  header.state_bytes = std::ssize(text);
  header.vector_count = static_cast<uint32_t>(state.vectors.size());
  header.state_checksum = crc32c(text);
  header.data_checksum = header.state_checksum;
  for (const auto vector : state.vectors)
    header.data_checksum = crc32c(std::as_bytes(vector), header.data_checksum);
  file.append(sealed(header));
  file.append(text);
  for (const auto vector : state.vectors) file.append(std::as_bytes(vector));
  file.put_on_disk();
  if (takes_name) file.take_name();
}

CheckpointReader::CheckpointReader(std::string path, const CheckpointName& name)
    : file_(std::move(path)), header_(read_header<CheckpointHeader>(file_)) {
  constexpr int64_t most_elements = int64_t{1} << 48;  // the bytes of a file stay within 63 bits
  constexpr uint32_t most_vectors = 64;
  const bool is_sound = header_.order >= 0 && header_.order <= most_elements && header_.range.begin >= 0 &&
                        header_.range.begin <= header_.range.end && header_.range.end <= header_.order &&
                        header_.step >= 0 && header_.state_bytes >= 0 &&
                        header_.state_bytes <= most_elements && header_.vector_count <= most_vectors &&
                        header_.unused == 0 &&
                        (header_.kind == CheckpointKind::run || header_.kind == CheckpointKind::solve);
  if (!is_sound) file_.refuse("found a header with impossible values, expected one that cg2d has written");
  if (header_.name() != name)
    file_.refuse("found the content of {}, expected its own", header_.name().text());
  const auto expected =
      header_bytes + header_.state_bytes + element_bytes * header_.vector_count * header_.range.size();
  if (file_.size() != expected)
    file_.refuse("found {} bytes, expected the {} that its header announces", file_.size(), expected);
}

std::string CheckpointReader::state() const {
  std::string state(static_cast<size_t>(header_.state_bytes), '\0');
  const auto bytes = std::as_writable_bytes(std::span(state));
  if (!file_.fill(header_bytes, bytes) || crc32c(bytes) != header_.state_checksum)
    file_.refuse("found a damaged state, expected one that meets its checksum");
  return state;
}

void CheckpointReader::read(const comm::IndexRange& wanted,
                            std::span<const std::span<double>> targets) const {
  constexpr int64_t most_elements = int64_t{1} << 16;
  static_cast<void>(state());
  std::vector<double> buffer(static_cast<size_t>(std::min(most_elements, header_.range.size())));
  int64_t position = header_bytes + header_.state_bytes;
  uint32_t checksum = header_.state_checksum;
  for (size_t v = 0; v < header_.vector_count; ++v) {
    for (int64_t first = header_.range.begin; first < header_.range.end; first += most_elements) {
      const auto last = std::min(first + most_elements, header_.range.end);
      const auto part = std::span(buffer).first(static_cast<size_t>(last - first));
      const auto bytes = std::as_writable_bytes(part);
      if (!file_.fill(position, bytes)) file_.refuse("found an end, expected all that its header announces");
      checksum = crc32c(bytes, checksum);
      position += std::ssize(bytes);
      const comm::IndexRange common{std::max(first, wanted.begin), std::min(last, wanted.end)};
      if (targets.empty() || common.size() <= 0) continue;
      const auto found =
          part.subspan(static_cast<size_t>(common.begin - first), static_cast<size_t>(common.size()));
      std::ranges::copy(found, targets[v].subspan(static_cast<size_t>(common.begin - wanted.begin)).begin());
    }
  }
  if (checksum != header_.data_checksum) file_.refuse("found damaged data, expected what meets its checksum");
}

// ---------------------------------------------------------------- the folder

namespace {

/// The files of each generation, the newest first.
using Generations = std::map<int64_t, std::vector<CheckpointName>, std::greater<>>;

std::vector<CheckpointName> names_in(const std::string& folder) {
  std::vector<CheckpointName> names;
  std::error_code error;
  // Step by step: the loop over a range throws.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto name = checkpoint_name_from(entry->path().filename().string())) names.push_back(*name);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw FileError(folder, "cannot be read as a folder: {}; name one of --checkpoint", error.message());
  return names;
}

/// One that cannot be removed stays: it does no harm.
void remove_files(const std::string& folder, const std::vector<CheckpointName>& names) {
  for (const auto& name : names) unlink(name.path_in(folder).c_str());
}

/// The generations that rank 0 sees in a folder, on every rank.
Generations generations_in(const std::string& folder, comm::RankGroup& group) {
  std::vector<CheckpointName> names;
  agree_on(group, [&] {
    if (group.rank() == 0) names = names_in(folder);
  });
  const auto all = group.gather_all(std::span<const CheckpointName>(names));
  Generations generations;
  for (const auto& name : all.front()) generations[name.generation].push_back(name);
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

/// Why headers, one for each rank that wrote, are not of one checkpoint; empty where they are.
std::string contradiction_of(const std::vector<CheckpointHeader>& headers) {
  const auto& first = headers.front();
  int64_t end = 0;
  auto sorted = headers;
  std::ranges::sort(sorted, {}, [](const CheckpointHeader& header) {
    return std::pair(header.range.begin, header.range.end);
  });
  for (const auto& header : sorted) {
    if (header.range.begin != end) return "its files do not cut the vectors into pieces";
    end = header.range.end;
    const bool is_alike = header.kind == first.kind && header.vector_count == first.vector_count &&
                          header.matrix_hash == first.matrix_hash && header.order == first.order &&
                          header.step == first.step && header.state_bytes == first.state_bytes &&
                          header.state_checksum == first.state_checksum;
    if (!is_alike) return "its files are not of the same state";
  }
  return end == first.order ? std::string() : "its files do not have whole vectors";
}

/// Reads a generation that has all files, by their names. Throws RunError (bad_data), alike on every rank.
void read_generation(FoundCheckpoint& found, const std::vector<CheckpointName>& names,
                     comm::RankGroup& group) {
  std::vector<CheckpointHeader> mine;
  std::string state;
  agree_on(group, [&] {
    const int rank_count = names.front().rank_count;
    for (int rank = group.rank(); rank < rank_count; rank += group.size()) {
      const CheckpointName name{names.front().generation, rank, rank_count};
      const CheckpointReader reader(name.path_in(found.folder), name);
      reader.read({}, {});
      if (rank == 0) state = reader.state();
      mine.push_back(reader.header());
    }
  });
  found.headers.clear();
  for (const auto& headers : group.gather_all(std::span<const CheckpointHeader>(mine)))
    found.headers.insert(found.headers.end(), headers.begin(), headers.end());
  std::ranges::sort(found.headers, {}, &CheckpointHeader::rank);
  if (const auto reason = contradiction_of(found.headers); !reason.empty())
    throw FileError(found.folder, reason);
  found.state = group.broadcast(std::move(state));
  found.generation = names.front().generation;
}

}  // namespace

FoundCheckpoint newest_checkpoint(const std::string& folder, comm::RankGroup& group) {
  FoundCheckpoint found;
  found.folder = folder;
  for (const auto& [generation, names] : generations_in(folder, group)) {
    auto reason = what_is_missing(names);
    try {
      if (reason.empty()) {
        read_generation(found, names, group);
        return found;
      }
    } catch (const RunError& error) {
      if (error.code() != ExitCode::bad_data) throw;
      reason = error.what();
    }
    found.rejected.push_back(fmt::format("generation {}: {}", generation, reason));
  }
  if (found.rejected.empty())
    throw FileError(folder, "found no checkpoint, expected a folder that --checkpoint wrote to");
  throw FileError(folder, "found no intact checkpoint ({}), expected one", fmt::join(found.rejected, "; "));
}

void read_vectors(const FoundCheckpoint& found, const comm::IndexRange& range,
                  std::span<const std::span<double>> targets, comm::RankGroup& group) {
  agree_on(group, [&] {
    for (const auto& header : found.headers) {
      if (std::min(header.range.end, range.end) <= std::max(header.range.begin, range.begin)) continue;
      const CheckpointReader reader(header.name().path_in(found.folder), header.name());
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

Checkpoints::Checkpoints(CheckpointOptions asked, std::string_view what, comm::RankGroup& group)
    : asked_(std::move(asked)), group_(group) {
  facts_.folder = asked_.folder;
  facts_.is_automatic = !asked_.interval_s;
  if (are_saved()) {
    const std::string lock_name = "checkpoints.lock";
    const auto text_of_lock = [&] {
      return text_of_file(asked_.folder + "/" + lock_name).value_or(std::string());
    };
    std::string text;  // which process of which host has locked the folder
    agree_on(group_, [&] {
      if (group_.rank() != 0) return;
      claim_.emplace("--checkpoint", asked_.folder, lock_name);
      text = text_of_lock();
      remove_unfinished_files(asked_.folder,
                              [](std::string_view name) { return checkpoint_name_from(name).has_value(); });
    });
    text = group_.broadcast(text);
    agree_on(group_, [&] {
      if (text_of_lock() == text) return;
      throw RunError(
          ExitCode::cannot_create,
          "--checkpoint {}: rank {} sees another folder there than rank 0; name one that all ranks share",
          asked_.folder, group_.rank());
    });
    if (claim_ && !claim_->is_locked()) warnings_.push_back(claim_->warning());
  }
  if (!asked_.restart.empty()) find(what);
  if (are_saved()) open();
}

void Checkpoints::find(std::string_view what) {
  const auto& folder = asked_.restart;
  std::error_code error;
  const bool is_same = are_saved() && group_.rank() == 0 &&
                       (asked_.folder == folder || std::filesystem::equivalent(asked_.folder, folder, error));
  const bool saves_there = group_.maximum(int64_t{is_same ? 1 : 0}) > 0;
  if (saves_there && has_no_checkpoint(folder, group_)) {
    warnings_.push_back(
        fmt::format("--restart {}: no checkpoint there yet, so the {} begins anew", folder, what));
    return;
  }
  found_ = newest_checkpoint(folder, group_);
  if (saves_there) last_generation_ = found_->generation;
  for (const auto& rejected : found_->rejected)
    warnings_.push_back(fmt::format("--restart: not from {}", rejected));
}

void Checkpoints::open() {
  const auto generations = generations_in(asked_.folder, group_);
  if (!generations.empty()) next_generation_ = generations.begin()->first + 1;
  for (const auto& [generation, names] : generations) {
    if (last_generation_ > 0 || !what_is_missing(names).empty()) continue;
    throw InputError(
        "--checkpoint {0}: has a checkpoint already (generation {1}): go on from it by --restart "
        "{0}, or name another folder",
        asked_.folder, generation);
  }
  for (const auto& [generation, names] : generations) {
    if (group_.rank() == 0 && !what_is_missing(names).empty()) remove_files(asked_.folder, names);
  }
  rehearse({});
}

void Checkpoints::rehearse(const CheckpointState& state) {
  const Stopwatch stopwatch;
  agree_on(group_, [&] { write_checkpoint_file(asked_.folder, next_name(), state, false); });
  record_written(stopwatch);
  since_last_ = {};
}

/// The ranks agree that all files are there before one of an earlier generation goes.
void Checkpoints::save(const CheckpointState& state) {
  const Stopwatch stopwatch;
  const auto name = next_name();
  ++next_generation_;
  bool is_written = false;
  try {
    agree_on(group_, [&] {
      write_checkpoint_file(asked_.folder, name, state);
      is_written = true;
    });
    remove_others(name.generation);
    last_generation_ = name.generation;
    record_written(stopwatch);
    ++facts_.count;
    facts_.failure.clear();
  } catch (const RunError& error) {
    if (is_written) unlink(name.path_in(asked_.folder).c_str());
    facts_.failure = error.what();
  }
  facts_.total_s += stopwatch.seconds();
  since_last_ = {};
}

void Checkpoints::record_written(const Stopwatch& stopwatch) {
  facts_.write_s = group_.maximum(stopwatch.seconds());
  facts_.interval_s = asked_.interval_s.value_or(young_interval_s(facts_.write_s));
}

bool Checkpoints::is_due() const {
  const bool is_over = group_.rank() == 0 && since_last_.seconds() >= facts_.interval_s;
  return group_.maximum(int64_t{is_over ? 1 : 0}) > 0;
}

void Checkpoints::remove_others(int64_t generation) const {
  if (group_.rank() != 0) return;
  try {
    auto names = names_in(asked_.folder);
    std::erase_if(names, [&](const CheckpointName& name) {
      return name.generation == generation || name.generation == last_generation_;
    });
    remove_files(asked_.folder, names);
  } catch (const FileError&) {
    // The next checkpoint tries again.
  }
}

}  // namespace cg2d

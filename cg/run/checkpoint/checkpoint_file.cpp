#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
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
  if (name.generation < 1 || name.rank < 0 || name.rank >= name.rank_count || name.text() != text)
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

}  // namespace cg2d

#include "cg/run/checkpoint/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr std::string_view name_end = ".checkpoint";
constexpr std::int64_t header_bytes = sizeof(CheckpointHeader);
constexpr std::int64_t element_bytes = sizeof(double);

std::int64_t file_bytes(const CheckpointHeader& header) {
  return header_bytes +
         element_bytes * (header.number_count + header.vector_count * (header.end - header.begin));
}

std::string name_of(const CheckpointHeader& header) {
  return CheckpointName{header.generation, header.rank, header.rank_count}.text();
}

NewFile& fill(NewFile& file, CheckpointHeader& header, const CheckpointData& data) {
  header.number_count = std::ssize(data.numbers);
  header.vector_count = static_cast<std::uint32_t>(data.vectors.size());
  header.numbers_checksum = crc32c(std::as_bytes(data.numbers));
  header.data_checksum = header.numbers_checksum;
  for (const auto vector : data.vectors)
    header.data_checksum = crc32c(std::as_bytes(vector), header.data_checksum);
  file.append(sealed(header));
  file.append(std::as_bytes(data.numbers));
  for (const auto vector : data.vectors) file.append(std::as_bytes(vector));
  file.put_on_disk();
  return file;
}

}  // namespace

std::string CheckpointName::text() const {
  return fmt::format("{:08}.{}-of-{}{}", generation, rank, rank_count, name_end);
}

std::optional<CheckpointName> checkpoint_name_from(std::string_view text) {
  const auto point = text.find('.');
  const auto of = text.find("-of-");
  if (point == std::string_view::npos || of == std::string_view::npos || of < point ||
      !text.ends_with(name_end))
    return std::nullopt;
  const auto count_begin = of + std::string_view("-of-").size();
  if (text.size() < count_begin + name_end.size()) return std::nullopt;
  const auto generation = number_from<std::int64_t>(text.substr(0, point));
  const auto rank = number_from<int>(text.substr(point + 1, of - point - 1));
  const auto rank_count =
      number_from<int>(text.substr(count_begin, text.size() - count_begin - name_end.size()));
  if (!generation || !rank || !rank_count) return std::nullopt;
  const CheckpointName name{*generation, *rank, *rank_count};
  if (name.generation < 1 || name.rank < 0 || name.rank >= name.rank_count || name.text() != text)
    return std::nullopt;
  return name;
}

void write_checkpoint_file(const std::string& folder, CheckpointHeader header, const CheckpointData& data) {
  NewFile file(folder, name_of(header));
  fill(file, header, data).take_name();
}

void rehearse_checkpoint_file(const std::string& folder, CheckpointHeader header,
                              const CheckpointData& data) {
  NewFile file(folder, name_of(header));
  fill(file, header, data);
}

CheckpointReader::CheckpointReader(std::string path, const CheckpointName& name)
    : file_(std::move(path)), header_(read_header<CheckpointHeader>(file_)) {
  check_header(name);
  if (const auto expected = file_bytes(header_); file_.size() != expected)
    file_.refuse(
        fmt::format("found {} bytes, expected the {} that its header announces", file_.size(), expected));
}

void CheckpointReader::check_header(const CheckpointName& name) const {
  constexpr std::int64_t most_elements = std::int64_t{1} << 48;  // file_bytes() stays within 63 bits
  constexpr std::uint32_t most_vectors = 64;
  const bool is_sound = header_.order >= 0 && header_.order <= most_elements && header_.begin >= 0 &&
                        header_.begin <= header_.end && header_.end <= header_.order && header_.step >= 0 &&
                        header_.number_count >= 0 && header_.number_count <= most_elements &&
                        header_.vector_count <= most_vectors && header_.unused == 0 &&
                        (header_.kind == CheckpointKind::run || header_.kind == CheckpointKind::solve);
  if (!is_sound) file_.refuse("found a header with impossible values, expected one that cg2d has written");
  const CheckpointName own{header_.generation, header_.rank, header_.rank_count};
  if (own != name) file_.refuse(fmt::format("found the content of {}, expected its own", own.text()));
}

std::vector<double> CheckpointReader::numbers() const {
  std::vector<double> numbers(static_cast<std::size_t>(header_.number_count));
  const auto bytes = std::as_writable_bytes(std::span(numbers));
  if (!file_.fill(header_bytes, bytes) || crc32c(bytes) != header_.numbers_checksum)
    file_.refuse("found damaged numbers, expected those that meet their checksum");
  return numbers;
}

void CheckpointReader::read(const comm::IndexRange& wanted,
                            std::span<const std::span<double>> targets) const {
  constexpr std::int64_t most_elements = std::int64_t{1} << 16;
  const auto longest = std::max(header_.number_count, header_.vector_count > 0 ? header_.range().size() : 0);
  std::vector<double> buffer(static_cast<std::size_t>(std::min(most_elements, longest)));
  std::int64_t position = header_bytes;
  std::uint32_t checksum = 0;
  const auto next = [&](std::int64_t count) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(count));
    const auto bytes = std::as_writable_bytes(part);
    if (!file_.fill(position, bytes)) file_.refuse("found an end, expected all that its header announces");
    checksum = crc32c(bytes, checksum);
    position += std::ssize(bytes);
    return part;
  };
  for (std::int64_t done = 0; done < header_.number_count; done += most_elements)
    next(std::min(most_elements, header_.number_count - done));
  for (std::size_t v = 0; v < header_.vector_count; ++v) {
    for (std::int64_t first = header_.begin; first < header_.end; first += most_elements) {
      const auto last = std::min(first + most_elements, header_.end);
      const auto part = next(last - first);
      const comm::IndexRange common{std::max(first, wanted.begin), std::min(last, wanted.end)};
      if (targets.empty() || common.size() <= 0) continue;
      const auto found = part.subspan(static_cast<std::size_t>(common.begin - first),
                                      static_cast<std::size_t>(common.size()));
      std::ranges::copy(found,
                        targets[v].subspan(static_cast<std::size_t>(common.begin - wanted.begin)).begin());
    }
  }
  if (checksum != header_.data_checksum) file_.refuse("found damaged data, expected what meets its checksum");
}

}  // namespace cg2d

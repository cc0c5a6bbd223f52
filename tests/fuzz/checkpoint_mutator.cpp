// Changes of files of checkpoints that reach behind the checksums: half of the changed files get sizes, a state and the checksums
// that belong together.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/checkpoint_bytes.hpp"
#include "fuzz/json_changes.hpp"

namespace {

using cg2d::CheckpointHeader;
using cg2d::CheckpointKind;

/// A number of any bits as one of a few.
int64_t folded(int64_t value, uint64_t count) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) % count);
}

/// The bytes at a position that are kept, as so many numbers.
std::vector<double> taken(const std::string& bytes, size_t& position, int64_t count) {
  std::vector<double> numbers(static_cast<size_t>(count), 0.5);
  const auto size =
      std::min(numbers.size() * sizeof(double), bytes.size() - std::min(position, bytes.size()));
  if (size > 0) std::memcpy(numbers.data(), bytes.data() + position, size);
  position += numbers.size() * sizeof(double);
  return numbers;
}

/// Of five states that are JSON, four are changed as such.
std::string changed_state(const std::string& text, unsigned seed) {
  auto json = cg2d::fuzz::Json::parse(text, nullptr, false);
  cg2d::fuzz::Random random(seed);
  if (json.is_discarded() || random() % 5 == 0) return text;
  cg2d::fuzz::mutate_one(json, random);
  return json.dump(-1, ' ', false, cg2d::fuzz::Json::error_handler_t::replace);
}

/// A small checkpoint of any bytes. Of four, three have counts that fit their step.
std::string repaired(const std::string& bytes, unsigned seed) {
  CheckpointHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof(header));
  const bool is_run = (static_cast<uint32_t>(header.kind) & 1U) != 0;
  const bool fits = seed % 4 != 0;
  header.mark = CheckpointHeader::format.mark;
  header.kind = is_run ? CheckpointKind::run : CheckpointKind::solve;
  header.generation = std::max<int64_t>(header.generation, 1);
  header.rank_count = 1 + static_cast<int32_t>(folded(header.rank_count, 8));
  header.rank = static_cast<int32_t>(folded(header.rank, static_cast<uint64_t>(header.rank_count)));
  header.unused = 0;
  header.order = fits ? cg2d::fuzz::checkpointed_order : folded(header.order, 16);
  header.range.end = folded(header.range.end, static_cast<uint64_t>(header.order) + 1);
  header.range.begin = folded(header.range.begin, static_cast<uint64_t>(header.range.end) + 1);
  if (fits) header.matrix_hash = is_run ? cg2d::fuzz::run_hash : cg2d::fuzz::solve_hash;
  if (fits) header.step = 1 + folded(header.step, 8);
  const auto vector_count = fits ? (is_run ? 1 : 3) : folded(header.vector_count, 4);
  auto position = sizeof(header) + static_cast<size_t>(folded(header.state_bytes, 1024));
  const auto state = changed_state(bytes.substr(sizeof(header), position - sizeof(header)), seed);
  std::vector<std::vector<double>> vectors;
  for (int64_t v = 0; v < vector_count; ++v)
    vectors.push_back(taken(bytes, position, header.range.end - header.range.begin));
  return cg2d::fuzz::checkpoint_bytes(header, state, vectors);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t most, unsigned seed) {
  count = LLVMFuzzerMutate(bytes, count, most);
  if (count < sizeof(CheckpointHeader) || seed % 2 != 0) return count;
  const auto file = repaired(std::string(bytes, bytes + count), seed / 2);
  if (file.size() > most) return count;
  std::memcpy(bytes, file.data(), file.size());
  return file.size();
}

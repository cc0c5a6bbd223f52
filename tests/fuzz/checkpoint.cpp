// A file of a checkpoint, and the state that a run or a solve takes from it; or the name of such a file. What is accepted has right
// checksums, can be written again as the same bytes, and its state is possible.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/run/run_report.hpp"
#include "fuzz/checkpoint_bytes.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"
#include "support/bits.hpp"

namespace cg2d::fuzz {
namespace {

/// The name that a header gives its file, or any other.
CheckpointName name_in(std::string_view input) {
  CheckpointHeader header;
  std::memcpy(static_cast<void*>(&header), input.data(), std::min(input.size(), sizeof(header)));
  const CheckpointName name{header.generation, header.rank, header.rank_count};
  const auto read = checkpoint_name_from(name.text());
  promise(!read || *read == name, "a name is read as it is written");
  return read.value_or(CheckpointName{.generation = 1, .rank = 0, .rank_count = 1});
}

/// All vectors in a range of elements; those that the file does not have are -1.
std::vector<std::vector<double>> vectors_in(const CheckpointReader& reader, const comm::IndexRange& range) {
  const auto size = static_cast<size_t>(range.size());
  std::vector<std::vector<double>> vectors(reader.header().vector_count, std::vector<double>(size, -1.0));
  const std::vector<std::span<double>> targets(vectors.begin(), vectors.end());
  reader.read(range, targets);
  return vectors;
}

/// A range that begins in the middle of the file's and ends after it.
void check_a_part(const CheckpointReader& reader, const std::vector<std::vector<double>>& vectors) {
  const auto own = reader.header().range;
  const auto half = static_cast<size_t>(own.size() / 2);
  const auto parts = vectors_in(reader, {own.begin + own.size() / 2, own.end + 2});
  for (size_t v = 0; v < vectors.size(); ++v) {
    auto expected = std::vector<double>(vectors[v].begin() + static_cast<ptrdiff_t>(half), vectors[v].end());
    expected.insert(expected.end(), 2, -1.0);
    promise(test::same_bits(parts[v], expected), "elements are the same when they are read in parts");
  }
}

void check_contents(const CheckpointReader& reader, std::string_view input) {
  const auto& header = reader.header();
  const auto vectors = vectors_in(reader, header.range);
  promise(checkpoint_bytes(header, reader.state(), vectors) == input,
          "an accepted file is the one that its contents are written as");
  promise(
      header.range.begin >= 0 && header.range.begin <= header.range.end && header.range.end <= header.order,
      "elements are within the vectors");
  check_a_part(reader, vectors);
}

/// Throws FileError.
void check_run(const FoundCheckpoint& found) {
  const auto problem = checkpointed_problem();
  const auto facts = restart_facts(found, problem);
  promise(facts.step_count() == found.header().step && facts.step_count() < problem.niter,
          "a run goes on after the outer iterations that are done");
  for (size_t k = 0; k < facts.earlier_steps.size(); ++k)
    promise(std::isfinite(facts.earlier_steps[k].zeta) && std::isfinite(facts.earlier_steps[k].residual_norm),
            "the outer iterations that are done are finite");
}

/// Throws FileError.
void check_solve(const FoundCheckpoint& found) {
  const CheckpointHeader system{.matrix_hash = solve_hash, .order = checkpointed_order};
  const auto restart = solve_restart(found, system, "a system");
  promise(std::ssize(restart.steps) == found.header().step && restart.state.number == found.header().step,
          "a solve goes on after the iterations that are done");
  for (const auto& step : restart.steps) promise(step.replacement_count >= 0, "a count is not negative");
  promise(restart.state.replacement_count >= 0, "a count is not negative");
}

}  // namespace

bool take_checkpoint(std::string_view input) {
  if (const auto name = checkpoint_name_from(input)) {
    promise(name->text() == input, "a name is written as it is read");
    return true;
  }
  const MemoryFile file(input);
  return accepts<FileError>([&] {
    const CheckpointReader reader(file.path(), name_in(input));
    check_contents(reader, input);
    const FoundCheckpoint found{.folder = "state",
                                .generation = reader.header().generation,
                                .headers = {reader.header()},
                                .state = reader.state(),
                                .rejected = {}};
    if (reader.header().kind == CheckpointKind::run) {
      check_run(found);
    } else {
      check_solve(found);
    }
  });
}

}  // namespace cg2d::fuzz

#pragma once

// Checkpoints of an iteration while it goes on: how often they are due, and what has become of them.

#include <optional>

#include "cg/base/sample.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/checkpoint/checkpoint_interval.hpp"

namespace cg2d {

/// Collective in everything but the accessors. The group of the writer must outlive it.
class CheckpointSaver {
 public:
  /// interval_s: as CheckpointOptions.
  CheckpointSaver(std::optional<double> interval_s, CheckpointWriter writer);

  /// Writes a checkpoint without a name, which gives its cost. Throws RunError (cannot_create, cannot_write), alike on every rank.
  void rehearse(const CheckpointState& state);
  /// A checkpoint that cannot be written does not end the work: the earlier one is there, and the disk may have room later.
  void save(const CheckpointState& state);

  /// The same on all ranks, since the time that a checkpoint takes is the slowest rank's.
  [[nodiscard]] double interval_s() const { return facts_.interval_s; }
  /// As CheckpointWriter::first_says().
  [[nodiscard]] bool first_says(bool value) const { return writer_.first_says(value); }
  [[nodiscard]] const CheckpointFacts& facts() const { return facts_; }
  [[nodiscard]] std::int64_t last_generation() const { return writer_.last_generation(); }

 private:
  void record_written(double write_s);

  CheckpointInterval interval_;
  CheckpointWriter writer_;
  CheckpointFacts facts_;
};

}  // namespace cg2d

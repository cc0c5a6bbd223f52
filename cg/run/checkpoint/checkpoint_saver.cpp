#include "cg/run/checkpoint/checkpoint_saver.hpp"

#include <utility>

#include "cg/base/errors.hpp"

namespace cg2d {

CheckpointSaver::CheckpointSaver(std::optional<double> interval_s, CheckpointWriter writer)
    : interval_(interval_s), writer_(std::move(writer)) {
  facts_.folder = writer_.folder();
  facts_.is_automatic = interval_.is_automatic();
}

void CheckpointSaver::rehearse(const CheckpointState& state) { record_written(writer_.rehearse(state)); }

void CheckpointSaver::save(const CheckpointState& state) {
  const Stopwatch stopwatch;
  try {
    record_written(writer_.save(state));
    ++facts_.count;
    facts_.failure.clear();
  } catch (const RunError& error) {
    facts_.failure = error.what();
  }
  facts_.total_s += stopwatch.seconds();
}

void CheckpointSaver::record_written(double write_s) {
  interval_.record_written(write_s);
  facts_.write_s = write_s;
  facts_.interval_s = interval_.seconds();
}

}  // namespace cg2d

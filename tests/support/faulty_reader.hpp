#pragma once

// A way to read and write that fails on demand.

#include <cerrno>
#include <map>
#include <memory>

#include "cg/panels/panel_reader.hpp"

namespace cg2d::test {

enum class FaultKind { none, error, short_count, flipped_bit };

/// What goes wrong: requests of one direction, `count` of them from number `first` on.
struct FaultPlan {
  FaultKind kind = FaultKind::none;
  PanelDirection direction = PanelDirection::read;
  int first = 0;
  int count = 1;
};

/// The plan of all faulty readers of this process, and the requests of its direction so far.
struct FaultState {
  FaultPlan plan;
  int request_count = 0;
};
inline FaultState& fault_state() {
  static FaultState state;
  return state;
}
inline void plan_faults(const FaultPlan& plan) { fault_state() = {.plan = plan}; }

/// Reads and writes by the reader "threads".
class FaultyReader final : public PanelReader {
 public:
  FaultyReader(int descriptor, int slot_count)
      : inner_(find_panel_reader("threads")->make(descriptor, slot_count)) {}

  void start(const PanelRequest& request) override {
    auto& state = fault_state();
    bool fails = false;
    if (request.direction == state.plan.direction) {
      const int number = state.request_count++;
      fails = state.plan.first <= number && number < state.plan.first + state.plan.count;
    }
    under_way_[request.slot] = {.request = request, .kind = fails ? state.plan.kind : FaultKind::none};
    if (request.direction == PanelDirection::write) flip_bit(request.slot);
    inner_->start(request);
  }
  PanelResult wait(int slot) override {
    auto result = inner_->wait(slot);
    const auto& one = under_way_[slot];
    if (one.request.direction == PanelDirection::read) flip_bit(slot);
    if (one.kind == FaultKind::error) result = {.byte_count = 0, .error = EIO};
    if (one.kind == FaultKind::short_count) result.byte_count -= 512;
    under_way_[slot].kind = FaultKind::none;
    return result;
  }

 private:
  struct UnderWay {
    PanelRequest request;
    FaultKind kind = FaultKind::none;
  };
  /// What is written is damaged on its way to the file, what is read in memory.
  void flip_bit(int slot) {
    const auto& one = under_way_[slot];
    if (one.kind == FaultKind::flipped_bit) one.request.memory[1000] ^= std::byte{4};
  }

  std::unique_ptr<PanelReader> inner_;
  std::map<int, UnderWay> under_way_;
};

inline PanelReaderRow faulty_reader() {
  return {.name = "faulty",
          .description = "fails on demand",
          .make = [](int descriptor, int slot_count) -> std::unique_ptr<PanelReader> {
            return std::make_unique<FaultyReader>(descriptor, slot_count);
          }};
}

}  // namespace cg2d::test

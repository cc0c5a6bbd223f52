#pragma once

// A way to read and write panels and planes that fails on demand.

#include <cerrno>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cg/panels/panel_io.hpp"

namespace cg2d::test {

enum class FaultKind { none, error, short_count, flipped_bit };

/// The faults of consecutive requests of one direction, from number `first` on: reads in the order in which they are waited for, so that
/// the second fault of two is that of the second attempt; writes in the order in which they start.
struct FaultPlan {
  std::vector<FaultKind> kinds{};
  PanelDirection direction = PanelDirection::read;
  int first = 0;
  int request_count = 0;  ///< of its direction, so far

  FaultKind next(PanelDirection of_request) {
    if (of_request != direction) return FaultKind::none;
    const int number = request_count++ - first;
    return number >= 0 && number < std::ssize(kinds) ? kinds[static_cast<size_t>(number)] : FaultKind::none;
  }
};
/// The plan of all faulty readers of this process.
inline FaultPlan& fault_plan() {
  static FaultPlan plan;
  return plan;
}
inline void plan_faults(FaultPlan plan) { fault_plan() = std::move(plan); }

/// Reads and writes by the reader "threads".
class FaultyReader final : public PanelIo {
 public:
  explicit FaultyReader(const PanelIoSetup& setup) : inner_(find_panel_io("threads")->make(setup)) {}

  void start(const PanelRequest& request) override {
    auto& one = under_way_[request.slot];
    one = {.request = request, .kind = FaultKind::none};
    if (request.direction == PanelDirection::write) one.meet_fault();
    inner_->start(request);
  }
  PanelResult wait(int slot) override {
    auto result = inner_->wait(slot);
    auto& one = under_way_[slot];
    if (one.request.direction == PanelDirection::read) one.meet_fault();
    if (one.kind == FaultKind::error) result = {.byte_count = 0, .error = EIO};
    if (one.kind == FaultKind::short_count) result.byte_count /= 2;
    one.kind = FaultKind::none;
    return result;
  }

 private:
  struct UnderWay {
    PanelRequest request;
    FaultKind kind = FaultKind::none;

    /// Damages what is written on its way to the file, and what is read in memory.
    void meet_fault() {
      kind = fault_plan().next(request.direction);
      if (kind == FaultKind::flipped_bit) request.memory[request.memory.size() / 3] ^= std::byte{8};
    }
  };

  std::unique_ptr<PanelIo> inner_;
  std::map<int, UnderWay> under_way_;
};

inline PanelIoRow faulty_reader() {
  return {.name = "faulty", .make = [](const PanelIoSetup& setup) -> std::unique_ptr<PanelIo> {
            return std::make_unique<FaultyReader>(setup);
          }};
}

}  // namespace cg2d::test

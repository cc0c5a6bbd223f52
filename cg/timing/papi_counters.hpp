#pragma once

// Events of the processor, counted by PAPI; the one place that knows that library.

#include <string>
#include <vector>

#include "cg/timing/events.hpp"

namespace cg2d {

/// One set of events of this process, in user mode. Counts the calling thread, and the threads that are made
/// after the set where PAPI can inherit (counts_all_threads). Not thread-safe.
class PapiCounters {
 public:
  /// Takes the events that can be counted, and keeps the reasons against the others: PAPI's own, or that an
  /// event of cycles or instructions stands still while the processor works. Local. Throws RunError
  /// (unavailable) if PAPI itself does not start.
  PapiCounters(const std::vector<std::string>& event_names, bool multiplexed);
  ~PapiCounters();
  PapiCounters(const PapiCounters&) = delete;
  PapiCounters& operator=(const PapiCounters&) = delete;

  [[nodiscard]] const std::vector<std::string>& event_names() const { return event_names_; }
  [[nodiscard]] const std::vector<RefusedEvent>& refused() const { return refused_; }
  [[nodiscard]] bool counts_all_threads() const { return inherits_; }

  /// The counts so far, from an arbitrary start. Cost: one system call where the processor's counters cannot
  /// be read directly, 1 us on a virtual machine of 2026.
  void read(CounterValues& values) noexcept;

 private:
  void make_set(bool multiplexed);
  void add(const std::string& event_name);
  void start();
  [[nodiscard]] std::vector<std::string> standing_still();
  void stop();

  std::vector<std::string> event_names_;
  std::vector<RefusedEvent> refused_;
  int event_set_ = -1;  ///< PAPI_NULL, as make_set() sets it again
  bool inherits_ = false;
};

}  // namespace cg2d

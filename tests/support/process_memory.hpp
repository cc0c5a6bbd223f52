#pragma once

// Memory of this process, as the system reports it.

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace cg2d::test {

/// A size from /proc/self/status, bytes, such as "VmRSS:"; empty where there is none.
inline std::optional<int64_t> status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    int64_t kibibytes = 0;
    if (rest >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

inline int64_t resident_bytes_now() { return status_bytes("VmRSS:").value_or(0); }
inline int64_t peak_bytes_since_reset() { return status_bytes("VmHWM:").value_or(0); }

/// Resets the peak. Returns false where the system does not allow it.
inline bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good() && status_bytes("VmHWM:").has_value();
}

}  // namespace cg2d::test

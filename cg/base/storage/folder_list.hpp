#pragma once

// Folders on local storage that ranks share out. No MPI.

#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// "DIR1,DIR2"; empty: none. Throws InputError that names the option.
std::vector<std::string> folders_from(std::string_view option, const std::string& text);

/// Rank r takes number r modulo their number. There must be one.
inline const std::string& folder_of_rank(const std::vector<std::string>& folders, int rank) {
  return folders[static_cast<std::size_t>(rank) % folders.size()];
}

}  // namespace cg2d

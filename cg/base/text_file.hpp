#pragma once

// Text files that are read whole, and the path of the user's own profile.

#include <optional>
#include <string>

namespace cg2d {

/// cg2d/profile.json in $XDG_CACHE_HOME or else in $HOME/.cache; empty if neither is set.
std::optional<std::string> default_profile_path();

/// The text of a file; empty if there is no such file. Throws InputError, without the name of the file,
/// when it cannot be read.
std::optional<std::string> text_of_file(const std::string& path);

}  // namespace cg2d

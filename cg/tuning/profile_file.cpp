#include "cg/tuning/tuning_profile.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {

ProfileFile::ProfileFile(const ProfileSource& source) {
  if (!source.path.empty()) {
    path_ = source.path;
  } else if (const auto path = default_profile_path()) {
    path_ = *path;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  } else {
    throw InputError("no place for the profile: neither XDG_CACHE_HOME nor HOME is set; give --profile FILE");
  }
  static_cast<void>(read_profile(path_));
  const OutputFile writable(path_);
}

void ProfileFile::add(const std::string& processor, const ProcessorProfile& found) const {
  update([&](TuningProfile& known) { known[processor].add(found); });
}

int ProfileFile::remove(const std::string& name) const {
  auto seen = read_profile(path_);
  if (remove_measurements(seen, name) == 0) return 0;
  int count = 0;
  update([&](TuningProfile& known) { count = remove_measurements(known, name); });
  return count;
}

TuningProfile read_profile(const std::string& path) {
  try {
    const auto text = text_of_file(path);
    if (!text || text->empty()) return {};
    return parse_profile(*text);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--profile {}: is there, and no tuning profile: {}; name another file or remove it", path,
                    error.what()),
        error.code());
  }
}

/// Another process may have added to the file meanwhile.
void ProfileFile::update(const std::function<void(TuningProfile&)>& change) const {
  update_file(path_, [&] {
    auto known = read_profile(path_);
    change(known);
    return format_profile(known);
  });
}

}  // namespace cg2d

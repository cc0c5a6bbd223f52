#pragma once

// The file of the tuning profile, to which results are added.

#include <functional>
#include <string>

#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {

/// The profile in a file, an empty one where there is none. Throws InputError for a file that is no profile.
TuningProfile read_profile(const std::string& path);

/// The file, for one process: the constructor finds out whether it can be written, before anything is
/// measured.
class ProfileFile {
 public:
  /// Reads the file, if it is there. Throws InputError when there is no place for it, or when the file is no
  /// profile (it is not overwritten), RunError when it cannot be created.
  explicit ProfileFile(const ProfileSource& source);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Adds to the file: other processors stay, and so do other cases of this one, those that other processes add at
  /// the same time among them. Throws RunError.
  void add(const std::string& processor, const ProcessorProfile& found) const;

  /// Removes measurements as remove_measurements(). 0: the file stays as it is. Throws RunError.
  int remove(const std::string& name) const;

 private:
  void update(const std::function<void(TuningProfile&)>& change) const;

  std::string path_;
};

}  // namespace cg2d

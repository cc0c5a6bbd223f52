#pragma once

// The tuning profile's file, to be added to.

#include <string>

#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {

/// For one process: whether the file can be written is known before anything is measured.
class ProfileFile {
 public:
  /// Reads what is there. Throws InputError when there is no place for it, or when the file is there and no
  /// profile (it is not written over), RunError when it cannot be created.
  explicit ProfileFile(const ProfileSource& source);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// These add to what is in the file: other processors stay, and so do other cases of this one. They throw
  /// RunError.
  void add(const std::string& processor, const ProcessorProfile& found);
  void add(const std::string& processor, const TransportCase& found);

 private:
  [[nodiscard]] TuningProfile read() const;
  void write() const;

  std::string path_;
  TuningProfile known_;
};

}  // namespace cg2d

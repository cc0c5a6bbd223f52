#pragma once

// A rank's place in a folder of panels: the name of its file, and a claim to it. No MPI.

#include <memory>
#include <string>

#include "cg/base/storage/folders.hpp"
#include "cg/panels/panel_file.hpp"

namespace cg2d {

/// Claims the place of one rank; makes the folder where it is missing. What a killed run has left there under temporary names is removed.
class PanelFolder {
 public:
  /// Throws RunError, as FolderClaim.
  PanelFolder(std::string folder, int rank, int rank_count);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const FolderClaim& claim() const { return claim_; }
  /// "3-of-4.panels"
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  [[nodiscard]] std::string file_path() const { return folder_ + "/" + file_name_; }

  /// This rank's file, if it is there, intact and has this key; else nullptr, and `reason` says why (empty: there is none).
  [[nodiscard]] std::unique_ptr<PanelFile> existing(const PanelFileKey& key, std::string& reason) const;
  /// Removes this rank's file, if there is one.
  void remove_file() const;

 private:
  std::string folder_;
  std::string file_name_;
  FolderClaim claim_;
};

}  // namespace cg2d

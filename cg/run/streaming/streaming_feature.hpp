#pragma once

// The product of a matrix on local storage, in the place of one in memory.

#include "cg/run/feature.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/assembled_operator.hpp"

namespace cg2d {

/// Makes the product of a rank's block on local storage in place of one of a block in memory. Collective in everything but the accessors;
/// throws RunError: memory where not even two panels fit, cannot_create, cannot_write, folder_in_use (PanelFolder), MpiError, std::bad_alloc.
class StreamingFeature {
 public:
  explicit StreamingFeature(const FeatureContext& context) : context_(context) {}

  /// Measures the storage with unlinked temporary files. multiply_s: of a product in memory, 0 if it is not known. Cost: about a second.
  StreamPlan plan(const StreamedMatrix& matrix, const comm::BlockLayout& layout, double multiply_s) const;
  /// Takes the files of all ranks, where all are there and fit, and have no short panels where all will stay in memory; else writes all.
  /// Once.
  [[nodiscard]] std::unique_ptr<BlockProduct> make_product(const StreamedMatrix& matrix,
                                                           const comm::BlockLayout& layout);
  /// Throws what reading has failed with: numbers are NaN for that reason.
  void check_region();
  /// What is known of it goes to the report.
  void finish();

  const PanelFileFigures& figures() const { return kernel_->file().header.figures; }
  /// With writing; the slowest rank's. 0 where the files were there.
  double generation_s() const { return generation_s_; }
  double storage_bytes_per_s() const { return stream_.storage_bytes_per_s; }
  /// Bytes of a panel, from a few of which products multiply; 0: nothing is read.
  int64_t panel_bytes() const;

 private:
  FeatureContext context_;
  std::unique_ptr<PanelFolder> folder_;  // locked as long as this lives
  double generation_s_ = 0.0;
  double device_write_s_ = 0.0;             // OutOfCoreFacts::device_write_s
  RankStream stream_;                       // without the figures of products
  const StreamedKernel* kernel_ = nullptr;  // of the product
};

}  // namespace cg2d

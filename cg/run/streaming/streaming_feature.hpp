#pragma once

// --out-of-core: the matrix stays on local storage, and is streamed.

#include <cstdint>
#include <memory>

#include "cg/run/feature.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/block_product.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// Makes the product in place of one of a block in memory. Collective in everything but the accessors.
class StreamingFeature {
 public:
  explicit StreamingFeature(const FeatureContext& context) : context_(context) {}

  /// They refer to both.
  [[nodiscard]] StreamedBlockParts parts_of(const StreamedMatrix& matrix,
                                            const comm::BlockLayout& layout) const;
  /// As make_streamed_block(); once.
  [[nodiscard]] std::unique_ptr<BlockProduct> make_product(const StreamedMatrix& matrix,
                                                           const comm::BlockLayout& layout);
  /// Throws what reading has failed with: numbers are NaN for that reason.
  void check_region();
  /// What is known of it goes to the report.
  void finish();

  [[nodiscard]] const StreamedBlock& block() const { return block_; }
  /// Bytes of a panel, from a few of which products multiply; 0: nothing is read.
  [[nodiscard]] std::int64_t panel_bytes() const;

 private:
  FeatureContext context_;
  StreamedBlock block_;  // its kernel is in the product
  const StreamedKernel* kernel_ = nullptr;
};

}  // namespace cg2d

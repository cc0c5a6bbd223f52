#include "cg/solver/block_product.hpp"

#include <algorithm>
#include <utility>

#include "cg/matrix/half_storage.hpp"
#include "kernels/half_spmv.hpp"

namespace cg2d {
namespace {

class WholeBlockProduct final : public BlockProduct {
 public:
  explicit WholeBlockProduct(std::unique_ptr<kernels::SpmvKernel> kernel) : kernel_(std::move(kernel)) {}

  [[nodiscard]] std::string_view kernel_name() const override { return kernel_->name(); }
  [[nodiscard]] std::string_view instruction_set() const override { return kernel_->instruction_set(); }
  [[nodiscard]] bool is_symmetric() const override { return false; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override { return kernel_->matrix_byte_count(); }
  void multiply(comm::Communicator& communicator) override {
    kernel_->multiply(communicator.column_block(), communicator.partial());
  }

 private:
  std::unique_ptr<kernels::SpmvKernel> kernel_;
};

class HalfBlockProduct final : public BlockProduct {
 public:
  explicit HalfBlockProduct(std::unique_ptr<kernels::HalfSpmvKernel> kernel) : kernel_(std::move(kernel)) {}

  [[nodiscard]] std::string_view kernel_name() const override { return kernel_->name(); }
  [[nodiscard]] std::string_view instruction_set() const override { return kernel_->instruction_set(); }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override { return kernel_->matrix_byte_count(); }
  void multiply(comm::Communicator& communicator) override {
    auto& mirror = *communicator.mirror();
    kernel_->multiply({.p_columns = communicator.column_block(),
                       .p_rows = mirror.row_block(),
                       .q_rows = communicator.partial(),
                       .q_columns = mirror.column_partial()});
  }

 private:
  std::unique_ptr<kernels::HalfSpmvKernel> kernel_;
};

template <typename Row>
KernelInfo info_of(const Row& row, bool is_symmetric) {
  return {.name = row.name,
          .description = row.description,
          .bytes_per_nonzero = row.bytes_per_nonzero,
          .converts = row.converts,
          .is_symmetric = is_symmetric,
          .defaults = row.defaults,
          .why_unavailable = row.why_unavailable};
}

}  // namespace

std::vector<KernelInfo> all_kernels() {
  std::vector<KernelInfo> all;
  for (const auto& row : kernels::kernel_table()) all.push_back(info_of(row, false));
  for (const auto& row : kernels::half_kernel_table()) all.push_back(info_of(row, true));
  return all;
}

std::optional<KernelInfo> find_kernel_info(std::string_view name) {
  const auto all = all_kernels();
  const auto found = std::ranges::find_if(all, [&](const auto& kernel) { return kernel.name == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

KernelInfo kernel_info(std::string_view name) { return find_kernel_info(name).value(); }

std::unique_ptr<BlockProduct> make_block_product(const KernelInfo& kernel, kernels::CsrBlock block,
                                                 const comm::BlockLayout& layout, int rank,
                                                 const kernels::KernelOptions& options) {
  if (!kernel.is_symmetric) {
    return std::make_unique<WholeBlockProduct>(
        kernels::find_kernel(kernel.name)->make(std::move(block), options));
  }
  const auto grid = layout.grid();
  keep_half(block, layout.row_block(grid.row_of(rank)), layout.column_block(grid.column_of(rank)),
            HalfStorageRule(layout.size(), grid));
  return std::make_unique<HalfBlockProduct>(
      kernels::find_half_kernel(kernel.name)->make(std::move(block), options));
}

}  // namespace cg2d

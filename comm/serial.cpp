// One rank: sends nothing, and waits for no rank.

#include <cassert>
#include <stdexcept>

#include "comm/buffer.hpp"
#include "comm/communicator.hpp"

namespace cg2d::comm {
namespace {

/// The one piece is the column block and the row block, and the partial sums are the sums.
class SerialCommunicator final : public Communicator, private MirroredExchange {
 public:
  SerialCommunicator(const BlockLayout& layout, const CommunicatorOptions& options)
      : operand_(*options.memory, static_cast<size_t>(layout.size())),
        partial_(*options.memory, operand_.span().size()),
        column_partial_(*options.memory, options.mirrored ? operand_.span().size() : 0),
        is_mirrored_(options.mirrored) {}

  std::string_view name() const override { return "serial"; }
  [[nodiscard]] std::span<double> piece() override { return operand_.span(); }
  std::span<const double> column_block() const override { return operand_.span(); }
  [[nodiscard]] std::span<double> partial() override { return partial_.span(); }
  std::span<const double> result() const override { return partial_.span(); }
  void collect() override {}
  void sum() override {}
  void shuffle() override {}
  void sum_scalars([[maybe_unused]] std::span<double> values) override {
    assert(scalar_counts[place_of_count(values.size())] == values.size());
  }
  [[nodiscard]] MirroredExchange* mirror() override { return is_mirrored_ ? this : nullptr; }
  uint64_t waited_ticks() const override { return 0; }

 protected:
  void start_collection() override {}
  void wait_for_collected(size_t /*part*/) override {}
  void finish_collection() override {}

 private:
  std::span<const double> row_block() const override { return operand_.span(); }
  [[nodiscard]] std::span<double> column_partial() override { return column_partial_.span(); }
  std::span<const double> column_result() const override { return column_partial_.span(); }
  void collect_rows() override {}
  void sum_columns() override {}

  Buffer operand_;
  Buffer partial_;
  Buffer column_partial_;
  bool is_mirrored_;
};

}  // namespace

std::unique_ptr<Communicator> make_serial_communicator(const BlockLayout& layout,
                                                       const CommunicatorOptions& options) {
  if (layout.grid().rank_count() != 1)
    throw std::invalid_argument("a serial communicator is of one rank, the grid is " + layout.grid().name());
  return std::make_unique<SerialCommunicator>(layout, options);
}

}  // namespace cg2d::comm

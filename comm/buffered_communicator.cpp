// The communicator of all transports that move data between buffers of each rank. It owns the buffers and
// chooses the operations; the transport implements how an operation moves its data.

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <vector>

#include "comm/messages.hpp"

namespace cg2d::comm {
namespace {

size_t size_of(const IndexRange& range) { return static_cast<size_t>(range.size()); }

/// A piece of a block, which holds the elements of that range.
std::span<double> part_of(std::span<double> block, const IndexRange& range, const IndexRange& piece) {
  return block.subspan(static_cast<size_t>(piece.begin - range.begin), size_of(piece));
}

class BufferedCommunicator final : public Communicator, private MirroredExchange {
 public:
  BufferedCommunicator(std::string_view name, const RankPlace& place, const BlockLayout& layout,
                       const CommunicatorOptions& options, const MakeLink& make_link)
      : name_(name),
        place_(place),
        layout_(layout),
        form_(options.sum_form),
        link_(make_link(sent_counts())) {
    const int rank = place.rank;
    column_block_ = link_->allocate(size_of(layout.columns_of(rank)));
    partial_ = link_->allocate(size_of(layout.rows_of(rank)));
    piece_ = part_of(column_block_, layout.columns_of(rank), layout.own_piece(rank));
    row_piece_ = part_of(partial_, layout.rows_of(rank), layout.piece(layout.row_piece_of(rank)));
    collect_ = prepare(Line::process_column, Operation::collect, column_block_);
    sum_ = prepare(Line::process_row, Operation::sum, partial_);
    make_shuffle();
    if (options.mirrored) make_mirrored();
    make_scalar_sums();
  }

  std::string_view name() const override { return name_; }
  [[nodiscard]] std::span<double> piece() override {
    assert(!is_collecting());
    return piece_;
  }
  std::span<const double> column_block() const override { return column_block_; }
  [[nodiscard]] std::span<double> partial() override { return partial_; }
  std::span<const double> result() const override { return result_; }
  [[nodiscard]] MirroredExchange* mirror() override { return sum_columns_ ? this : nullptr; }

  void collect() override {
    assert(!is_collecting());
    collect_->run();
  }
  void sum() override {
    assert(!is_collecting());
    sum_->run();
  }
  void shuffle() override { shuffle_->run(); }
  void sum_scalars(std::span<double> values) override {
    assert(!is_collecting() && !is_summing_scalars());
    prepared_sum(values).operation->run();
    take_sums(values);
  }

 protected:
  void start_collection() override { collect_->begin(); }
  void wait_for_collected(size_t part) override { collect_->wait_for_part(part); }
  void progress_collection() override { collect_->progress(); }
  void finish_collection() override { collect_->finish(); }
  void start_scalar_sum(std::span<double> values) override { prepared_sum(values).operation->begin(); }
  void finish_scalar_sum(std::span<double> values) override {
    scalar_sums_[place_of_count(values.size())].operation->finish();
    take_sums(values);
  }

 private:
  std::span<const double> row_block() const override {
    return row_block_is_piece_ ? piece_ : std::span<const double>(row_block_);
  }
  [[nodiscard]] std::span<double> column_partial() override { return column_partial_; }
  std::span<const double> column_result() const override { return column_result_; }
  void collect_rows() override {
    if (row_block_is_piece_) return;
    if (stays_) std::copy(piece_.begin(), piece_.end(), row_operand_.begin());
    unshuffle_->run();
    collect_rows_->run();
  }
  void sum_columns() override { sum_columns_->run(); }

  struct ScalarSums {
    std::span<double> values;
    std::unique_ptr<PreparedOperation> operation;
  };

  /// The sum of so many values, with these as this rank's.
  ScalarSums& prepared_sum(std::span<const double> values) {
    auto& prepared = scalar_sums_[place_of_count(values.size())];
    std::copy(values.begin(), values.end(), prepared.values.begin());
    return prepared;
  }
  void take_sums(std::span<double> values) const {
    std::copy_n(scalar_sums_[place_of_count(values.size())].values.begin(), values.size(), values.begin());
  }

  /// A gather of all pieces of the block over this rank's process row or column, or the sum of such blocks.
  std::unique_ptr<PreparedOperation> prepare(Line over, Operation operation, std::span<double> block) {
    const int rank = place_.rank;
    const auto grid = layout_.grid();
    return link_->collective({.operation = operation,
                              .form = form_,
                              .schedule = operation == Operation::collect
                                              ? collection_schedule(layout_, rank, over)
                                              : summation_schedule(layout_, rank, form_, over),
                              .pieces = block_pieces(layout_, over, rank),
                              .ranks = grid.ranks_of(over, grid.line_of(over, rank)),
                              .member = grid.member_of(over, rank),
                              .block = block});
  }

  void make_shuffle() {
    const int rank = place_.rank;
    stays_ = layout_.shuffle_destination(rank) == rank;
    // A piece that is where it belongs needs no message and no copy. This rank takes part all the same, since
    // an operation is collective.
    const auto shuffled = link_->allocate(stays_ ? 0 : piece_.size());
    result_ = stays_ ? row_piece_ : shuffled;
    shuffle_ = link_->move({.operation = Operation::shuffle,
                            .sent = stays_ ? std::span<double>() : row_piece_,
                            .destination = layout_.shuffle_destination(rank),
                            .received = shuffled,
                            .source = layout_.shuffle_source(rank)});
  }

  void make_mirrored() {
    const int rank = place_.rank;
    // With one process column every rank's column piece is its row piece and its row block.
    row_block_is_piece_ = layout_.grid().columns == 1;
    column_partial_ = link_->allocate(column_block_.size());
    column_result_ = part_of(column_partial_, layout_.columns_of(rank), layout_.own_piece(rank));
    sum_columns_ = prepare(Line::process_column, Operation::sum, column_partial_);
    if (row_block_is_piece_) return;
    row_block_ = link_->allocate(partial_.size());
    row_operand_ = part_of(row_block_, layout_.rows_of(rank), layout_.piece(layout_.row_piece_of(rank)));
    collect_rows_ = prepare(Line::process_row, Operation::collect, row_block_);
    // The shuffle backwards: its source is the destination here.
    unshuffle_ = link_->move({.operation = Operation::shuffle,
                              .sent = stays_ ? std::span<double>() : piece_,
                              .destination = layout_.shuffle_source(rank),
                              .received = stays_ ? std::span<double>() : row_operand_,
                              .source = layout_.shuffle_destination(rank)});
  }

  void make_scalar_sums() {
    std::vector<int> everybody(static_cast<size_t>(layout_.grid().rank_count()));
    std::iota(everybody.begin(), everybody.end(), 0);
    for (const auto count : scalar_counts) {
      auto& prepared = scalar_sums_[place_of_count(count)];
      prepared.values = link_->allocate(count);
      prepared.operation = link_->collective(scalar_sum(everybody, place_.rank, prepared.values));
    }
  }

  std::string_view name_;
  RankPlace place_;
  BlockLayout layout_;
  SumForm form_;
  std::unique_ptr<MessageLink> link_;
  std::span<double> column_block_;
  std::span<double> partial_;
  std::span<double> piece_;      // in column_block_
  std::span<double> row_piece_;  // in partial_
  std::span<double> result_;     // row_piece_ where nothing has to move
  bool stays_ = false;           // my column piece is my row piece
  std::unique_ptr<PreparedOperation> collect_;
  std::unique_ptr<PreparedOperation> sum_;
  std::unique_ptr<PreparedOperation> shuffle_;
  std::array<ScalarSums, scalar_counts.size()> scalar_sums_;

  // Only when mirrored.
  std::span<double> row_block_;
  std::span<double> column_partial_;
  std::span<double> row_operand_;    // my row piece in row_block_
  std::span<double> column_result_;  // my column piece in column_partial_
  std::unique_ptr<PreparedOperation> collect_rows_;
  std::unique_ptr<PreparedOperation> sum_columns_;
  std::unique_ptr<PreparedOperation> unshuffle_;
  bool row_block_is_piece_ = false;  // row_block_ is empty then
};

}  // namespace

void add_to_ranges(std::span<const double> packed, const std::vector<IndexRange>& ranges,
                   std::span<double> block) {
  const double* source = packed.data();
  for (const auto& range : ranges) {
    double* const target = block.data() + range.begin;
    const auto count = range.size();
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

BlockCollective scalar_sum(const std::vector<int>& ranks, int member, std::span<double> block) {
  const auto count = static_cast<int>(ranks.size());
  return {.operation = Operation::dot,
          .form = SumForm::whole_block,
          .schedule = all_reduce_schedule(count, member),
          .pieces = GroupPieces::of_scalars(count, std::ssize(block)),
          .ranks = ranks,
          .member = member,
          .block = block};
}

std::unique_ptr<Communicator> make_buffered_communicator(std::string_view name, const RankPlace& place,
                                                         const BlockLayout& layout,
                                                         const CommunicatorOptions& options,
                                                         const MakeLink& make_link) {
  return std::make_unique<BufferedCommunicator>(name, place, layout, options, make_link);
}

}  // namespace cg2d::comm

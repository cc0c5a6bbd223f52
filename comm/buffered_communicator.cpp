// The communicator of all transports that move data between buffers of each rank. It owns the buffers and
// chooses the operations; the transport implements how an operation moves its data.

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/prepared_operation.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {
namespace {

std::vector<int> process_column_ranks(const BlockLayout& layout, int rank) {
  std::vector<int> ranks;
  for (int row = 0; row < layout.grid().rows; ++row) {
    ranks.push_back(layout.grid().rank_at(row, layout.grid().column_of(rank)));
  }
  return ranks;
}

std::vector<int> process_row_ranks(const BlockLayout& layout, int rank) {
  std::vector<int> ranks;
  for (int column = 0; column < layout.grid().columns; ++column) {
    ranks.push_back(layout.grid().rank_at(layout.grid().row_of(rank), column));
  }
  return ranks;
}

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::size_t size_of(const IndexRange& range) { return static_cast<std::size_t>(range.size()); }

std::span<double> part_of(std::span<double> block, const IndexRange& range) {
  return block.subspan(static_cast<std::size_t>(range.begin), size_of(range));
}

class BufferedCommunicator final : public Communicator, private MirroredExchange {
 public:
  BufferedCommunicator(std::string_view name, RankGroup& group, const BlockLayout& layout,
                       const CommunicatorOptions& options, const MakeOperations& make_operations)
      : name_(name), group_(group), operations_(make_operations(group, options, sent_counts())) {
    const int rank = group.rank();
    const auto grid = layout.grid();
    const Place place{.columns = collection_pieces(layout, rank),
                      .rows = summation_pieces(layout, rank),
                      .column_ranks = process_column_ranks(layout, rank),
                      .row_ranks = process_row_ranks(layout, rank),
                      .row = grid.row_of(rank),
                      .column = grid.column_of(rank)};
    column_block_ = operations_->allocate(size_of(layout.column_block(place.column)));
    partial_ = operations_->allocate(size_of(layout.row_block(place.row)));
    piece_ = part_of(column_block_, place.columns.piece(place.row));
    row_piece_ = part_of(partial_, place.rows.piece(place.column));
    collect_ = operations_->gather(
        place.over_column(Operation::collect, collection_schedule(layout, rank), column_block_));
    sum_ = operations_->sum(place.over_row(Operation::sum, summation_schedule(layout, rank, options.sum_form),
                                           partial_, options.sum_form));
    make_shuffle(layout);
    if (options.mirrored) make_mirrored(layout, place, options.sum_form);
    make_scalar_sums();
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::span<double> piece() override {
    assert(!is_collecting());
    return piece_;
  }
  [[nodiscard]] std::span<const double> column_block() const override { return column_block_; }
  [[nodiscard]] std::span<double> partial() override { return partial_; }
  [[nodiscard]] std::span<const double> result() const override { return result_; }
  [[nodiscard]] MirroredExchange* mirror() override { return sum_columns_ ? this : nullptr; }
  [[nodiscard]] std::uint64_t waited_ticks() const override { return group_.waiter().waited_ticks(); }

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
  void wait_for_collected(std::size_t part) override { collect_->wait_for_part(part); }
  void progress_collection() override { collect_->progress(); }
  void finish_collection() override { collect_->finish(); }
  void start_scalar_sum(std::span<double> values) override { prepared_sum(values).operation->begin_run(); }
  void finish_scalar_sum(std::span<double> values) override {
    scalar_sums_[place_of_count(values.size())].operation->end_run();
    take_sums(values);
  }

 private:
  [[nodiscard]] std::span<const double> row_block() const override {
    return row_block_is_piece_ ? piece_ : std::span<const double>(row_block_);
  }
  [[nodiscard]] std::span<double> column_partial() override { return column_partial_; }
  [[nodiscard]] std::span<const double> column_result() const override { return column_result_; }
  void collect_rows() override {
    if (row_block_is_piece_) return;
    if (stays_) std::copy(piece_.begin(), piece_.end(), row_operand_.begin());
    unshuffle_->run();
    collect_rows_->run();
  }
  void sum_columns() override { sum_columns_->run(); }

  /// This rank's place in its process column and row.
  struct Place {
    GroupPieces columns;
    GroupPieces rows;
    std::vector<int> column_ranks;
    std::vector<int> row_ranks;
    int row = 0;
    int column = 0;

    [[nodiscard]] BlockCollective over_column(Operation operation, Schedule schedule, std::span<double> block,
                                              SumForm form = SumForm::reduce_scatter) const {
      return {.operation = operation,
              .form = form,
              .schedule = std::move(schedule),
              .pieces = columns,
              .ranks = column_ranks,
              .member = row,
              .block = block};
    }
    [[nodiscard]] BlockCollective over_row(Operation operation, Schedule schedule, std::span<double> block,
                                           SumForm form = SumForm::reduce_scatter) const {
      return {.operation = operation,
              .form = form,
              .schedule = std::move(schedule),
              .pieces = rows,
              .ranks = row_ranks,
              .member = column,
              .block = block};
    }
  };

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

  void make_shuffle(const BlockLayout& layout) {
    const int rank = group_.rank();
    stays_ = layout.shuffle_destination(rank) == rank;
    // A piece that is where it belongs needs no message and no copy. This rank takes part all the same, since
    // an operation is collective.
    const auto shuffled = operations_->allocate(stays_ ? 0 : piece_.size());
    result_ = stays_ ? row_piece_ : shuffled;
    shuffle_ = operations_->move({.operation = Operation::shuffle,
                                  .sent = stays_ ? std::span<double>() : row_piece_,
                                  .destination = layout.shuffle_destination(rank),
                                  .received = shuffled,
                                  .source = layout.shuffle_source(rank)});
  }

  void make_mirrored(const BlockLayout& layout, const Place& place, SumForm form) {
    const int rank = group_.rank();
    // With one process column every rank's column piece is its row piece and its row block.
    row_block_is_piece_ = layout.grid().columns == 1;
    column_partial_ = operations_->allocate(column_block_.size());
    column_result_ = part_of(column_partial_, place.columns.piece(place.row));
    sum_columns_ = operations_->sum(place.over_column(
        Operation::sum, mirrored_summation_schedule(layout, rank, form), column_partial_, form));
    if (row_block_is_piece_) return;
    row_block_ = operations_->allocate(partial_.size());
    row_operand_ = part_of(row_block_, place.rows.piece(place.column));
    collect_rows_ = operations_->gather(
        place.over_row(Operation::collect, mirrored_collection_schedule(layout, rank), row_block_));
    // The shuffle backwards: its source is the destination here.
    unshuffle_ = operations_->move({.operation = Operation::shuffle,
                                    .sent = stays_ ? std::span<double>() : piece_,
                                    .destination = layout.shuffle_source(rank),
                                    .received = stays_ ? std::span<double>() : row_operand_,
                                    .source = layout.shuffle_destination(rank)});
  }

  void make_scalar_sums() {
    const int size = group_.size();
    for (const auto count : scalar_counts) {
      auto& prepared = scalar_sums_[place_of_count(count)];
      prepared.values = operations_->allocate(count);
      prepared.operation =
          operations_->sum({.operation = Operation::dot,
                            .form = SumForm::whole_block,
                            .schedule = all_reduce_schedule(size, group_.rank()),
                            .pieces = GroupPieces::of_scalars(size, static_cast<std::int64_t>(count)),
                            .ranks = all_ranks(size),
                            .member = group_.rank(),
                            .block = prepared.values});
    }
  }

  std::string_view name_;
  RankGroup& group_;
  std::unique_ptr<OperationMaker> operations_;
  std::span<double> column_block_;
  std::span<double> partial_;
  std::span<double> piece_;      // in column_block_
  std::span<double> row_piece_;  // in partial_
  std::span<double> result_;     // row_piece_ where nothing has to move
  bool stays_ = false;           // my column piece is my row piece
  std::unique_ptr<PreparedGather> collect_;
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
    for (std::int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

std::unique_ptr<Communicator> make_buffered_communicator(std::string_view name, RankGroup& group,
                                                         const BlockLayout& layout,
                                                         const CommunicatorOptions& options,
                                                         const MakeOperations& make_operations) {
  return std::make_unique<BufferedCommunicator>(name, group, layout, options, make_operations);
}

}  // namespace cg2d::comm

#include "cg/matrix/stencil.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/matrix_source.hpp"

namespace cg2d {

namespace {

/// One kind of Laplacian.
struct StencilKind {
  std::string_view name;
  std::string_view arguments;
  std::string_view example;
  size_t dimension_count;
  std::array<int, 2> point_counts;  // the usual one first
};

constexpr std::array stencil_kinds{
    StencilKind{"laplace2d", "NXxNY", "laplace2d:300x200", 2, {5, 5}},
    StencilKind{"laplace3d", "NXxNYxNZ or NXxNYxNZ:27", "laplace3d:64x64x64", 3, {7, 27}},
};

/// Calls visit(row, column, value) for the entries of these rows in these columns, both counted from the first, by rising columns in each
/// row.
template <typename Visit>
void visit_entries(const Stencil& stencil, const comm::IndexRange& rows, const comm::IndexRange& columns,
                   const Visit& visit) {
  constexpr std::array<int64_t, 3> steps{-1, 0, 1};
  const auto& extents = stencil.extents;
  const auto is_inside = [&](size_t dimension, int64_t place) {
    return 0 <= place && place < extents[dimension];
  };
  const auto visit_point = [&](const comm::Extents& point, int64_t row) {
    for (const auto z : steps) {
      if (!is_inside(2, point[2] + z)) continue;
      for (const auto y : steps) {
        if (!is_inside(1, point[1] + y)) continue;
        for (const auto x : steps) {
          const bool are_neighbours = stencil.has_corners() || x * x + y * y + z * z <= 1;
          if (!is_inside(0, point[0] + x) || !are_neighbours) continue;
          const auto column = row + x + extents[0] * (y + extents[1] * z);
          if (columns.contains(column))
            visit(row - rows.begin, static_cast<int32_t>(column - columns.begin),
                  column == row ? stencil.diagonal() : -1.0);
        }
      }
    }
  };
  for (auto row = rows.begin; row < rows.end;) {
    const auto line = row / extents[0];
    comm::Extents point{row % extents[0], line % extents[1], line / extents[1]};
    for (; point[0] < extents[0] && row < rows.end; ++point[0], ++row) visit_point(point, row);
  }
}

/// The entries of these rows and columns, made in two passes: one counts, one writes.
kernels::CsrBlock make_stencil_block(const Stencil& stencil, const comm::IndexRange& rows,
                                     const comm::IndexRange& columns, int thread_count) {
  auto block = kernels::CsrBlock::with_room(rows.size(), columns.size());
  auto* const starts = block.row_starts.data();
  const auto for_each_part = [&](const auto& make) {
#pragma omp parallel for num_threads(thread_count) schedule(static, 1)
    for (int part = 0; part < thread_count; ++part) make(comm::share_of(rows, part, thread_count));
  };
  for_each_part([&](const comm::IndexRange& mine) {
    auto* const counts = starts + 1 + (mine.begin - rows.begin);
    visit_entries(stencil, mine, columns, [&](int64_t row, int32_t, double) { ++counts[row]; });
  });
  block.make_room_by_lengths();
  for_each_part([&](const comm::IndexRange& mine) {
    auto next = static_cast<size_t>(starts[mine.begin - rows.begin]);
    visit_entries(stencil, mine, columns, [&](int64_t, int32_t column, double value) {
      block.columns[next] = column;
      block.values[next] = value;
      ++next;
    });
  });
  return block;
}

class StencilSource final : public MatrixSource {
 public:
  explicit StencilSource(const Stencil& stencil)
      : MatrixSource(counted_facts(
            {.name = stencil.name(), .order = stencil.order(), .pattern_hash = hash_of_text(stencil.name())},
            rows_by_length(stencil))),
        stencil_(stencil) {}

  int64_t working_bytes(const comm::BlockLayout& /*layout*/, const Strips& /*strips*/) const override {
    return 0;
  }
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override {
    for (int strip = 0; strip < strips.count; ++strip)
      sink(make_stencil_block(stencil_, strips.rows_of(strip, layout.rows_of(group.rank())),
                              layout.columns_of(group.rank()), thread_count));
    return {};
  }

 private:
  Stencil stencil_;
};

std::unique_ptr<MatrixSource> stencil_source_from(std::string_view text) {
  const auto stencil = stencil_from(text);
  constexpr int64_t largest_order = std::numeric_limits<int32_t>::max();
  if (stencil.order() > largest_order)
    throw InputError("{}: an assembled matrix has at most {} rows, got {}", text, largest_order,
                     stencil.order());
  return std::make_unique<StencilSource>(stencil);
}

}  // namespace

std::string Stencil::name() const {
  const auto& kind = stencil_kinds[point_count == 5 ? 0 : 1];
  auto text = fmt::format("{}:{}x{}", kind.name, extents[0], extents[1]);
  if (kind.dimension_count == 3) text += fmt::format("x{}", extents[2]);
  if (point_count != kind.point_counts.front()) text += fmt::format(":{}", point_count);
  return text;
}

Stencil stencil_from(std::string_view text) {
  const auto* const found = row_named(stencil_kinds, text.substr(0, text.find(':')));
  if (found == nullptr)
    throw InputError("{}: no such Laplacian; there are laplace2d:NXxNY and laplace3d:NXxNYxNZ", text);
  const auto& kind = *found;
  const auto parts = split_at(text, ':');
  const auto extents = split_at(parts.size() > 1 ? std::string_view(parts[1]) : "", 'x');
  bool is_right = parts.size() <= 3 && extents.size() == kind.dimension_count;
  Stencil stencil{.point_count = kind.point_counts.front()};
  int64_t order = 1;
  for (size_t k = 0; is_right && k < extents.size(); ++k) {
    stencil.extents[k] = number_from<int64_t>(extents[k]).value_or(0);
    is_right = stencil.extents[k] >= 1;
    if (is_right && __builtin_mul_overflow(order, stencil.extents[k], &order))
      throw InputError("{}: at most {} points, got more", text, std::numeric_limits<int64_t>::max());
  }
  if (parts.size() == 3) {
    stencil.point_count = number_from<int>(parts[2]).value_or(0);
    is_right &= std::ranges::count(kind.point_counts, stencil.point_count) > 0;
  }
  if (!is_right)
    throw InputError("{}: expected {}:{}, extents from 1 on, such as {}", text, kind.name, kind.arguments,
                     kind.example);
  return stencil;
}

std::vector<int64_t> rows_by_length(const Stencil& stencil) {
  // Positions along a dimension that have 0, 1 and 2 neighbours there.
  const auto positions_of = [](int64_t extent) {
    return extent == 1 ? std::array<int64_t, 3>{1, 0, 0} : std::array<int64_t, 3>{0, 2, extent - 2};
  };
  std::vector<int64_t> rows(static_cast<size_t>(stencil.point_count) + 1);
  for (size_t x = 0; x < 3; ++x) {
    for (size_t y = 0; y < 3; ++y) {
      for (size_t z = 0; z < 3; ++z) {
        const auto length = stencil.has_corners() ? (1 + x) * (1 + y) * (1 + z) : 1 + x + y + z;
        const auto count = positions_of(stencil.extents[0])[x] * positions_of(stencil.extents[1])[y] *
                           positions_of(stencil.extents[2])[z];
        if (count > 0) rows[length] += count;
      }
    }
  }
  return rows;
}

SourceRow laplace2d_source() { return {"laplace2d", "NXxNY", &stencil_source_from}; }

SourceRow laplace3d_source() { return {"laplace3d", "NXxNYxNZ[:27]", &stencil_source_from}; }

}  // namespace cg2d

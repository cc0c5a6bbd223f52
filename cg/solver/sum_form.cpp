#include "cg/solver/sum_form.hpp"

#include <algorithm>
#include <array>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

struct SumFormRow {
  std::string_view name;
  comm::SumForm form;
};

constexpr std::array sum_form_table{
    SumFormRow{.name = "reduce-scatter", .form = comm::SumForm::reduce_scatter},
    SumFormRow{.name = "whole-block", .form = comm::SumForm::whole_block}};

}  // namespace

std::vector<std::string> sum_form_names() { return names_of(sum_form_table); }

std::string sum_form_name(comm::SumForm form) {
  return std::string(std::ranges::find(sum_form_table, form, &SumFormRow::form)->name);
}

std::optional<comm::SumForm> find_sum_form(std::string_view name) {
  const auto* const row = std::ranges::find(sum_form_table, name, &SumFormRow::name);
  return row == sum_form_table.end() ? std::nullopt : std::optional(row->form);
}

}  // namespace cg2d

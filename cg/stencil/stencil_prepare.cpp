// The first part of a run: what is asked for is checked, and the place of the domain is made.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/heat_lines.hpp"

namespace cg2d {
namespace {

int neighbour_count(const comm::RankGroup& group) {
  return (group.rank() > 0 ? 1 : 0) + (group.rank() + 1 < group.size() ? 1 : 0);
}

}  // namespace

void StencilRun::prepare() {
  check_shape();
  inspect();
  choose_planes_at_once();
  limit_block();
  make_store();
}

void StencilRun::check_shape() const {
  constexpr std::int64_t least = SkewedPass::border_planes;
  const auto plane_count = options_.shape[2];
  if (group_.size() > 1 && plane_count < least * group_.size())
    throw InputError(fmt::format("--shape {}: its {} along z are too few for {}, each of which needs two",
                                 shape_text(options_.shape), format_count(plane_count, "plane"),
                                 format_count(group_.size(), "rank")));
}

/// The machine, and the memory that this rank may take.
void StencilRun::inspect() {
  environment_ = inspect_environment(group_, 1, options_.memory_limit_bytes, progress_);
  const auto& environment = *environment_;
  group_.waiter().set_mode(environment.wait_mode());
  report_.machine = environment.nodes.front().processor_with_caches();
  report_.mpi = environment.mpi_version;
  report_.node_count = static_cast<int>(environment.nodes.size());
  report_.instruction_set = kernels::name_of(kernels::heat_instruction_sets().back());
  report_.shape = options_.shape;
  report_.method = options_.method;
  report_.step_count = options_.step_count;
  report_.folders = options_.folders;
  if (!options_.folders.empty()) report_.reader = reader_.name;
  node_ = environment.ranks[static_cast<std::size_t>(group_.rank())].node;
  node_info_ = environment.node_of(group_.rank());
  available_bytes_ = node_info_.memory.available_bytes / node_info_.rank_count;
}

/// The bytes of this rank, beside what every process takes.
std::int64_t StencilRun::memory_for(int block) const {
  const auto store_bytes = options_.folders.empty()
                               ? method_->stored_planes(share_, block).size() * layout_.byte_count()
                               : store_buffer_bytes(layout_, planes_at_once_);
  const auto planes_of_trial = options_.block ? 0 : 2 * planes_at_once_;
  return store_bytes + planes_of_trial * layout_.byte_count() +
         method_->byte_count(block, planes_at_once_, neighbour_count(group_));
}

/// The buffers of files must not take much of the memory, which long passes need.
void StencilRun::choose_planes_at_once() {
  constexpr std::int64_t share_of_buffers = 4;
  const auto is_too_much = [&] {
    if (options_.folders.empty()) return memory_for(1) > available_bytes_;
    return store_buffer_bytes(layout_, planes_at_once_) > available_bytes_ / share_of_buffers;
  };
  planes_at_once_ = method_->most_planes_at_once();
  while (planes_at_once_ > 1 && is_too_much()) planes_at_once_ /= 2;
}

/// The longest pass that steps, slabs and memory allow. Throws where that of the user, or any, is longer.
void StencilRun::limit_block() {
  const auto smallest_slab = group_.minimum(plane_count());
  const auto planes_of_step = method_->planes_per_step();
  const std::int64_t by_slabs = group_.size() > 1 ? smallest_slab / planes_of_step : method_->most_steps();
  const auto by_shape = static_cast<int>(std::min<std::int64_t>(method_->most_steps(), by_slabs));
  if (options_.block && *options_.block > by_shape)
    throw InputError(
        fmt::format("--temporal-block {}: must be at most {}, the smaller one of the steps of a pass of {} "
                    "({}) and the planes of the "
                    "smallest rank ({}){}",
                    *options_.block, by_shape, options_.method, method_->most_steps(), smallest_slab,
                    planes_of_step > 1 ? fmt::format(" by {}", planes_of_step) : ""));
  int block = options_.block.value_or(std::min(by_shape, method_->most_tried_steps()));
  if (!options_.block) {
    while (block > 1 && memory_for(block) > available_bytes_) --block;
  }
  agree_on(group_, [&] {
    if (memory_for(block) <= available_bytes_) return;
    throw RunError(
        ExitCode::memory,
        fmt::format("not enough memory: rank {} needs {} for a pass of {}, {} are available; {}{}",
                    group_.rank(), format_bytes(memory_for(block)), format_count(block, "step"),
                    format_bytes(std::max<std::int64_t>(available_bytes_, 0)),
                    enough_limit_text(node_info_.memory,
                                      (memory_for(block) - available_bytes_) * node_info_.rank_count,
                                      node_info_.rank_count),
                    options_.folders.empty() ? "take more ranks, or --out-of-core"
                                             : "take more memory, or planes (x and y) with fewer points"));
  });
  most_block_ = static_cast<int>(group_.minimum(std::int64_t{block}));
}

const std::string& StencilRun::folder() const { return folder_of_rank(options_.folders, group_.rank()); }

void StencilRun::make_store() {
  const auto planes = method_->stored_planes(share_, most_block_);
  first_stored_ = planes.begin;
  if (!options_.folders.empty())
    require_room({.option = "--out-of-core",
                  .folder = folder(),
                  .byte_count = planes.size() * layout_.byte_count(),
                  .node = node_},
                 group_);
  agree_on(group_, [&] {
    if (options_.folders.empty()) {
      store_ = make_memory_store(layout_, planes.size());
      return;
    }
    store_ = make_file_store(layout_, {.folder = folder(),
                                       .plane_count = planes.size(),
                                       .planes_at_once = planes_at_once_,
                                       .reader = &reader_});
  });
  mine_.is_direct = store_->is_direct();
  if (!options_.folders.empty() && group_.minimum(std::int64_t{mine_.is_direct}) == 0)
    progress_.warn(
        "--out-of-core: a file system cannot read and write past the system's cache (O_DIRECT); it goes "
        "through it");
}

}  // namespace cg2d

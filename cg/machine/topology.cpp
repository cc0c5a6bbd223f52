#include "cg/machine/environment.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace cg2d {
namespace {

template <auto Destroy>
struct Deleter {
  void operator()(auto* object) const { Destroy(object); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Deleter<hwloc_topology_destroy>>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Deleter<hwloc_bitmap_free>>;

ProcessorSet processors_of(hwloc_const_bitmap_t bitmap) {
  ProcessorSet processors;
  for (int processor = hwloc_bitmap_first(bitmap); processor >= 0;
       processor = hwloc_bitmap_next(bitmap, processor)) {
    processors.push_back(processor);
  }
  return processors;
}

}  // namespace

ProcessorSet processors_from(const std::string& list) {
  const Bitmap bitmap(hwloc_bitmap_alloc());
  hwloc_bitmap_list_sscanf(bitmap.get(), list.c_str());
  return processors_of(bitmap.get());
}

std::string list_of(const ProcessorSet& processors) {
  const Bitmap bitmap(hwloc_bitmap_alloc());
  for (const int processor : processors) hwloc_bitmap_set(bitmap.get(), static_cast<unsigned>(processor));
  char* text = nullptr;
  hwloc_bitmap_list_asprintf(&text, bitmap.get());
  const std::unique_ptr<char, Deleter<std::free>> owner(text);
  return text;
}

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet both;
  std::ranges::set_intersection(left, right, std::back_inserter(both));
  return both;
}

ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right) {
  ProcessorSet all;
  std::ranges::set_union(left, right, std::back_inserter(all));
  return all;
}

Topology machine_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const HwlocTopology owner(raw);
  // Devices are not needed, and the search for them takes most of the time.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0) return {};
  Topology topology;
  topology.numa_nodes = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE);
  topology.has_like_processors = hwloc_cpukinds_get_nr(raw, 0) <= 1;
  if (auto* const package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0); package != nullptr) {
    const char* const model = hwloc_obj_get_info_by_name(package, "CPUModel");
    if (model != nullptr && *model != '\0') topology.processor = model;
  }
  // Without cores in the topology the processors are taken for cores.
  for (const auto type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PU}) {
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(raw, type, core)) != nullptr;)
      topology.cores.push_back(processors_of(core->cpuset));
    if (!topology.cores.empty()) break;
  }
  for (const auto type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const auto* const cache = hwloc_get_obj_by_type(raw, type, 0);
    if (cache == nullptr) continue;
    topology.caches.push_back({.level = static_cast<int>(cache->attr->cache.depth),
                               .byte_count = static_cast<int64_t>(cache->attr->cache.size),
                               .shared_by_cores = std::max(1, hwloc_get_nbobjs_inside_cpuset_by_type(
                                                                  raw, cache->cpuset, HWLOC_OBJ_CORE))});
  }
  return topology;
}

}  // namespace cg2d

#include "cg/machine/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace cg2d {
namespace {

template <auto Destroy>
struct Deleter {
  void operator()(auto* object) const { Destroy(object); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Deleter<hwloc_topology_destroy>>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Deleter<hwloc_bitmap_free>>;

HwlocTopology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  HwlocTopology topology(raw);
  // Devices are not needed, and the search for them takes most of the time.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

ProcessorSet processors_of(hwloc_const_bitmap_t bitmap) {
  ProcessorSet processors;
  for (int processor = hwloc_bitmap_first(bitmap); processor >= 0;
       processor = hwloc_bitmap_next(bitmap, processor)) {
    processors.push_back(processor);
  }
  return processors;
}

/// Without cores in the topology the processors are taken for cores.
std::vector<ProcessorSet> list_cores(hwloc_topology_t topology) {
  std::vector<ProcessorSet> cores;
  for (const auto type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PU}) {
    for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;)
      cores.push_back(processors_of(core->cpuset));
    if (!cores.empty()) break;
  }
  return cores;
}

std::vector<CacheInfo> list_caches(hwloc_topology_t topology) {
  std::vector<CacheInfo> caches;
  for (const auto type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const auto* const cache = hwloc_get_obj_by_type(topology, type, 0);
    if (cache == nullptr) continue;
    caches.push_back({.level = static_cast<int>(cache->attr->cache.depth),
                      .byte_count = static_cast<std::int64_t>(cache->attr->cache.size),
                      .shared_by_cores = std::max(1, hwloc_get_nbobjs_inside_cpuset_by_type(
                                                         topology, cache->cpuset, HWLOC_OBJ_CORE))});
  }
  return caches;
}

std::string processor_model(hwloc_topology_t topology) {
  auto* const package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr || *model == '\0' ? "unknown" : model;
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
  const auto topology = load_topology();
  if (!topology) return {};
  return {.processor = processor_model(topology.get()),
          .cores = list_cores(topology.get()),
          .caches = list_caches(topology.get()),
          .numa_nodes = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE),
          .has_like_processors = hwloc_cpukinds_get_nr(topology.get(), 0) <= 1};
}

}  // namespace cg2d

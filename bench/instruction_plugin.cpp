// A plugin of the emulator QEMU (user mode, 7.2 or later), which counts the instructions that an emulated program executes between two
// marks (instruction_mark.hpp), and writes the count to the file that the environment's CG2D_INSTRUCTION_COUNT names. For programs of one
// thread. scripts/emulate --count builds and uses it.
//
// What it needs of the emulator's interface is declared here, as in its manual (docs/devel/tcg-plugins.rst, version 1 of the interface):
// Debian packs no header.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/instruction_mark.hpp"

extern "C" {
struct qemu_plugin_tb;  // a piece of the program, without a jump into or out of its middle

using QemuTranslated = void (*)(uint64_t plugin, qemu_plugin_tb* piece);
using QemuSyscall = void (*)(uint64_t plugin, unsigned processor, int64_t number, uint64_t a1, uint64_t a2,
                             uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, QemuTranslated function);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t plugin, QemuSyscall function);
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* piece, int operation, void* number,
                                              uint64_t addend);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* piece);

extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
int qemu_plugin_install(uint64_t plugin, const void* about_emulator, int argument_count, char** arguments);
}

namespace {

uint64_t executed = 0;
uint64_t executed_at_last_mark = 0;

void count_piece(uint64_t /*plugin*/, qemu_plugin_tb* piece) {
  constexpr int add = 0;
  qemu_plugin_register_vcpu_tb_exec_inline(piece, add, &executed, qemu_plugin_tb_n_insns(piece));
}

void look_for_mark(uint64_t /*plugin*/, unsigned /*processor*/, int64_t /*number*/, uint64_t a1,
                   uint64_t /*a2*/, uint64_t /*a3*/, uint64_t /*a4*/, uint64_t /*a5*/, uint64_t /*a6*/,
                   uint64_t /*a7*/, uint64_t /*a8*/) {
  if (static_cast<int64_t>(a1) != cg2d::bench::instruction_mark) return;
  if (auto* const file = std::fopen(std::getenv("CG2D_INSTRUCTION_COUNT"), "w"); file != nullptr) {
    std::fprintf(file, "%llu\n", static_cast<unsigned long long>(executed - executed_at_last_mark));
    std::fclose(file);
  }
  executed_at_last_mark = executed;
}

}  // namespace

int qemu_plugin_install(uint64_t plugin, const void* /*about_emulator*/, int /*argument_count*/,
                        char** /*arguments*/) {
  if (std::getenv("CG2D_INSTRUCTION_COUNT") == nullptr) {
    std::fputs(
        "instruction_plugin: the environment's CG2D_INSTRUCTION_COUNT must name a file for the counts\n",
        stderr);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(plugin, count_piece);
  qemu_plugin_register_vcpu_syscall_cb(plugin, look_for_mark);
  return 0;
}

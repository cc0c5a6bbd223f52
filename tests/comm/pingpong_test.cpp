// Every way to move variables between two ranks delivers the sent bytes unchanged.

#include "comm/pingpong.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/mpi_test.hpp"
#include "support/test_extent.hpp"

namespace cg2d::pingpong_test {
namespace {

using comm::VariableShape;
using test::group;

/// The memory of a transfer: each byte of the variables differs from its neighbours, and `between` fills what is between them.
std::vector<std::byte> variables(const VariableShape& shape, int sender, int round, std::byte between) {
  std::vector<std::byte> memory(shape.memory_byte_count(), between);
  for (size_t k = 0; k < shape.count; ++k) {
    for (size_t i = 0; i < shape.byte_count; ++i)
      memory[shape.offset(k) + i] = static_cast<std::byte>(
          1 + 101 * sender + 37 * round + 11 * static_cast<int>(k) + static_cast<int>(i % 251));
  }
  return memory;
}

constexpr std::byte untouched{0x11};

/// Fills the whole memory, so that the test notices if bytes between the variables move, too.
void write_variables(std::span<std::byte> memory, const VariableShape& shape, int sender, int round) {
  std::ranges::fill(memory, std::byte{0xEE});
  std::ranges::copy(variables(shape, sender, round, std::byte{0xEE}), memory.begin());
}

/// All bytes of all variables, and those after each of them, which must stay unchanged.
bool brought_exactly(std::span<const std::byte> memory, const VariableShape& shape, int sender, int round) {
  const auto expected = variables(shape, sender, round, untouched);
  return std::ranges::equal(expected, memory.first(expected.size()));
}

/// Round trips of one method.
void expect_round_trips(comm::PingPong& memory, size_t method, const VariableShape& shape, int rank) {
  const auto receive = [&](int round) {
    // No rank writes here now: the partner waits for this rank.
    memory.receive(method, shape);
    EXPECT_TRUE(brought_exactly(memory.incoming(method), shape, 1 - rank, round)) << "round " << round;
    std::ranges::fill(memory.incoming(method), untouched);
  };
  const auto send = [&](int round) {
    write_variables(memory.outgoing(method), shape, rank, round);
    memory.send(method, shape);
  };
  for (int round = 0; round < 3; ++round) {
    if (rank == 0) send(round);
    receive(round);
    if (rank == 1) send(round);
  }
}

/// The receiver does not yet have what the sender has written: incoming() changes in receive() only. The methods that
/// need no receive() for the other rank's send().
void expect_arrival_by_receiving(comm::RankGroup& pair, comm::PingPong& memory, size_t method,
                                 const VariableShape& shape) {
  std::ranges::fill(memory.incoming(method), untouched);
  pair.barrier();
  if (pair.rank() == 0) {
    write_variables(memory.outgoing(method), shape, 0, 0);
    memory.send(method, shape);
    pair.barrier();
    memory.receive(method, shape);
  } else {
    pair.barrier();
    EXPECT_TRUE(std::ranges::all_of(memory.incoming(method), [](auto byte) { return byte == untouched; }));
    memory.receive(method, shape);
    EXPECT_TRUE(brought_exactly(memory.incoming(method), shape, 0, 0));
    write_variables(memory.outgoing(method), shape, 1, 0);
    memory.send(method, shape);
  }
  pair.barrier();
}

/// visit(a group of the two ranks) on these, while the others sleep.
template <typename Visit>
void between(int first, int second, const Visit& visit) {
  const auto mode = group().waiter().mode();
  if (group().rank() == first || group().rank() == second) {
    comm::RankGroup pair(group().part({first, second}));
    visit(pair);
  } else {
    group().waiter().set_mode(comm::WaitMode::sleep);
  }
  group().barrier();
  group().waiter().set_mode(mode);
}

void expect_all_methods(comm::RankGroup& pair, const std::vector<VariableShape>& shapes) {
  VariableShape largest;
  for (const auto& shape : shapes) {
    if (shape.memory_byte_count() > largest.memory_byte_count()) largest = shape;
  }
  for (const auto& row : comm::pingpong_table()) {
    EXPECT_EQ(row.why_unavailable(pair), "");
    const auto memory = row.make(pair, largest);
    const bool sends_by_messages = row.methods.front().name == "blocking";
    for (size_t method = 0; method < row.methods.size(); ++method) {
      std::ranges::fill(memory->incoming(method), untouched);
      pair.barrier();
      for (const auto& shape : shapes) {
        SCOPED_TRACE(std::string(row.methods[method].name) + ", " + std::to_string(shape.count) + " x " +
                     std::to_string(shape.byte_count) + " bytes");
        expect_round_trips(*memory, method, shape, pair.rank());
        if (!sends_by_messages) expect_arrival_by_receiving(pair, *memory, method, shape);
        pair.barrier();
        std::ranges::fill(memory->incoming(method), untouched);
        pair.barrier();
      }
    }
  }
}

/// Ranks may be in any order.
TEST(PingPongTest, EveryMethodBringsOddSizesAndMegabytes) {
  between(0, 1, [](comm::RankGroup& pair) {
    expect_all_methods(pair, {{.count = 1, .byte_count = 8},
                              {.count = 8, .byte_count = 8},
                              {.count = 3, .byte_count = 24},
                              {.count = 8, .byte_count = 1},
                              {.count = 5, .byte_count = 65},
                              {.count = 2, .byte_count = 70'001}});
  });
  between(group().size() - 1, 0, [](comm::RankGroup& pair) {
    expect_all_methods(pair, {{.count = 2, .byte_count = 24},
                              {.count = 1, .byte_count = size_t{1} << (test::is_thorough() ? 23 : 20)}});
  });
}

}  // namespace
}  // namespace cg2d::pingpong_test

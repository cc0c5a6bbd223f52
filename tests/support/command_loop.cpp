// Does one command line after another in one start of MPI, as program_runner.py asks for them:
//
//     [mpiexec -n N] command_loop FOLDER
//
// Each rank reads its orders from the pipe FOLDER/orders.<rank>, where it sleeps between two of them: one line of JSON with
// "arguments" (the program's name first), "folder" (where the command works), and the files "output" and "errors" that take the
// place of stdout and stderr. Rank 0 answers with a line in the pipe FOLDER/codes: the largest of the ranks' exit codes.
// The end of the orders is its end.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cg/base/child_process.hpp"
#include "cg/base/storage/open_file.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"

namespace {

cg2d::Descriptor opened_for_appending(const std::string& path) {
  cg2d::Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open()) throw std::runtime_error(path + ": cannot be opened");
  return file;
}

void go_to(const std::string& folder) {
  if (chdir(folder.c_str()) != 0) throw std::runtime_error(folder + ": no such folder");
}

int do_order(const nlohmann::json& order, cg2d::comm::RankGroup& group) {
  go_to(order.at("folder").get<std::string>());
  const auto arguments = order.at("arguments").get<std::vector<std::string>>();
  const auto output = opened_for_appending(order.at("output").get<std::string>());
  const auto errors = opened_for_appending(order.at("errors").get<std::string>());
  const cg2d::RedirectedStreams streams(output.number(), errors.number());
  const auto code = cg2d::do_command_line(arguments, group);
  go_to("/");  // tests look for processes that work in their folders
  return static_cast<int>(code);
}

void do_orders(const std::string& folder) {
  cg2d::comm::RankGroup group(MPI_COMM_WORLD);
  std::ifstream orders(folder + "/orders." + std::to_string(group.rank()));
  std::ofstream codes(folder + "/codes");
  for (std::string line; std::getline(orders, line);) {
    const auto code = group.maximum(int64_t{do_order(nlohmann::json::parse(line), group)});
    if (group.rank() == 0) codes << code << std::endl;
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    const cg2d::comm::MpiSession session(argument_count, arguments);
    cg2d::keep_blas_on_one_thread();
    do_orders(arguments[argument_count - 1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "command_loop: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

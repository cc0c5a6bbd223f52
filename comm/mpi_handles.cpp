#include "comm/mpi_handles.hpp"

#include <array>

namespace cg2d::comm {
namespace {

std::string message_of(const char* call, int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return std::string(call) + ": " + std::string(text.data(), static_cast<size_t>(length));
}

}  // namespace

MpiError::MpiError(const char* call, int code) : std::runtime_error(message_of(call, code)) {}

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw MpiError(call, code);
}

MpiSession::MpiSession(int& argument_count, char**& arguments) {
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

}  // namespace cg2d::comm

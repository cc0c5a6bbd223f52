#pragma once

// Texts compressed as gzip and zstd do it, for tests of reading.

#include <zlib.h>
#include <zstd.h>

#include <string>

namespace cg2d::test {

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

inline std::string zstd(const std::string& text) {
  std::string result(ZSTD_compressBound(text.size()), '\0');
  result.resize(ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 1));
  return result;
}

/// As "zstd --long=28" writes what it reads in two portions: the decoder needs more than its default of 128 MiB.
inline std::string zstd_with_long_window(const std::string& first, const std::string& second) {
  std::string result(ZSTD_compressBound(first.size() + second.size()) + 64, '\0');
  ZSTD_outBuffer output{result.data(), result.size(), 0};
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 28);
  ZSTD_inBuffer input{first.data(), first.size(), 0};
  ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush);
  input = {second.data(), second.size(), 0};
  ZSTD_compressStream2(context, &output, &input, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  result.resize(output.pos);
  return result;
}

}  // namespace cg2d::test

#include "io/npy_header.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "io/disk.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::int64_t longest_head = 1 << 20;
static_assert(std::endian::native == std::endian::little);

struct Code {
  const char* code;
  Dtype dtype;
};
constexpr std::array codes{Code{"b1", Dtype::bool_},     Code{"i1", Dtype::int8},       Code{"i2", Dtype::int16},
                           Code{"i4", Dtype::int32},     Code{"i8", Dtype::int64},      Code{"u1", Dtype::uint8},
                           Code{"u2", Dtype::uint16},    Code{"u4", Dtype::uint32},     Code{"u8", Dtype::uint64},
                           Code{"f2", Dtype::float16},   Code{"f4", Dtype::float32},    Code{"f8", Dtype::float64},
                           Code{"c8", Dtype::complex64}, Code{"c16", Dtype::complex128}};

[[noreturn]] void damaged(const std::string& what) { throw CheckpointError("it is a damaged .npy file: " + what); }

// The few words of Python that a head is written in.
class Dict {
 public:
  explicit Dict(std::string_view text) : rest_(text) {}

  void read(NpyHeader& header) {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<Shape> shape;
    expect('{');
    while (!take('}')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr")
        descr = description();
      else if (key == "fortran_order")
        fortran = truth();
      else if (key == "shape")
        shape = tuple();
      else
        damaged(fmt::format("its head has a key '{}'", key));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !fortran || !shape) damaged("its head lacks descr, fortran_order or shape");
    header.found.shape = *shape;
    header.is_fortran = *fortran;
    set_type(header, *descr);
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size())); }
  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) damaged(fmt::format("its head has '{}' where a '{}' belongs", rest_.substr(0, 20), c));
  }
  std::string quoted() {
    skip();
    const char mark = rest_.empty() ? '\0' : rest_.front();
    const auto end = mark == '\'' || mark == '"' ? rest_.find(mark, 1) : std::string_view::npos;
    if (end == std::string_view::npos) damaged(fmt::format("its head has '{}' where a text belongs", rest_.substr(0, 20)));
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string description() {
    skip();
    if (rest_.starts_with('['))
      throw CheckpointError("it holds records (a structured dtype), and an array has one value an element; save its fields one by one");
    return quoted();
  }
  bool truth() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    damaged("fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t length = -1;
      const auto end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), length);
      if (end.ec != std::errc() || length < 0) damaged(fmt::format("its shape has '{}' where a length belongs", rest_.substr(0, 20)));
      rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
      take('L');  // of Python 2
      shape.push_back(length);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  static void set_type(NpyHeader& header, const std::string& descr) {
    const auto code = descr.empty() ? descr : descr.substr(1);
    const char order = descr.empty() ? '?' : descr[0];
    if (descr == "|O" || descr == "O")
      throw CheckpointError("it holds Python objects (allow_pickle), which only Python reads; save the numbers with a dtype of their own");
    for (const auto& [name, dtype] : codes) {
      if (code != name || !(order == '<' || order == '>' || order == '=' || order == '|')) continue;
      header.found.dtype = dtype;
      header.is_swapped = order == '>' && itemsize(dtype) > 1;
      return;
    }
    throw CheckpointError(fmt::format(
        "its dtype is '{}', and an array needs bool, integers, floats to 64 bits or complex; x.astype(...) in NumPy converts", descr));
  }

  std::string_view rest_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, std::int64_t size) {
  if (!bytes.starts_with(magic))
    throw CheckpointError(bytes.starts_with("PK") ? "it is a .npz archive, not a .npy file; unzip it" : "it is not a .npy file");
  if (bytes.size() < 12 && (bytes.size() < 10 || bytes[6] != 1)) damaged("it ends in its head");
  const auto byte = [&](std::size_t at) { return static_cast<std::int64_t>(static_cast<unsigned char>(bytes[at])); };
  const auto version = byte(6);
  if (version < 1 || version > 3) throw CheckpointError(fmt::format("its format is {}.{}; 1.0 to 3.0 are known", version, byte(7)));
  const std::int64_t start = version == 1 ? 10 : 12;
  const auto length = byte(8) + (byte(9) << 8) + (version == 1 ? 0 : (byte(10) << 16) + (byte(11) << 24));
  if (length > longest_head) damaged(fmt::format("its head claims {} bytes", length));
  if (start + length > static_cast<std::int64_t>(bytes.size())) damaged("it ends in its head");
  NpyHeader header;
  header.begin = start + length;
  Dict(bytes.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(length))).read(header);
  std::int64_t wanted = 0;
  if (__builtin_mul_overflow(header.found.shape.num_elements(), static_cast<std::int64_t>(itemsize(header.found.dtype)), &wanted) ||
      wanted > size - header.begin)
    throw CheckpointError(
        fmt::format("it is cut short: {} is more than the {} bytes after its head", type_text(header.found), size - header.begin));
  return header;
}

NpyHeader read_npy_header(const std::string& path) {
  const auto file = DiskFile::open(path);
  const auto size = file.size();
  std::string bytes(static_cast<std::size_t>(std::min<std::int64_t>(size, longest_head + 12)), '\0');
  file.read(std::as_writable_bytes(std::span(bytes)), 0);
  return parse_npy_header(bytes, size);
}

std::string npy_header(const Found& found) {
  const auto* code = std::find_if(codes.begin(), codes.end(), [&](const Code& c) { return c.dtype == found.dtype; });
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", itemsize(found.dtype) == 1 ? '|' : '<',
                                 code->code, to_string(found.shape));
  // NumPy leaves room for the first length to grow in place.
  if (!found.shape.empty()) dict.append(21 - std::min<std::size_t>(21, std::to_string(found.shape[0]).size()), ' ');
  constexpr std::size_t start = 10, alignment = 64;
  dict.append(alignment - 1 - (start + dict.size()) % alignment, ' ');
  dict += '\n';
  std::string head(magic);
  head += '\x01';
  head += '\0';
  head += static_cast<char>(dict.size() & 0xff);
  head += static_cast<char>(dict.size() >> 8);
  return head + dict;
}

}  // namespace meshwise::detail

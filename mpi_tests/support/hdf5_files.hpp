// HDF5 files made and read by one process through HDF5's own interface: the other side of what room io does.
#pragma once

#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <meshwise/array/array.hpp>
#include <meshwise/array/create.hpp>
#include <meshwise/placement/sharding.hpp>
#include <meshwise/runtime/environment.hpp>
#include <string>
#include <vector>

namespace hdf5_files {

namespace mw = meshwise;
using mw::Dtype;
using mw::Index;
using mw::P;
using mw::PartitionSpec;
using mw::Shape;

inline bool first() { return mw::process_index() == 0; }

inline std::string from_first(std::string text) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

// Rank 0 does something to the file system, the others see it done.
template <class F>
void on_first(F&& f) {
  if (first()) f();
  mw::barrier();
}

// A folder of this test's, the same on all ranks, gone when the test ends.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "meshwise-hdf5.XXXXXX").string();
    if (first() && ::mkdtemp(path.data()) == nullptr) path = "no folder";
    path_ = from_first(path);
  }
  ~Folder() {
    mw::barrier();
    if (first()) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::string path_;
};

// All devices in a row, and the same from the last to the first.
inline mw::NamedSharding line(const PartitionSpec& spec) { return {mw::make_mesh({mw::devices().size()}, {"x"}), spec}; }
inline mw::NamedSharding backwards(const PartitionSpec& spec) {
  return {mw::make_mesh({mw::devices().size()}, {"x"}, {.devices = mw::devices().reversed()}), spec};
}

inline const std::vector<Dtype> all_dtypes{Dtype::bool_,    Dtype::int8,    Dtype::int16,   Dtype::int32,     Dtype::int64,
                                           Dtype::uint8,    Dtype::uint16,  Dtype::uint32,  Dtype::uint64,    Dtype::float16,
                                           Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::complex64, Dtype::complex128};
// Those that NumPy has.
inline const std::vector<Dtype> numpy_dtypes = [] {
  auto dtypes = all_dtypes;
  std::erase(dtypes, Dtype::bfloat16);
  return dtypes;
}();

// What element i (row-major) of a test array is: small integers that every dtype holds exactly, and tell neighbours apart.
inline double value_at(Dtype dtype, std::int64_t i) {
  if (dtype == Dtype::bool_) return static_cast<double>((i * 7 + i / 3) % 2);
  const auto v = static_cast<double>(i % 113);
  return mw::kind(dtype) == mw::DtypeKind::unsigned_integer ? v : v - 50;
}

// The imaginary part differs from the real one.
inline double imaginary_at(std::int64_t i) { return static_cast<double>(i % 17) + 1; }

template <class T>
T make_value(std::int64_t i) {
  const auto v = value_at(mw::dtype_of<T>(), i);
  if constexpr (std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>) {
    using R = typename T::value_type;
    return {static_cast<R>(v), static_cast<R>(imaginary_at(i))};
  } else if constexpr (std::same_as<T, mw::float16_t> || std::same_as<T, mw::bfloat16_t>) {
    return T(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

template <class T>
bool same_value(const T& a, const T& b) {
  if constexpr (std::same_as<T, mw::float16_t> || std::same_as<T, mw::bfloat16_t>)
    return a.bits == b.bits;
  else
    return a == b;
}

// Row-major index in `shape` of the k-th element of `box`.
inline std::int64_t linear_index(const Shape& shape, const Index& box, std::int64_t k) {
  std::int64_t index = 0, step = 1;
  for (auto d = shape.ndim(); d-- > 0;) {
    index += (box[d].start + k % box[d].size()) * step;
    k /= box[d].size();
    step *= shape[d];
  }
  return index;
}

template <class T>
int wrong_values(const mw::LocalArray& values, const Shape& shape, const Index& box) {
  int wrong = 0;
  const auto view = values.view<T>();
  for (std::int64_t k = 0; k < view.size(); ++k) wrong += !same_value(view[k], make_value<T>(linear_index(shape, box, k)));
  return wrong;
}

// This rank's shards of x are what the test array of x's shape and dtype has there.
inline void expect_test_values(const mw::Array& x, const Shape& shape, Dtype dtype, const mw::Sharding& sharding) {
  ASSERT_EQ(x.shape(), shape);
  ASSERT_EQ(mw::name(x.dtype()), mw::name(dtype));
  EXPECT_TRUE(x.sharding() == sharding);
  EXPECT_TRUE(x.committed());
  std::int64_t mine = 0;
  for (const auto& device : sharding.devices()) mine += device.rank == mw::process_index();
  const auto shards = x.addressable_shards();
  ASSERT_EQ(std::ssize(shards), mine);
  for (const auto& shard : shards) {
    ASSERT_EQ(shard.data().shape(), shard.index().shape());
    const auto wrong =
        mw::visit(dtype, [&](auto tag) { return wrong_values<typename decltype(tag)::type>(shard.data(), shape, shard.index()); });
    EXPECT_EQ(wrong, 0) << mw::type_string(x) << " box " << mw::to_string(shard.index());
  }
}

// The test array, each device filling its own box.
inline mw::Array test_array(const Shape& shape, Dtype dtype, const mw::Sharding& sharding) {
  return mw::make_array_from_callback(shape, dtype, sharding, [&](const Index& box, mw::LocalArray& out) {
    mw::visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto view = out.mutable_view<T>();
      for (std::int64_t k = 0; k < view.size(); ++k) view[k] = make_value<T>(linear_index(shape, box, k));
    });
  });
}

// HDF5's types by plain construction, apart from the library's.
inline hid_t floating_type(hid_t base, std::size_t exponent, std::size_t mantissa, std::size_t bias) {
  const auto type = H5Tcopy(base);
  H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, bias);
  return type;
}
inline hid_t half_type(bool big = false) { return floating_type(big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE, 5, 10, 15); }
inline hid_t bfloat16_type(bool big = false) { return floating_type(big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE, 8, 7, 127); }
inline hid_t complex_type(hid_t part) {
  const auto type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(part));
  H5Tinsert(type, "r", 0, part);
  H5Tinsert(type, "i", H5Tget_size(part), part);
  return type;
}
inline hid_t bool_type() {
  const auto type = H5Tenum_create(H5T_NATIVE_INT8);
  const signed char no = 0, yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

// The native type of the bytes a test array has in memory.
inline hid_t native_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return bool_type();
    case Dtype::int8:
      return H5Tcopy(H5T_NATIVE_INT8);
    case Dtype::int16:
      return H5Tcopy(H5T_NATIVE_INT16);
    case Dtype::int32:
      return H5Tcopy(H5T_NATIVE_INT32);
    case Dtype::int64:
      return H5Tcopy(H5T_NATIVE_INT64);
    case Dtype::uint8:
      return H5Tcopy(H5T_NATIVE_UINT8);
    case Dtype::uint16:
      return H5Tcopy(H5T_NATIVE_UINT16);
    case Dtype::uint32:
      return H5Tcopy(H5T_NATIVE_UINT32);
    case Dtype::uint64:
      return H5Tcopy(H5T_NATIVE_UINT64);
    case Dtype::float16:
      return half_type();
    case Dtype::bfloat16:
      return bfloat16_type();
    case Dtype::float32:
      return H5Tcopy(H5T_NATIVE_FLOAT);
    case Dtype::float64:
      return H5Tcopy(H5T_NATIVE_DOUBLE);
    case Dtype::complex64:
      return complex_type(H5T_NATIVE_FLOAT);
    default:
      return complex_type(H5T_NATIVE_DOUBLE);
  }
}

inline std::vector<std::byte> test_bytes(const Shape& shape, Dtype dtype) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.num_elements()) * mw::itemsize(dtype));
  mw::visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const auto v = make_value<T>(i);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
    }
  });
  return bytes;
}

// A file being made by one process.
class Maker {
 public:
  explicit Maker(const std::string& path) : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Maker() { H5Fclose(file_); }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  hid_t id() const { return file_; }

  // The test array as a dataset of that file type; `chunks` makes it chunked, shuffled and compressed.
  void add(const std::string& name, const Shape& shape, Dtype dtype, hid_t file_type, const Shape& chunks = {}) {
    const auto links = H5Pcreate(H5P_LINK_CREATE), layout = H5Pcreate(H5P_DATASET_CREATE), memory = native_type(dtype);
    H5Pset_create_intermediate_group(links, 1);
    const std::vector<hsize_t> lengths(shape.begin(), shape.end()), pieces(chunks.begin(), chunks.end());
    if (!pieces.empty()) {
      H5Pset_chunk(layout, static_cast<int>(pieces.size()), pieces.data());
      H5Pset_shuffle(layout);
      H5Pset_deflate(layout, 4);
    }
    const auto space = H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr);
    const auto dataset = H5Dcreate2(file_, name.c_str(), file_type, space, links, layout, H5P_DEFAULT);
    const auto bytes = test_bytes(shape, dtype);
    if (!bytes.empty() && H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) ADD_FAILURE() << name;
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(memory);
    H5Pclose(layout);
    H5Pclose(links);
  }

 private:
  hid_t file_;
};

// Reads a dataset as one process: right shape, element type, layout, and the test array's values.
inline void expect_dataset(const std::string& path, const std::string& name, const Shape& shape, Dtype dtype,
                           H5D_layout_t wanted_layout = H5D_CONTIGUOUS) {
  const auto file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0) << path;
  const auto dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  ASSERT_GE(dataset, 0) << name;
  const auto space = H5Dget_space(dataset), type = H5Dget_type(dataset), wanted = native_type(dtype), layout = H5Dget_create_plist(dataset);
  std::vector<hsize_t> lengths(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  EXPECT_EQ(meshwise::PerAxis<std::int64_t>(lengths.begin(), lengths.end()), shape.lengths()) << name;
  EXPECT_GT(H5Tequal(type, wanted), 0) << name;
  EXPECT_EQ(H5Pget_layout(layout), wanted_layout);
  const auto expected = test_bytes(shape, dtype);
  auto found = expected;
  std::fill(found.begin(), found.end(), std::byte{0xaa});
  if (!found.empty()) {
    EXPECT_GE(H5Dread(dataset, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
  }
  EXPECT_TRUE(found == expected) << name << " " << mw::name(dtype) << "[" << mw::joined(shape) << "]";
  H5Pclose(layout);
  H5Tclose(wanted);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

// f throws an E with the same words on every rank; they come back.
template <class E, class F>
std::string error_everywhere(F&& f) {
  std::string words;
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& e) {
    words = e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    words = e.what();
  }
  const auto theirs = from_first(words);
  EXPECT_EQ(words, theirs);
  return words;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Layouts of the whole world's devices, of some, and in another order; as many axes as an array of `ndim` takes.
inline std::vector<mw::NamedSharding> layouts(std::int64_t ndim) {
  const auto all = mw::devices();
  const auto n = all.size();
  std::vector<mw::NamedSharding> list;
  const auto line = mw::make_mesh({n}, {"x"});
  const auto back = mw::make_mesh({n}, {"x"}, {.devices = all.reversed()});
  const auto some = mw::make_mesh({(n + 1) / 2}, {"x"}, {.devices = all.last((n + 1) / 2)});
  list.emplace_back(line, P());
  list.emplace_back(some, P());
  if (ndim > 0) list.emplace_back(line, P("x")), list.emplace_back(back, P("x")), list.emplace_back(some, P("x"));
  if (ndim > 1) list.emplace_back(line, P(nullptr, "x"));
  if (n % 2 == 0) {
    const auto grid = mw::make_mesh({n / 2, 2}, {"x", "y"});
    if (ndim > 0) list.emplace_back(grid, P("y")), list.emplace_back(grid, P({"y", "x"}));
    if (ndim > 1)
      list.emplace_back(grid, P("x", "y")), list.emplace_back(grid, P("y", "x")), list.emplace_back(grid, P(nullptr, {"x", "y"}));
  }
  return list;
}

}  // namespace hdf5_files

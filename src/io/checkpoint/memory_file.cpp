#include "io/checkpoint/memory_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace meshwise::detail {

namespace {
constexpr std::int64_t page_size = 4096;
MemoryFile* to_open = nullptr;  // HDF5 opens files by name, and this one has none
}  // namespace

// HDF5's driver interface (HDF5 Virtual File Layer), of which a new file in memory needs the least.
struct MemoryFile::Driver {
  struct File {
    H5FD_t base;  // HDF5's own part comes first
    MemoryFile* memory;
    haddr_t end_allocated;
  };
  static File& of(H5FD_t* file) { return *reinterpret_cast<File*>(file); }
  static const File& of(const H5FD_t* file) { return *reinterpret_cast<const File*>(file); }

  static H5FD_t* open(const char*, unsigned, hid_t, haddr_t) {
    if (to_open == nullptr) return nullptr;
    return &(new File{{}, std::exchange(to_open, nullptr), 0})->base;
  }
  static herr_t close(H5FD_t* file) {
    delete &of(file);
    return 0;
  }
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
  }
  static haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file).end_allocated; }
  static herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    of(file).end_allocated = end;
    return 0;
  }
  static haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return static_cast<haddr_t>(of(file).memory->size_); }
  static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, void* to) {
    of(file).memory->get(static_cast<std::int64_t>(at), bytes, static_cast<std::byte*>(to));
    return 0;
  }
  static herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, const void* from) {
    of(file).memory->put(static_cast<std::int64_t>(at), bytes, static_cast<const std::byte*>(from));
    return 0;
  }
  static herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    of(file).memory->size_ = static_cast<std::int64_t>(of(file).end_allocated);
    return 0;
  }

  static hid_t id() {
    static const H5FD_class_t interface = [] {
      H5FD_class_t of{};
#ifdef H5FD_CLASS_VERSION
      of.version = H5FD_CLASS_VERSION;
      of.value = static_cast<H5FD_class_value_t>(512);  // HDF5 keeps those below for itself and its registry
#endif
      of.name = "meshwise-memory";
      of.maxaddr = static_cast<haddr_t>(INT64_MAX);
      of.fc_degree = H5F_CLOSE_WEAK;
      of.open = open;
      of.close = close;
      of.query = query;
      of.get_eoa = get_eoa;
      of.set_eoa = set_eoa;
      of.get_eof = get_eof;
      of.read = read;
      of.write = write;
      of.truncate = truncate;
      const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
      std::copy(std::begin(kinds), std::end(kinds), of.fl_map);
      return of;
    }();
    static hid_t registered = -1;
    // A program that closed HDF5 as a whole took the driver with it.
    if (registered < 0 || H5Iis_valid(registered) <= 0)
      registered = checked(H5FDregister(&interface), "register a driver for files in memory");
    return registered;
  }
};

MemoryFile::MemoryFile() {
  const Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), "make an access list"), H5Pclose);
  checked(H5Pset_driver(access, Driver::id(), nullptr), "choose a file in memory");
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST), "choose the file format");
  checked(H5Pset_alignment(access, 1 << 16, page_size), "choose the alignment");
  to_open = this;
  file_ = Handle(H5Fcreate("memory", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  to_open = nullptr;
  checked(file_, "make a file in memory");
}

MemoryFile::~MemoryFile() {
  if (file_.is_open()) file_.close();
}

void MemoryFile::finish() { checked(file_.close(), "finish a file in memory"); }

std::vector<std::byte> MemoryFile::read(std::int64_t from, std::int64_t to) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(to - from));
  get(from, bytes.size(), bytes.data());
  return bytes;
}

void MemoryFile::get(std::int64_t at, std::size_t bytes, std::byte* to) const {
  while (bytes > 0) {
    const auto inside = at % page_size;
    const auto part = std::min(bytes, static_cast<std::size_t>(page_size - inside));
    const auto page = pages_.find(at / page_size);
    if (page == pages_.end())
      std::memset(to, 0, part);
    else
      std::memcpy(to, page->second.data() + inside, part);
    at += static_cast<std::int64_t>(part);
    to += part;
    bytes -= part;
  }
}

void MemoryFile::put(std::int64_t at, std::size_t bytes, const std::byte* from) {
  size_ = std::max(size_, at + static_cast<std::int64_t>(bytes));
  while (bytes > 0) {
    const auto inside = at % page_size;
    const auto part = std::min(bytes, static_cast<std::size_t>(page_size - inside));
    auto& page = pages_[at / page_size];
    page.resize(page_size);
    std::memcpy(page.data() + inside, from, part);
    at += static_cast<std::int64_t>(part);
    from += part;
    bytes -= part;
  }
}

}  // namespace meshwise::detail

// U-131: a rank is killed while a file is written, before each of the calls that change the file in turn, amid its values, and at any time: the file opens and
// holds the old values, or all of the new ones; what is left of an unfinished file says so by its name; the next write works. (Less holds of a
// dataset that is appended: docs/design/005.) The job that the test starts launches the ones that die.
// ranks: 1
// internals: paths
// within: 40
// timeout: 60
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <meshwise/meshwise.hpp>

#include "support/launched.hpp"

namespace mw = meshwise;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t rows = 64, columns = 8192;  // 4 MiB, in one piece for each of two ranks
constexpr std::size_t large = std::size_t{1} << 20;

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// How many more calls this process lives for; without limit until it is armed.
int values_left = -1, changes_left = -1;

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

bool last(int& left) { return left >= 0 && left-- == 0; }

}  // namespace

// The executable's definitions come before libc's, for HDF5 too.
extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  if (count >= large && last(values_left)) {
    // The system looks for signals between the pages of a large piece.
    static_cast<void>(syscall(SYS_pwrite64, descriptor, bytes, count / 2, at));
    die();
  }
  if (count < large && last(changes_left)) die();
  return syscall(SYS_pwrite64, descriptor, bytes, count, at);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (last(changes_left)) die();
  const auto result = syscall(SYS_rename, from, to);
  if (last(changes_left)) die();
  return static_cast<int>(result);
}

namespace {

mw::Array version(int v) {
  const mw::NamedSharding split(mw::make_mesh({mw::process_count()}, {"x"}), mw::P("x"));
  return mw::device_put(mw::arange(rows * columns, mw::float64).reshape({rows, columns}) + 1000000.0 * v, split);
}

/// Which version an array is in all its elements; -1 is none.
int version_of(const mw::Array& x) {
  if (!(x.shape() == mw::Shape{rows, columns})) return -1;
  const auto values = x.view<double>();
  const int v = static_cast<int>(values[0] / 1000000.0);
  for (std::int64_t k = 0; k < values.size(); ++k)
    if (values[k] != static_cast<double>(k) + 1000000.0 * v) return -1;
  return v;
}

/// In one step: who is killed amid it leaves the number before.
void say_done(const std::string& file, int v) {
  std::ofstream(file + ".saying") << v;
  fs::rename(file + ".saying", file + ".done");
}

/// The job that dies: version 1 whole, then the next ones, noting which is done.
void write_until_dead(const std::string& file) {
  mw::io::write(file, "/x", version(1));
  say_done(file, 1);
  mw::barrier();
  if (mw::process_index() == number("DIES", 0)) {
    values_left = number("VALUES", -1);
    changes_left = number("CHANGES", -1);
    if (const int delay = number("MICROSECONDS", -1); delay >= 0)
      std::thread([delay] {
        usleep(static_cast<useconds_t>(delay));
        die();
      }).detach();
  }
  for (int v = 2; v <= number("VERSIONS", 2); ++v) {
    mw::io::write(file, "/x", version(v));
    if (mw::process_index() == 0) say_done(file, v);
  }
}

class Killing {
 public:
  explicit Killing(std::string folder) : folder_(std::move(folder)), file_(folder_ + "/x.h5") {}

  /// Launches a job of two ranks, or one process without mpirun, that dies as `how` says, and looks at what it leaves. Whether anyone died.
  bool kill_one(const std::string& how, int ranks = 2) {
    fs::remove(file_);
    if (support::launched(how + " FILE=" + file_, (ranks == 1 ? "--one 1 " : "-n 2 ") + std::string(MESHWISE_BINARY_DIR "/mpi_tests/jobs/u131_killed_while_writing"))) return false;
    int done = 0;
    std::ifstream(file_ + ".done") >> done;
    fs::remove(file_ + ".done");
    fs::remove(file_ + ".saying");
    check(how, "what is there", [&] {
      const int found = version_of(mw::io::read(file_, "/x"));
      if (found != done && found != done + 1) std::fprintf(stderr, "version %d is there, and %d was done\n", found, done);
      return found == done || found == done + 1;
    });
    check(how, "the next write", [&] {
      mw::io::write(file_, "/x", version(7));
      return version_of(mw::io::read(file_, "/x")) == 7;
    });
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const auto name = entry.path().filename().string();
      if (name != "x.h5") check(how, name.c_str(), [&] { return name.find(".unfinished-") != std::string::npos; });
    }
    return true;
  }

  int wrong() const { return wrong_; }

 private:
  template <class F>
  void check(const std::string& how, const char* what, F&& right) {
    std::string words = "is wrong";
    try {
      if (right()) return;
    } catch (const std::exception& error) {
      words = error.what();
    }
    std::fprintf(stderr, "killed by %s: %s: %s\n", how.c_str(), what, words.c_str());
    ++wrong_;
  }

  std::string folder_, file_;
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  if (const char* file = std::getenv("FILE")) {
    write_until_dead(file);
    return 0;
  }
  char folder[] = "u131.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 2;
  Killing killing(fs::absolute(folder));
  bool died = true;
  for (const auto* how : {"DIES=0 VALUES=0", "DIES=1 VALUES=0"}) died = killing.kill_one(how) && died;
  int changes = 0;
  while (killing.kill_one("DIES=0 CHANGES=" + std::to_string(changes), 1)) ++changes;
  for (const auto* how : {"DIES=1 VERSIONS=1000 MICROSECONDS=3000", "DIES=0 VERSIONS=1000 MICROSECONDS=40000", "DIES=0 VERSIONS=1000 MICROSECONDS=150000"})
    died = killing.kill_one(how) && died;
  fs::remove_all(folder);
  std::printf("killed before each of %d changes\n", changes);
  return died && changes >= 3 && killing.wrong() == 0 ? 0 : 1;
}

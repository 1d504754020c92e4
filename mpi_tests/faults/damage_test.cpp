// A step's files are damaged, cut, exchanged, removed, or made up: a load says which file or array, or gives the right values; it never crashes or hangs.
// ranks: 2
// devices_per_rank: 4
// links: json
// internals: src
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "faults/on_all_ranks.hpp"
#include "faults/run_folder.hpp"
#include "io/checkpoint/verify.hpp"

namespace {

namespace mw = meshwise;
namespace fs = std::filesystem;
using faults::from, faults::from_any, faults::on_first;
using nlohmann::json;

char current[512];  // what is tried: a hang or a crash says it

void tell(int signal) {
  static_cast<void>(::write(2, "died or hung at: ", 17) + ::write(2, current, strlen(current)) + ::write(2, "\n", 1));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

/// CRC-32C, bit by bit.
std::uint32_t crc32c(const std::string& bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

std::string hex(std::uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

/// A COMMIT's text with the last line that belongs to it.
std::string sealed(std::string text) { return text + "crc32c=" + hex(crc32c(text)) + "\n"; }

int share() {
  const char* const all = std::getenv("MESHWISE_TEST_ALL");
  return all == nullptr ? 40 : 1;
}

class Damage : public testing::Test {
 protected:
  faults::Folder folder;
  std::string root = folder.path() + "/run", step_folder = root + "/step_00000002", other_folder = root + "/step_00000001";
  mw::io::Checkpointer checkpoints{root, {.bar = false}};
  mw::Tree target = faults::like(3);
  std::mt19937_64 random{5};
  int reported = 0, harmless = 0;

  void SetUp() override {
    for (const auto signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, tell);
    for (const auto step : {1, 2}) checkpoints.save(step, faults::grown(step, 7));
  }
  void TearDown() override {
    alarm(0);
    if (mw::process_index() == 0) std::printf("%d reported, %d harmless\n", reported, harmless);
  }

  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random() % n; }

  /// The files of a step, relative to its folder.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(step_folder))
      if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(step_folder).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Bytes of a shard file that are values, from the step's own record.
  std::vector<std::pair<std::int64_t, std::int64_t>> values_of(const std::string& name) const {
    std::ifstream in(step_folder + "/COMMIT");
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("{")) continue;
      const auto j = json::parse(line);
      if (j.value("file", "") != name) continue;
      std::vector<std::pair<std::int64_t, std::int64_t>> runs;
      for (const auto& run : j["runs"]) runs.emplace_back(run[0], run[0].get<std::int64_t>() + run[1].get<std::int64_t>());
      return runs;
    }
    return {};
  }

  enum class Want { report, right, no_crash };

  /// Loads the step that was damaged. `name`: what a report must name.
  void judge(const std::string& what, const std::string& name, Want want) {
    SCOPED_TRACE(what);
    std::snprintf(current, sizeof current, "%s", what.c_str());
    alarm(20);
    try {
      const auto loaded = checkpoints.load(2, target);
      const auto wrong = faults::wrong(loaded, 2);
      if (want != Want::no_crash) {
        EXPECT_EQ(wrong, "");
      }
      EXPECT_NE(want, Want::report) << "nobody noticed";
      ++harmless;
    } catch (const mw::Error& error) {
      EXPECT_NE(want, Want::right) << error.what();
      if (want == Want::report) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
      ++reported;
    }
    alarm(0);
  }

  /// Verifying reports any damage at all, and names the file that has it.
  void judge_verified(const std::string& what, const std::string& name) {
    on_first([&] {
      const auto report = mw::detail::verify_step(step_folder);
      const auto names_it = [&](const auto& damage) { return to_string(damage).find(name) != std::string::npos; };
      EXPECT_TRUE(std::any_of(report.damage.begin(), report.damage.end(), names_it))
          << what << ": verification reports " << report.damage.size() << " other things";
    });
  }

  /// The same with load(latest), which takes the step before.
  void judge_fallback(const std::string& what) {
    SCOPED_TRACE(what);
    const auto loaded = checkpoints.load(mw::io::Latest{2}, target);
    EXPECT_EQ(loaded.report.step, 1);
    EXPECT_EQ(loaded.report.passed_over.size(), 1U);
    EXPECT_EQ(faults::wrong(loaded, 1), "");
  }

  /// Another content for a file while f runs.
  void with_content(const std::string& path, const std::string& bytes, const std::function<void()>& f) {
    std::string before;
    on_first([&] { before = read_file(path), write_file(path, bytes); });
    f();
    on_first([&] { write_file(path, before); });
  }

  void expect_whole() { EXPECT_EQ(faults::wrong(checkpoints.load(2, target), 2), ""); }
};

// Half of the flips anywhere, the other half where little damage does much: COMMIT, the index, what of a shard file is no value.
TEST_F(Damage, SingleBits) {
  const auto names = files();
  ASSERT_GE(names.size(), 3U);
  std::vector<std::uint64_t> sizes;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> values;
  std::uint64_t total = 0;
  for (const auto& name : names) {
    sizes.push_back(fs::file_size(step_folder + "/" + name));
    values.push_back(values_of(name));
    total += sizes.back();
  }
  for (int trial = 0; trial < 10000 / share() && !from_any(HasFailure()); ++trial) {
    std::size_t file = 0;
    std::uint64_t at = 0;
    if (trial % 2 == 0) {
      for (at = below(total); at >= sizes[file]; ++file) at -= sizes[file];
    } else {
      file = below(names.size());
      at = below(sizes[file]);
      if (!values[file].empty() && trial % 4 == 1) at = below(static_cast<std::uint64_t>(values[file][0].first));
    }
    const auto& runs = values[file];
    const auto offset = static_cast<std::int64_t>(at);
    const bool is_value =
        std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return offset >= run.first && offset < run.second; });
    const auto bit = below(8);
    const auto flip = [&] {
      const int descriptor = ::open((step_folder + "/" + names[file]).c_str(), O_RDWR | O_CLOEXEC);
      unsigned char byte = 0;
      bool done = ::pread(descriptor, &byte, 1, static_cast<off_t>(at)) == 1;
      byte = static_cast<unsigned char>(byte ^ (1U << bit));
      done = ::pwrite(descriptor, &byte, 1, static_cast<off_t>(at)) == 1 && done;
      ::close(descriptor);
      EXPECT_TRUE(done);
    };
    const auto what = names[file] + ", byte " + std::to_string(at) + ", bit " + std::to_string(bit);
    on_first(flip);
    // What else is in a shard file is not needed to load it.
    judge(what, names[file], runs.empty() || is_value ? Want::report : Want::right);
    judge_verified(what, names[file]);
    if (trial % 50 == 0 && (runs.empty() || is_value)) judge_fallback(what);
    on_first(flip);
  }
  expect_whole();
}

TEST_F(Damage, CutAndLengthened) {
  for (const auto& name : files()) {
    const auto path = step_folder + "/" + name;
    const auto size = fs::file_size(path);
    std::vector<std::uint64_t> lengths{0, 1, size - 1, size / 2, size + 1, size + 4096};
    for (int k = 0; k < 400 / share(); ++k) lengths.push_back(below(size));
    const auto bytes = read_file(path);
    for (const auto length : lengths) {
      if (from_any(HasFailure())) return;
      on_first([&] { fs::resize_file(path, length); });
      judge(name + " cut to " + std::to_string(length), name, Want::report);
      judge_verified(name + " cut to " + std::to_string(length), name);
      if (length == 0) judge_fallback(name + " cut to nothing");
      on_first([&] { write_file(path, bytes); });
    }
  }
  expect_whole();
}

TEST_F(Damage, MissingAndExchanged) {
  const auto names = files();
  for (const auto& name : names) {
    const auto path = step_folder + "/" + name, away = folder.path() + "/away";
    const auto put_away = [&] { fs::rename(path, away); };
    const auto put_back = [&] { fs::remove_all(path), fs::rename(away, path); };
    on_first(put_away);
    judge(name + " is missing", name, Want::report);
    judge_verified(name + " is missing", name);
    judge_fallback(name + " is missing");
    on_first([&] { fs::create_directory(path); });
    judge(name + " is a folder", name, Want::report);
    on_first([&] {
      fs::remove(path);
      EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    });
    judge(name + " is a pipe", name, Want::report);
    on_first([&] { fs::remove(path), fs::create_symlink(path, path); });
    judge(name + " is a link to itself", name, Want::report);
    on_first([&] { fs::remove(path), fs::create_symlink("/dev/zero", path); });
    judge(name + " is a device", name, Want::report);
    on_first(put_back);
    // Of the other step, which has files of the same names and lengths; of this step's other files.
    for (const auto& other : names) {
      for (const auto& from_folder : {step_folder, other_folder}) {
        const auto bytes = read_file(from_folder + "/" + other);
        if (bytes == read_file(path)) continue;
        with_content(path, bytes, [&] {
          judge(from_folder + "/" + other + " for " + name, "", Want::report);
          judge_verified(from_folder + "/" + other + " for " + name, "");
        });
      }
    }
  }
  on_first([&] { fs::rename(step_folder + "/shards", step_folder + "/shard"); });
  judge("no shards", "shards", Want::report);
  on_first([&] { fs::rename(step_folder + "/shard", step_folder + "/shards"); });
  expect_whole();
}

// A step's folder under another step's name is not that step.
TEST_F(Damage, StepsExchanged) {
  const auto exchange = [&] {
    fs::rename(step_folder, root + "/x"), fs::rename(other_folder, step_folder), fs::rename(root + "/x", other_folder);
  };
  on_first(exchange);
  judge("another step's folder", "step", Want::report);
  judge_verified("another step's folder", "step");
  EXPECT_TRUE(checkpoints.steps().empty());
  on_first(exchange);
  expect_whole();
}

// A copied or moved run is as good as the old one.
TEST_F(Damage, MovedFolder) {
  on_first([&] { fs::copy(root, folder.path() + "/copy", fs::copy_options::recursive | fs::copy_options::copy_symlinks); });
  mw::io::Checkpointer moved(folder.path() + "/copy");
  EXPECT_EQ(faults::wrong(moved.load(moved.latest(), target), 2), "");
}

/// One of the things that are not there: for any place of a JSON text.
json nasty(std::uint64_t k) {
  using std::numeric_limits;
  const std::vector<json> all{nullptr,
                              -1,
                              0,
                              1,
                              std::int64_t{1} << 62,
                              numeric_limits<std::int64_t>::min(),
                              numeric_limits<std::uint64_t>::max(),
                              1e300,
                              0.5,
                              true,
                              "",
                              "..",
                              "/etc/passwd",
                              std::string(5000, 'x'),
                              json::array(),
                              json::object(),
                              json::array({1, 2, 3}),
                              json{{"file", 1}},
                              "\xff\xfe"};
  return all[k % all.size()];
}

/// Any one value in it replaced, or an entry gone, or doubled.
void spoil(json& j, std::mt19937_64& random) {
  auto* at = &j;
  while (at->is_structured() && !at->empty() && random() % 8 != 0)
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random() % at->size()));
  if (at->is_array() && !at->empty() && random() % 3 == 0)
    at->erase(random() % at->size());
  else if (at->is_array() && !at->empty() && random() % 2 == 0)
    at->push_back((*at)[0]);
  else if (at->is_number_integer() && random() % 2 == 0)
    *at = at->get<std::int64_t>() + static_cast<std::int64_t>(random() % 3) - 1;
  else
    *at = nasty(random());
}

std::string text_of(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::ignore); }

void spoil_bytes(std::string& text, std::mt19937_64& random) {
  for (auto n = 1 + random() % 4; n-- > 0 && !text.empty();) {
    const auto at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 20);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 50));
        break;
      case 3:
        text.insert(at, std::string(random() % 3 == 0 ? 100000 : 3, '['));
        break;
      default:
        text[at] = static_cast<char>('0' + random() % 10);
    }
  }
}

TEST_F(Damage, MadeUpCommits) {
  const auto path = step_folder + "/COMMIT";
  const auto whole = read_file(path);
  const auto body = whole.substr(0, whole.rfind("crc32c="));
  for (int trial = 0; trial < 4000 / share() && !from_any(HasFailure()); ++trial) {
    auto text = body;
    if (trial % 4 == 0) {
      text.assign(below(2000), '\0');
      std::generate(text.begin(), text.end(), [&] { return static_cast<char>(random()); });
    } else if (trial % 4 == 1) {
      spoil_bytes(text, random);
    } else {
      std::vector<std::string> lines;
      for (std::size_t at = 0; at < body.size(); at = body.find('\n', at) + 1) lines.push_back(body.substr(at, body.find('\n', at) - at));
      auto& line = lines[below(lines.size())];
      auto j = json::parse(line);
      spoil(j, random);
      line = text_of(j);
      text.clear();
      for (const auto& l : lines) text += l + "\n";
    }
    const bool seals = trial % 8 < 6;
    with_content(path, seals ? sealed(text) : text, [&] {
      judge("COMMIT " + std::to_string(trial), "COMMIT", seals ? Want::no_crash : Want::report);
      if (trial % 20 == 0) checkpoints.steps();
      if (trial % 4 == 0) on_first([&] { mw::detail::verify_step(step_folder); });
    });
  }
  expect_whole();
}

TEST_F(Damage, MadeUpIndexes) {
  const auto commit_path = step_folder + "/COMMIT", index_path = step_folder + "/index.h5";
  const auto commit = read_file(commit_path), index = read_file(index_path);
  auto first = json::parse(commit.substr(0, commit.find('\n')));
  const auto begin = commit.find('\n') + 1;
  auto entry = json::parse(commit.substr(begin, commit.find('\n', begin) - begin));
  ASSERT_EQ(entry["file"], "index.h5");
  const auto rest = commit.substr(commit.find('\n', begin) + 1, commit.rfind("crc32c=") - commit.find('\n', begin) - 1);
  const auto place = [&](const char* part) { return std::pair{first[part][0].get<std::size_t>(), first[part][1].get<std::size_t>()}; };
  const auto [text_at, text_size] = place("manifest");
  for (int trial = 0; trial < 4000 / share() && !from_any(HasFailure()); ++trial) {
    auto bytes = index;
    auto head = first;
    if (trial % 4 == 0) {
      // Numbers of boxes and checksums.
      const auto [at, size] = place(trial % 8 == 0 ? "boxes" : "ranges");
      const std::int64_t values[] = {
          -1, 0, 1, 7, 1 << 20, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
      const auto value = values[below(std::size(values))];
      if (size >= 8) std::memcpy(bytes.data() + at + 8 * below(size / 8), &value, 8);
    } else if (trial % 4 == 1) {
      // Random bytes in the places that are read.
      const auto [at, size] = place(trial % 8 == 1 ? "manifest" : "ranges");
      for (auto n = 1 + below(5); n-- > 0 && size > 0;) bytes[at + below(size)] = static_cast<char>(random());
    } else {
      auto manifest = json::parse(index.substr(text_at, text_size));
      spoil(manifest, random);
      auto text = text_of(manifest);
      if (trial % 16 == 15) spoil_bytes(text, random);
      head["manifest"] = {bytes.size(), text.size()};
      bytes += text;
    }
    entry["bytes"] = bytes.size();
    entry["crc32c"] = hex(crc32c(bytes));
    with_content(index_path, bytes, [&] {
      if (trial % 5 == 0 && bytes != index) judge("index without its checksum " + std::to_string(trial), "index", Want::report);
      with_content(commit_path, sealed(head.dump() + "\n" + entry.dump() + "\n" + rest), [&] {
        judge("index " + std::to_string(trial), "", Want::no_crash);
        on_first([&] { mw::detail::verify_step(step_folder); });
      });
    });
  }
  expect_whole();
}

}  // namespace

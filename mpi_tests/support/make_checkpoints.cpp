// make_checkpoints FOLDER: the runs that command/checkpoint_*.txt speak of, always the same.
#include <fmt/format.h>

#include <filesystem>

#include "support/stored_step.hpp"

namespace fs = std::filesystem;
namespace mw = meshwise;
using mw::P, mw::Shape;
using stored_step::counting, stored_step::on_mesh, stored_step::store;

namespace {

constexpr const char* tree =
    R"({"dict":[["%2Fodd%25",0],["flags",1],["layers",{"list":[{"dict":[["b",2],["w",3]]},{"dict":[["b",4],["w",5]]}]}],["nothing",null],["pair",{"tuple":[6,7]}],["scalar",8],["z",9]]})";

stored_step::StepOfRun step(std::int64_t number, std::int64_t ranks, double change) {
  const auto grid = ranks == 4 ? on_mesh({2, 2}, {"x", "y"}, P("x", "y")) : on_mesh({3}, {"rows"}, P("rows"));
  const auto part = ranks == 4 ? on_mesh({2, 2}, {"x", "y"}, P("y")) : on_mesh({3}, {"rows"}, P());
  const auto array = [&](const char* name, mw::Dtype dtype, Shape shape, std::optional<mw::Sharding> sharding, double first, double step) {
    return stored_step::ArrayOfStep{name, dtype, std::move(shape), std::move(sharding), counting(dtype, first, step)};
  };
  stored_step::StepOfRun s{number, ranks};
  s.arrays = {array("%2Fodd%25", mw::int32, {3}, std::nullopt, 7, 1),
              array("flags", mw::bool_, {5}, std::nullopt, 0, 0),
              array("layers/0/b", mw::bfloat16, {6}, part, -1, 0.5),
              array("layers/0/w", mw::float32, {6, 8}, grid, change, 0.25),
              array("layers/1/b", mw::bfloat16, {6}, part, -1, 0.5),
              array("layers/1/w", mw::float32, {6, 8}, grid, 0, 0.25),
              array("pair/0", mw::uint64, {2}, std::nullopt, 9e15, 1),
              array("pair/1", mw::float16, {0, 4}, std::nullopt, 0, 0),
              array("scalar", mw::float64, {}, std::nullopt, 2.5 + change, 0),
              array("z", mw::complex64, {4}, part, 3, 0)};
  s.tree = tree;
  s.metadata = fmt::format(R"({{"epoch":{},"note":"über"}})", number);
  s.metrics = {{"loss", 1.0 / static_cast<double>(number)}, {"steps", 100}};
  return s;
}

// Four ranks' 2 x 2 and three ranks' rows, whole steps.
void make_run(const std::string& root) {
  store(root, step(1, 4, 0));
  store(root, step(20, 3, 0));
  store(root, step(300, 4, 1e-3));
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  fs::remove_all(folder);
  make_run(folder + "/run");
  fs::create_directory_symlink("step_00000300", folder + "/run/latest");

  // What crashes leave, and people: a step without COMMIT, a save and a removal that never ended.
  const auto crashed = folder + "/crashed";
  make_run(crashed);
  fs::remove(crashed + "/step_00000300/COMMIT");
  fs::create_directories(crashed + "/step_00000400.tmp-0123/shards");
  fs::create_directories(crashed + "/step_00000001.deleting-4567");

  const auto damaged = folder + "/damaged";
  for (std::int64_t number = 1; number <= 9; ++number) store(damaged, step(number, 4, 0));
  const auto of = [&](std::int64_t number, const std::string& file) { return fmt::format("{}/step_{:08d}/{}", damaged, number, file); };
  stored_step::flip(of(1, "COMMIT"), 10);
  fs::remove(of(2, "COMMIT"));
  fs::remove(of(3, "shards/00002.h5"));
  fs::resize_file(of(4, "shards/00001.h5"), fs::file_size(of(4, "shards/00001.h5")) - 1);
  fs::copy(of(6, "shards/00001.h5"), of(5, "shards/00001.h5"), fs::copy_options::overwrite_existing);  // of another step
  fs::copy(of(6, "index.h5"), of(7, "index.h5"), fs::copy_options::overwrite_existing);
  fs::copy(of(6, "COMMIT"), of(8, "COMMIT"), fs::copy_options::overwrite_existing);
  const auto m = meshwise::detail::read_manifest(of(9, ""));
  stored_step::flip(of(9, "shards/00000.h5"), m.boxes_of(m.array("layers/0/w"))[0].offset + 5, 3);
  stored_step::flip(of(9, "shards/00003.h5"), 100);

  // Steps that differ in more than values.
  auto other = step(2, 3, 0);
  other.arrays[1].name = "flaws";
  other.arrays[7].shape = {0, 5};
  other.arrays[8].dtype = mw::float32;
  other.arrays[8].rule = counting(mw::float32, 2.5, 0);
  store(folder + "/other", other);

  for (const auto* name : {"empty", "rm", "rm_step", "sweep"}) fs::create_directories(folder + "/" + name);
  make_run(folder + "/rm");
  make_run(folder + "/rm_step");
  make_run(folder + "/sweep");
  fs::create_directories(folder + "/sweep/step_00000400.tmp-0123/shards");
  fs::create_directories(folder + "/sweep/step_00000001.deleting-4567");
}

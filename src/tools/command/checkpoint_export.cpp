// meshwise checkpoint export: a step as one plain file.
#include "io/checkpoint/export.hpp"

#include <fmt/format.h>

#include <memory>

#include "meshwise/base/error.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run, file, step;
  std::vector<std::string> arrays;
  bool json = false;
};

void run(const Options& o) {
  detail::StepReader step(find_step(o.run, o.step));
  const auto& m = step.manifest();
  std::vector<const detail::StoredArray*> arrays;
  for (const auto& name : o.arrays) arrays.push_back(&m.array(name));
  if (o.arrays.empty())
    for (const auto& array : m.arrays) arrays.push_back(&array);
  std::int64_t bytes = 0;
  for (const auto* array : arrays) bytes += array->nbytes();
  {
    Bar bar("export");
    const detail::ExportProgress progress = [&](std::int64_t done, std::int64_t total) { bar.show(done, total); };
    if (o.file.ends_with(".npy")) {
      if (arrays.size() != 1)
        throw Error(
            fmt::format("'{}' holds one array, and there are {}: name one with --array, or export to an .h5 file", o.file, arrays.size()));
      detail::export_npy(step, *arrays[0], o.file, progress);
    } else {
      detail::export_hdf5(step, arrays, o.file, progress);
    }
  }
  if (o.json)
    print_json({{"step", m.step}, {"file", o.file}, {"arrays", arrays.size()}, {"bytes", bytes}});
  else
    fmt::print("step {}: {}, {} in {}\n", m.step, counted(std::ssize(arrays), "array"), bytes_text(bytes), o.file);
}

}  // namespace

void add_checkpoint_export(CLI::App& app) {
  auto* const out = app.add_subcommand("export", "Write a step as one plain HDF5 file, a dataset an array, or one array as .npy");
  const auto o = std::make_shared<Options>();
  out->add_option("RUN", o->run, "The run's folder, or a step's")->required();
  out->add_option("FILE", o->file, "The file to write, out.h5 or out.npy; one that is there is replaced")->required();
  out->add_option("--step", o->step, "The step (the newest that is whole where nothing is said)");
  out->add_option("--array", o->arrays, "This array alone; may be given several times for an HDF5 file");
  out->add_flag("--json", o->json, "What was done as JSON");
  out->callback([o] { run(*o); });
}

}  // namespace meshwise::command

// A real data set read from HDF5 into a sharding, trained on, and the weights written back.
// Multinomial logistic regression on 1,797 handwritten digits, by full-batch gradient descent.
// Run: scripts/run_mpirun.sh [-n ranks] build/examples/digits [--axes model,data] [--steps 100] [--save run/ --every 20]
// With --save it goes on where the last run stopped, on any number of ranks; SIGUSR1 makes it save, SIGTERM save and end.

#include <meshwise/meshwise.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Slice;

namespace {

/// Rows of pixels, their classes as numbers and as one-hot rows.
struct Set {
  Array pixels, classes, one_hot;
};

struct Score {
  double loss;
  int right;
};

Array logits(const Array& pixels, const Array& weights, const Array& bias) { return mw::matmul(pixels, weights) + bias; }

Score score(const Set& set, const Array& weights, const Array& bias) {
  const auto z = logits(set.pixels, weights, bias);
  const auto loss = -mw::mean(mw::sum(mw::log_softmax(z) * set.one_hot, {1}));
  const auto right = mw::sum(mw::argmax(z, 1) == set.classes);
  return {loss.item<float>(), right.item<std::int32_t>()};
}

/// Whether a number is the reference's (a float32 sum in another order differs in the seventh digit).
bool near(double got, double want) { return std::abs(got - want) <= 1e-5 * std::abs(want); }

struct Options {
  bool model_first = false;
  int steps = 100, every = 20;
  std::string folder{};  // of checkpoints; empty: none
};

int run(const Options& options) {
  const auto steps = options.steps;
  const auto ranks = mw::devices().size();
  const std::int64_t model = ranks % 2 == 0 ? 2 : 1, data = ranks / model;
  const auto mesh = options.model_first ? mw::make_mesh({model, data}, {"model", "data"}) : mw::make_mesh({data, model}, {"data", "model"});
  mw::print("{}\n\n", mesh);

  // Each rank reads its own rows, and no rank the whole.
  const std::string file = MESHWISE_EXAMPLE_DATA "/digits.h5";
  const auto images = mw::io::read(file, "/images", NamedSharding(mesh, P("data")));
  const auto labels = mw::io::read(file, "/labels", NamedSharding(mesh, P("data")));
  const auto rows = images.shape()[0];
  const auto one_hot = labels.reshape({rows, 1}) == mw::arange(10);

  const auto counts = mw::device_get(mw::sum(one_hot, {0}));
  mw::print("images per class  {}\n", fmt::join(counts.view<std::int32_t>(), " "));
  const auto values = images.astype(mw::float64);
  const double mean = mw::mean(values).item<double>();
  const double variance = mw::mean(mw::square(values - mean)).item<double>();
  mw::print("pixels            mean {:.9f}, variance {:.9f}\n\n", mean, variance);
  bool good = std::abs(mean - 4.884164579855314) < 1e-12 && std::abs(variance - 36.201732405857264) < 1e-9;
  const std::int32_t known[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (std::int64_t i = 0; i < 10; ++i) good = good && counts.view<std::int32_t>()[i] == known[i];

  const auto pixels = images.reshape({rows, 64}).astype(mw::float32) / 16.0f;
  const auto targets = one_hot.astype(mw::float32);
  const auto cut = [&](const Slice& part) { return Set{pixels[part], labels[part], targets[part]}; };
  const Set train = cut(Slice(0, 1500)), test = cut(Slice(1500, rows));
  auto weights = mw::device_put(mw::zeros({64, 10}), NamedSharding(mesh, P(mw::none, "model")));
  auto bias = mw::device_put(mw::zeros({10}), NamedSharding(mesh, P("model")));

  mw::print("pixels  {}\nweights {}\nbias    {}\n", mw::visualize(train.pixels), mw::visualize(weights), mw::visualize(bias));

  std::optional<mw::io::Checkpointer> checkpoints;
  int first = 0;
  if (!options.folder.empty()) {
    checkpoints.emplace(options.folder, mw::io::CheckpointOptions{.keep = mw::io::keep_last(2)});
    if (const auto last = checkpoints->latest()) {
      const auto loaded = checkpoints->load(last, mw::Tree{{"weights", weights}, {"bias", bias}});
      weights = loaded["weights"];
      bias = loaded["bias"];
      first = static_cast<int>(loaded.report.step);
      mw::print("going on from step {} in {}\n", first, checkpoints->folder());
    }
  }

  mw::print("step   train loss   right of 1500   test loss   right of 297\n");
  Score on_train{}, on_test{};
  for (int step = first;; ++step) {
    if (step % 10 == 0 || step == steps) {
      on_train = score(train, weights, bias);
      on_test = score(test, weights, bias);
      mw::print("{:4}   {:10.4f}   {:13}   {:9.4f}   {:12}\n", step, on_train.loss, on_train.right, on_test.loss, on_test.right);
    }
    if (checkpoints && step > first) checkpoints->save_if_due(step, mw::Tree{{"weights", weights}, {"bias", bias}}, {.steps = options.every});
    if (checkpoints && checkpoints->stop_requested()) return 0;
    if (step >= steps) break;
    const auto gradient = (mw::softmax(logits(train.pixels, weights, bias)) - train.one_hot) / 1500.0f;
    weights = weights - 0.5f * mw::matmul(train.pixels.T(), gradient);
    bias = bias - 0.5f * mw::sum(gradient, {0});
  }
  if (steps == 100) good = good && near(on_train.loss, 0.3794605434) && on_train.right == 1426 && near(on_test.loss, 0.5744823217) && on_test.right == 260;

  // The weights to a file, and back onto a mesh of another shape.
  const auto saved = fmt::format("digits_weights_{}of{}.h5", ranks, mw::process_count());
  mw::io::write(saved, "/weights", weights);
  const auto line = mw::make_mesh({ranks}, {"all"}, {.devices = mw::devices().reversed()});
  const auto back = mw::io::read(saved, "/weights", NamedSharding(line, P("all")));
  const bool same = mw::all(mw::device_put(back, weights.sharding()) == weights).item<bool>();
  mw::print("\nweights written to {}, read back as {} on {}: {}\n", saved, mw::type_string(back), line, same ? "the same bits" : "DIFFERENT");

  mw::print("{}\n", good && same ? "all numbers are the reference's" : "SOME NUMBERS ARE NOT THE REFERENCE'S");
  return good && same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--axes") == 0) options.model_first = std::strncmp(argv[i + 1], "model", 5) == 0;
    if (std::strcmp(argv[i], "--steps") == 0) options.steps = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--save") == 0) options.folder = argv[i + 1];
    if (std::strcmp(argv[i], "--every") == 0) options.every = std::atoi(argv[i + 1]);
  }
  return run(options);
}

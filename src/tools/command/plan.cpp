// meshwise plan: what a move costs, on meshes that need not exist.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/cost.hpp"
#include "meshwise/plan/redistribution.hpp"
#include "meshwise/tools/calibrate.hpp"
#include "tools/command/command.hpp"
#include "tools/command/syntax.hpp"

namespace meshwise::command {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string shape, dtype = "float32", mesh, to_mesh, from, to, devices, to_devices;
  std::int64_t node_size = 1, devices_per_rank = 1, rank = -1;
  bool private_memory = false, donate = false, json = false;
};

struct Question {
  Shape shape;
  Dtype dtype;
  NamedSharding from, to;
  PlanOptions plan;
};

/// The ids in their order, or the first ones.
std::vector<std::int64_t> ids_of(const std::string& option, const std::string& text, const MeshText& mesh) {
  if (text.empty()) return {};
  auto ids = parse_ids(option, text);
  if (static_cast<std::int64_t>(ids.size()) != mesh.devices())
    throw Error(
        fmt::format("{} names {} devices, and the mesh has {}: give one id for each, row by row.", option, ids.size(), mesh.devices()));
  return ids;
}

Mesh mesh_of(const MeshText& text, const std::vector<std::int64_t>& ids, const DeviceList& world) {
  return make_mesh(text.sizes, text.names, {.devices = ids.empty() ? world.first(text.devices()) : world.pick(ids)});
}

Question ask(const Options& o) {
  const auto mesh = parse_mesh("--mesh", o.mesh), to_mesh = o.to_mesh.empty() ? mesh : parse_mesh("--to-mesh", o.to_mesh);
  const auto ids = ids_of("--devices", o.devices, mesh);
  const auto to_ids = o.to_devices.empty() && o.to_mesh.empty() ? ids : ids_of("--to-devices", o.to_devices, to_mesh);
  auto count = std::max(mesh.devices(), to_mesh.devices());
  for (const auto* list : {&ids, &to_ids})
    for (const auto id : *list) count = std::max(count, id + 1);
  count = (count + o.devices_per_rank - 1) / o.devices_per_rank * o.devices_per_rank;
  const auto world = DeviceList::virtual_devices(count, o.devices_per_rank);
  const NamedSharding from(mesh_of(mesh, ids, world), parse_spec("--from", o.from)),
      to(mesh_of(to_mesh, to_ids, world), parse_spec("--to", o.to));
  const Topology topology{.ranks_per_node = o.node_size, .node_shares_memory = !o.private_memory};
  return {parse_shape(o.shape), parse_dtype(o.dtype), from, to, {.topology = topology, .links = links(), .donate = o.donate}};
}

ordered_json to_json(const LinkUse& use) {
  return {{"bytes_in", use.bytes_in}, {"bytes_out", use.bytes_out}, {"messages_in", use.messages_in}, {"messages_out", use.messages_out}};
}

ordered_json to_json(const RankCost& r) {
  return {{"rank", r.rank},
          {"bytes_before", r.bytes_before},
          {"bytes_after", r.bytes_after},
          {"bytes_kept", r.bytes_kept},
          {"memory", to_json(r.memory)},
          {"node", to_json(r.node)},
          {"network", to_json(r.network)},
          {"bytes_lower_bound", r.bytes_lower_bound},
          {"peak_bytes", r.peak_bytes},
          {"bytes_left", r.bytes_left},
          {"seconds", r.seconds}};
}

std::string json_text(const PlanReport& report) {
  auto ranks = ordered_json::array();
  for (const auto& r : report.ranks) ranks.push_back(to_json(r));
  const auto& [topology, figures, donate] = report.options;
  return ordered_json{
             {"from", report.from},
             {"to", report.to},
             {"from_devices", report.from_devices},
             {"to_devices", report.to_devices},
             {"ranks_per_node", topology.ranks_per_node},
             {"node_shares_memory", topology.node_shares_memory},
             {"donate", donate},
             {"measured", {{"memory", figures.memory.measured}, {"node", figures.node.measured}, {"network", figures.network.measured}}},
             {"complete", report.complete},
             {"seconds", report.seconds},
             {"ranks", std::move(ranks)}}
             .dump(2) +
         "\n";
}

/// What one rank's devices receive and send, piece by piece.
std::string pieces_text(const Question& q, std::int64_t rank, std::int64_t devices_per_rank) {
  const auto movement = Movement::reshard(q.from, q.to, q.shape);
  std::string text;
  for (std::int64_t k = 0; k < devices_per_rank; ++k)
    text += to_string(plan_device(movement, q.plan.topology, {rank * devices_per_rank + k, rank, k}));
  return text.empty() ? fmt::format("rank {} has no part in it\n", rank) : text;
}

void run(const Options& o) {
  const auto question = ask(o);
  if (o.rank >= 0) {
    question.from.check_fits(question.shape);
    question.to.check_fits(question.shape);
    fmt::print("{}", pieces_text(question, o.rank, o.devices_per_rank));
    return;
  }
  const auto report = plan_report(question.shape, question.dtype, question.from, question.to, question.plan);
  fmt::print("{}", o.json ? json_text(report) : to_string(report));
}

}  // namespace

void add_plan(CLI::App& app) {
  auto* const plan = app.add_subcommand("plan", "Say what moving an array costs, before it moves: bytes, messages, memory, time");
  const auto o = std::make_shared<Options>();
  plan->add_option("--shape", o->shape, "Lengths of the array's axes, as in 65536,65536")->required();
  plan->add_option("--dtype", o->dtype, "float32 where nothing is said");
  plan->add_option("--mesh", o->mesh, "SIZES:NAMES, as in 512,8:data,model")->required();
  plan->add_option("--from", o->from, "The spec now: an entry for each array axis, as in data,none,x+y (none or -: not split)")->required();
  plan->add_option("--to", o->to, "The spec wanted")->required();
  plan->add_option("--to-mesh", o->to_mesh, "Another mesh to move to");
  plan->add_option("--devices", o->devices, "The mesh's device ids, row by row, as in 0-3,7-4 (0, 1, 2, ... where nothing is said)");
  plan->add_option("--to-devices", o->to_devices, "The other mesh's");
  plan->add_option("--node-size", o->node_size, "Ranks on a node, 0: all on one (1 where nothing is said: every rank across the network)")
      ->check(CLI::NonNegativeNumber);
  plan->add_option("--devices-per-rank", o->devices_per_rank, "Devices of one process")->check(CLI::PositiveNumber);
  plan->add_flag("--private-memory", o->private_memory, "The ranks of a node don't share memory: MPI carries what moves there");
  plan->add_flag("--donate", o->donate, "The old array is given up");
  plan->add_option("--rank", o->rank, "One rank's pieces instead of the table")->check(CLI::NonNegativeNumber);
  plan->add_flag("--json", o->json, "The figures as JSON");
  plan->footer(
      "An example: an array of 32 GiB on 4096 ranks, from one layout to the other.\n"
      "  meshwise plan --shape 65536,65536 --dtype float64 --mesh 512,8:data,model --from data,model --to model,data --node-size 8");
  plan->callback([o] { run(*o); });
}

}  // namespace meshwise::command

// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "sim_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/scheduler.h"
#include "model/memory/memory.h"
#include "model/parts/group_part.h"

namespace aster::sim {
namespace {

constexpr uint64_t kFront = 99;
constexpr uint64_t kSmallFront = 100;  // and those after it
// Nothing in a simulation takes longer than this unless it hangs.
constexpr int64_t kLongestNs = 3600 * kNsPerSecond;
constexpr uint64_t kMostSteps = 400'000;
constexpr uint32_t kVocab = 298;
constexpr uint64_t kPlentyBytes = uint64_t{1} << 24;
constexpr uint32_t kLongest = 5 * 128;  // positions of a text

// Each family keeps other rows: windows and sinks, rows that other layers share, recurrent states,
// layers of two kinds, rows of all heads, an index of them, compressed rows, shared ones.
constexpr model::Arch kFamilies[] = {model::Arch::kGptOss,    model::Arch::kGemma4,
                                     model::Arch::kQwen35Moe, model::Arch::kMimo2,
                                     model::Arch::kDeepSeek2, model::Arch::kGlmDsa,
                                     model::Arch::kDeepSeek4, model::Arch::kDeepSeek41};

plan::TestModel& ModelOf(uint64_t seed) {
  // Not with seeds whose rows are quantised on their way.
  if (seed % 5 == 2 && seed % 3 != 0)
    return plan::TestModel::OfFamily(kFamilies[seed / 5 % std::size(kFamilies)]);
  return seed % 4 == 1 ? plan::TestModel::WithExperts() : plan::TestModel::Get();
}

// A window chosen by an option, for models whose rows allow it.
model::MemoryOptions WindowOf(const model::Shape& shape) {
  if (shape.is_mla() || shape.is_latent()) return {};
  return {.window = 200, .sinks = 4};
}

// Hardly enough memory for the longest text.
uint64_t TightBytes(const model::Shape& shape) {
  return model::MakeMemoryLayout(shape, model::Narrowed({}, shape), Hash128())
      ->BytesFor({0, plan::kTestLayers}, kLongest, /*chunk=*/256);
}

// Seeds share the model, and with it its cached KV pages.
engine::LocalModel& WholeModel(plan::TestModel& model, const model::MemoryOptions& memory) {
  using Key = std::pair<const plan::TestModel*, uint32_t>;
  static std::map<Key, std::unique_ptr<engine::LocalModel>> models;
  auto& whole = models[{&model, memory.window}];
  if (!whole) whole = model.MakeWhole(memory);
  return *whole;
}

// The model, which seems to have a block for multi-token prediction: its stages ask the prophet.
plan::RouteModel WithDrafter(plan::RouteModel model) {
  model.shape.mtp_layers = 1;
  return model;
}

}  // namespace

World::World(uint64_t seed, bool keep_lines)
    : model_(ModelOf(seed)),
      random_(seed),
      oracle_(seed),
      trace_(keep_lines),
      hub_(clock_, random_, trace_),
      is_calm_(Chance(5)),
      gives_up_(Chance(3)),
      memory_(Chance(4) ? WindowOf(model_.shape()) : model::MemoryOptions{}),
      kv_bytes_(Chance(4) ? TightBytes(model_.shape()) : kPlentyBytes),
      source_(kv_bytes_, static_cast<int>(Below(3))) {
  for (uint64_t i = 0; i < 1 + Below(4); ++i) AddMachine(i + 1);
  for (int i = 0; i < 2; ++i) beginnings_.push_back(model::RandomTokens(250, kVocab, Below(1000)));
  conduct::ConductorOptions options;
  options.route.memory = memory_;
  options.chunk_pages = 1 + Below(2);
  options.frames_per_stage = 1 + Below(3);
  options.max_running = 1 + Below(6);
  options.stall_ns = 20 * kNsPerSecond;
  options.route.open_timeout_ns = 10 * kNsPerSecond;
  options.max_replans = 30;
  options.proposers = &oracle_;
  if (const uint32_t tokens = Below(160); tokens < 80) options.direct_tokens = tokens;
  options.kv_sync_step = 1 + Below(20);
  options.ask_ns = 50 * kNsPerMs;
  options.fetch_silence_ns = kNsPerSecond;
  // Nodes that are on no route are asked for KV pages, too, even while they are down.
  if (seed % 2 == 0) {
    options.peers = [this] {
      std::vector<conduct::KvPeer> peers;
      for (const auto& machine : machines_) {
        conduct::KvPeer& peer = peers.emplace_back();
        peer.node.id = machine->id;
      }
      return peers;
    };
  }
  // In half of the seeds other machines draft.
  if (seed % 4 < 2) {
    drafters_ = std::make_unique<SimDrafters>(seed, is_calm_, kVocab, clock_, hub_, oracle_);
  }
  AddFront(kFront, options);
  // In a third of the seeds there are two more front ends, each of which finds pages on the other's
  // nodes.
  if (seed % 3 == 0) {
    AddFront(kSmallFront, options);
    AddFront(kSmallFront + 1, options);
  }
  for (uint32_t i = 0; i < 1 + Below(4); ++i) AddClient();
  if (!is_calm_) AddFaults();
}

World::~World() {
  for (const auto& front : fronts_) front->conductor.reset();
  for (const auto& machine : machines_) machine->server.reset();
}

void World::AddFront(uint64_t number, const conduct::ConductorOptions& options) {
  const bool is_narrow = number >= kSmallFront;
  Front& front = *fronts_.emplace_back(std::make_unique<Front>());
  front.is_narrow = is_narrow;
  front.network = std::make_unique<SimNetwork>(hub_, wire::NodeId{Hash128{number, number}});
  hub_.Add(front.network->self(),
           [&front](net::Event event) { front.conductor->Handle(std::move(event)); });
  std::vector<size_t> all(machines_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  conduct::ConductorOptions own = options;
  own.id_seed = number << 32;  // no route has another one's name
  if (is_narrow) own.route.kv_encoding = wire::RowEncoding::kQ8;
  if (drafters_) {
    front.drafts = drafters_->ProposersFor(*front.network);
    own.proposers = front.drafts.get();
    own.on_event = [&front](const net::Event& event) { return front.drafts->Handle(event); };
  }
  front.conductor = std::make_unique<conduct::Conductor>(
      *front.network, WithDrafter(model_.route_model()), nullptr, RandomPlan(all, is_narrow), own,
      [this, is_narrow](const plan::Plan&, std::span<const wire::NodeId> lost, const Error&) {
        return Replan(lost, is_narrow);
      });
}

void World::AddMachine(uint64_t number) {
  Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
  machine.id = wire::NodeId{Hash128{number, number}};
  machine.network = std::make_unique<SimNetwork>(hub_, machine.id);
  if (Chance(4)) machine.slowness = 10;
  Boot(machine);
}

void World::Boot(Machine& machine) {
  machine.returns_ns = kNeverNs;
  machine.inbox.clear();
  machine.server = std::make_unique<stage::StageServer>(
      *machine.network, source_,
      stage::StageOptions{.proposers = [this](engine::LocalModel&) { return oracle_.Another(); }});
  hub_.Add(machine.id, [&machine](net::Event event) { machine.inbox.push_back(std::move(event)); });
}

void World::Kill(size_t index, int64_t away_ns) {
  Machine& machine = *machines_[index];
  if (!machine.server) return;
  hub_.Remove(machine.id);
  machine.server.reset();
  machine.inbox.clear();
  machine.busy_until_ns = 0;
  machine.returns_ns = clock_.NowNs() + away_ns;
}

// The first layer from `layer` on where the model can be cut.
uint32_t World::CutFrom(uint32_t layer) {
  while (layer < plan::kTestLayers && !model_.shape().can_begin(layer)) ++layer;
  return layer;
}

bool World::CanShareLayers() {
  return model::CheckGroup({.count = 2, .shares = {1, 1}}, model_.shape()).ok();
}

// A pipeline with any cuts and any order of nodes, some of them twice.
std::vector<plan::PlanStage> World::RandomPath(const std::vector<size_t>& among) {
  std::vector<plan::PlanStage> stages;
  for (uint32_t begin = 0; begin < plan::kTestLayers;) {
    const uint32_t end = CutFrom(begin + 1 + Below(plan::kTestLayers - begin));
    const wire::NodeId id = machines_[among[Below(static_cast<uint32_t>(among.size()))]]->id;
    stages.push_back({.node = {.id = id, .name = fmt::format("n{}", id.value.low), .addresses = {}},
                      .slice = {.layer_begin = begin,
                                .layer_end = end,
                                .embedding = begin == 0,
                                .head = end == plan::kTestLayers}});
    begin = end;
  }
  return stages;
}

// The first two of these machines form a group, alone or before a third machine.
plan::Plan World::GroupPlan(const std::vector<size_t>& among) {
  const auto node = [&](size_t place) {
    return plan::PlanNode{.id = machines_[among[place]]->id, .name = {}, .addresses = {}};
  };
  plan::PlanStage group{.node = node(0), .slice = {0, plan::kTestLayers, true, true}};
  group.members = {node(1)};
  group.shares = {1 + Below(2), 1 + Below(2)};
  // If the model has experts, nodes of half of the groups own experts; zero, one or two experts are
  // on all nodes.
  if (model_.shape().experts.count > 0 && Chance(2)) {
    group.owns_experts = true;
    group.replicas = Below(3);
  }
  if (among.size() < 3 || Chance(2)) return {.stages = {group}, .decode = {}};
  const uint32_t cut = CutFrom(1 + Below(plan::kTestLayers - 1));
  if (cut == plan::kTestLayers) return {.stages = {group}, .decode = {}};
  group.slice = {0, cut, true, false};
  return {.stages = {group, {.node = node(2), .slice = {cut, plan::kTestLayers, false, true}}},
          .decode = {}};
}

// In half of the plans other nodes decode than prefill: mostly one with all layers, or a group; but
// a group does not decode if rows are quantised on their way.
plan::Plan World::RandomPlan(const std::vector<size_t>& among, bool is_narrow) {
  if (among.size() > 1 && Chance(6) && CanShareLayers()) {
    std::vector<size_t> order = among;
    std::rotate(order.begin(), order.begin() + Below(static_cast<uint32_t>(order.size())),
                order.end());
    plan::Plan plan = GroupPlan(order);
    if (is_narrow || Chance(2)) return plan;
    plan.decode = RandomPath(among);
    if (Chance(4)) return plan;
    std::swap(plan.stages, plan.decode);
    return plan;
  }
  plan::Plan plan{.stages = RandomPath(among), .decode = {}};
  if (Chance(2)) return plan;
  plan.decode = RandomPath(among);
  if (Chance(4)) return plan;
  plan.decode.resize(1);
  plan.decode[0].slice = {0, plan::kTestLayers, true, true};
  return plan;
}

Result<plan::Plan> World::Replan(std::span<const wire::NodeId> lost, bool is_narrow) {
  if (gives_up_ && Chance(4)) return Error(Code::kUnavailable, "no node has layers 0 to 3");
  std::vector<size_t> among;
  for (size_t i = 0; i < machines_.size(); ++i) {
    const bool is_lost = std::ranges::count(lost, machines_[i]->id) > 0;
    if (!is_lost || Chance(3)) among.push_back(i);
  }
  if (among.empty()) among.push_back(Below(static_cast<uint32_t>(machines_.size())));
  return RandomPlan(among, is_narrow);
}

void World::AddClient() {
  Client& client = *clients_.emplace_back(std::make_unique<Client>());
  client.front = fronts_[Below(static_cast<uint32_t>(fronts_.size()))].get();
  client.prompt = model::RandomTokens(1 + Below(160), kVocab, Below(1000000));
  if (Chance(2)) {
    const auto& shared = beginnings_[Below(2)];
    client.prompt.insert(client.prompt.begin(), shared.begin(), shared.begin() + 100 + Below(150));
  }
  engine::Request& request = client.request;
  request.max_tokens = Chance(10) ? 0 : 1 + Below(12);
  request.sampling.temperature = Chance(2) ? 0 : 1;
  request.sampling.seed = Below(100);
  if (Chance(4)) request.sampling.repetition_penalty = 1.3F;
  if (Chance(3)) request.stop_tokens = model::RandomTokens(10, kVocab, Below(1000));
  client.arrives_ns = Chance(2) ? 0 : Milliseconds(Chance(2) ? 2000 : 100);
  if (Chance(6)) client.cancel_ns = client.arrives_ns + Milliseconds(300);
  client.rounds = 1 + Below(3);
  if (Chance(2)) {
    const engine::DraftKind kinds[] = {engine::DraftKind::kNgram, engine::DraftKind::kModel,
                                       engine::DraftKind::kMtp};
    request.draft = {.kind = kinds[Below(3)], .most = 1 + Below(6)};
    // These answers are long enough for several frames of draft tokens in flight.
    if (kv_bytes_ >= kPlentyBytes && Chance(2)) request.max_tokens = 20 + Below(30);
  }
}

void World::AddFaults() {
  const auto any = [this] { return Below(static_cast<uint32_t>(machines_.size())); };
  // Any two machines, or a machine and a front end.
  const auto any_pair = [this, any] {
    const wire::NodeId a = machines_[any()]->id;
    const auto& front = fronts_[Below(static_cast<uint32_t>(fronts_.size()))];
    const wire::NodeId b = Chance(2) ? front->network->self() : machines_[any()]->id;
    return std::pair(a, b);
  };
  for (uint32_t i = 0; i < 1 + Below(8); ++i) {
    const int64_t at_ns = Milliseconds(Chance(3) ? 3000 : 300);
    const int64_t lasts_ns = Milliseconds(Chance(2) ? 100 : 5000);
    const auto add = [&](int64_t when_ns, std::function<void()> happens) {
      faults_.push_back({when_ns, std::move(happens)});
    };
    const auto [a, b] = any_pair();
    const size_t victim = any();
    switch (Below(4)) {
      case 0:
        add(at_ns, [this, victim, lasts_ns] { Kill(victim, lasts_ns); });
        break;
      case 1:
        add(at_ns, [this, a, b] {
          if (a != b) hub_.Cut(a, b);
        });
        break;
      case 2:
        if (a == b) break;
        add(at_ns, [this, a, b] { hub_.Separate(a, b, true); });
        add(at_ns + lasts_ns, [this, a, b] { hub_.Separate(a, b, false); });
        break;
      case 3:
        // The node is stopped for a while, as by a signal.
        add(at_ns, [this, victim, lasts_ns] {
          Machine& machine = *machines_[victim];
          machine.busy_until_ns = std::max(machine.busy_until_ns, clock_.NowNs() + lasts_ns);
        });
        break;
    }
  }
  std::ranges::stable_sort(faults_, {}, &Fault::at_ns);
}

// The answer of one machine.
std::vector<int32_t> World::Expected(const Client& client) {
  engine::LocalModel& whole = WholeModel(model_, memory_);
  engine::Scheduler scheduler(whole, nullptr, clock_);
  engine::Sequence sequence(whole);
  sequence.SetHistory(client.prompt);
  engine::Request request = client.request;
  request.on_token = nullptr;
  request.on_finish = nullptr;
  request.draft = {};
  std::vector<int32_t> tokens;
  request.sequence = &sequence;
  request.on_token = [&](const engine::Delta& delta) { tokens.push_back(delta.choice.id); };
  CHECK(scheduler.Submit(request).ok());
  while (!scheduler.idle()) CHECK(scheduler.Step().ok());
  return tokens;
}

void World::Submit(Client& client) {
  if (!client.sequence) client.sequence.emplace(client.front->conductor->NewSequence());
  client.sequence->SetHistory(client.prompt);
  client.answer.clear();
  client.finish.reset();
  client.expected = Expected(client);
  std::vector<int32_t> text = client.prompt;
  text.insert(text.end(), client.expected.begin(), client.expected.end());
  oracle_.AddText(std::move(text));
  client.is_submitted = true;
  engine::Request request = client.request;
  request.sequence = &*client.sequence;
  request.on_token = [&client](const engine::Delta& delta) {
    client.answer.push_back(delta.choice.id);
  };
  request.on_finish = [this, &client](const engine::Finish& finish) {
    client.finish = finish;
    // The trace has the answers, so that runs of one seed can be compared.
    trace_.Add(clock_.NowNs(),
               fmt::format("request {} is answered {}", client.id, fmt::join(client.answer, " ")));
    drafts_ += finish.counts.drafts;
  };
  const auto id = client.front->conductor->Submit(request);
  if (!id.ok()) {
    client.finish = engine::Finish{.status = id.error()};
    return;
  }
  client.id = *id;
  trace_.Add(clock_.NowNs(),
             fmt::format("request {} of {} tokens", client.id, client.prompt.size()));
}

// The conversation continues, or goes back to an earlier point and continues differently.
void World::NextRound(Client& client) {
  --client.rounds;
  client.prompt = client.sequence->tokens();
  if (Chance(3)) client.prompt.resize(1 + Below(static_cast<uint32_t>(client.prompt.size())));
  const auto more = model::RandomTokens(1 + Below(40), kVocab, Below(1000000));
  client.prompt.insert(client.prompt.end(), more.begin(), more.end());
  client.is_submitted = false;
  client.arrives_ns = clock_.NowNs() + Milliseconds(50);
}

void World::RunClients() {
  for (const auto& client : clients_) {
    if (!client->is_submitted && client->arrives_ns <= clock_.NowNs()) Submit(*client);
    if (client->is_submitted && !client->finish && client->cancel_ns <= clock_.NowNs()) {
      client->front->conductor->Cancel(client->id);
      client->is_cancelled = true;
      client->cancel_ns = kNeverNs;
    }
    const bool is_answered = client->finish && client->finish->status.ok() &&
                             client->finish->reason != engine::FinishReason::kCancelled;
    if (is_answered && client->rounds > 1 && IsAsExpected(*client)) {
      NextRound(*client);
    }
  }
}

int64_t World::NextNs() const {
  int64_t next_ns = hub_.next_ns();
  for (const auto& front : fronts_) {
    next_ns = std::min(next_ns, front->conductor->next_tick_ns());
  }
  for (const auto& machine : machines_) {
    next_ns = std::min(next_ns, machine->returns_ns);
    if (!machine->server) continue;
    const bool has_work = !machine->inbox.empty() || machine->server->has_work();
    next_ns = std::min(
        next_ns, std::max(machine->busy_until_ns, has_work ? 0 : machine->server->next_tick_ns()));
  }
  if (drafters_) next_ns = std::min(next_ns, drafters_->next_ns());
  if (!faults_.empty()) next_ns = std::min(next_ns, faults_.front().at_ns);
  for (const auto& client : clients_) {
    if (!client->is_submitted) next_ns = std::min(next_ns, client->arrives_ns);
    if (!client->finish) next_ns = std::min(next_ns, client->cancel_ns);
  }
  return next_ns;
}

void World::RunMachine(Machine& machine) {
  if (machine.returns_ns <= clock_.NowNs()) Boot(machine);
  if (!machine.server || machine.busy_until_ns > clock_.NowNs()) return;
  for (net::Event& event : std::exchange(machine.inbox, {})) {
    machine.server->Handle(std::move(event));
  }
  machine.server->Tick();
  if (!machine.server->has_work()) return;
  const int64_t cost_ns = (kNsPerMs / 4 + int64_t{Below(2000)} * kNsPerUs) * machine.slowness;
  hub_.SetSendDelay(cost_ns);
  machine.server->Compute();
  hub_.SetSendDelay(0);
  machine.busy_until_ns = clock_.NowNs() + cost_ns;
}

void World::RunUntilFinished() {
  for (uint64_t step = 0;; ++step) {
    RunClients();
    for (const auto& front : fronts_) front->conductor->Tick();
    RunClients();
    const bool is_over = std::ranges::all_of(
        clients_, [](const auto& client) { return client->finish.has_value(); });
    if (is_over) return;
    // A conductor's time may be in the past: it has nothing to do before another event.
    const int64_t next_ns = std::max(NextNs(), clock_.NowNs());
    if (next_ns > kLongestNs || step > kMostSteps) {
      return AddError(fmt::format("it does not come to an end: {} steps, {} s", step,
                                  clock_.NowNs() / kNsPerSecond));
    }
    clock_.AdvanceTo(next_ns);
    while (!faults_.empty() && faults_.front().at_ns <= next_ns) {
      Fault fault = std::move(faults_.front());
      faults_.erase(faults_.begin());
      fault.happens();
    }
    while (hub_.next_ns() <= next_ns) hub_.DeliverNext();
    for (const auto& machine : machines_) RunMachine(*machine);
    if (drafters_) drafters_->Run();
  }
}

// Answers from quantised rows may differ, but have the same length.
bool World::IsAsExpected(const Client& client) {
  if (!client.front->is_narrow) return client.answer == client.expected;
  return client.finish->reason == engine::FinishReason::kStopToken ||
         client.answer.size() == client.request.max_tokens;
}

void World::Check(Client& client, SimResult& result) {
  if (!client.finish) return;
  const engine::Finish& finish = *client.finish;
  const bool is_narrow = client.front->is_narrow;
  const bool is_beginning = is_narrow ? client.answer.size() <= client.request.max_tokens
                                      : client.answer.size() <= client.expected.size() &&
                                            std::equal(client.answer.begin(), client.answer.end(),
                                                       client.expected.begin());
  if (!is_beginning) AddError(fmt::format("request {} got a wrong token", client.id));
  if (!finish.status.ok()) {
    ++result.failed;
    if (finish.status.error().message().empty()) AddError("an error without a word");
    // In a seed where nothing breaks and every plan is found, no request may fail.
    if (is_calm_) {
      AddError(fmt::format("request {} failed without a reason: {}", client.id,
                           finish.status.error().message()));
    }
  } else if (finish.reason == engine::FinishReason::kCancelled) {
    ++result.cancelled;
    if (!client.is_cancelled) AddError(fmt::format("request {} was not cancelled", client.id));
  } else {
    ++result.answered;
    result.narrow_answered += is_narrow;
    result.narrow_equal += is_narrow && client.answer == client.expected;
    if (!IsAsExpected(client)) {
      AddError(fmt::format("request {} ended after {} of {} tokens", client.id,
                           client.answer.size(), client.expected.size()));
    }
  }
}

// All nodes return, and failed requests continue where they were.
void World::ContinueFailed(SimResult& result) {
  hub_.HealAll();
  faults_.clear();
  gives_up_ = false;
  for (const auto& machine : machines_) {
    if (!machine->server) machine->returns_ns = clock_.NowNs();
  }
  std::vector<Client*> continuing;
  for (const auto& client : clients_) {
    const bool has_all = client->front->is_narrow
                             ? client->request.max_tokens <= client->answer.size()
                             : client->expected.size() == client->answer.size();
    if (client->finish->status.ok() || has_all) continue;
    if (!client->sequence) continue;
    client->rounds = 1;
    client->cancel_ns = kNeverNs;
    client->request.max_tokens -= client->answer.size();
    client->prompt = client->sequence->tokens();
    client->finish.reset();
    client->is_submitted = false;
    client->arrives_ns = clock_.NowNs() + kNsPerSecond;
    continuing.push_back(client.get());
  }
  if (continuing.empty()) return;
  RunUntilFinished();
  for (const Client* client : continuing) {
    if (!client->finish) continue;
    if (client->finish->status.ok() && IsAsExpected(*client)) {
      ++result.continued;
    } else {
      AddError(fmt::format(
          "request {} did not go on when all nodes were back: {}", client->id,
          client->finish->status.ok() ? "other tokens" : client->finish->status.error().message()));
    }
  }
}

SimResult World::Run() {
  SimResult result;
  RunUntilFinished();
  for (const auto& client : clients_) Check(*client, result);
  if (errors_.empty()) ContinueFailed(result);
  for (const auto& front : fronts_) {
    const conduct::ConductorCounters& counters = front->conductor->counters();
    result.replans += counters.replans;
    result.replayed += counters.replayed_tokens;
    result.preempted += counters.preempted;
    result.frames_ahead += counters.frames_ahead;
    result.frames_cancelled += counters.frames_ahead_cancelled;
    result.fetched += counters.fetched_tokens;
    if (front->is_narrow) result.narrow_fetched += counters.fetched_tokens;
    result.given_up += counters.fetches_given_up;
    if (!front->drafts) continue;
    for (const drafting::RemoteDraftCounts& of : front->drafts->counts()) {
      result.remote_drafts += of.proposed;
      result.remote_drafts_accepted += of.accepted;
      result.remote_left_out += of.is_left_out;
    }
  }
  if (drafters_) result.complaints = drafters_->complaints();
  for (const auto& [what, count] : result.complaints) {
    if (count > 1) AddError(fmt::format("it was said {} times: {}", count, what));
  }
  result.drafts = drafts_;
  clients_.clear();
  result.trace = trace_.Digest();
  result.lines = trace_.lines();
  result.errors = errors_;
  return result;
}

}  // namespace aster::sim

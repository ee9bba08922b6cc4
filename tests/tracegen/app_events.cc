#include "tests/tracegen/app_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/tracegen/words.h"

namespace etwpipe::tracegen {
namespace {

constexpr std::string_view kSourceName = "Contoso-Orders";
constexpr std::string_view kTelemetryName = "Contoso.Telemetry";
constexpr std::array<std::string_view, 3> kActivityNames = {"Request", "Query", "Render"};
constexpr uint16_t kManifestId = 0xFFFE;
constexpr size_t kManifestChunk = 1500;
constexpr uint64_t kKeywordActivity = 0x1;
constexpr uint64_t kKeywordData = 0x2;
constexpr uint16_t kCacheMissId = 7;
constexpr uint16_t kOrderPlacedId = 8;

enum Code : uint32_t { kStop, kStartChild };

/// The manifest that an EventSource of this name sends; task n has events 2n - 1 (Start) and 2n (Stop).
std::string MakeManifest(const Guid& provider) {
  std::string events;
  std::string tasks;
  std::string templates;
  for (size_t i = 0; i < kActivityNames.size(); ++i) {
    const std::string_view name = kActivityNames[i];
    tasks += fmt::format("   <task name=\"{}\" message=\"$(string.task_{})\" value=\"{}\"/>\n", name, name, i + 1);
    events += fmt::format(
        "   <event value=\"{0}\" version=\"0\" level=\"win:Informational\" symbol=\"{1}Start\" task=\"{1}\" "
        "opcode=\"win:Start\" keywords=\"Activity\" template=\"{1}StartArgs\"/>\n"
        "   <event value=\"{2}\" version=\"0\" level=\"win:Informational\" symbol=\"{1}Stop\" task=\"{1}\" "
        "opcode=\"win:Stop\" keywords=\"Activity\" template=\"{1}StopArgs\"/>\n",
        2 * i + 1, name, 2 * i + 2);
    templates += fmt::format(
        "   <template tid=\"{0}StartArgs\">\n    <data name=\"requestId\" inType=\"win:GUID\"/>\n"
        "    <data name=\"detail\" inType=\"win:UnicodeString\"/>\n   </template>\n"
        "   <template tid=\"{0}StopArgs\">\n    <data name=\"status\" inType=\"win:Int32\"/>\n"
        "    <data name=\"bytes\" inType=\"win:Int64\"/>\n   </template>\n",
        name);
  }
  return fmt::format(
      "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
      " <instrumentation xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" "
      "xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\">\n"
      "  <events xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
      "<provider name=\"{}\" guid=\"{{{}}}\" resourceFileName=\"Contoso.Orders.dll\" "
      "messageFileName=\"Contoso.Orders.dll\" symbol=\"ContosoOrders\">\n"
      "  <tasks>\n{}   <task name=\"CacheMiss\" value=\"4\"/>\n   <task name=\"OrderPlaced\" value=\"5\"/>\n  "
      "</tasks>\n"
      "  <opcodes>\n  </opcodes>\n"
      "  <keywords>\n   <keyword name=\"Activity\" mask=\"0x1\"/>\n   <keyword name=\"Data\" mask=\"0x2\"/>\n  "
      "</keywords>\n"
      "  <events>\n{}"
      "   <event value=\"7\" version=\"0\" level=\"win:Verbose\" symbol=\"CacheMiss\" task=\"CacheMiss\" "
      "keywords=\"Data\" "
      "template=\"CacheMissArgs\"/>\n"
      "   <event value=\"8\" version=\"1\" level=\"win:Informational\" symbol=\"OrderPlaced\" task=\"OrderPlaced\" "
      "keywords=\"Data\" template=\"OrderPlacedArgs\"/>\n  </events>\n"
      "  <templates>\n{}"
      "   <template tid=\"CacheMissArgs\">\n    <data name=\"key\" inType=\"win:UnicodeString\"/>\n"
      "    <data name=\"size\" inType=\"win:UInt32\"/>\n   </template>\n"
      "   <template tid=\"OrderPlacedArgs\">\n    <data name=\"orderId\" inType=\"win:Int64\"/>\n"
      "    <data name=\"total\" inType=\"win:Double\"/>\n    <data name=\"customer\" inType=\"win:UnicodeString\"/>\n"
      "    <data name=\"express\" inType=\"win:Boolean\"/>\n   </template>\n  </templates>\n"
      "</provider>\n  </events>\n </instrumentation>\n <localization>\n"
      "  <resources culture=\"en-US\">\n   <stringTable>\n"
      "    <string id=\"task_Request\" value=\"Request\"/>\n    <string id=\"task_Query\" value=\"Query\"/>\n"
      "    <string id=\"task_Render\" value=\"Render\"/>\n   </stringTable>\n  </resources>\n"
      " </localization>\n</instrumentationManifest>\n",
      kSourceName, ToString(provider), tasks, events, templates);
}

EventKind MakeSourceKind(uint16_t id, uint8_t version, uint8_t opcode, uint16_t task, uint64_t keyword, uint8_t level) {
  EventKind kind;
  kind.fields.provider = ProviderGuidFromName(kSourceName);
  kind.fields.id = id;
  kind.fields.version = version;
  kind.fields.opcode = opcode;
  kind.fields.task = task;
  kind.fields.keyword = keyword;
  kind.fields.level = level;
  return kind;
}

}  // namespace

AppEvents::AppEvents(Simulation& simulation)
    : sim_(simulation),
      manifest_(MakeSourceKind(kManifestId, 1, 0xFE, 0xFFFE, 0x00FFFFFFFFFFFFFF, 0)),
      cache_miss_(MakeSourceKind(kCacheMissId, 0, 0, 4, kKeywordData, 5)),
      order_placed_(MakeSourceKind(kOrderPlacedId, 1, 0, 5, kKeywordData, 4)),
      traits_(etl::ProviderTraits(kTelemetryName, GuidOf("4f50731a-89cf-4782-b3e0-dce8c90476ba"))) {
  for (size_t i = 0; i < kActivityNames.size(); ++i) {
    const auto task = static_cast<uint16_t>(i + 1);
    starts_.push_back(MakeSourceKind(static_cast<uint16_t>(2 * i + 1), 0, 1, task, kKeywordActivity, 4));
    stops_.push_back(MakeSourceKind(static_cast<uint16_t>(2 * i + 2), 0, 2, task, kKeywordActivity, 4));
  }
  for (int i = 0; i < 2000; ++i) {
    const uint32_t order = sim_.random.Below(90'000);
    details_[0].push_back(Wide(fmt::format("GET /orders/{}/items?page={}", order, sim_.random.Below(9))));
    details_[1].push_back(Wide(MakeQuery(sim_.random)));
    details_[2].push_back(Wide(MakeTypeName(sim_.random)));
    urls_.push_back(fmt::format("https://api.contoso.example/v2/orders/{}", sim_.random.Below(90'000)));
  }
  using In = etl::InType;
  using Out = etl::OutType;
  schemas_.emplace_back("CacheStatistics");
  schemas_.back().Field("cache", In::kUnicodeString).Field("hits", In::kUint32).Field("misses", In::kUint32);
  schemas_.back().Field("ratio", In::kDouble).Field("warm", In::kUint8, Out::kBoolean);
  schemas_.emplace_back("HttpCall");
  schemas_.back().Field("url", In::kAnsiString, Out::kUtf8).Field("status", In::kUint16);
  schemas_.back().Field("result", In::kInt32, Out::kHresult).Field("server", In::kUint32, Out::kIpv4);
  schemas_.back().Array("timings", In::kUint32).Field("body", In::kBinary);
  schemas_.emplace_back("BatchDone");
  schemas_.back().Field("batch", In::kGuid).Struct("items", 2, true).Field("id", In::kUint64, Out::kHex);
  schemas_.back().Field("name", In::kCountedAnsiString);
  for (EventKind& kind : telemetry_) {
    kind.fields.provider = ProviderGuidFromName(kTelemetryName);
    kind.fields.channel = etl::kTraceLoggingChannel;
    kind.fields.level = 5;
    kind.fields.keyword = 0x0000400000000000;
  }
  message_.fields.guid = GuidOf("7d4ac3f1-52b8-4c09-9d6e-1f0a8b2c3d4e");
  message_.fields.message_number = 23;
  message_.fields.timestamp = 0;
  message_.fields.ids = etl::MessageFields::Ids{};
  message_plain_.fields.component_id = 12;
  message_plain_.fields.message_number = 5;
}

void AppEvents::Begin() { EmitManifest(sim_.BusyCpu()); }

void AppEvents::EmitManifest(uint16_t cpu) {
  const std::string manifest = MakeManifest(manifest_.fields.provider);
  const auto bytes = std::as_bytes(std::span(manifest));
  const size_t chunks = (bytes.size() + kManifestChunk - 1) / kManifestChunk;
  for (size_t i = 0; i < chunks; ++i) {
    const size_t begin = i * kManifestChunk;
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(std::array<uint8_t, 4>{1, 1, 0, 0x5B}).Add(static_cast<uint16_t>(chunks)).Add(static_cast<uint16_t>(i));
    payload.AddBytes(bytes.subspan(begin, std::min(kManifestChunk, bytes.size() - begin)));
    sim_.Emit(manifest_, cpu, payload);
  }
}

ThreadIndex AppEvents::PickThread() {
  const Process& process = sim_.world.processes[sim_.world.PickProcess(sim_.random)];
  const ThreadIndex thread = process.threads[sim_.random.Index(process.threads.size())];
  return sim_.world.threads[thread].reserved ? World::kIdleThread : thread;
}

void AppEvents::Step() {
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 45) {
    const ThreadIndex thread = PickThread();
    if (thread == World::kIdleThread) return;
    sim_.world.threads[thread].reserved = true;
    return StartActivity(thread, 2000 + sim_.random.Skewed(400'000));
  }
  const uint16_t cpu = sim_.BusyCpu();
  if (dice < 85) return EmitTelemetry(cpu);
  etl::PayloadWriter& payload = sim_.NewPayload();
  if (dice < 91) {
    payload.AddUnicode(fmt::format("customer:{:06}", sim_.random.Skewed(200'000))).Add(sim_.random.Skewed(60'000));
    sim_.Emit(cache_miss_, cpu, payload);
  } else if (dice < 97) {
    payload.Add(int64_t{10'000'000} + sim_.random.Below(900'000)).Add(sim_.random.Skewed(90'000) / 100.0);
    payload.AddUnicode(MakeTypeName(sim_.random)).Add(uint32_t{sim_.random.Chance(20) ? 1u : 0u});
    sim_.Emit(order_placed_, cpu, payload);
  } else {
    EmitMessage(cpu);
  }
}

void AppEvents::StartActivity(ThreadIndex thread, int64_t duration) {
  if (stacks_.size() <= thread) stacks_.resize(thread + 1);
  Stack& stack = stacks_[thread];
  const uint16_t cpu = sim_.Run(thread);
  const Guid parent = stack.empty() ? Guid{} : stack.back().id;
  const uint32_t what = stack.empty() ? 0 : 1 + sim_.random.Below(2);
  EventKind& kind = starts_[what];
  kind.fields.activity = sim_.random.NextGuid();
  const std::array<etl::ExtendedItem, 1> items = {etl::ExtendedItem{etl::kExtRelatedActivityId, parent.bytes}};
  if (!stack.empty()) kind.fields.items = items;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(stack.empty() ? kind.fields.activity : stack.front().id);
  payload.AddUnicode(sim_.random.Pick(details_[what]));
  const int64_t ticks = sim_.Emit(kind, cpu, payload);
  kind.fields.items = {};

  const uint32_t truth = sim_.truth.activities.Add({.provider = std::string(kSourceName),
                                                    .name = std::string(kActivityNames[what]),
                                                    .pid = sim_.RunningProcess(cpu).pid,
                                                    .tid = sim_.RunningThread(cpu).tid,
                                                    .start = ticks,
                                                    .stop = {},
                                                    .activity = kind.fields.activity,
                                                    .parent = parent});
  // A child ends before its parent, also when it was late to start.
  const int64_t stop = stack.empty() ? ticks + duration : std::min(ticks + duration, stack.back().stop_after - 1);
  stack.push_back({kind.fields.activity, stop, what, truth});
  sim_.Schedule(*this, stop, kStop, thread);
  if (stack.size() < kMaxDepth && sim_.random.Chance(55)) {
    sim_.Schedule(*this, ticks + 1 + duration / 8, kStartChild, thread, static_cast<uint64_t>(duration / 2));
  }
}

void AppEvents::Resume(uint32_t code, uint64_t a, uint64_t b) {
  const auto thread = static_cast<ThreadIndex>(a);
  if (!sim_.world.threads[thread].alive) return;
  if (code == kStop) return StopActivity(thread);
  // The parent may be over already when it had to end early.
  const Stack& stack = stacks_[thread];
  if (!stack.empty() && stack.back().stop_after > sim_.now + 200) StartActivity(thread, static_cast<int64_t>(b));
}

void AppEvents::StopActivity(ThreadIndex thread) {
  Stack& stack = stacks_[thread];
  const Open open = stack.back();
  stack.pop_back();
  const uint16_t cpu = sim_.Run(thread);
  EventKind& kind = stops_[open.what];
  kind.fields.activity = open.id;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(int32_t{sim_.random.Chance(95) ? 200 : 500}).Add(int64_t{sim_.random.Skewed(1 << 20)});
  const int64_t ticks = sim_.Emit(kind, cpu, payload);
  if (ActivityTruth* truth = sim_.truth.activities.Find(open.truth)) truth->stop = ticks;
  if (stack.empty()) sim_.world.threads[thread].reserved = false;
}

void AppEvents::EmitTelemetry(uint16_t cpu) {
  const size_t which = sim_.random.Index(schemas_.size());
  const std::array<etl::ExtendedItem, 2> items = {etl::ExtendedItem{etl::kExtProviderTraits, traits_},
                                                  etl::ExtendedItem{etl::kExtSchemaTl, schemas_[which].metadata()}};
  EventKind& kind = telemetry_[which];
  kind.fields.items = items;
  etl::PayloadWriter& payload = sim_.NewPayload();
  Random& random = sim_.random;
  if (which == 0) {
    const uint32_t hits = random.Skewed(100'000);
    payload.AddUnicode("orders").Add(hits).Add(hits / 20).Add(0.95).Add(uint8_t{1});
  } else if (which == 1) {
    payload.AddAnsi(random.Pick(urls_));
    payload.Add(static_cast<uint16_t>(random.Chance(90) ? 200 : 503)).Add(int32_t{0}).Add(uint32_t{0x0500000A});
    payload.Add(uint16_t{3}).Add(random.Skewed(900)).Add(random.Skewed(9000)).Add(random.Skewed(500));
    payload.AddBinary(std::as_bytes(std::span("{\"ok\":true}", 11)));
  } else {
    payload.Add(random.NextGuid());
    const auto count = static_cast<uint16_t>(1 + random.Skewed(5));
    payload.Add(count);
    for (uint16_t i = 0; i < count; ++i) payload.Add(uint64_t{random.Next32()}).AddCountedAnsi(MakeMethodName(random));
  }
  sim_.Emit(kind, cpu, payload);
  kind.fields.items = {};
}

void AppEvents::EmitMessage(uint16_t cpu) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  if (sim_.random.Chance(80)) {
    payload.Add(sim_.random.Next32()).AddAnsi("queue drained");
    sim_.Emit(message_, cpu, payload);
    return;
  }
  // No timestamp of its own: it counts as of the last one on its processor.
  payload.Add(sim_.random.Below(100));
  sim_.writer.Write(message_plain_, {cpu, sim_.writer.last_ticks(cpu), 0, 0}, payload.bytes());
}

}  // namespace etwpipe::tracegen

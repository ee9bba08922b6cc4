// The survey of CLR methods: every kind of record in every version and form, markers of rundown, bad payloads.
#include "formats/facts/method_survey.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "formats/facts/clr_payloads.h"
#include "tests/formats/facts/method_fixture.h"

namespace etwpipe::facts {
namespace {

constexpr std::string_view kRuntime = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
constexpr std::string_view kRundown = "a669021c-c450-4609-a035-5af59af4df18";
constexpr std::string_view kMethodClass = "0bcd91db-f943-454a-a662-6edbcfbb76d2";
constexpr std::string_view kLoaderClass = "5a54f4df-d302-4fee-a211-6c2c0c1dcb1a";

// Little-endian fields one behind the other.
class Payload {
 public:
  Payload& U16(uint16_t value) { return Put(&value, sizeof value); }
  Payload& U32(uint32_t value) { return Put(&value, sizeof value); }
  Payload& U64(uint64_t value) { return Put(&value, sizeof value); }
  Payload& Text(std::string_view text) {
    for (const char c : text) U16(static_cast<uint8_t>(c));
    return U16(0);
  }
  std::string bytes;

 private:
  Payload& Put(const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return *this;
  }
};

// semantics.md 6.2.
std::string Method(uint16_t version, bool verbose, uint64_t method_id = 0x7FFA1000) {
  Payload payload;
  payload.U64(method_id).U64(0x5000).U64(0x7FFB0000).U32(0x40).U32(0x06000007).U32(0x188);
  if (verbose) payload.Text("N.Type").Text("Run").Text("void  ()");
  if (version >= 1) payload.U16(9);
  if (version >= 2) payload.U64(3);
  return payload.bytes;
}

std::string Module(uint16_t version, bool domain) {
  Payload payload;
  payload.U64(0x5000).U64(0x6000);
  if (domain) payload.U64(0x7000);
  payload.U32(0).U32(0).Text("C:\\bin\\App.dll").Text("");
  if (version >= 1) payload.U16(9);
  if (version >= 2) {
    payload.bytes += std::string(16, '\x11');
    payload.U32(2).Text("App.pdb");
    payload.bytes += std::string(16, '\0');
    payload.U32(0).Text("");
  }
  return payload.bytes;
}

class Surveyed {
 public:
  explicit Surveyed(schema::ClrIds ids = schema::ClrIds::kSafe, const MethodLimits& limits = {})
      : surveyor_(MakeMethodSurveyor(ids, limits)) {
    trace_.info.clock.frequency = 1000;
  }

  EventHeader& Add(std::string_view provider, uint16_t number, uint16_t version, const std::string& payload,
                   HeaderKind kind = HeaderKind::kEvent64) {
    payloads_.push_back(std::make_unique<std::string>(payload));
    EventHeader& row = batch_.rows.emplace_back();
    row.provider = *trace_.providers->Intern(GuidOf(provider));
    row.kind = kind;
    row.flags = kHasPid | kHasTimestamp | kHasProvider | kPointer64;
    row.pid = kPid;
    row.timestamp = 100 + static_cast<int64_t>(batch_.rows.size());
    row.instance_id = batch_.rows.size();
    row.version = version;
    (kind == HeaderKind::kEvent64 ? row.id : row.task) = number;
    if (kind != HeaderKind::kEvent64) row.opcode = static_cast<uint8_t>(number);
    row.record = reinterpret_cast<const std::byte*>(payloads_.back()->data());
    row.record_size = static_cast<uint16_t>(payloads_.back()->size());
    return row;
  }

  const MethodTable& Methods() {
    if (trace_.facts->Get<MethodTable>() == nullptr) {
      EXPECT_TRUE(surveyor_->Observe(batch_, trace_).ok());
      EXPECT_TRUE(surveyor_->Finish(trace_, &diagnostics).ok());
    }
    return *trace_.facts->Get<MethodTable>();
  }
  const ClrTable& Clr() {
    Methods();
    return *trace_.facts->Get<ClrTable>();
  }

  void Know(ProcessTable processes) { trace_.facts->Set(std::make_shared<const ProcessTable>(std::move(processes))); }

  Diagnostics diagnostics;

 private:
  TraceContext trace_;
  EventBatch batch_;
  std::vector<std::unique_ptr<std::string>> payloads_;
  std::unique_ptr<Surveyor> surveyor_;
};

struct MethodEvent {
  std::string_view provider;
  uint16_t number;
  bool verbose;
  MethodSource learnt;
  uint16_t last_version;
  HeaderKind kind = HeaderKind::kEvent64;
};
using enum MethodSource;
constexpr HeaderKind kClassic = HeaderKind::kFull64;
const MethodEvent kMethodEvents[] = {
    {kRuntime, 141, false, kLoad, 2},
    {kRuntime, 142, false, kUnload, 2},
    {kRuntime, 143, true, kLoad, 2},
    {kRuntime, 144, true, kUnload, 2},
    {kRuntime, 137, false, kRundownStart, 0},
    {kRuntime, 138, false, kRundownEnd, 0},
    {kRuntime, 139, true, kRundownStart, 0},
    {kRuntime, 140, true, kRundownEnd, 0},
    {kRundown, 141, false, kRundownStart, 2},
    {kRundown, 142, false, kRundownEnd, 2},
    {kRundown, 143, true, kRundownStart, 2},
    {kRundown, 144, true, kRundownEnd, 2},
    {kMethodClass, 33, false, kLoad, 2, kClassic},
    {kMethodClass, 34, false, kUnload, 2, kClassic},
    {kMethodClass, 35, false, kRundownStart, 2, kClassic},
    {kMethodClass, 36, false, kRundownEnd, 2, kClassic},
    {kMethodClass, 37, true, kLoad, 2, kClassic},
    {kMethodClass, 38, true, kUnload, 2, kClassic},
    {kMethodClass, 39, true, kRundownStart, 2, kClassic},
    {kMethodClass, 40, true, kRundownEnd, 2, kClassic},
};

TEST(MethodSurvey, EveryRecordOfAMethod) {
  for (const auto& event : kMethodEvents) {
    for (uint16_t version = 0; version <= event.last_version; ++version) {
      SCOPED_TRACE(std::string(event.provider) + " " + std::to_string(event.number) + " v" + std::to_string(version));
      Surveyed trace;
      trace.Add(event.provider, event.number, version, Method(version, event.verbose), event.kind);
      ASSERT_EQ(trace.Methods().versions().size(), 1u);
      const MethodVersion& method = trace.Methods().versions()[0];
      EXPECT_EQ(method.learnt, event.learnt);
      EXPECT_EQ(method.pid, kPid);
      EXPECT_EQ(method.method_id, 0x7FFA1000u);
      EXPECT_EQ(method.module_id, 0x5000u);
      EXPECT_EQ(method.start_address, 0x7FFB0000u);
      EXPECT_EQ(method.size, 0x40u);
      EXPECT_EQ(method.token, 0x06000007u);
      EXPECT_EQ(method.flags, 0x188u);
      EXPECT_EQ(FullName(method), event.verbose ? "N.Type.Run()" : "");
      EXPECT_EQ(method.clr_instance, version >= 1 ? std::optional<uint16_t>(9) : std::nullopt);
      EXPECT_EQ(method.rejit_id, version >= 2 ? 3u : 0u);
      EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kMethodBad), 0u);
    }
  }
}

TEST(MethodSurvey, PayloadsCutAtEveryLength) {
  for (const auto& event : kMethodEvents) {
    const std::string whole = Method(event.last_version, event.verbose);
    for (size_t size = 0; size < whole.size(); ++size) {
      Surveyed trace;
      trace.Add(event.provider, event.number, event.last_version, whole.substr(0, size), event.kind);
      EXPECT_EQ(trace.Methods().versions().size(), size < 36 ? 0u : 1u) << event.number << " cut to " << size;
      EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kMethodBad), size < 36 ? 1u : 0u);
    }
  }
}

TEST(MethodSurvey, IdsOfTheDocumentation) {
  const auto learnt = [](schema::ClrIds ids, std::string_view provider, uint16_t id, uint8_t opcode, bool verbose) {
    Surveyed trace(ids);
    trace.Add(provider, id, 1, Method(1, verbose)).opcode = opcode;
    const auto& versions = trace.Methods().versions();
    return versions.empty() ? std::string("none") : std::string(ToString(versions[0].learnt)) + FullName(versions[0]);
  };
  using enum schema::ClrIds;
  EXPECT_EQ(learnt(kSafe, kRuntime, 136, 33, false), "load");
  EXPECT_EQ(learnt(kSafe, kRuntime, 137, 34, false), "unload");
  EXPECT_EQ(learnt(kSafe, kRundown, 137, 35, false), "rundown-start");
  EXPECT_EQ(learnt(kSafe, kRundown, 138, 36, false), "rundown-end");
  EXPECT_EQ(learnt(kStrict, kRuntime, 136, 33, false), "none");
  EXPECT_EQ(learnt(kStrict, kRuntime, 137, 34, false), "none");
  EXPECT_EQ(learnt(kSafe, kRundown, 141, 39, true), "rundown-start") << "the manifest's short record";
  EXPECT_EQ(learnt(kLenient, kRundown, 141, 39, true), "rundown-startN.Type.Run()");
  EXPECT_EQ(learnt(kLenient, kRundown, 142, 40, true), "rundown-endN.Type.Run()");
}

TEST(MethodSurvey, NamesWithoutCode) {
  Surveyed trace;
  trace.Add(kRuntime, 145, 1,
            Payload().U64(1).U64(0x5000).U32(6).U32(7).Text("N.A").Text("Jitted").Text("void  (int32)").U16(9).bytes);
  trace.Add(kRuntime, 159, 0, Payload().U64(2).Text("N.B").Text("Entered").Text("void  ()").U64(0x8000).U16(9).bytes);
  trace.Add(kRuntime, 88, 0,
            Payload().U16(9).U64(0x5000).U64(3).U32(0).U32(6).Text("N.C").Text("Import").Text("").Text("").bytes);
  trace.Add(kRuntime, 89, 0, Payload().U16(9).U64(0x5000).U64(4).U32(6).Text("N.D").Text("Hit").Text("").bytes);
  const auto& table = trace.Methods();
  const auto name = [&](uint64_t id) { return FullName(*table.FindId(kPid, 9, id, 200).method); };
  EXPECT_EQ(name(1), "N.A.Jitted(int32)");
  EXPECT_EQ(name(2), "N.B.Entered()");
  EXPECT_EQ(table.FindId(kPid, 9, 2, 200).method->start_address, 0x8000u);
  EXPECT_EQ(name(3), "N.C.Import");
  EXPECT_EQ(name(4), "N.D.Hit");
}

TEST(MethodSurvey, ModulesOfAllVersionsAndForms) {
  struct ModuleEvent {
    std::string_view provider;
    uint16_t number;
    bool domain;
    HeaderKind kind;
  };
  constexpr HeaderKind kEvent = HeaderKind::kEvent64;
  for (const auto& event : {ModuleEvent{kRuntime, 152, false, kEvent},
                            {kRuntime, 151, true, kEvent},
                            {kRundown, 153, false, kEvent},
                            {kRundown, 154, false, kEvent},
                            {kRundown, 152, true, kEvent},
                            {kLoaderClass, 36, false, kClassic},
                            {kLoaderClass, 47, true, kClassic}}) {
    for (uint16_t version = 0; version <= 2; ++version) {
      if (event.domain && version == 2) continue;
      Surveyed trace;
      trace.Add(event.provider, event.number, version, Module(version, event.domain), event.kind);
      trace.Add(kRuntime, 143, 1, Method(1, true));
      ASSERT_EQ(trace.Clr().modules().size(), 1u) << event.number;
      const ClrModule& module = trace.Clr().modules()[0];
      EXPECT_EQ(module.il_path, "C:\\bin\\App.dll");
      EXPECT_EQ(module.app_domain_id, event.domain ? 0x7000u : 0u);
      EXPECT_EQ(module.clr_instance.has_value(), version >= 1);
      EXPECT_EQ(module.managed_pdb.path, version == 2 ? "App.pdb" : "");
      EXPECT_EQ(module.managed_pdb.age, version == 2 ? 2u : 0u);
      EXPECT_EQ(trace.Methods().versions()[0].module(), "App");
    }
  }
}

TEST(MethodSurvey, AModuleUnloadEndsMethods) {
  Surveyed trace;
  trace.Add(kRuntime, 143, 1, Method(1, true));
  trace.Add(kRuntime, 153, 2, Module(2, false));
  EXPECT_EQ(trace.Methods().versions()[0].to, 102);
}

TEST(MethodSurvey, RuntimesDomainsAssemblies) {
  Surveyed trace;
  Payload runtime;
  runtime.U16(9).U16(2).U16(0).U16(0).U16(0).U16(0).U16(8).U16(0).U16(1).U16(2).U32(1);
  runtime.bytes += '\1';
  runtime.Text("app.exe -x");
  runtime.bytes += std::string(16, '\0');
  runtime.Text("C:\\coreclr.dll");
  trace.Add(kRundown, 187, 0, runtime.bytes);
  trace.Add(kRuntime, 156, 1, Payload().U64(0x70).U32(1).Text("main").U32(1).U16(9).bytes);
  trace.Add(kRuntime, 154, 1, Payload().U64(0x60).U64(0x70).U64(0).U32(0).Text("App, Version=1").U16(9).bytes);
  trace.Add(kRuntime, 155, 1, Payload().U64(0x60).U64(0x70).U64(0).U32(0).Text("App, Version=1").U16(9).bytes);
  ASSERT_EQ(trace.Clr().runtimes().size(), 1u);
  EXPECT_EQ(trace.Clr().runtimes()[0].version, "8.0.1.2");
  EXPECT_EQ(trace.Clr().runtimes()[0].command_line, "app.exe -x");
  EXPECT_EQ(trace.Clr().runtimes()[0].dll_path, "C:\\coreclr.dll");
  ASSERT_EQ(trace.Clr().app_domains().size(), 1u);
  EXPECT_EQ(trace.Clr().app_domains()[0].name, "main");
  ASSERT_EQ(trace.Clr().assemblies().size(), 1u);
  EXPECT_EQ(trace.Clr().assemblies()[0].name, "App, Version=1");
  EXPECT_EQ(trace.Clr().assemblies()[0].to, 104);
}

TEST(MethodSurvey, IncompleteRundownIsReportedPerProcessAndRuntime) {
  const auto marker = [](uint16_t instance) { return Payload().U16(instance).bytes; };
  Surveyed trace;
  trace.Add(kRundown, 147, 1, marker(9));  // start: begun and completed
  trace.Add(kRundown, 143, 1, Method(1, true));
  trace.Add(kRundown, 145, 1, marker(9));
  trace.Add(kRundown, 148, 1, marker(9));  // end: cut off
  trace.Add(kRundown, 144, 1, Method(1, true));
  trace.Add(kRundown, 148, 1, marker(11)).pid = kPid + 1;  // another process: complete
  trace.Add(kRundown, 146, 1, marker(11)).pid = kPid + 1;
  ASSERT_EQ(trace.Clr().rundowns().size(), 3u);
  EXPECT_FALSE(trace.Clr().rundowns()[0].incomplete());
  EXPECT_TRUE(trace.Clr().rundowns()[1].incomplete());
  EXPECT_FALSE(trace.Clr().rundowns()[2].incomplete());
  ASSERT_EQ(trace.diagnostics.count(DiagnosticId::kRundownIncomplete), 1u);
  const auto entries = trace.diagnostics.entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].text,
            "the CLR rundown of process 7, runtime 9 at the end of the session is incomplete: 1 begun, 0 completed, 1 "
            "methods");
}

TEST(MethodSurvey, BadMethodsAreCounted) {
  Surveyed trace;
  trace.Add(kRuntime, 143, 1, Method(1, true, 0));
  std::string no_size = Method(1, true, 1);
  std::memset(no_size.data() + 24, 0, 4);
  trace.Add(kRuntime, 143, 1, no_size);
  std::string wraps = Method(1, true, 2);
  std::memset(wraps.data() + 16, 0xFF, 8);
  trace.Add(kRuntime, 143, 1, wraps);
  trace.Methods();
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kMethodBad), 3u);
}

TEST(MethodSurvey, UnloadsWithoutALoadAreCounted) {
  Surveyed trace;
  trace.Add(kRuntime, 144, 1, Method(1, true, 1));
  trace.Add(kRuntime, 143, 1, Method(1, true, 2));
  trace.Add(kRuntime, 144, 1, Method(1, true, 2));
  ASSERT_EQ(trace.Methods().versions().size(), 2u);
  EXPECT_EQ(trace.Methods().versions()[0].from, ProcessInstance::kBeforeTrace);
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kMethodUnloadOnly), 1u);
}

TEST(MethodSurvey, LoadsAfterTheExitOfTheirProcessAreCounted) {
  Surveyed trace;  // 1,000 ticks per second: a load may come 10 ticks late
  ProcessRecord stop;
  stop.kind = ProcessRecord::Kind::kStop;
  stop.pid = kPid;
  stop.timestamp = 101;
  trace.Know(ProcessTable::Build({stop}, 0));
  trace.Add(kRuntime, 143, 1, Method(1, true, 1)).timestamp = 101;
  trace.Add(kRuntime, 143, 1, Method(1, true, 2)).timestamp = 111;
  trace.Add(kRuntime, 143, 1, Method(1, true, 3)).timestamp = 112;
  EXPECT_EQ(trace.Methods().FindId(kPid, {}, 3, 112).outcome, LookupOutcome::kExact) << "it keeps its name";
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kMethodAfterExit), 1u);
}

TEST(MethodSurvey, WhatIsBeyondTheBoundsIsCounted) {
  const MethodLimits limits{.methods = 4, .others = 2, .rundowns = 1, .name_bytes = StringPool::kMaxBytes};
  Surveyed trace(schema::ClrIds::kSafe, limits);
  for (uint64_t i = 1; i <= 7; ++i) trace.Add(kRuntime, 143, 1, Method(1, true, i));
  for (int i = 0; i < 5; ++i) trace.Add(kRuntime, 152, 2, Module(2, false));
  for (uint16_t instance = 1; instance <= 3; ++instance) trace.Add(kRundown, 148, 1, Payload().U16(instance).bytes);
  EXPECT_EQ(trace.Methods().versions().size(), 4u);
  EXPECT_EQ(trace.Clr().rundowns().size(), 1u);
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kFactsDropped), 3u + 3u + 2u);
}

TEST(MethodSurvey, NamesBeyondTheBoundAreCounted) {
  Surveyed trace(schema::ClrIds::kSafe, {.name_bytes = 0});
  trace.Add(kRuntime, 143, 1, Method(1, true));
  EXPECT_FALSE(trace.Methods().versions().at(0).named());
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kFactsDropped), 3u) << "namespace, name, signature";
}

TEST(MethodSurvey, CutLoaderRecordsAreCounted) {
  Surveyed trace;
  for (const int id : {152, 153, 154, 156, 187})
    trace.Add(kRuntime, static_cast<uint16_t>(id), 1, std::string(8, '\1'));
  trace.Methods();
  EXPECT_EQ(trace.diagnostics.count(DiagnosticId::kFactBad), 5u);
}

TEST(MethodSurvey, NamesThatAreLongOrNoUnicode) {
  Payload payload;
  payload.U64(1).U64(2).U64(0x1000).U32(0x10).U32(3).U32(8);
  payload.U16('a').U16(0xD800).U16('b').U16(0xDC00).U16(0).Text(std::string(30'000, 'n')).Text("").U16(9);
  Surveyed trace;
  trace.Add(kRuntime, 143, 1, payload.bytes);
  const MethodVersion& method = trace.Methods().versions().at(0);
  EXPECT_EQ(method.namespace_name(),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(method.name().size(), 30'000u);
}

TEST(MethodSurvey, ANameThatFillsItsRecord) {
  // 64 KiB is the most a record can hold: here a name of it is cut off by the end of the payload.
  constexpr size_t kLetters = (0xFFFF - 36 - 2) / 2;
  Payload payload;
  payload.U64(1).U64(2).U64(0x1000).U32(0x10).U32(3).U32(8).U16(0);
  for (size_t i = 0; i < kLetters; ++i) payload.U16('n');
  Surveyed trace;
  trace.Add(kRuntime, 143, 1, payload.bytes);
  const MethodVersion& method = trace.Methods().versions().at(0);
  EXPECT_EQ(method.name(), std::string(kLetters, 'n'));
  EXPECT_EQ(method.signature(), "");
  EXPECT_EQ(method.clr_instance, std::nullopt);
}

TEST(MethodSurvey, OtherEventsOfTheSameNumbersAreNotMethods) {
  Surveyed trace;
  trace.Add("763fd754-7086-4dfe-95eb-c01a46faf4ca", 143, 1, Method(1, true));
  trace.Add(kRuntime, 143, 1, Method(1, true), kClassic);
  trace.Add(kMethodClass, 143, 1, Method(1, true));
  trace.Add(kRuntime, 136, 0, "");
  EXPECT_TRUE(trace.Methods().versions().empty());
}

}  // namespace
}  // namespace etwpipe::facts

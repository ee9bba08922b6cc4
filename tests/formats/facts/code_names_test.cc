// Names of code: which table answers first, and frames of a recording against a plain scan over all methods and images.
#include "formats/facts/code_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "formats/facts/stack_table.h"
#include "formats/facts/surveyors.h"
#include "formats/open.h"
#include "pipeline/executor.h"
#include "tests/support/collect.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace etwpipe::facts {
namespace {

constexpr uint64_t kImage = 0x7FF800000000;
constexpr uint64_t kCode = 0x7FF900000000;

class CodeNamesTest : public testing::Test {
 protected:
  CodeNamesTest() {
    ImageTable::BuildArgs images;
    for (const auto& [pid, base] : {std::pair(12u, kImage), {13u, kImage}}) {
      ImageRecord record;
      record.timestamp = 100;
      record.pid = pid;
      record.base = base;
      record.size = 0x10000;
      record.file_name = images.names.Intern(pid == 12 ? "\\Device\\Disk\\ntdll.dll" : "\\Device\\Disk\\other.dll");
      images.records.push_back(record);
    }
    PdbRecord pdb;
    pdb.timestamp = 100;
    pdb.pid = 12;
    pdb.base = kImage;
    pdb.pdb = {GuidOf("11223344-5566-7788-99aa-bbccddeeff00"), 1, images.names.Intern("ntdll.pdb"), false};
    images.pdbs.push_back(pdb);
    trace_.facts->Set(std::make_shared<const ImageTable>(ImageTable::Build(std::move(images))));

    MethodRecords methods;
    const auto add = [&](int64_t time, uint64_t id, uint64_t start, std::string_view type, std::string_view name) {
      MethodRecord record;
      record.pid = 12;
      record.timestamp = time;
      record.method_id = id;
      record.start_address = start;
      record.size = 0x100;
      record.flags = kMethodJitted;
      record.names = {methods.strings->Intern(type), methods.strings->Intern(name),
                      methods.strings->Intern(name.empty() ? "" : "void  (int32)")};
      methods.records.push_back(record);
    };
    add(1'000, 1, kCode, "N.First", "Run");
    add(2'000, 2, kCode, "N.Second", "Run");
    add(1'000, 3, kImage + 0x8000, "N.InImage", "Run");
    add(1'000, 4, kImage + 0x9000, "", "");
    trace_.facts->Set(std::make_shared<const MethodTable>(MethodTable::Build(std::move(methods), nullptr, nullptr, 0)));
  }

  TraceContext trace_;
};

TEST_F(CodeNamesTest, MethodThenImageThenAddress) {
  CodeNames names(trace_, nullptr);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(names.NameOf(12, kCode + 5, 1'500), "N.First.Run(int32)");
    EXPECT_EQ(names.NameOf(12, kCode + 5, 2'500), "N.Second.Run(int32)") << "the address was used again";
    EXPECT_EQ(names.NameOf(13, kCode + 5, 2'500), fmt::format("0x{:x}", kCode + 5)) << "another process";
    EXPECT_EQ(names.NameOf(12, kImage + 0x8001, 1'500), "N.InImage.Run(int32)");
    EXPECT_EQ(names.NameOf(12, kImage + 0x8001, 500), "ntdll.dll!+0x8001") << "before the method was there";
    EXPECT_EQ(names.NameOf(12, kImage + 0x9001, 1'500), "ntdll.dll!+0x9001") << "a method without a name";
    EXPECT_EQ(names.NameOf(13, kImage + 0x9001, 1'500), "other.dll!+0x9001");
    EXPECT_EQ(names.NameOf(12, kImage, 50), fmt::format("0x{:x}", kImage)) << "before the image was there";
    EXPECT_EQ(names.NameOf(12, 0, 1'500), "0x0");
  }
}

TEST_F(CodeNamesTest, SymbolsNameNativeCode) {
  test::TempFolder folder;
  std::ofstream(folder / "ntdll.sym") << "MODULE windows x86_64 112233445566778899AABBCCDDEEFF001 ntdll.pdb\n"
                                         "FUNC 1000 20 0 RtlFunction\n";
  std::ofstream(folder / "other.sym") << "MODULE windows x86_64 00 other.pdb\nPUBLIC 1000 0 Place\n";
  std::ofstream(folder / "perf-13.map") << fmt::format("{:x} 10 jitted\n", kCode);
  const auto symbols = SymbolFiles::Open({folder.path().string()});
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  CodeNames names(trace_, symbols->get());
  EXPECT_EQ(names.NameOf(12, kImage + 0x1000, 1'500), "ntdll.dll!RtlFunction");
  EXPECT_EQ(names.NameOf(12, kImage + 0x1012, 1'500), "ntdll.dll!RtlFunction+0x12");
  EXPECT_EQ(names.NameOf(12, kImage + 0x1020, 1'500), "ntdll.dll!+0x1020");
  EXPECT_EQ(names.NameOf(13, kImage + 0x1001, 1'500), "other.dll!Place+0x1");
  EXPECT_EQ(names.NameOf(12, kCode + 1, 1'500), "N.First.Run(int32)");
  EXPECT_EQ(names.NameOf(13, kCode + 1, 1'500), "jitted+0x1");
}

// Asks for all facts that names need.
class FactsSink : public test::CollectSink {
 public:
  SinkInfo info() const override {
    SinkInfo info = CollectSink::info();
    info.facts = kProcesses | kThreads | kImages | kMethods | kStacks;
    return info;
  }
};

TEST(CodeNamesSample, FramesAreThoseOfAPlainScan) {
  const auto path = test::SamplePath("net.4.5.2.x64.etl");
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  auto source = OpenSource(path.string(), {});
  ASSERT_TRUE(source.ok());
  auto surveyors = MakeSurveyors({});
  ASSERT_TRUE(surveyors.ok());
  Plan plan;
  FactsSink sink;
  ASSERT_TRUE(
      Execute({.source = **source, .plan = plan, .sink = sink, .threads = 2, .surveyors = surveyors->factory}).ok());
  const TraceContext& trace = (*source)->context();
  const auto& stacks = *trace.facts->Get<StackTable>();
  const auto& methods = *trace.facts->Get<MethodTable>();
  const auto& images = *trace.facts->Get<ImageTable>();
  const int64_t slack = trace.info.clock.frequency / 100;  // 10 ms: semantics.md 7.2, rule 9
  const auto scan = [&](uint32_t pid, uint64_t address, int64_t time) {
    const MethodVersion* best = nullptr;
    const MethodVersion* later = nullptr;
    for (const MethodVersion& method : methods.versions()) {
      if (method.pid != pid || address < method.start_address || address - method.start_address >= method.size)
        continue;
      if (method.from <= time && time <= method.to && (best == nullptr || method.from >= best->from)) best = &method;
      const bool soon = method.from > time && method.from - time <= slack;
      if (soon && (later == nullptr || method.from < later->from)) later = &method;
    }
    if (best == nullptr) best = later;
    if (best != nullptr && best->named()) {
      return best->module().empty() ? FullName(*best) : fmt::format("{}!{}", best->module(), FullName(*best));
    }
    for (const ImageInstance& image : images.all()) {
      if (!(image.kernel || image.pid == pid) || address < image.base || address - image.base >= image.size) continue;
      if (image.load <= time && time < image.unload) return fmt::format("{}!+0x{:x}", image.name, address - image.base);
    }
    return fmt::format("0x{:x}", address);
  };
  CodeNames names(trace, nullptr);
  EventStack stack;
  std::set<std::tuple<uint32_t, uint64_t>> seen;
  size_t managed = 0;
  size_t native = 0;
  size_t unknown = 0;
  for (test::CollectedEvent& event : sink.events) {
    event.header.record = event.bytes.data();
    if (!stacks.Find(event.header, stack)) continue;
    for (const uint64_t address : stack.frames) {
      const std::string& name = names.NameOf(stack.pid, address, event.header.timestamp);
      if (!seen.emplace(stack.pid, address).second) continue;
      ASSERT_EQ(name, scan(stack.pid, address, event.header.timestamp)) << stack.pid << " " << event.header.timestamp;
      ++(name.starts_with("0x") ? unknown : name.find("!+0x") == std::string::npos ? managed : native);
    }
  }
  EXPECT_GT(managed, 100u);
  EXPECT_GT(native, 1'000u);
  EXPECT_LT(unknown, seen.size() / 20);
}

}  // namespace
}  // namespace etwpipe::facts

// Kernel events of real recordings: every record has a built-in schema that fits it to the last byte; names are those
// that PerfView shows, values those that PerfView and other readers show (expected/*.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "formats/etl/etl_source.h"
#include "formats/schema/provider_names.h"
#include "tests/formats/schema/decoded_event.h"
#include "tests/support/collect.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using test::CollectedEvent;
using test::SamplePath;
using test::TestDataDir;

constexpr std::string_view kEventTrace = "68fdd900-4a3e-11d1-84f4-0000f80464e3";
constexpr std::string_view kSystemConfig = "01853a65-418f-4f36-aefc-dc0f1d2fd235";
constexpr std::string_view kSystemConfigEx = "9b79ee91-b5fd-41c0-a243-4248e266e9d0";

const char* const kSamples[] = {"net.4.5.2.x64",
                                "diaghub",
                                "diaghub.kernel.1",
                                "ShutdownPerfDiagLogger",
                                "gcevents",
                                "KernelNetwork",
                                "SelfDescribingSingleEvent",
                                "lxcore_kernel",
                                "primitive-types",
                                "powershell",
                                "waasmedic",
                                "DynamicEvents"};

bool IsKernel(const Guid& provider) {
  const ProviderName* known = FindProvider(provider);
  return known != nullptr && (known->name == kWindowsKernel || known->name == "KernelTraceControl");
}

std::span<const std::byte> Payload(const CollectedEvent& event) {
  return std::span(event.bytes).subspan(event.header.payload_begin);
}

std::optional<DecodedEvent> DecodeRecord(const CollectedEvent& event) {
  const EventHeader& row = event.header;
  return DecodeClassic(event.provider, row.opcode, row.version, Payload(event), row.pointer_size());
}

// The classic events of a recording, the log-file header first: it is no event of the pipeline but one of the file.
std::vector<CollectedEvent> ReadClassic(const std::string& sample) {
  std::vector<CollectedEvent> classic;
  auto file = InputFile::Open(SamplePath(sample + ".etl").string());
  EXPECT_TRUE(file.ok()) << file.status().message();
  Diagnostics diagnostics;
  auto source = etl::EtlSource::Open(*file, {false, &diagnostics});
  EXPECT_TRUE(source.ok()) << source.status().message();
  test::CollectSink sink;
  const auto summary = Execute(**source, sink, 2, &diagnostics);
  EXPECT_TRUE(summary.ok()) << summary.status().message();

  const TraceInfo& info = (*source)->context().info;
  CollectedEvent header{{}, GuidOf(kEventTrace), info.header_record};
  header.header.kind = info.header_kind;
  header.header.version = 2;
  header.header.payload_begin = 32;
  if (info.header_kind == HeaderKind::kSystem64) header.header.flags = kPointer64;
  classic.push_back(std::move(header));
  for (auto& event : sink.events) {
    if (SchemaRegistry::IsClassic(event.header.kind)) classic.push_back(std::move(event));
  }
  return classic;
}

rapidjson::Document Expected(const std::string& file) { return test::ReadJson(TestDataDir() / "expected" / file); }

std::string Hex(std::span<const std::byte> bytes) {
  std::ostringstream hex;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex << kDigits[std::to_integer<unsigned>(byte) >> 4] << kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex.str();
}

std::vector<std::byte> Unhex(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned byte = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, byte, 16);
    bytes[i] = static_cast<std::byte>(byte);
  }
  return bytes;
}

std::string TestName(const testing::TestParamInfo<const char*>& sample) {
  std::string name = sample.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

class KernelSamples : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto missing = test::MissingData(TestDataDir() / "expected"); !missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_P(KernelSamples, EveryKernelRecordIsDecodedToTheLastByte) {
  std::map<std::string, uint64_t> wrong;
  size_t kernel = 0;
  for (const CollectedEvent& event : ReadClassic(GetParam())) {
    if (!IsKernel(event.provider)) continue;
    ++kernel;
    const auto decoded = DecodeRecord(event);
    if (decoded && decoded->outcome == DecodeOutcome::kComplete) continue;
    std::ostringstream what;
    what << ToString(event.provider) << " type " << int{event.header.opcode} << " version " << event.header.version
         << (decoded ? " does not fit, outcome " : " has no schema ");
    if (decoded) what << static_cast<int>(decoded->outcome);
    ++wrong[what.str()];
  }
  EXPECT_GE(kernel, 1u) << "every file has its header";
  for (const auto& [what, count] : wrong) ADD_FAILURE() << what << ", " << count << " records";
}

// The header by its schema, against what independent readers say of it.
TEST_P(KernelSamples, TheLogFileHeaderHasTheValuesOthersRead) {
  const auto header = DecodeRecord(ReadClassic(GetParam()).front());
  ASSERT_TRUE(header);
  const auto counts = Expected("counts.json");
  const auto& expected = counts[GetParam()]["header"];
  EXPECT_EQ(header->full_name(), "Windows Kernel/EventTrace");
  for (const auto& [field, key] :
       std::initializer_list<std::pair<const char*, const char*>>{{"BufferSize", "buffer_size"},
                                                                  {"ProviderVersion", "os_build"},
                                                                  {"NumberOfProcessors", "processors"},
                                                                  {"TimerResolution", "timer_resolution"},
                                                                  {"LogFileMode", "log_file_mode"},
                                                                  {"BuffersWritten", "buffers_written"},
                                                                  {"PointerSize", "pointer_size"},
                                                                  {"EventsLost", "events_lost"},
                                                                  {"CPUSpeed", "cpu_mhz"},
                                                                  {"PerfFreq", "frequency"},
                                                                  {"BuffersLost", "buffers_lost"}}) {
    EXPECT_EQ(header->fields.at(field).bits, expected[key].GetUint64()) << field;
  }
  EXPECT_EQ(header->text("StartTime"), expected["start_time"].GetString());
  EXPECT_EQ(header->text("EndTime"), expected["end_time"].GetString());
  EXPECT_EQ(header->text("BootTime"), expected["boot_time"].GetString());
  EXPECT_EQ(header->text("SessionNameString"), expected["logger_name"].GetString());
  EXPECT_EQ(header->text("LogFileNameString"), expected["log_file_name"].GetString());
}

// Records that describe the same thing twice, and values that can be checked against each other.
TEST_P(KernelSamples, TheMachineIsDescribedConsistently) {
  const auto events = ReadClassic(GetParam());
  const auto header = DecodeRecord(events.front());
  ASSERT_TRUE(header);
  std::string family;
  std::string merged_family;
  for (const CollectedEvent& event : events) {
    const std::string provider = ToString(event.provider);
    if (provider == kSystemConfigEx && event.header.opcode == 37) merged_family = Hex(Payload(event));
    if (provider != kSystemConfig) continue;
    const auto decoded = DecodeRecord(event);
    ASSERT_TRUE(decoded);
    if (event.header.opcode == 33) family = Hex(Payload(event));
    if (decoded->schema->name == "SystemConfig/CPU") {
      EXPECT_EQ(decoded->text("MHz"), header->text("CPUSpeed"));
      EXPECT_EQ(decoded->text("NumberOfProcessors"), header->text("NumberOfProcessors"));
      EXPECT_EQ(decoded->text("ProcessorArchitecture"), "9");
      EXPECT_EQ(decoded->text("HighestUserAddress").substr(0, 5), "0x7ff");
    } else if (decoded->schema->name == "SystemConfig/Processor") {
      EXPECT_EQ(decoded->text("VendorIdentifier"), "GenuineIntel");
      EXPECT_EQ(decoded->text("ProcessorIdentifier").substr(0, 16), "Intel64 Family 6");
      EXPECT_EQ(decoded->text("ProcessorName").substr(0, 8), "Intel(R)");
    } else if (decoded->schema->name == "SystemConfig/Services") {
      // Two more texts than the documents know: the service's groups.
      if (decoded->text("ServiceName") == "DcomLaunch") {
        EXPECT_EQ(decoded->text("LoadOrderGroup"), "COM Infrastructure");
        EXPECT_EQ(decoded->text("SvchostGroup"), "DcomLaunch");
      }
    } else if (decoded->schema->name == "SystemConfig/OpticalMedia") {
      EXPECT_EQ(decoded->text("DriveLetter"), "D:");
      EXPECT_EQ(decoded->text("FileSystemName"), "UDF");
      EXPECT_EQ(decoded->text("BytesPerSector"), "2048");
    } else if (decoded->schema->name == "SystemConfig/LogDisk") {
      EXPECT_EQ(decoded->text("FileSystem"), "NTFS");
      EXPECT_EQ(decoded->fields.at("Size").bits, Payload(event).size());
    }
  }
  // Windows 8 leaves the merged record empty and has no other.
  if (!family.empty() && !merged_family.empty()) {
    EXPECT_EQ(family, merged_family);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, KernelSamples, testing::ValuesIn(kSamples), TestName);

// PerfView asked Windows for these two names and got the MOF's.
std::string OurName(std::string perfview_name) {
  constexpr std::string_view kMof = "MSNT_SystemTrace/";
  if (perfview_name.starts_with(kMof)) perfview_name.replace(0, kMof.size(), "Windows Kernel/");
  return perfview_name;
}

bool IsKernelName(std::string_view perfview_name) {
  return perfview_name.starts_with("Windows Kernel/") || perfview_name.starts_with("KernelTraceControl/") ||
         perfview_name.starts_with("MSNT_SystemTrace/");
}

class PerfViewNames : public KernelSamples {};

TEST_P(PerfViewNames, AndCountsAreEqual) {
  const auto document = Expected("perfview-kinds.json");
  const auto& sample = document[GetParam()];
  std::map<std::string, uint64_t> wanted;
  std::map<std::pair<std::string, unsigned>, std::string> names;  // by provider and opcode
  for (const auto& kind : sample["kinds"].GetArray()) {
    if (!IsKernelName(kind["perfview_name"].GetString())) continue;
    const std::string name = OurName(kind["perfview_name"].GetString());
    wanted[name] += kind["count"].GetUint64();
    for (const auto& from : kind["from"].GetArray()) {
      names[{from["provider"].GetString(), from["opcode"].GetUint()}] = name;
    }
  }
  ASSERT_FALSE(wanted.empty());
  // PerfView hides some events of a kind that it lists: samples of the idle thread.
  for (const auto& hidden : sample["not_shown"].GetArray()) {
    const auto name = names.find({hidden["provider"].GetString(), hidden["opcode"].GetUint()});
    if (name != names.end()) wanted[name->second] += hidden["count"].GetUint64();
  }
  std::map<std::string, uint64_t> counted;
  for (const CollectedEvent& event : ReadClassic(GetParam())) {
    if (!IsKernel(event.provider)) continue;
    const auto schema = ClassicSchema(event.provider, event.header.opcode, event.header.version);
    ASSERT_NE(schema, nullptr);
    ++counted[schema->provider->name + "/" + schema->name];
  }
  for (const auto& [name, count] : wanted) EXPECT_EQ(counted[name], count) << name;
}

INSTANTIATE_TEST_SUITE_P(Recordings, PerfViewNames, testing::Values("net.4.5.2.x64", "gcevents", "primitive-types"),
                         TestName);

// PerfView's spelling of a field, where it is not the MOF's. StartAddr is what versions before 3 have in that place.
std::string FieldOf(const DecodedEvent& event, const std::string& perfview_field) {
  if (event.fields.contains(perfview_field)) return perfview_field;
  static const std::map<std::string, std::string> kSpelling = {
      {"ProcessID", "ProcessId"},      {"ParentID", "ParentId"},
      {"SessionID", "SessionId"},      {"PageDirectoryBase", "DirectoryTableBase"},
      {"ProcessIdField", "ProcessId"}, {"ThreadId", "TThreadId"},
      {"FileKey", "FileObject"},       {"FileNameRaw", "FileName"},
      {"PDBFileName", "PdbFileName"},  {"StartAddr", "Affinity"},
      {"SampleSource", "Source"},
  };
  const auto found = kSpelling.find(perfview_field);
  return found == kSpelling.end() ? perfview_field : found->second;
}

// PerfView pads hex numbers and shows some unsigned ones as signed; texts are as they are, IPv6 addresses as bytes.
void ExpectPerfViewValue(const DecodedField& field, const std::string& value, const std::string& what) {
  if (field.text == value || Hex(field.bytes) == value) return;
  ASSERT_FALSE(field.is_text) << what << ": " << field.text << " is not " << value;
  uint64_t wanted = 0;
  const bool hex = value.starts_with("0x");
  const bool negative = value.starts_with("-");
  const char* begin = value.data() + (hex ? 2 : negative ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, value.data() + value.size(), wanted, hex ? 16 : 10);
  ASSERT_TRUE(error == std::errc() && end == value.data() + value.size()) << what << ": " << value << " is no number";
  if (negative) wanted = 0 - wanted;
  const uint64_t mask = field.bytes.size() == 8 ? ~uint64_t{0} : (uint64_t{1} << field.bytes.size() * 8) - 1;
  EXPECT_EQ(field.bits & mask, wanted & mask) << what;
}

class ExpectedFields : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = test::MissingData(TestDataDir() / "expected"); !missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_F(ExpectedFields, OfPerfViewAreEqual) {
  const auto document = Expected("perfview-fields.json");
  size_t compared = 0;
  for (const auto& entry : document["entries"].GetArray()) {
    const std::string perfview_name = entry["perfview_name"].GetString();
    if (!IsKernelName(perfview_name)) continue;
    const auto payload = Unhex(entry["payload_hex"].GetString());
    const uint32_t pointer_size = std::string_view(entry["header"].GetString()).ends_with("64") ? 8 : 4;
    const auto event =
        DecodeClassic(GuidOf(entry["provider"].GetString()), static_cast<uint8_t>(entry["opcode"].GetUint()),
                      static_cast<uint16_t>(entry["version"].GetUint()), payload, pointer_size);
    ASSERT_TRUE(event) << perfview_name;
    EXPECT_EQ(event->outcome, DecodeOutcome::kComplete) << perfview_name;
    EXPECT_EQ(event->full_name(), OurName(perfview_name));
    for (const char* group : {"fields", "unconfirmed"}) {
      if (!entry.HasMember(group)) continue;
      for (const auto& field : entry[group].GetObject()) {
        const std::string name = FieldOf(*event, field.name.GetString());
        const std::string what = perfview_name + " " + field.name.GetString();
        ASSERT_TRUE(event->fields.contains(name)) << what;
        const auto& value = field.value;
        ExpectPerfViewValue(event->fields.at(name),
                            value.IsString() ? std::string(value.GetString()) : std::to_string(value.GetInt64()), what);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 300u);
}

std::string KeyOf(int64_t timestamp, unsigned cpu, const std::string& provider, unsigned opcode, unsigned version) {
  std::ostringstream key;
  key << timestamp << " cpu " << cpu << ' ' << provider << " type " << opcode << " version " << version;
  return key.str();
}

// Whether the event has each field that is expected with that value; what differs otherwise.
std::string Differences(const DecodedEvent& event, const rapidjson::Value& expected_fields) {
  std::string differences;
  for (const auto& field : expected_fields.GetArray()) {
    const std::string text = event.text(field["name"].GetString());
    if (text == field["value"].GetString()) continue;
    differences +=
        std::string(field["name"].GetString()) + ": " + text + " is not " + field["value"].GetString() + "\n";
  }
  return differences;
}

TEST_F(ExpectedFields, OfOtherReadersAreEqual) {
  const auto document = Expected("strings.json");
  size_t compared = 0;
  for (const auto& sample : document.GetObject()) {
    if (sample.name.GetString()[0] == '_') continue;
    std::map<std::string, std::vector<CollectedEvent>> by_key;
    for (auto& event : ReadClassic(sample.name.GetString())) {
      const EventHeader& row = event.header;
      by_key[KeyOf(row.timestamp, row.cpu, ToString(event.provider), row.opcode, row.version)].push_back(
          std::move(event));
    }
    for (const auto& entry : sample.value.GetArray()) {
      if (std::string_view(entry["basis"].GetString()) != "kernel") continue;
      const std::string key = KeyOf(entry["ts"].GetInt64(), entry["cpu"].GetUint(), entry["provider"].GetString(),
                                    entry["opcode"].GetUint(), entry["version"].GetUint());
      // Several records may share a time; one of them has the values.
      std::string differences = "there is no such record";
      for (const CollectedEvent& event : by_key[key]) {
        const auto decoded = DecodeRecord(event);
        ASSERT_TRUE(decoded) << key;
        differences = Differences(*decoded, entry["fields"]);
        if (differences.empty()) break;
      }
      EXPECT_EQ(differences, "") << sample.name.GetString() << ' ' << key;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace etwpipe::schema

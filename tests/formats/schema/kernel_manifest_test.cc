// The built-in kernel layouts against a manifest of the same classes that others wrote from the public MOF
// (manifests/kerneltraceevent.man.xml): names of fields and their sizes. Every difference is listed with its reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "formats/schema/builtin_schemas.h"
#include "formats/schema/provider_names.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

using Attributes = std::map<std::string, std::string>;

Attributes AttributesOf(const std::string& tag) {
  static const std::regex kAttribute(R"re((\w+)="([^"]*)")re");
  Attributes attributes;
  for (std::sregex_iterator at(tag.begin(), tag.end(), kAttribute), end; at != end; ++at) {
    attributes[(*at)[1]] = (*at)[2];
  }
  return attributes;
}

// A field as name and the bytes it takes: a number, P (pointer), or the kind of string.
std::string Shape(const std::string& name, const std::string& size) { return name + ":" + size; }

std::string ShapeOf(const Attributes& data) {
  static const std::map<std::string, std::string> kSizes = {
      {"win:Int8", "1"},          {"win:UInt8", "1"},       {"win:Int16", "2"},         {"win:UInt16", "2"},
      {"win:Int32", "4"},         {"win:UInt32", "4"},      {"win:Int64", "8"},         {"win:UInt64", "8"},
      {"win:Boolean", "4"},       {"win:Pointer", "P"},     {"trace:SizeT", "P"},       {"win:UnicodeString", "wstr"},
      {"win:AnsiString", "astr"}, {"trace:WBEMSid", "sid"}, {"trace:UnicodeChar", "2"}, {"trace:WmiTime", "8"},
      {"trace:Port", "2"},        {"trace:IPAddr", "4"},    {"trace:IPAddrV4", "4"},    {"trace:IPAddrV6", "16"},
  };
  const auto size = kSizes.find(data.at("inType"));
  EXPECT_NE(size, kSizes.end()) << data.at("inType");
  if (size == kSizes.end()) return {};
  if (!data.contains("count")) return Shape(data.at("name"), size->second);
  return Shape(data.at("name"), std::to_string(std::stoi(data.at("count")) * std::stoi(size->second)));
}

std::string ShapeOf(const Property& property) {
  if (property.in == InType::kPointer || property.in == InType::kSizeT) return Shape(property.name, "P");
  if (property.in == InType::kWbemSid) return Shape(property.name, "sid");
  if (const uint32_t size = FixedSize(property.in, 8); size != 0 && property.count == Extent::kNone) {
    return Shape(property.name, std::to_string(size));
  }
  if (property.length == Extent::kFixed) {
    return Shape(property.name, std::to_string(property.length_value * (IsUtf16(property.in) ? 2 : 1)));
  }
  if (property.in == InType::kUnicodeString) return Shape(property.name, "wstr");
  if (property.in == InType::kAnsiString) return Shape(property.name, "astr");
  return Shape(property.name, "?");
}

// What the manifest has otherwise, by "Task opcode version", and why.
const std::map<std::string, std::string>& KnownDifferences() {
  static const std::map<std::string, std::string> kKnown = {
      {"EventTraceEvent 0 2", "the time zone is a struct of its parts here"},
      {"Thread 48 2", "reservations are of Windows Vista; later the number is SetPriority"},
      {"Thread 49 2", "reservations are of Windows Vista; later the number is SetBasePriority"},
      {"Thread 52 2", "reservations are of Windows Vista; later the number is SetIoPriority"},
      {"Thread 53 2", "reservations are of Windows Vista; later the number is SetAffinity"},
      {"Thread 54 2", "reservations are of Windows Vista"},
      {"Thread 55 2", "reservations are of Windows Vista"},
      {"Thread 56 2", "reservations are of Windows Vista"},
      {"PerfInfo 46 2", "Windows 8 has flags and a rank in the upper half of Count"},
      {"PerfInfo 67 2", "the vector has 16 bits since Windows 8"},
      {"StackWalk 32 2", "as many frames as there are, not 32"},
      {"Lost_Event 32 2", "no event of a file"},
      {"SystemConfig 16 2", "Windows 8 uses the first pad"},
  };
  return kKnown;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(KernelManifest, HasTheSameFieldsAndSizes) {
  const auto path = test::TestDataDir() / "manifests/kerneltraceevent.man.xml";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const std::string text = ReadText(path);

  static const std::regex kTag(R"re(<(task|template|data|event) ([^>]*)>)re");
  std::map<std::string, Guid> tasks;
  std::map<std::string, std::vector<std::string>> templates;
  std::vector<std::string>* open_template = nullptr;
  size_t compared = 0;
  size_t different = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kTag), end; at != end; ++at) {
    const std::string tag = (*at)[1];
    const Attributes attributes = AttributesOf((*at)[2]);
    if (tag == "task") {
      std::string guid = attributes.at("eventGUID");
      tasks[attributes.at("name")] = GuidOf(guid.substr(1, guid.size() - 2));
    } else if (tag == "template") {
      open_template = &templates[attributes.at("tid")];
    } else if (tag == "data") {
      ASSERT_NE(open_template, nullptr);
      open_template->push_back(ShapeOf(attributes));
    } else {
      const std::string& tid = attributes.at("template");
      // A class without a version in its name is that of Windows Vista and 7: version 2.
      const uint16_t version = tid.find("_V0_") != std::string::npos   ? 0
                               : tid.find("_V1_") != std::string::npos ? 1
                                                                       : 2;
      const auto opcode = static_cast<uint16_t>(std::stoi(attributes.at("opcode")));
      const std::string key = fmt::format("{} {} {}", attributes.at("task"), opcode, version);
      const auto schema = PickVersion(BuiltInSchemas(tasks.at(attributes.at("task"))), true, opcode, version);
      std::vector<std::string> ours;
      if (schema != nullptr) {
        for (const Property& property : schema->properties) ours.push_back(ShapeOf(property));
      }
      std::vector<std::string> theirs = templates.at(tid);
      for (std::string& field : theirs) {
        // Recordings have 8 bytes on 64-bit Windows: etl-format.md 8.10.
        if (field == "connid:4") field = "connid:P";
      }
      if (KnownDifferences().contains(key)) {
        EXPECT_TRUE(schema == nullptr || ours != theirs) << key << " is no difference";
        ++different;
        continue;
      }
      ASSERT_NE(schema, nullptr) << key;
      EXPECT_EQ(ours, theirs) << key << ' ' << tid;
      ++compared;
    }
  }
  EXPECT_GT(compared, 190u);
  EXPECT_EQ(different, KnownDifferences().size());
}

}  // namespace
}  // namespace etwpipe::schema

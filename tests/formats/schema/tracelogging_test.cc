// TraceLogging metadata: each rule of etl-format.md 7.1 and 7.2 by hand, every cut, and the real events.
#include "formats/schema/tracelogging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/schema/extended_items.h"
#include "formats/schema/schema_words.h"
#include "tests/formats/schema/read_sample.h"
#include "tests/formats/schema/schema_bytes.h"
#include "tests/support/json.h"
#include "tests/support/test_data.h"

namespace etwpipe::schema {
namespace {

const Guid kProvider = GuidOf("d3dd3dd4-aac2-4e2a-8dd4-a8fb61b77615");

// Metadata with its size in front; one tag byte.
Bytes Metadata(std::string_view name, std::span<const std::byte> fields) {
  Bytes blob = Bytes().U16(0).U8(0).Text(name);
  for (const std::byte byte : fields) blob.Add(byte);
  blob.Set(0, static_cast<uint16_t>(blob.size()));
  return blob;
}

Result<std::shared_ptr<const EventSchema>> Read(std::span<const std::byte> metadata,
                                                std::span<const std::byte> traits = {}, uint8_t opcode = 0,
                                                const Guid& provider = kProvider) {
  EventHeader row;
  row.id = 3;
  row.version = 2;
  row.opcode = opcode;
  return SchemaFromTraceLogging({row, provider, metadata, traits});
}

// The schema of sound or broken fields of event E.
std::shared_ptr<const EventSchema> Fields(const Bytes& fields) {
  auto schema = Read(Metadata("E", fields));
  EXPECT_TRUE(schema.ok()) << schema.status().message();
  return schema.ok() ? *schema : std::make_shared<EventSchema>();
}

// Fields as a schema text shows them: A u32:hex, B[u16] wstr, S{...}.
std::string Shape(const EventSchema& schema, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) {
    const Property& property = schema.properties[i];
    if (!text.empty()) text += ", ";
    text += property.name;
    if (property.count == Extent::kFixed) text += '[' + std::to_string(property.count_value) + ']';
    if (property.count == Extent::kPrefix16) text += "[u16]";
    if (property.in == InType::kStruct) {
      const size_t first = property.first_member;
      text += '{' + Shape(schema, first, first + property.member_count) + '}';
      continue;
    }
    text += ' ' + std::string(WordOf(property.in));
    if (property.length == Extent::kPrefix16) text += "(u16)";
    if (property.out != OutType::kDefault) text += ':' + std::string(WordOf(property.out));
  }
  return text;
}
std::string Shape(const EventSchema& schema) { return Shape(schema, 0, schema.top_level); }

TEST(TraceLogging, NameKeyAndProvider) {
  const Bytes traits = Bytes().U16(26).Text("Maker").U16(19).U8(1).Hex("000102030405060708090a0b0c0d0e0f");
  auto schema = Read(Metadata("Event", Bytes().Text("A").U8(8)), traits);
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ((*schema)->provider->name, "Maker");
  EXPECT_EQ((*schema)->provider->guid, kProvider);
  EXPECT_EQ((*schema)->name, "Event");
  EXPECT_EQ((*schema)->key, (EventKey{false, 3, 2, 2}));
  EXPECT_EQ((*schema)->origin, SchemaOrigin::kTraceLogging);
  EXPECT_EQ((*schema)->note, "");
  EXPECT_EQ(Shape(**schema), "A u32");
}

TEST(TraceLogging, ProviderWithoutTraitsOrWithBadOnes) {
  const Bytes metadata = Metadata("E", Bytes());
  EXPECT_EQ((*Read(metadata))->provider->name, "d3dd3dd4-aac2-4e2a-8dd4-a8fb61b77615");
  const Guid amsi = GuidOf("2a576b87-09a7-520e-c21a-4942f0271d67");
  EXPECT_EQ((*Read(metadata, {}, 0, amsi))->provider->name, "Microsoft-Antimalware-Scan-Interface");
  for (const Bytes& bad : {Bytes().U8(9), Bytes().U16(9), Bytes().U16(9).Raw("Maker"), Bytes().U16(3).Text("")}) {
    EXPECT_EQ((*Read(metadata, bad, 0, amsi))->provider->name, "Microsoft-Antimalware-Scan-Interface");
  }
}

TEST(TraceLogging, StartAndStopFollowTheName) {
  EXPECT_EQ((*Read(Metadata("Request", Bytes()), {}, 1))->name, "Request/Start");
  EXPECT_EQ((*Read(Metadata("Request", Bytes()), {}, 2))->name, "Request/Stop");
  EXPECT_EQ((*Read(Metadata("Request", Bytes()), {}, 3))->name, "Request");
  EXPECT_EQ((*Read(Metadata("RequestStart", Bytes()), {}, 1))->name, "RequestStart");
  EXPECT_EQ((*Read(Metadata("Request/Stop", Bytes()), {}, 2))->name, "Request/Stop");
  EXPECT_EQ((*Read(Metadata("RequestStart", Bytes()), {}, 2))->name, "RequestStart/Stop");
}

TEST(TraceLogging, EveryInType) {
  Bytes fields;
  std::string wanted;
  for (uint8_t in = 0; in <= 25; ++in) {
    // Fields of one name are told apart by a number.
    fields.Text("f").U8(in);
    wanted += in == 0 ? "f" : ", f#" + std::to_string(in + 1);
    wanted += in == 24 ? "{}" : " " + std::string(WordOf(InType{in}));
    if (in == 14) wanted += "(u16)";
  }
  EXPECT_EQ(Shape(*Fields(fields)), wanted);
  for (uint8_t in = 26; in <= 31; ++in) {
    const auto schema = Fields(Bytes().Text("a").U8(8).Text("b").U8(in).Text("c").U8(8));
    EXPECT_EQ(Shape(*schema), "a u32") << "fields behind an unknown one have no place";
    EXPECT_THAT(schema->note, testing::HasSubstr("'b' has the unknown in-type " + std::to_string(in)));
  }
}

TEST(TraceLogging, EveryOutType) {
  const std::pair<uint8_t, OutType> kOutTypes[] = {{0, OutType::kDefault},
                                                   {1, OutType::kNoPrint},
                                                   {2, OutType::kString},
                                                   {3, OutType::kBoolean},
                                                   {4, OutType::kHex},
                                                   {5, OutType::kPid},
                                                   {6, OutType::kTid},
                                                   {7, OutType::kPort},
                                                   {8, OutType::kIpv4},
                                                   {9, OutType::kIpv6},
                                                   {10, OutType::kSocketAddress},
                                                   {11, OutType::kXml},
                                                   {12, OutType::kJson},
                                                   {13, OutType::kWin32Error},
                                                   {14, OutType::kNtStatus},
                                                   {15, OutType::kHResult},
                                                   {16, OutType::kDateTime},
                                                   {17, OutType::kSigned},
                                                   {18, OutType::kUnsigned},
                                                   {33, OutType::kDateTime},
                                                   {35, OutType::kUtf8},
                                                   {36, OutType::kPkcs7},
                                                   {37, OutType::kCodePointer},
                                                   {38, OutType::kDateTime},
                                                   {19, OutType::kDefault},
                                                   {127, OutType::kDefault}};
  for (const auto& [number, out] : kOutTypes) {
    const auto schema = Fields(Bytes().Text("f").U8(0x88).U8(number));
    ASSERT_EQ(schema->properties.size(), 1u);
    EXPECT_EQ(schema->properties[0].out, out) << int{number};
    EXPECT_EQ(schema->note, "") << int{number};
  }
}

TEST(TraceLogging, ArraysAndCustom) {
  const auto schema = Fields(Bytes()
                                 .Text("var")
                                 .U8(0xC6)
                                 .U8(2)  // as AMSI writes it
                                 .Text("fix")
                                 .U8(0x24)
                                 .U16(3)
                                 .Text("hex")
                                 .U8(0xA4)
                                 .U8(4)
                                 .U16(2)
                                 .Text("bin")
                                 .U8(0x4E)
                                 .Text("own")
                                 .U8(0xE8)
                                 .U8(4)
                                 .U16(2)
                                 .Raw("xy")
                                 .Text("odd")
                                 .U8(0x7F)
                                 .U16(0)
                                 .Text("end")
                                 .U8(4));
  EXPECT_EQ(Shape(*schema),
            "var[u16] u16:string, fix[3] u8, hex[2] u8:hex, bin[u16] binary(u16), own counted_binary:hex, "
            "odd counted_binary, end u8");
  const Bytes payload = Bytes()
                            .U16(2)
                            .U16('a')
                            .U16('b')
                            .Hex("010203")
                            .Hex("0a0b")
                            .U16(2)
                            .U16(1)
                            .U8(0xEE)
                            .U16(0)
                            .U16(3)
                            .Hex("445566")
                            .U16(0)
                            .U8(7);
  EXPECT_EQ(DecodeText(*schema, payload), "var=[97 98] fix=[1 2 3] hex=[0xa 0xb] bin=[ee ] own=445566 odd= end=7");
}

TEST(TraceLogging, TagsAreSkipped) {
  Bytes blob = Bytes().U16(0).Hex("808001").Text("E").Text("a").U8(0x88).U8(0x84).Hex("ff7f").Text("b").U8(4);
  blob.Set(0, static_cast<uint16_t>(blob.size()));
  const auto schema = Read(blob);
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ((*schema)->name, "E");
  EXPECT_EQ(Shape(**schema), "a u32:hex, b u8");
}

TEST(TraceLogging, StructsTakeLogicalFields) {
  const auto schema = Fields(Bytes()
                                 .Text("S")
                                 .U8(0x98)
                                 .U8(3)
                                 .Text("a")
                                 .U8(4)
                                 .Text("T")
                                 .U8(0xD8)
                                 .U8(2)  // a VCOUNT array of structs: one member of S
                                 .Text("x")
                                 .U8(4)
                                 .Text("y")
                                 .U8(2)
                                 .Text("b")
                                 .U8(4)
                                 .Text("F")
                                 .U8(0xB8)
                                 .U8(0x81)
                                 .U8(0)
                                 .U16(2)  // tags behind the member count
                                 .Text("z")
                                 .U8(6)
                                 .Text("e")
                                 .U8(4));
  EXPECT_EQ(schema->note, "");
  EXPECT_EQ(Shape(*schema), "S{a u8, T[u16]{x u8, y astr}, b u8}, F[2]{z u16}, e u8");
  const Bytes payload = Bytes().U8(1).U16(2).U8(2).Text("p").U8(3).Text("q").U8(4).U16(5).U16(6).U8(7);
  EXPECT_EQ(DecodeText(*schema, payload), "S={a=1 T=[{x=2 y='p'} {x=3 y='q'}] b=4} F=[{z=5} {z=6}] e=7");
}

TEST(TraceLogging, NarrowTextThatIsUtf8) {
  const auto schema = Fields(Bytes().Text("x").U8(0x82).U8(11).Text("j").U8(0x97).U8(12).Text("u").U8(0x82).U8(35));
  EXPECT_EQ(Shape(*schema), "x astr:xml, j counted_astr:json, u astr:utf8");
  EXPECT_EQ(DecodeText(*schema, Bytes().Text("<\u00e9/>").U16(2).Raw("{}").Text("\u4f60")),
            "x='<\u00e9/>' j='{}' u='\u4f60'");
}

TEST(TraceLogging, DepthIsBounded) {
  const auto nested = [](int depth) {
    Bytes fields = Bytes().Text("first").U8(4);
    for (int i = 0; i < depth; ++i) fields.Text("s").U8(0x98).U8(1);
    return fields.Text("leaf").U8(4);
  };
  const auto deepest = Fields(nested(EventSchema::kMaxDepth));
  EXPECT_EQ(deepest->note, "");
  EXPECT_EQ(deepest->properties.size(), EventSchema::kMaxDepth + 2u);
  EXPECT_THAT(DecodeText(*deepest, Bytes().U8(1).U8(2)), testing::HasSubstr("leaf=2"));
  for (const int depth : {EventSchema::kMaxDepth + 1, 1000, 15000}) {
    const auto schema = Fields(nested(depth));
    EXPECT_EQ(Shape(*schema), "first u8");
    EXPECT_THAT(schema->note, testing::HasSubstr("nested too deep"));
  }
}

TEST(TraceLogging, FieldsAreBounded) {
  Bytes fields;
  for (size_t i = 0; i < kMaxProperties; ++i) fields.Text("f").U8(4);
  EXPECT_EQ(Fields(fields)->note, "");
  EXPECT_EQ(Fields(fields)->properties.size(), kMaxProperties);
  fields.Text("f").U8(4);
  EXPECT_THAT(Fields(fields)->note, testing::HasSubstr("more than 4096 fields"));
  EXPECT_EQ(Fields(fields)->properties.size(), kMaxProperties);
}

// Every cut of a blob: no schema before the name is whole, then the top-level fields that are whole and a note.
TEST(TraceLogging, EveryCut) {
  const Bytes blob = Metadata("Name", Bytes()
                                          .Text("ab")
                                          .U8(0x88)
                                          .U8(0x84)
                                          .U8(1)
                                          .Text("c")
                                          .U8(0x24)
                                          .U16(3)
                                          .Text("S")
                                          .U8(0x98)
                                          .U8(2)
                                          .Text("x")
                                          .U8(4)
                                          .Text("y")
                                          .U8(4)
                                          .Text("d")
                                          .U8(0x64)
                                          .U16(2)
                                          .Raw("zz"));
  const std::pair<size_t, std::string_view> kWhole[] = {{8, ""},
                                                        {14, "ab u32:hex"},
                                                        {19, "ab u32:hex, c[3] u8"},
                                                        {29, "ab u32:hex, c[3] u8, S{x u8, y u8}"},
                                                        {36, "ab u32:hex, c[3] u8, S{x u8, y u8}, d counted_binary"}};
  ASSERT_EQ(blob.size(), 36u);
  for (size_t size = 0; size < blob.size(); ++size) {
    std::string_view wanted;
    for (const auto& [end, shape] : kWhole) {
      if (end <= size) wanted = shape;
    }
    // Cut off at the end of the item, and cut off by a size that is too small.
    Bytes small = blob;
    small.Set(0, static_cast<uint16_t>(size));
    for (const auto& cut : {blob.first(size), std::span<const std::byte>(small)}) {
      const auto schema = Read(cut);
      ASSERT_EQ(schema.ok(), size >= 8) << size;
      if (!schema.ok()) continue;
      EXPECT_EQ(Shape(**schema), wanted) << size;
      const bool between_fields =
          std::any_of(std::begin(kWhole), std::end(kWhole), [&](const auto& whole) { return whole.first == size; });
      const bool says_so = cut.size() == size || !between_fields;
      EXPECT_EQ((*schema)->note.empty(), !says_so) << size;
    }
  }
  EXPECT_EQ((*Read(blob))->note, "");
  Bytes longer = blob;
  longer.Text("padding");
  EXPECT_EQ((*Read(longer))->note, "") << "what lies behind the size is not ours";
}

TEST(TraceLogging, NamesAreMadeValid) {
  const auto schema = Read(Metadata("E\xFF", Bytes().Text("f\xC3").U8(4)));
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ((*schema)->name, "E\xEF\xBF\xBD");
  EXPECT_EQ((*schema)->properties[0].name, "f\xEF\xBF\xBD");
}

TEST(TraceLogging, SupplierAnswersForMetadataOnly) {
  const TraceLoggingSupplier supplier;
  const EventHeader row;
  EXPECT_EQ(supplier.Find({row, kProvider, {}, {}}), nullptr);
  EXPECT_EQ(supplier.Find({row, kProvider, Bytes().U16(5).U8(0), {}}), nullptr);
  const auto schema = supplier.Find({row, kProvider, Metadata("E", Bytes()), {}});
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->name, "E");
}

// The form of expected/strings.json: booleans are numbers there.
std::string ExpectedForm(const Value& value) {
  if (value.kind == ValueKind::kBool) return std::to_string(value.bits);
  std::string text;
  AppendText(value, text);
  return text;
}

// Compares the tokens of a range of fields with a list of expected ones.
void ExpectFields(const EventSchema& schema, std::span<const std::byte> payload, const std::vector<Token>& tokens,
                  size_t& at, const rapidjson::Value& wanted) {
  for (const auto& field : wanted.GetArray()) {
    ASSERT_LT(at, tokens.size()) << field["name"].GetString();
    const Property& property = schema.properties[tokens[at].property];
    EXPECT_EQ(property.name, field["name"].GetString());
    EXPECT_EQ(static_cast<int>(property.in), field["in"].GetInt()) << property.name;
    EXPECT_FALSE(field.HasMember("out")) << "the sample has out-types: compare them";
    if (property.in == InType::kStruct) {
      EXPECT_EQ(tokens[at++].kind, TokenKind::kStructBegin);
      ExpectFields(schema, payload, tokens, at, field["value"]);
      EXPECT_EQ(tokens[at++].kind, TokenKind::kStructEnd);
      continue;
    }
    ASSERT_TRUE(field["value"].IsString()) << "the sample has arrays: compare them";
    Value value;
    ReadValue(property, payload.subspan(tokens[at].offset, tokens[at].size), value);
    EXPECT_EQ(ExpectedForm(value), field["value"].GetString()) << property.name;
    ++at;
  }
}

TEST(TraceLoggingSamples, EqualTheExpectedStrings) {
  const auto path = test::TestDataDir() / "expected/strings.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto expected = test::ReadJson(path);
  const TraceLoggingSupplier supplier;
  size_t compared = 0;
  for (const auto& sample : expected.GetObject()) {
    const std::string name = sample.name.GetString();
    if (name.starts_with('_')) continue;
    std::vector<const rapidjson::Value*> wanted;
    for (const auto& entry : sample.value.GetArray()) {
      if (std::string_view(entry["basis"].GetString()) == "tracelogging") wanted.push_back(&entry);
    }
    if (wanted.empty()) continue;
    const Recording recording = ReadSample(test::SamplePath(name + ".etl"));
    ASSERT_EQ(recording.problem, "");
    for (const auto* entry : wanted) {
      const auto event = std::find_if(recording.events.begin(), recording.events.end(), [&](const auto& each) {
        return each.header.timestamp == (*entry)["ts"].GetInt64() && each.header.cpu == (*entry)["cpu"].GetUint() &&
               ToString(each.provider) == (*entry)["provider"].GetString();
      });
      ASSERT_NE(event, recording.events.end()) << name;
      const EventHeader row = RowOf(*event);
      const auto schema = supplier.Find({row, event->provider, FindExtendedItem(row, ExtendedType::kTraceLogging),
                                         FindExtendedItem(row, ExtendedType::kProviderTraits)});
      ASSERT_NE(schema, nullptr) << name;
      EXPECT_EQ(schema->provider->name, (*entry)["provider_name"].GetString());
      EXPECT_EQ(schema->name, (*entry)["event"].GetString());
      EXPECT_EQ(schema->key.number, (*entry)["id"].GetUint());
      DecodedFields fields;
      EXPECT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields), DecodeOutcome::kComplete);
      size_t at = 0;
      ExpectFields(*schema, row.payload(), fields.tokens, at, (*entry)["fields"]);
      EXPECT_EQ(at, fields.tokens.size());
      ++compared;
    }
  }
  EXPECT_EQ(compared, 9u);
}

TEST(TraceLoggingSamples, PrimitiveTypesEqualPerfView) {
  const auto path = test::TestDataDir() / "expected/perfview-fields.json";
  if (const auto missing = test::MissingData(path); !missing.empty()) GTEST_SKIP() << missing;
  const auto expected = test::ReadJson(path);
  const Recording recording = ReadSample(test::SamplePath("primitive-types.etl"));
  ASSERT_EQ(recording.problem, "");
  const TraceLoggingSupplier supplier;
  size_t compared = 0;
  for (const auto& entry : expected["entries"].GetArray()) {
    if (std::string_view(entry["sample"].GetString()) != "primitive-types" || !entry.HasMember("in_types")) continue;
    const auto event = std::find_if(recording.events.begin(), recording.events.end(),
                                    [&](const auto& each) { return each.header.timestamp == entry["ts"].GetInt64(); });
    ASSERT_NE(event, recording.events.end());
    const EventHeader row = RowOf(*event);
    const auto schema = supplier.Find({row, event->provider, FindExtendedItem(row, ExtendedType::kTraceLogging),
                                       FindExtendedItem(row, ExtendedType::kProviderTraits)});
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->provider->name + '/' + schema->name, entry["perfview_name"].GetString());
    DecodedFields fields;
    ASSERT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields), DecodeOutcome::kComplete);
    ASSERT_EQ(fields.tokens.size(), entry["fields"].MemberCount());
    for (const Token& token : fields.tokens) {
      const Property& property = schema->properties[token.property];
      ASSERT_TRUE(entry["fields"].HasMember(property.name.c_str())) << property.name;
      EXPECT_EQ(static_cast<int>(property.in), entry["in_types"][property.name.c_str()].GetInt());
      Value value;
      ReadValue(property, row.payload().subspan(token.offset, token.size), value);
      std::string wanted = entry["fields"][property.name.c_str()].GetString();
      // The notes add the day of the week to a SYSTEMTIME.
      if (property.in == InType::kSystemTime) wanted = wanted.substr(0, wanted.find(' ')) + "Z";
      EXPECT_EQ(ExpectedForm(value), wanted) << property.name;
    }
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST(TraceLoggingSamples, EveryPayloadIsConsumedToTheLastByte) {
  const auto folder = test::TestDataDir() / "etl";
  if (const auto missing = test::MissingData(folder); !missing.empty()) GTEST_SKIP() << missing;
  const TraceLoggingSupplier supplier;
  size_t events = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".etl") continue;
    const Recording recording = ReadSample(file.path());
    ASSERT_EQ(recording.problem, "") << file.path();
    for (const auto& event : recording.events) {
      const EventHeader row = RowOf(event);
      const auto metadata = FindExtendedItem(row, ExtendedType::kTraceLogging);
      if (metadata.empty()) continue;
      const auto schema =
          supplier.Find({row, event.provider, metadata, FindExtendedItem(row, ExtendedType::kProviderTraits)});
      ASSERT_NE(schema, nullptr) << file.path();
      EXPECT_EQ(schema->note, "") << file.path() << ' ' << schema->name;
      DecodedFields fields;
      EXPECT_EQ(Decode(*schema, row.payload(), row.pointer_size(), fields), DecodeOutcome::kComplete)
          << file.path() << ' ' << schema->name;
      ++events;
    }
  }
  EXPECT_EQ(events, 25u) << "5 of primitive-types, 2 of lxcore_kernel, 1 of SelfDescribingSingleEvent, 17 of waasmedic";
}

}  // namespace
}  // namespace etwpipe::schema

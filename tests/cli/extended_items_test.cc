// What stands beside a payload, as JSON: every type of extended item, built by etl-format.md section 5.
#include "tests/cli/decoded_fixture.h"
#include "tools/fields_json.h"

namespace etwpipe {
namespace {

constexpr std::string_view kGuid = "01020304-0506-0708-090a-0b0c0d0e0f10";

class ExtendedItems : public DecodedFixture {
 protected:
  // Items with these types and data, as they lie in a record.
  static std::vector<std::byte> Items(const std::vector<std::pair<uint16_t, PayloadBytes>>& list) {
    std::vector<std::byte> bytes;
    for (const auto& [type, data] : list) {
      const size_t size = data.bytes().size();
      const size_t stride = (8 + size + 7) / 8 * 8;
      const size_t begin = bytes.size();
      bytes.resize(begin + stride);
      StoreAt(bytes.data(), begin, static_cast<uint16_t>(stride));
      StoreAt(bytes.data(), begin + 2, type);
      StoreAt(bytes.data(), begin + 4, static_cast<uint16_t>(&data == &list.back().second ? 0 : 1));
      StoreAt(bytes.data(), begin + 6, static_cast<uint16_t>(size));
      std::copy(data.bytes().begin(), data.bytes().end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin) + 8);
    }
    return bytes;
  }

  std::string Json(const std::vector<std::byte>& items) {
    SetSchema(std::string(kTestEvent));
    JsonWriter json;
    json.BeginObject();
    WriteExtendedItems(json, Load({}, items).row(), RawStack::kShow, value_);
    json.EndObject();
    return std::string(json.text());
  }
  std::string Json(uint16_t type, const PayloadBytes& data) { return Json(Items({{type, data}})); }
};

TEST_F(ExtendedItems, Guids) {
  const PayloadBytes guid = PayloadBytes().Add(GuidOf(kGuid));
  const std::string text = "\"" + std::string(kGuid) + "\"";
  EXPECT_EQ(Json(1, guid), "{\"related_activity_id\":" + text + "}");
  EXPECT_EQ(Json(14, guid), "{\"control_guid\":" + text + "}");
  EXPECT_EQ(Json(16, guid), "{\"container_id\":" + text + "}");
}

TEST_F(ExtendedItems, TheActivityStandsInTheHeader) {
  EXPECT_EQ(Json({}), "{}");
  activity_ = GuidOf(kGuid);
  EXPECT_EQ(Json({}), "{\"activity_id\":\"" + std::string(kGuid) + "\"}");
}

TEST_F(ExtendedItems, Sid) {
  PayloadBytes sid;
  sid.Add(uint8_t{1}).Add(uint8_t{2});
  for (const int byte : {0, 0, 0, 0, 0, 5}) sid.Add(static_cast<uint8_t>(byte));
  sid.Add(uint32_t{32}).Add(uint32_t{544});
  EXPECT_EQ(Json(2, sid), R"({"sid":"S-1-5-32-544"})");
}

TEST_F(ExtendedItems, Numbers) {
  const PayloadBytes number = PayloadBytes().Add(uint64_t{0x1122334455667788});
  EXPECT_EQ(Json(3, PayloadBytes().Add(uint32_t{4'000'000'000})), R"({"session":4000000000})");
  EXPECT_EQ(Json(7, number), R"({"pebs_index":"0x1122334455667788"})");
  EXPECT_EQ(Json(9, number), R"({"psm_key":"0x1122334455667788"})");
  EXPECT_EQ(Json(10, number), R"({"event_key":"0x1122334455667788"})");
  EXPECT_EQ(Json(13, number), R"({"process_start_key":"0x1122334455667788"})");
  EXPECT_EQ(Json(15, number), R"({"qpc_delta":"0x1122334455667788"})");
}

TEST_F(ExtendedItems, Instance) {
  EXPECT_EQ(Json(4, PayloadBytes().Add(uint32_t{7}).Add(uint32_t{6}).Add(GuidOf(kGuid))),
            R"({"instance":{"id":7,"parent_id":6,"parent_guid":")" + std::string(kGuid) + "\"}}");
}

TEST_F(ExtendedItems, Stacks) {
  EXPECT_EQ(Json(5, PayloadBytes().Add(uint64_t{0}).Add(uint32_t{0x1000}).Add(uint32_t{0xFFFFFFFF})),
            R"({"stack":["0x1000","0xffffffff"]})");
  EXPECT_EQ(Json(6, PayloadBytes().Add(uint64_t{9}).Add(uint64_t{0xFFFFF80000001000})),
            R"({"stack":["0xfffff80000001000"],"stack_match_id":"0x9"})");
  EXPECT_EQ(Json(6, PayloadBytes().Add(uint64_t{9})), R"({"stack":[],"stack_match_id":"0x9"})");
}

TEST_F(ExtendedItems, StackKeysHaveTheMatchOfTheirHalf) {
  EXPECT_EQ(Json(17, PayloadBytes().Add(uint64_t{0}).Add(uint32_t{0xABCD}).Add(uint32_t{0})),
            R"({"stack_key":"0xabcd"})");
  EXPECT_EQ(Json(18, PayloadBytes().Add(uint64_t{0x77}).Add(uint64_t{0xFFFFF80000001000})),
            R"({"stack_key":"0xfffff80000001000","stack_match_id":"0x77"})");
}

TEST_F(ExtendedItems, Counters) {
  EXPECT_EQ(Json(8, PayloadBytes().Add(uint64_t{1}).Add(uint64_t{0x20})), R"({"pmc":["0x1","0x20"]})");
}

TEST_F(ExtendedItems, DescriptionsAndUnknownTypesAreNotShown) {
  for (const uint16_t type : {uint16_t{0}, uint16_t{11}, uint16_t{12}, uint16_t{19}, uint16_t{0xFFFF}}) {
    EXPECT_EQ(Json(type, PayloadBytes().Add(uint64_t{1})), "{}");
  }
}

TEST_F(ExtendedItems, CutDataIsLeftOut) {
  const PayloadBytes cut = PayloadBytes().Add(uint16_t{1}).Add(uint8_t{1});
  for (uint16_t type = 0; type < 20; ++type) {
    if (type == 2 || type == 8) continue;
    EXPECT_EQ(Json(type, cut), "{}") << type;
  }
  EXPECT_EQ(Json(8, cut), R"({"pmc":[]})");
  EXPECT_EQ(Json(2, cut), "{}") << "a SID without an authority";
}

TEST_F(ExtendedItems, SeveralKeepTheirOrderAndABrokenOneEndsThem) {
  auto items = Items({{3, PayloadBytes().Add(uint32_t{1})}, {13, PayloadBytes().Add(uint64_t{2})}});
  EXPECT_EQ(Json(items), R"({"session":1,"process_start_key":"0x2"})");
  StoreAt(items.data(), 16, uint16_t{8});  // the second item's stride
  EXPECT_EQ(Json(items), R"({"session":1})");
}

// An object with one key twice is read differently by every reader of JSON.
TEST_F(ExtendedItems, OfOneTypeTheFirstCounts) {
  EXPECT_EQ(Json(Items({{3, PayloadBytes().Add(uint32_t{1})}, {3, PayloadBytes().Add(uint32_t{2})}})),
            R"({"session":1})");
}

}  // namespace
}  // namespace etwpipe

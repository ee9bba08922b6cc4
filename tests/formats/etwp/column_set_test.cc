#include "formats/etwp/column_set.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "formats/etwp/frame.h"

namespace etwpipe::etwp {
namespace {

class ColumnSet : public testing::Test {
 protected:
  v1::Columns Write() {
    v1::Columns out;
    EXPECT_TRUE(writer_.Finish(3, compressor_, out).ok());
    return out;
  }
  Compressor compressor_;
  ColumnWriter writer_;
};

TEST_F(ColumnSet, NumbersOfEveryShapeComeBack) {
  std::mt19937_64 random(1);
  std::vector<std::vector<uint64_t>> columns = {{0, 0, 0},
                                                {7, 7, 7, 7},
                                                {1, 2, 3, 4, 5},
                                                {5},
                                                {std::numeric_limits<uint64_t>::max(), 0, 1},
                                                {1000000, 1000001, 1000003, 999999}};
  auto& noise = columns.emplace_back(10'000);
  for (auto& value : noise) value = random() >> random() % 64;
  for (uint32_t id = 0; id < columns.size(); ++id) writer_.AddNumbers(id, id * 10, columns[id]);
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(Write()));
  for (uint32_t id = 0; id < columns.size(); ++id) {
    std::vector<uint64_t> values;
    ASSERT_TRUE(reader.Numbers(id, id * 10, columns[id].size(), values));
    EXPECT_EQ(values, columns[id]);
  }
}

TEST_F(ColumnSet, AbsentColumnsAreZerosAndEmpty) {
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(Write()));
  std::vector<uint64_t> values;
  EXPECT_TRUE(reader.Numbers(3, 4, 2, values));
  EXPECT_EQ(values, (std::vector<uint64_t>{0, 0}));
  std::span<const std::byte> bytes;
  EXPECT_TRUE(reader.Bytes(3, 4, bytes));
  EXPECT_TRUE(bytes.empty());
}

TEST_F(ColumnSet, CountMustFitExactly) {
  writer_.AddNumbers(1, 0, std::vector<uint64_t>{1, 300, 3});
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(Write()));
  std::vector<uint64_t> values;
  EXPECT_TRUE(reader.Numbers(1, 0, 3, values));
  EXPECT_FALSE(reader.Numbers(1, 0, 2, values));
  EXPECT_FALSE(reader.Numbers(1, 0, 4, values));
  EXPECT_FALSE(reader.Numbers(1, 0, size_t{1} << 60, values));
}

TEST_F(ColumnSet, UnknownEncodingIsSaidAndNothingIsRead) {
  writer_.AddNumbers(1, 0, std::vector<uint64_t>{1, 2, 3});
  auto columns = Write();
  columns.add_encodings(99);
  ColumnReader reader;
  const auto error = reader.Open(columns);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->id, DiagnosticId::kArchiveEncodingUnknown);
}

TEST_F(ColumnSet, UnknownCompressionIsSaid) {
  writer_.AddNumbers(1, 0, std::vector<uint64_t>{1, 2, 3});
  auto columns = Write();
  columns.set_compression(static_cast<v1::Columns::Compression>(9));
  ColumnReader reader;
  const auto error = reader.Open(columns);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->id, DiagnosticId::kArchiveEncodingUnknown);
}

TEST_F(ColumnSet, HugeDeclaredSizesAreRefusedBeforeAllocating) {
  auto& bytes = writer_.BeginBytes(1, 0);
  bytes.resize(bytes.size() + 100'000);
  writer_.EndBytes();
  const auto good = Write();
  ColumnReader reader;
  ASSERT_FALSE(reader.Open(good));
  auto columns = good;
  columns.set_content_length(0xFFFFFFFF);
  EXPECT_TRUE(reader.Open(columns));
  columns = good;
  columns.set_content_length(good.content_length() + 1);
  EXPECT_TRUE(reader.Open(columns));
  columns = good;
  columns.set_directory_length(0xFFFFFFFF);
  EXPECT_TRUE(reader.Open(columns));
  // A zstd frame that states 4 GiB.
  columns = good;
  const std::string bomb("\x28\xB5\x2F\xFD\xA0\x00\x00\x00\x80\x01\x00\x00", 12);
  columns.set_content(bomb);
  EXPECT_TRUE(reader.Open(columns));
}

TEST_F(ColumnSet, MoreColumnsThanABlockCanHaveAreRefused) {
  v1::ColumnDirectory directory;
  for (uint32_t of = 0; of <= 1 << 20; ++of) {
    directory.add_id(1);
    directory.add_of(of);
    directory.add_encoding(v1::ENCODING_BYTES);
    directory.add_length(0);
  }
  v1::Columns columns;
  columns.add_encodings(v1::ENCODING_BYTES);
  const auto open = [&] {
    *columns.mutable_content() = directory.SerializeAsString();
    columns.set_directory_length(static_cast<uint32_t>(columns.content().size()));
    columns.set_content_length(columns.directory_length());
    return ColumnReader().Open(columns);
  };
  EXPECT_TRUE(open());
  for (auto* list :
       {directory.mutable_id(), directory.mutable_of(), directory.mutable_encoding(), directory.mutable_length()}) {
    list->RemoveLast();
  }
  EXPECT_FALSE(open());
}

TEST_F(ColumnSet, EveryCutOfTheContentIsAnError) {
  writer_.AddNumbers(1, 0, std::vector<uint64_t>{1, 2, 3, 500, 70000});
  const auto good = Write();
  ColumnReader reader;
  for (size_t size = 0; size < good.content().size(); ++size) {
    auto columns = good;
    columns.mutable_content()->resize(size);
    EXPECT_TRUE(reader.Open(columns)) << size;
  }
}

TEST_F(ColumnSet, TooMuchForAFrameIsAnError) {
  auto& bytes = writer_.BeginBytes(1, 0);
  bytes.resize(kMaxContent);
  writer_.EndBytes();
  v1::Columns out;
  EXPECT_FALSE(writer_.Finish(1, compressor_, out).ok());
}

}  // namespace
}  // namespace etwpipe::etwp

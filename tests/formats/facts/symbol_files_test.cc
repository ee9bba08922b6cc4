// Symbol files: what their lines say, and which file is found for an image or a process.
#include "formats/facts/symbol_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace etwpipe::facts {
namespace {

const Guid kGuid = GuidOf("11223344-5566-7788-99aa-bbccddeeff00");
constexpr std::string_view kId = "112233445566778899AABBCCDDEEFF001F";  // age 0x1f

std::string SymText(std::string_view id, std::string_view function, std::string_view module = "ntdll.pdb") {
  return "MODULE windows x86_64 " + std::string(id) + " " + std::string(module) + "\nFUNC 1000 20 0 " +
         std::string(function) + "\n";
}

SymbolFile Parse(SymbolFormat format, std::string_view text) {
  SymbolParser parser(format);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    parser.Line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return parser.Finish();
}

std::string Name(const SymbolTable* table, uint64_t address) {
  const auto symbol = table == nullptr ? std::nullopt : table->Find(address);
  return symbol ? std::string(symbol->name) : "";
}

TEST(SymbolFile, BreakpadRecords) {
  const auto file = Parse(SymbolFormat::kBreakpad,
                          "MODULE windows x86_64 0011223344556677889aabbccddeeff12 a name.pdb\r\n"
                          "INFO CODE_ID 5A\n"
                          "FILE 0 c:\\a.cc\n"
                          "INLINE_ORIGIN 0 inlined\n"
                          "FUNC 1000 20 8 ns::Function(int, char const *)\r\n"
                          "INLINE 0 1 0 0 1000 8\n"
                          "1000 10 5 0\n"
                          "FUNC m 2000 10 0 folded\n"
                          "FUNC 3000 0 0 no_size\n"
                          "PUBLIC m 4000 0 place\n"
                          "STACK WIN 4 1000 20 0 0 0 0 0 0 1 x\n");
  EXPECT_EQ(file.id, "0011223344556677889AABBCCDDEEFF12");
  EXPECT_EQ(file.name, "a name.pdb");
  EXPECT_EQ(file.bad_lines, 0u);
  EXPECT_EQ(Name(&file.table, 0x101F), "ns::Function(int, char const *)");
  EXPECT_EQ(Name(&file.table, 0x1020), "");
  EXPECT_EQ(Name(&file.table, 0x2000), "folded");
  EXPECT_EQ(Name(&file.table, 0x3500), "no_size");
  EXPECT_EQ(Name(&file.table, 0x4001), "place");
}

TEST(SymbolFile, LinesThatMakeNoSenseAreCounted) {
  const auto file = Parse(SymbolFormat::kBreakpad,
                          "MODULE windows x86_64 00\n"
                          "FUNC\nFUNC 10\nFUNC 10 20\nFUNC 10 20 0\nFUNC 10 20 0 \nFUNC x 20 0 a\nFUNC 10 2g 0 a\n"
                          "FUNC 10000000000000000 1 0 a\nPUBLIC 10 a\nPUBLIC m\n\n");
  EXPECT_EQ(file.bad_lines, 11u);
  EXPECT_TRUE(file.table.empty());
  const auto map =
      Parse(SymbolFormat::kPerfMap, "10\n10 20\n10 0 a\n10 20 \nzz 20 a\n-1 20 a\n10 20 b c\n0x30 0x1 d\n");
  EXPECT_EQ(map.bad_lines, 6u);
  EXPECT_EQ(Name(&map.table, 0x2F), "b c");
  EXPECT_EQ(Name(&map.table, 0x30), "d");
}

TEST(SymbolFile, NameOfAPerfMapIsItsProcess) {
  EXPECT_EQ(PerfMapProcess("perf-12.map"), 12u);
  for (const char* name :
       {"perf-.map", "perf.map", "perf-1x.map", "perf-12.map2", "perf--1.map", "perf-4294967296.map"}) {
    EXPECT_FALSE(PerfMapProcess(name)) << name;
  }
}

class SymbolFolder : public testing::Test {
 protected:
  std::string Write(const std::filesystem::path& name, std::string_view text) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::unique_ptr<SymbolFiles> Open(const std::vector<std::string>& paths) {
    auto files = SymbolFiles::Open(paths);
    EXPECT_TRUE(files.ok()) << files.status().message();
    return files.ok() ? std::move(*files) : nullptr;
  }
  static SymbolRequest Request(uint32_t age = 0x1F) {
    return {.image = "ntdll.dll", .pdb = "c:\\build\\NtDll.pdb", .pdb_guid = kGuid, .pdb_age = age};
  }

  test::TempFolder folder_;
};

TEST_F(SymbolFolder, StoreIsSearchedByPdbAndIdentity) {
  Write("ntdll.pdb/" + std::string(kId) + "/ntdll.sym", SymText(kId, "of_this_age"));
  Write("ntdll.pdb/112233445566778899AABBCCDDEEFF0020/ntdll.sym",
        SymText("112233445566778899AABBCCDDEEFF0020", "of_the_next_age"));
  const auto files = Open({folder_.path().string()});
  EXPECT_EQ(Name(files->ForImage(Request()), 0x1001), "of_this_age");
  EXPECT_EQ(Name(files->ForImage(Request(0x20)), 0x1001), "of_the_next_age");
  EXPECT_EQ(files->ForImage(Request(0x21)), nullptr);
  SymbolRequest other = Request();
  other.pdb = "kernel32.pdb";
  other.image = "kernel32.dll";
  EXPECT_EQ(files->ForImage(other), nullptr);
}

TEST_F(SymbolFolder, FlatFilesGoByNameUnlessTheIdentityDiffers) {
  Write("NTDLL.sym", SymText(kId, "flat"));
  Write("kernel32.pdb.sym", SymText("00", "by_pdb", "kernel32.pdb"));
  const auto files = Open({folder_.path().string()});
  EXPECT_EQ(Name(files->ForImage(Request()), 0x1000), "flat");
  EXPECT_EQ(files->ForImage(Request(1)), nullptr) << "wrong names are worse than none";
  EXPECT_EQ(Name(files->ForImage({.image = "ntdll.dll", .pdb = {}, .pdb_guid = {}}), 0x1000), "flat");
  EXPECT_EQ(Name(files->ForImage({.image = "kernel32.dll", .pdb = "kernel32.pdb", .pdb_guid = {}}), 0x1000), "by_pdb");
  EXPECT_EQ(files->ForImage({.image = "../NTDLL.dll/..", .pdb = "..\\..", .pdb_guid = kGuid}), nullptr);
}

TEST_F(SymbolFolder, FileGivenByNameCountsForItsIdentityOrItsModule) {
  const auto path = Write("any.txt", SymText(kId, "given"));
  const auto map = Write("perf-12.map", "7f0010 20 jitted\nbad\n");
  const auto files = Open({path, map});
  EXPECT_EQ(Name(files->ForImage(Request()), 0x1000), "given");
  EXPECT_EQ(files->ForImage(Request(2)), nullptr);
  EXPECT_EQ(Name(files->ForImage({.image = "ntdll.dll", .pdb = {}, .pdb_guid = {}}), 0x1000), "given");
  EXPECT_EQ(Name(files->ForProcess(12), 0x7f0011), "jitted");
  EXPECT_EQ(files->ForProcess(13), nullptr);
  EXPECT_EQ(files->TakeProblems(), 1u);
  EXPECT_EQ(files->TakeProblems(), 0u);
}

TEST_F(SymbolFolder, WhatIsNoSymbolFileIsAnErrorWithItsName) {
  for (const auto& path : {Write("words.txt", "these are words\n"), Write("empty.sym", ""),
                           Write("long.sym", std::string(300'000, 'x')), (folder_.path() / "none.sym").string()}) {
    const auto files = SymbolFiles::Open({path});
    ASSERT_FALSE(files.ok()) << path;
    EXPECT_NE(files.status().message().find(path), std::string::npos) << files.status().message();
  }
}

TEST_F(SymbolFolder, LongLinesArePassedOver) {
  const std::string text = SymText(kId, "before") + "FUNC 2000 10 0 " + std::string(300'000, 'x') + "\n" +
                           "FUNC 3000 10 0 " + std::string(65'000, 'y') + "\nFUNC 4000 10 0 after";
  const auto file = ReadSymbolFile(Write("a.sym", text));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->bad_lines, 1u);
  EXPECT_EQ(Name(&file->table, 0x1000), "before");
  EXPECT_EQ(Name(&file->table, 0x2000), "");
  EXPECT_EQ(Name(&file->table, 0x3000), std::string(65'000, 'y'));
  EXPECT_EQ(Name(&file->table, 0x4000), "after") << "the last line has no end";
}

TEST_F(SymbolFolder, UnreadableFilesOfAFolderAreProblemsNotErrors) {
  Write("ntdll.sym", "not symbols\n");
  const auto files = Open({folder_.path().string()});
  EXPECT_EQ(files->ForImage(Request()), nullptr);
  EXPECT_EQ(files->ForImage(Request()), nullptr);
  EXPECT_EQ(files->TakeProblems(), 1u) << "asked twice, read once";
}

}  // namespace
}  // namespace etwpipe::facts

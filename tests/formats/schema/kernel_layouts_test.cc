// Kernel layouts that no recording shows: old versions, 32-bit pointers, rare events. Each line below is a row of the
// tables in etl-format.md 8; a payload is built from it and taken apart by the built-in schema.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "formats/schema/provider_names.h"
#include "tests/formats/schema/decoded_event.h"

namespace etwpipe::schema {
namespace {

constexpr uint16_t kOpen = 0xFFFF;

// Fields are "Name type" with commas between. Types: u i x and bits (decimal, signed, hex), ptr (hex) and size
// (decimal) as wide as pointers, port, ip4, ip6, guid, sid, astr, wstr, wN (N characters of two bytes); "?" marks a
// field that older writers leave out. "Name n2" is a u32 count that says 2; "Name 2*type" are that many elements.
struct Row {
  const char* name;
  uint8_t type;
  uint16_t first_version;
  uint16_t last_version;
  std::string fields;
};

class PayloadBuilder {
 public:
  explicit PayloadBuilder(uint32_t pointer_size) : pointer_size_(pointer_size) {}

  void Add(const std::string& name, std::string type) {
    size_t count = 1;
    if (const size_t star = type.find('*'); star != std::string::npos) {
      count = static_cast<size_t>(std::stoul(type.substr(0, star)));
      type = type.substr(star + 1);
    }
    for (size_t i = 0; i < count; ++i) lines += name + "=" + One(type) + "\n";
  }

  std::vector<std::byte> bytes;
  std::string lines;

 private:
  // A different value each time, with different bytes: fields that change places are noticed.
  uint64_t Next(size_t width) {
    const uint64_t value = 0x8899AABBCCDDEEFFu * ++counter_;
    return width == 8 ? value : value & ((uint64_t{1} << width * 8) - 1);
  }
  void Put(const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  uint64_t PutNumber(size_t width) {
    const uint64_t value = Next(width);
    Put(&value, width);
    return value;
  }
  void PutWide(const std::string& text, size_t units) {
    for (size_t i = 0; i < units; ++i) {
      const char16_t unit = i < text.size() ? static_cast<char16_t>(text[i]) : u'\0';
      Put(&unit, 2);
    }
  }

  std::string One(const std::string& type) {
    if (type == "ptr") return fmt::format("0x{:x}", PutNumber(pointer_size_));
    if (type == "size") return fmt::format("{}", PutNumber(pointer_size_));
    if (type == "port") {
      const uint64_t value = PutNumber(2);
      return fmt::format("{}", (value & 0xFF) << 8 | value >> 8);
    }
    if (type == "ip4") {
      const uint64_t value = PutNumber(4);
      return fmt::format("{}.{}.{}.{}", value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24);
    }
    if (type == "ip6") {
      const uint8_t address[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ++counter_};
      Put(address, sizeof address);
      return fmt::format("2001:db8::{:x}", counter_);
    }
    if (type == "guid") {
      const std::string text = fmt::format("{:08x}-1234-5678-9abc-def012345678", ++counter_);
      const Guid guid = GuidOf(text);
      Put(&guid, sizeof guid);
      return text;
    }
    if (type == "sid") {
      // TOKEN_USER, whose first word is not 0, and S-1-5-18.
      for (int i = 0; i < 2; ++i) PutNumber(pointer_size_);
      const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
      Put(sid, sizeof sid);
      return "S-1-5-18";
    }
    if (type == "nosid") {
      const uint32_t none = 0;
      Put(&none, 4);
      return "";
    }
    if (type == "astr" || type == "wstr") {
      const std::string text = fmt::format("text {}", ++counter_);
      if (type == "astr") Put(text.c_str(), text.size() + 1);
      if (type == "wstr") PutWide(text, text.size() + 1);
      return text;
    }
    const auto number = static_cast<uint32_t>(std::stoul(type.substr(1)));
    if (type[0] == 'n') {
      Put(&number, 4);
      return fmt::format("{}", number);
    }
    if (type[0] == 'w') {
      const std::string text = fmt::format("{}", ++counter_).substr(0, number);
      PutWide(text, number);
      return text;
    }
    const uint64_t value = PutNumber(number / 8);
    if (type[0] == 'x') return fmt::format("0x{:x}", value);
    if (type[0] == 'u') return fmt::format("{}", value);
    const auto shift = static_cast<int>(64 - number);
    return fmt::format("{}", static_cast<int64_t>(value << shift) >> shift);
  }

  uint32_t pointer_size_;
  uint8_t counter_ = 0;
};

struct Built {
  std::vector<std::byte> bytes;
  std::string lines;
  size_t required = 0;  // bytes up to the first field that may be left out
};

Built Build(const std::string& fields, uint32_t pointer_size) {
  PayloadBuilder builder(pointer_size);
  std::istringstream list(fields);
  size_t required = SIZE_MAX;
  for (std::string field; std::getline(list, field, ',');) {
    std::istringstream words(field);
    std::string name;
    std::string type;
    words >> name >> type;
    if (type.ends_with('?')) {
      required = std::min(required, builder.bytes.size());
      type.pop_back();
    }
    builder.Add(name, type);
  }
  return {builder.bytes, builder.lines, std::min(required, builder.bytes.size())};
}

void CheckRow(const Guid& provider, const Row& row, uint16_t version, uint32_t pointer_size) {
  SCOPED_TRACE(fmt::format("{} type {} version {}, {}-byte pointers", row.name, row.type, version, pointer_size));
  const Built built = Build(row.fields, pointer_size);
  const std::span payload(built.bytes);
  auto decoded = DecodeClassic(provider, row.type, version, payload, pointer_size);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->schema->name, row.name);
  EXPECT_EQ(decoded->lines, built.lines);
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);

  // Whatever is cut off: no field is invented, and only what may be missing is not missed.
  for (size_t size = 0; size < payload.size(); ++size) {
    decoded = DecodeClassic(provider, row.type, version, payload.first(size), pointer_size);
    ASSERT_TRUE(decoded);
    if (size == built.required) {
      EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete) << size << " bytes";
    } else {
      EXPECT_EQ(decoded->outcome, DecodeOutcome::kShort) << size << " bytes";
    }
  }
  auto longer = built.bytes;
  longer.push_back(std::byte{1});
  decoded = DecodeClassic(provider, row.type, version, longer, pointer_size);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kExtra);
  EXPECT_EQ(decoded->lines, built.lines);
}

void CheckRows(std::string_view provider, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const uint32_t pointer_size : {4u, 8u}) {
      CheckRow(GuidOf(provider), row, row.first_version, pointer_size);
      if (row.last_version != row.first_version) CheckRow(GuidOf(provider), row, row.last_version, pointer_size);
    }
  }
}

TEST(KernelLayouts, Process) {
  const std::string v2 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, UserSID sid, ImageFileName "
      "astr, CommandLine wstr";
  const std::string v3 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, DirectoryTableBase ptr, "
      "UserSID sid, ImageFileName astr, CommandLine wstr";
  const std::string v4 =
      "UniqueProcessKey ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, DirectoryTableBase ptr, "
      "Flags x32, UserSID sid, ImageFileName astr, CommandLine wstr, PackageFullName wstr, ApplicationId wstr";
  const char* const names[] = {"", "Process/Start", "Process/Stop", "Process/DCStart", "Process/DCStop"};
  std::vector<Row> rows;
  for (uint8_t type = 1; type <= 4; ++type) {
    rows.push_back({names[type], type, 0, 0, "ProcessId ptr, ParentId ptr, UserSID sid, ImageFileName astr"});
    rows.push_back({names[type], type, 1, 1,
                    "PageDirectoryBase ptr, ProcessId u32, ParentId u32, SessionId i32, ExitStatus i32, UserSID "
                    "nosid, ImageFileName astr"});
    rows.push_back({names[type], type, 2, 2, v2});
    rows.push_back({names[type], type, 3, 3, v3});
    rows.push_back({names[type], type, 4, kOpen, v4});
  }
  rows.push_back({"Process/Defunct", 39, 2, 2, v2});
  rows.push_back({"Process/Defunct", 39, 3, 3, v3});
  rows.push_back({"Process/Defunct", 39, 4, 4, v4});
  rows.push_back({"Process/Terminate", 11, 0, kOpen, "ProcessId u32"});
  rows.push_back({"Process/PerfCtr", 32, 2, kOpen,
                  "ProcessId u32, PageFaultCount u32, HandleCount u32, Reserved u32, PeakVirtualSize size, "
                  "PeakWorkingSetSize size, PeakPagefileUsage size, QuotaPeakPagedPoolUsage size, "
                  "QuotaPeakNonPagedPoolUsage size, VirtualSize size, WorkingSetSize size, PagefileUsage size, "
                  "QuotaPagedPoolUsage size, QuotaNonPagedPoolUsage size, PrivatePageCount size"});
  rows.push_back({"Process/DebugEvent", 112, 2, kOpen, "ProcessId u32, ThreadId u32, Reason u32"});
  CheckRows("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", rows);
}

TEST(KernelLayouts, Thread) {
  const std::string addresses =
      "ProcessId u32, TThreadId u32, StackBase ptr, StackLimit ptr, UserStackBase ptr, UserStackLimit ptr, ";
  const std::string v1 = addresses + "StartAddr ptr, Win32StartAddr ptr, WaitMode i8";
  const std::string v2 = addresses + "StartAddr ptr, Win32StartAddr ptr, TebBase ptr, SubProcessTag x32";
  const std::string v3 = addresses +
                         "Affinity ptr, Win32StartAddr ptr, TebBase ptr, SubProcessTag x32, BasePriority i8, "
                         "PagePriority u8, IoPriority u8, ThreadFlags x8, ThreadName wstr?";
  const char* const names[] = {"", "Thread/Start", "Thread/Stop", "Thread/DCStart", "Thread/DCStop"};
  std::vector<Row> rows;
  for (uint8_t type = 1; type <= 4; ++type) {
    rows.push_back({names[type], type, 0, 0, "TThreadId u32, ProcessId u32"});
    rows.push_back({names[type], type, 1, 1, type % 2 == 1 ? v1 : "ProcessId u32, TThreadId u32"});
    rows.push_back({names[type], type, 2, 2, v2});
    rows.push_back({names[type], type, 3, kOpen, v3});
  }
  const std::string priority = "ThreadId u32, OldPriority i8, NewPriority i8, DynamicPriority i8, Reserved i8";
  const std::vector<Row> others = {
      {"Thread/CSwitch", 36, 1, 1,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, NewThreadQuantum i8, "
       "OldThreadQuantum i8, OldThreadWaitReason u8, OldThreadWaitMode i8, OldThreadState u8, "
       "OldThreadWaitIdealProcessor u8, NewThreadWaitTime u32"},
      {"Thread/CSwitch", 36, 2, 3,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, PreviousCState u8, SpareByte "
       "i8, OldThreadWaitReason u8, OldThreadWaitMode i8, OldThreadState u8, OldThreadWaitIdealProcessor u8, "
       "NewThreadWaitTime u32, Reserved u32"},
      {"Thread/CSwitch", 36, 4, kOpen,
       "NewThreadId u32, OldThreadId u32, NewThreadPriority i8, OldThreadPriority i8, PreviousCState u8, SpareByte "
       "i8, OldThreadWaitReason u8, ThreadFlags x8, OldThreadState u8, OldThreadWaitIdealProcessor u8, "
       "NewThreadWaitTime u32, Reserved u32"},
      {"Thread/CompCS", 37, 2, kOpen, ""},
      {"Dispatcher/ReadyThread", 50, 2, kOpen,
       "TThreadId u32, AdjustReason u8, AdjustIncrement i8, Flag x8, Reserved u8"},
      {"Thread/SetPriority", 48, 2, kOpen, priority},
      {"Thread/SetBasePriority", 49, 2, kOpen, priority},
      {"Thread/SetPagePriority", 51, 2, kOpen, priority},
      {"Thread/SetIoPriority", 52, 2, kOpen, priority},
      {"Thread/SetAffinity", 53, 2, kOpen, "Affinity ptr, ThreadId u32, Group u16, Reserved u16"},
      {"Thread/WorkerThread", 57, 2, kOpen, "TThreadId u32, StartTime u64, ThreadRoutine ptr"},
      {"Thread/SpinLock", 41, 2, kOpen,
       "SpinLockAddress ptr, CallerAddress ptr, AcquireTime u64, ReleaseTime u64, WaitTimeInCycles u32, SpinCount "
       "u32, ThreadId u32, InterruptCount u32, Irql u8, AcquireDepth u8, Flag x8, Reserved 5*u8"},
      {"Thread/KQueueEnqueue", 62, 2, kOpen, "Entry ptr, ThreadId u32"},
      {"Thread/KQueueDequeue", 63, 2, kOpen, "ThreadId u32, EntryCount n3, Entries 3*ptr"},
      {"Thread/SetName", 72, 2, kOpen, "ProcessId u32, ThreadId u32, ThreadName wstr"},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  CheckRows("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", rows);
}

TEST(KernelLayouts, Image) {
  const char* const tail = "DefaultBase ptr, Reserved1 u32, Reserved2 u32, Reserved3 u32, Reserved4 u32, FileName wstr";
  const std::string head = "ImageBase ptr, ImageSize size, ProcessId u32, ImageChecksum u32, TimeDateStamp u32, ";
  std::vector<Row> rows;
  for (const auto& [type, name] : std::initializer_list<std::pair<uint8_t, const char*>>{
           {10, "Image/Load"}, {2, "Image/Unload"}, {3, "Image/DCStart"}, {4, "Image/DCStop"}}) {
    rows.push_back({name, type, 0, 0, "BaseAddress ptr, ModuleSize u32, ImageFileName wstr"});
    rows.push_back({name, type, 1, 1, "ImageBase ptr, ImageSize size, ProcessId u32, FileName wstr"});
    rows.push_back({name, type, 2, 2, head + "Reserved0 u32, " + tail});
    rows.push_back({name, type, 3, kOpen, head + "SignatureLevel u8, SignatureType u8, Reserved0 u16, " + tail});
  }
  rows.push_back({"Image/KernelBase", 33, 0, kOpen, "ImageBase ptr"});
  rows.push_back({"Image/HypercallPage", 34, 0, kOpen, "HypercallPageVa ptr"});
  CheckRows("2cb15d1d-5fc1-11d2-abe1-00a0c911f518", rows);
}

TEST(KernelLayouts, PerfInfo) {
  const std::string interrupt = "InitialTime i64, Routine ptr, ReturnValue u8, Vector u16, Reserved u8";
  const std::string dpc = "InitialTime i64, Routine ptr";
  const std::string interval = "Source u32, NewInterval u32, OldInterval u32";
  const std::string spin_lock =
      "SpinLockSpinThreshold u32, SpinLockContentionSampleRate u32, SpinLockAcquireSampleRate u32, "
      "SpinLockHoldThreshold u32";
  CheckRows(
      "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",
      {{"PerfInfo/Mark", 34, 2, kOpen, "Message astr"},
       {"PerfInfo/Sample", 46, 2, kOpen, "InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8"},
       {"PerfInfo/PMCSample", 47, 2, kOpen, "InstructionPointer ptr, ThreadId u32, ProfileSource u16, Reserved u16"},
       {"PerfInfo/PMCCounterConfig", 48, 2, kOpen, "CounterCount n2, CounterName 2*wstr"},
       {"PerfInfo/PMCCounterCorruption", 49, 2, kOpen,
        "ProcessorIndex u32, SourceCount n2, ProfileSource u32, LastGoodCount u64, ProfileSource u32, "
        "LastGoodCount u64"},
       {"PerfInfo/MSI", 50, 2, kOpen, interrupt + ", MessageNumber u32"},
       {"PerfInfo/SysClEnter", 51, 2, kOpen, "SysCallAddress ptr"},
       {"PerfInfo/SysClExit", 52, 2, kOpen, "SysCallNtStatus x32"},
       {"PerfInfo/SampleCache", 55, 2, kOpen,
        "EntryCount n2, InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8, "
        "InstructionPointer ptr, ThreadId u32, Count u16, Flags x8, Rank u8"},
       {"PerfInfo/DebuggerEnabled", 58, 2, kOpen, ""},
       {"PerfInfo/ThreadedDPC", 66, 0, kOpen, dpc},
       {"PerfInfo/ISR", 67, 1, 1, "InitialTime i64, Routine ptr, ReturnValue u32"},
       {"PerfInfo/ISR", 67, 2, kOpen, interrupt},
       {"PerfInfo/DPC", 68, 0, kOpen, dpc},
       {"PerfInfo/TimerDPC", 69, 0, kOpen, dpc},
       {"PerfInfo/PassiveISR", 95, 2, kOpen, interrupt},
       {"PerfInfo/SetInterval", 72, 2, 2, interval},
       {"PerfInfo/SetInterval", 72, 3, kOpen, interval + ", SourceName wstr"},
       {"PerfInfo/CollectionStart", 73, 2, 2, interval},
       {"PerfInfo/CollectionEnd", 74, 2, 2, interval},
       {"PerfInfo/SpinLockConfigStart", 75, 2, kOpen, spin_lock},
       {"PerfInfo/SpinLockConfigEnd", 76, 2, kOpen, spin_lock},
       {"PerfInfo/ClockInterrupt", 79, 2, kOpen, "InterruptTime u64, Flags x16"}});
}

TEST(KernelLayouts, StackWalkKeys) {
  const std::string key = "EventTimeStamp u64, StackProcess u32, StackThread u32, StackKey ptr";
  CheckRows("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",
            {{"StackWalk/KeyKernel", 37, 2, kOpen, key}, {"StackWalk/KeyUser", 38, 2, kOpen, key}});
}

// As many frames as the payload holds; bytes that are no whole frame are left over.
TEST(KernelLayouts, StackWalkFrames) {
  const Guid provider = GuidOf("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3");
  for (const uint32_t pointer_size : {4u, 8u}) {
    for (const auto& [type, head] : std::initializer_list<std::pair<uint8_t, std::string>>{
             {32, "EventTimeStamp u64, StackProcess u32, StackThread u32"},
             {34, "StackKey ptr"},
             {35, "StackKey ptr"},
             {36, "StackKey ptr"}}) {
      for (int frames = 0; frames <= 192; frames += 16) {
        const Built built = Build(fmt::format("{}, Stack {}*ptr", head, frames), pointer_size);
        auto decoded = DecodeClassic(provider, type, 2, built.bytes, pointer_size);
        ASSERT_TRUE(decoded);
        EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);
        EXPECT_EQ(decoded->lines, built.lines);
        auto longer = built.bytes;
        longer.push_back(std::byte{1});
        decoded = DecodeClassic(provider, type, 2, longer, pointer_size);
        EXPECT_EQ(decoded->outcome, DecodeOutcome::kExtra);
        EXPECT_EQ(decoded->lines, built.lines);
      }
    }
  }
}

TEST(KernelLayouts, DiskIo) {
  const std::string transfer =
      "DiskNumber u32, IrpFlags x32, TransferSize u32, Reserved u32, ByteOffset u64, FileObject ptr, Irp ptr, "
      "HighResResponseTime u64";
  const std::string flush = "DiskNumber u32, IrpFlags x32, HighResResponseTime u64, Irp ptr";
  const std::string thread = ", IssuingThreadId u32";
  std::vector<Row> rows = {
      {"DiskIO/RedirectedInit", 16, 2, kOpen, "Irp ptr, FileKey ptr"},
      {"DiskIO/DriverMajorFunctionCall", 34, 2, kOpen,
       "MajorFunction u32, MinorFunction u32, RoutineAddr ptr, FileObject ptr, Irp ptr, UniqMatchId u32"},
      {"DiskIO/DriverMajorFunctionReturn", 35, 2, kOpen, "Irp ptr, UniqMatchId u32"},
      {"DiskIO/DriverCompletionRoutine", 37, 2, kOpen, "Routine ptr, IrpPtr ptr, UniqMatchId u32"},
      {"DiskIO/DriverCompleteRequest", 52, 2, kOpen, "RoutineAddr ptr, Irp ptr, UniqMatchId u32"},
      {"DiskIO/DriverCompleteRequestReturn", 53, 2, kOpen, "Irp ptr, UniqMatchId u32"}};
  struct Kind {
    const char* name;
    uint8_t type;
    const std::string& layout;
  };
  const std::string init = "Irp ptr";
  for (const Kind& kind : std::initializer_list<Kind>{{"DiskIO/Read", 10, transfer},
                                                      {"DiskIO/Write", 11, transfer},
                                                      {"DiskIO/ReadInit", 12, init},
                                                      {"DiskIO/WriteInit", 13, init},
                                                      {"DiskIO/FlushBuffers", 14, flush},
                                                      {"DiskIO/FlushInit", 15, init},
                                                      {"DiskIO/OpticalRead", 55, transfer},
                                                      {"DiskIO/OpticalWrite", 56, transfer},
                                                      {"DiskIO/OpticalFlushBuffers", 57, flush},
                                                      {"DiskIO/OpticalReadInit", 58, init},
                                                      {"DiskIO/OpticalWriteInit", 59, init},
                                                      {"DiskIO/OpticalFlushInit", 60, init}}) {
    rows.push_back({kind.name, kind.type, 2, 2, kind.layout});
    rows.push_back({kind.name, kind.type, 3, kOpen, kind.layout + thread});
  }
  CheckRows("3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", rows);
  CheckRows("d837ca92-12b9-44a5-ad6a-3a65b3578aa8", {{"SplitIo/VolMgr", 32, 0, kOpen, "ParentIrp ptr, ChildIrp ptr"}});
}

TEST(KernelLayouts, FileIo) {
  struct Kind {
    const char* name;
    uint8_t type;
    std::string v2;
    std::string v3;
  };
  const std::string map_v2 = "ViewBase ptr, FileKey ptr, MiscInfo x64, ViewSize size, ProcessId u32";
  const std::string map_v3 = "ViewBase ptr, FileKey ptr, MiscInfo x64, ViewSize size, ByteOffset u64, ProcessId u32";
  const std::string objects_v2 = "IrpPtr ptr, TTID ptr, FileObject ptr, FileKey ptr";
  const std::string objects_v3 = "IrpPtr ptr, FileObject ptr, FileKey ptr";
  const std::string create_v2 =
      "IrpPtr ptr, TTID ptr, FileObject ptr, CreateOptions x32, FileAttributes x32, ShareAccess x32, OpenPath wstr";
  const std::string create_v3 =
      "IrpPtr ptr, FileObject ptr, TTID u32, CreateOptions x32, FileAttributes x32, ShareAccess x32, OpenPath wstr";
  const std::string simple_v3 = objects_v3 + ", TTID u32";
  const std::string info_v2 = objects_v2 + ", ExtraInfo ptr, InfoClass u32";
  const std::string info_v3 = objects_v3 + ", ExtraInfo ptr, TTID u32, InfoClass u32";
  const std::string transfer_v2 = "Offset u64, " + objects_v2 + ", IoSize u32, IoFlags x32";
  const std::string transfer_v3 = "Offset u64, " + objects_v3 + ", TTID u32, IoSize u32, IoFlags x32, ExtraFlags x32?";
  const std::string directory = ", Length u32, InfoClass u32, FileIndex u32, FileName wstr";
  const Kind kinds[] = {
      {"FileIO/MapFile", 37, map_v2, map_v3},
      {"FileIO/UnmapFile", 38, map_v2, map_v3},
      {"FileIO/MapFileDCStart", 39, map_v2, map_v3},
      {"FileIO/MapFileDCStop", 40, map_v2, map_v3},
      {"FileIO/Create", 64, create_v2, create_v3},
      {"FileIO/Cleanup", 65, objects_v2, simple_v3},
      {"FileIO/Close", 66, objects_v2, simple_v3},
      {"FileIO/Read", 67, transfer_v2, transfer_v3},
      {"FileIO/Write", 68, transfer_v2, transfer_v3},
      {"FileIO/SetInfo", 69, info_v2, info_v3},
      {"FileIO/Delete", 70, info_v2, info_v3},
      {"FileIO/Rename", 71, info_v2, info_v3},
      {"FileIO/DirEnum", 72, objects_v2 + directory, simple_v3 + directory},
      {"FileIO/Flush", 73, objects_v2, simple_v3},
      {"FileIO/QueryInfo", 74, info_v2, info_v3},
      {"FileIO/FSControl", 75, objects_v2 + ", ExtraInfo ptr, InfoClass x32",
       objects_v3 + ", ExtraInfo ptr, TTID u32, InfoClass x32"},
      {"FileIO/DirNotify", 77, objects_v2 + directory, simple_v3 + directory},
      {"FileIO/CreateNew", 78, create_v2, create_v3},
  };
  std::vector<Row> rows;
  for (const Kind& kind : kinds) {
    rows.push_back({kind.name, kind.type, 2, 2, kind.v2});
    rows.push_back({kind.name, kind.type, 3, kOpen, kind.v3});
  }
  const std::string name = "FileObject ptr, FileName wstr";
  const std::string filter =
      "RoutineAddr ptr, FileObject ptr, FileContext ptr, IrpPtr ptr, CallbackDataPtr ptr, MajorFunction u32";
  for (const Row& row :
       std::initializer_list<Row>{{"FileIO/Name", 0, 0, kOpen, name},
                                  {"FileIO/FileCreate", 32, 1, kOpen, name},
                                  {"FileIO/FileDelete", 35, 2, kOpen, name},
                                  {"FileIO/FileRundown", 36, 2, kOpen, name},
                                  {"FileIO/OperationEnd", 76, 2, kOpen, "IrpPtr ptr, ExtraInfo ptr, NtStatus x32"},
                                  {"FileIO/DeletePath", 79, 3, kOpen, info_v3 + ", FileName wstr"},
                                  {"FileIO/RenamePath", 80, 3, kOpen, info_v3 + ", FileName wstr"},
                                  {"FileIO/SetLinkPath", 81, 3, kOpen, info_v3 + ", FileName wstr"},
                                  {"FileIO/FltPreOpInit", 96, 2, kOpen, filter},
                                  {"FileIO/FltPostOpInit", 97, 2, kOpen, filter},
                                  {"FileIO/FltPreOpFailure", 100, 2, kOpen, filter + ", Status x32"}}) {
    rows.push_back(row);
  }
  CheckRows("90cbdc39-4a3e-11d1-84f4-0000f80464e3", rows);
  EXPECT_EQ(Build(transfer_v3, 8).bytes.size(), 48u);
}

TEST(KernelLayouts, PageFault) {
  const std::string fault = "VirtualAddress ptr, ProgramCounter ptr";
  const std::string allocation = "BaseAddress ptr, RegionSize size, ProcessId u32, Flags x32";
  CheckRows("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c",
            {{"Memory/TransitionFault", 10, 0, kOpen, fault},
             {"Memory/DemandZeroFault", 11, 0, kOpen, fault},
             {"Memory/CopyOnWrite", 12, 0, kOpen, fault},
             {"Memory/GuardMemory", 13, 0, kOpen, fault},
             {"Memory/HardMemory", 14, 0, kOpen, fault},
             {"Memory/AccessViolation", 15, 0, kOpen, fault},
             {"Memory/HardFault", 32, 0, kOpen,
              "InitialTime i64, ReadOffset u64, VirtualAddress ptr, FileObject ptr, TThreadId u32, ByteCount u32"},
             {"VirtualMem/Alloc", 98, 2, kOpen, allocation},
             {"VirtualMem/Free", 99, 2, kOpen, allocation},
             {"VirtualMem/AllocDCStart", 128, 2, kOpen, allocation},
             {"VirtualMem/AllocDCStop", 129, 2, kOpen, allocation},
             {"Memory/ImageLoadBacked", 105, 2, kOpen, "FileObject ptr, DeviceChar x32, FileChar x16, LoadFlags x16"},
             {"Memory/SystemMemInfo", 112, 2, kOpen,
              "ZeroPageCount size, FreePageCount size, ModifiedPageCount size, ModifiedNoWritePageCount size, "
              "BadPageCount size, PageCountByPriority 8*size, RepurposedPagesByPriority 8*size, "
              "ModifiedPageCountPageFile size"},
             {"Memory/ProcessMemInfo", 125, 2, kOpen,
              "Count n1, ProcessId u32, WorkingSetPageCount size, CommitPageCount size, VirtualSizeInPages size, "
              "PrivateWorkingSetPageCount size, StoreSizePageCount size, StoredPageCount size, CommitDebtInPages "
              "size, SharedCommitInPages size"}});
}

TEST(KernelLayouts, Registry) {
  const char* const names[] = {"Create",
                               "Open",
                               "Delete",
                               "Query",
                               "SetValue",
                               "DeleteValue",
                               "QueryValue",
                               "EnumerateKey",
                               "EnumerateValueKey",
                               "QueryMultipleValue",
                               "SetInformation",
                               "Flush",
                               "KCBCreate",
                               "KCBDelete",
                               "KCBRundownBegin",
                               "KCBRundownEnd",
                               "Virtualize",
                               "Close",
                               "SetSecurity",
                               "QuerySecurity"};
  std::vector<std::string> full_names;
  for (const char* name : names) full_names.push_back(std::string("Registry/") + name);
  std::vector<Row> rows;
  for (size_t i = 0; i < full_names.size(); ++i) {
    const auto type = static_cast<uint8_t>(10 + i);
    const char* name = full_names[i].c_str();
    if (type <= 21) {
      rows.push_back({name, type, 0, 0, "Status ptr, KeyHandle ptr, ElapsedTime i64, KeyName wstr"});
      rows.push_back({name, type, 1, 1, "Status ptr, KeyHandle ptr, ElapsedTime i64, Index u32, KeyName wstr"});
    }
    rows.push_back({name, type, 2, kOpen, "InitialTime i64, Status x32, Index u32, KeyHandle ptr, KeyName wstr"});
  }
  rows.push_back({"Registry/Counters", 34, 2, kOpen, "Counters 11*u64"});
  CheckRows("ae53722e-c863-11d2-8659-00c04fa321a1", rows);
}

TEST(KernelLayouts, TcpIp) {
  const char* const names[] = {"Send", "Recv",    "Connect", "Disconnect", "Retransmit", "Accept", "Reconnect",
                               "Fail", "TCPCopy", "ARPCopy", "FullACK",    "PartACK",    "DupACK"};
  const std::string v4 = "PID u32, size u32, daddr ip4, saddr ip4, dport port, sport port, ";
  const std::string v6 = "PID u32, size u32, daddr ip6, saddr ip6, dport port, sport port, ";
  std::vector<std::string> full_names;
  for (const char* name : names) full_names.push_back(std::string("TcpIp/") + name);
  for (const char* name : names) full_names.push_back(std::string("TcpIp/") + name + "IPV6");
  std::vector<Row> rows;
  for (uint8_t i = 0; i < 13; ++i) {
    const char* name = full_names[i].c_str();
    const char* name6 = full_names[i + size_t{13}].c_str();
    const auto type = static_cast<uint8_t>(10 + i);
    const auto type6 = static_cast<uint8_t>(26 + i);
    if (type == 17) {
      rows.push_back({name, type, 1, 1, "Proto u32"});
      rows.push_back({name, type, 2, kOpen, "Proto u16, FailureCode u16"});
      rows.push_back({name6, type6, 2, kOpen, "Proto u16, FailureCode u16"});
      continue;
    }
    std::string between;
    if (type == 10) between = "startime u32, endtime u32, ";
    if (type == 12 || type == 15) {
      between = "mss u16, sackopt u16, tsopt u16, wsopt u16, rcvwin u32, rcvwinscale i16, sndwinscale i16, ";
    }
    if (type <= 15) {
      rows.push_back({name, type, 0, 0, "daddr ip4, saddr ip4, dport port, sport port, size u32, PID u32"});
    }
    rows.push_back({name, type, 1, 1, v4 + between + "connid ptr, seqnum u32"});
    rows.push_back({name, type, 2, kOpen, v4 + between + "seqnum u32, connid ptr"});
    rows.push_back({name6, type6, 2, kOpen, v6 + between + "seqnum u32, connid ptr"});
  }
  CheckRows("9a280ac0-c8e0-11d1-84e2-00c04fb998a2", rows);
}

TEST(KernelLayouts, UdpIp) {
  const std::string v1 = "PID u32, size u32, daddr ip4, saddr ip4, dport port, sport port";
  const std::string v0 = "context ptr, saddr ip4, sport port, size u16, daddr ip4, dport port, dsize u16";
  const std::string v6 = "PID u32, size u32, daddr ip6, saddr ip6, dport port, sport port, seqnum u32, connid ptr";
  CheckRows("bf3a50c5-a9c9-4988-a005-2df0b7c80f80", {{"UdpIp/Send", 10, 0, 0, v0},
                                                     {"UdpIp/Recv", 11, 0, 0, v0},
                                                     {"UdpIp/Send", 10, 1, 1, v1},
                                                     {"UdpIp/Recv", 11, 1, 1, v1},
                                                     {"UdpIp/Send", 10, 2, kOpen, v1 + ", seqnum u32, connid ptr"},
                                                     {"UdpIp/Recv", 11, 2, kOpen, v1 + ", seqnum u32, connid ptr"},
                                                     {"UdpIp/Fail", 17, 2, kOpen, "Proto u16, FailureCode u16"},
                                                     {"UdpIp/SendIPV6", 26, 2, kOpen, v6},
                                                     {"UdpIp/RecvIPV6", 27, 2, kOpen, v6}});
}

TEST(KernelLayouts, SmallClasses) {
  CheckRows("45d8cccd-539f-4b72-a8b7-5c683142609a",
            {{"ALPC/SendMessage", 33, 0, kOpen, "MessageID u32"},
             {"ALPC/ReceiveMessage", 34, 0, kOpen, "MessageID u32"},
             {"ALPC/WaitForReply", 35, 0, kOpen, "MessageID u32"},
             {"ALPC/WaitForNewMessage", 36, 0, kOpen, "IsServerPort u32, PortName astr"},
             {"ALPC/Unwait", 37, 0, kOpen, "Status x32"}});
  CheckRows("222962ab-6180-4b88-a825-346b75f2a24a",
            {{"Heap/Create", 32, 0, kOpen, "HeapHandle ptr, HeapFlags x32"},
             {"Heap/Alloc", 33, 0, kOpen, "HeapHandle ptr, AllocSize size, AllocAddress ptr, SourceId u32"},
             {"Heap/Free", 36, 0, kOpen, "HeapHandle ptr, FreeAddress ptr, SourceId u32"}});
  CheckRows("89497f50-effe-4440-8cf2-ce6b1cdcaca7",
            {{"Object/CreateHandle", 32, 0, kOpen, "Object ptr, Handle x32, ObjectType u16"},
             {"Object/CloseHandle", 33, 0, kOpen, "Object ptr, Handle x32, ObjectType u16"},
             {"Object/DuplicateHandle", 34, 0, kOpen,
              "Object ptr, SourceHandle x32, TargetHandle x32, TargetProcessId u32, ObjectType u16, "
              "SourceProcessId u32"},
             {"Object/TypeDCStart", 36, 0, kOpen, "ObjectType u16, Reserved u16, ObjectTypeName wstr"}});
  CheckRows("13976d09-a327-438c-950b-7f03192815c7",
            {{"DbgPrint/Print", 32, 0, kOpen, "Component u32, Level u32, Message astr"}});
  CheckRows("68fdd900-4a3e-11d1-84f4-0000f80464e3",
            {{"EventTrace/DbgID_RSDS", 64, 0, kOpen, "GuidSig guid, Age u32, PdbFileName astr"},
             {"EventTrace/BinaryPath", 67, 0, kOpen, "GuidCount n2, Guids 2*guid, BinaryPath wstr"},
             {"EventTrace/Extension", 5, 0, kOpen,
              "GroupMask1 x32, GroupMask2 x32, GroupMask3 x32, GroupMask4 x32, GroupMask5 x32, GroupMask6 x32, "
              "GroupMask7 x32, GroupMask8 x32, KernelEventVersion u32?"}});
}

TEST(KernelLayouts, PoolTag) {
  const std::vector<uint8_t> bytes = {1, 0, 0, 0, 'P', 'r', 'o', 'c', 0x40, 0, 0, 0, 0x10, 0x20, 0, 0x80};
  const auto decoded =
      DecodeClassic(GuidOf("0268a8b6-74fd-4302-9dd0-6e8f1795c0cf"), 32, 2, std::as_bytes(std::span(bytes)), 4);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->full_name(), "Windows Kernel/Pool/Alloc");
  EXPECT_EQ(decoded->lines, "Type=0x1\nTag=Proc\nNumberOfBytes=64\nEntry=0x80002010\n");
  EXPECT_EQ(decoded->outcome, DecodeOutcome::kComplete);
}

TEST(KernelLayouts, SystemConfig) {
  const std::string cpu =
      "MHz u32, NumberOfProcessors u32, MemSize u32, PageSize u32, AllocationGranularity u32, ComputerName w256, ";
  const std::string irq = "IRQNum u32, DeviceDescriptionLen u32, DeviceDescription wstr";
  const std::string texts =
      ", DeviceID wstr, DeviceDescription wstr, FriendlyName wstr, PdoName wstr, ServiceName wstr, UpperFilters "
      "2*wstr, LowerFilters 1*wstr";
  CheckRows("01853a65-418f-4f36-aefc-dc0f1d2fd235",
            {{"SystemConfig/CPU", 10, 0, 1, cpu + "DomainName w132, HyperThreadingFlag ptr"},
             {"SystemConfig/CPU", 10, 2, 2, cpu + "DomainName w134, HyperThreadingFlag ptr"},
             {"SystemConfig/CPU", 10, 3, kOpen,
              cpu + "DomainName w134, HyperThreadingFlag ptr, HighestUserAddress ptr, ProcessorArchitecture u16, "
                    "ProcessorLevel u16, ProcessorRevision x16, PaeEnabled u8, NxEnabled u8, MemorySpeed u32?"},
             {"SystemConfig/IRQ", 21, 0, 2, "IRQAffinity x64, " + irq},
             {"SystemConfig/IRQ", 21, 3, kOpen, "IRQAffinity x64, IRQGroup u16, Reserved u16, " + irq},
             {"SystemConfig/PnP", 22, 0, 3,
              "IDLength u32, DescriptionLength u32, FriendlyNameLength u32, DeviceID wstr, DeviceDescription wstr, "
              "FriendlyName wstr"},
             {"SystemConfig/PnP", 22, 4, 4, "ClassGuid guid, UpperFiltersCount n2, LowerFiltersCount n1" + texts},
             {"SystemConfig/PnP", 22, 5, kOpen,
              "ClassGuid guid, UpperFiltersCount n2, LowerFiltersCount n1, DevStatus x32, DevProblem u32" + texts},
             {"SystemConfig/Services", 15, 0, 1, "ServiceName w34, DisplayName w256, ProcessName w34, ProcessId u32"},
             {"SystemConfig/Services", 15, 2, 2,
              "ProcessId u32, ServiceState u32, SubProcessTag x32, ServiceName wstr, DisplayName wstr, ProcessName "
              "wstr"},
             {"SystemConfig/Network", 17, 2, kOpen,
              "TcbTablePartitions u32, MaxHashTableSize u32, MaxUserPort u32, TcpTimedWaitDelay u32"}});
}

TEST(KernelLayouts, ImageIdentities) {
  const std::string pdb = "ImageBase ptr, ProcessId u32, GuidSig guid, Age u32, PdbFileName astr";
  CheckRows("b3e675d7-2554-4f18-830b-2762732560de",
            {{"ImageID", 0, 0, kOpen,
              "ImageBase ptr, ImageSize size, ProcessId u32, TimeDateStamp u32, OriginalFileName wstr"},
             {"ImageID/None", 32, 0, kOpen, "ImageBase ptr, ProcessId u32"},
             {"ImageID/DbgID_RSDS", 36, 0, kOpen, pdb},
             {"ImageID/DbgID_ILRSDS", 37, 0, kOpen, pdb},
             {"ImageID/DbgID_PPDB", 38, 0, kOpen,
              "ImageBase ptr, ProcessId u32, TimeDateStamp u32, MajorVersion u16, MinorVersion u16"},
             {"ImageID/DbgID_Determ", 40, 0, kOpen, "ImageBase ptr, ProcessId u32"}});
}

// Numbers of the documents and their names; what has no name is not lost.
TEST(KernelLayouts, NamesOfValues) {
  const auto name = [](std::string_view provider, uint8_t type, uint16_t version, std::string_view field,
                       uint64_t value) {
    const auto schema = ClassicSchema(GuidOf(provider), type, version);
    const Property& property = schema->properties.at(static_cast<size_t>(schema->IndexOf(field)));
    return schema->maps.at(property.map)->NameOf(value);
  };
  constexpr std::string_view kProcess = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kThread = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kDiskIo = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
  constexpr std::string_view kPerfInfo = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
  EXPECT_EQ(name(kProcess, 1, 4, "Flags", 10), "Wow64|Packaged");
  EXPECT_EQ(name(kThread, 36, 2, "OldThreadState", 5), "Waiting");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadState", 7), "DeferredReady");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadState", 8), "");
  EXPECT_EQ(name(kThread, 36, 4, "OldThreadWaitReason", 6), "UserRequest");
  EXPECT_EQ(name(kThread, 36, 2, "OldThreadWaitReason", 17), "WrLpcReply");
  EXPECT_EQ(name(kThread, 50, 2, "Flag", 9), "ExecutingDpc|DirectSwitch");
  EXPECT_EQ(name(kDiskIo, 10, 3, "IrpFlags", 0x20043), "Nocache|PagingIo|SynchronousPagingIo|0x20000");
  EXPECT_EQ(name(kPerfInfo, 46, 2, "Flags", 0x72), "ExecutingIsr|0x70");
  EXPECT_EQ(name(kPerfInfo, 73, 3, "Source", 0), "Timer");
}

// Every kernel provider: its names are those of the table of providers, an event's name begins with a class, no two
// schemas describe the same event, and no version is without one.
TEST(KernelLayouts, EveryEventHasOneSchemaAndAName) {
  size_t providers = 0;
  for (const Guid& provider : BuiltInProviders()) {
    const ProviderName* known = FindProvider(provider);
    if (known == nullptr || (known->name != kWindowsKernel && known->name != "KernelTraceControl")) continue;
    ++providers;
    std::map<uint16_t, std::vector<const EventSchema*>> by_type;
    for (const auto& schema : BuiltInSchemas(provider)) {
      EXPECT_EQ(schema->provider->name, known->name) << schema->name;
      EXPECT_TRUE(schema->key.classic) << schema->name;
      const std::string_view class_word = std::string_view(schema->name).substr(0, schema->name.find('/'));
      EXPECT_FALSE(class_word.empty()) << ToString(provider);
      EXPECT_FALSE(schema->name.ends_with('/')) << schema->name;
      by_type[schema->key.number].push_back(schema.get());
    }
    std::map<std::string, uint16_t> type_of;
    for (auto& [type, schemas] : by_type) {
      const std::string& name = schemas.front()->name;
      EXPECT_TRUE(type_of.emplace(name, type).second) << name << " is the name of two types";
      std::sort(schemas.begin(), schemas.end(),
                [](auto* a, auto* b) { return a->key.first_version < b->key.first_version; });
      uint32_t next = 0;
      for (const EventSchema* schema : schemas) {
        EXPECT_EQ(schema->name, name);
        EXPECT_EQ(schema->key.first_version, next) << name << ": versions overlap or are left out";
        next = uint32_t{schema->key.last_version} + 1;
      }
      EXPECT_EQ(next, 0x10000u) << name << ": later versions have no schema";
    }
  }
  EXPECT_EQ(providers, 25u);
}

}  // namespace
}  // namespace etwpipe::schema

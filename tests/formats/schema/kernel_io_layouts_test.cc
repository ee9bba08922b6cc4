// Kernel layouts of disk, file, memory, registry and network events that no recording shows: old versions, 32-bit
// pointers, rare types. Each line is a row of the tables in etl-format.md 8.6 to 8.10.
#include "tests/formats/schema/kernel_rows.h"

namespace etwpipe::schema {
namespace {

TEST(KernelIoLayouts, DiskIo) {
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

TEST(KernelIoLayouts, FileIo) {
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

TEST(KernelIoLayouts, PageFault) {
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

TEST(KernelIoLayouts, Registry) {
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

TEST(KernelIoLayouts, TcpIp) {
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

TEST(KernelIoLayouts, UdpIp) {
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

}  // namespace
}  // namespace etwpipe::schema

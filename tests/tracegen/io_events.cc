#include "tests/tracegen/io_events.h"

#include <array>

#include "formats/etl/kernel_groups.h"

namespace etwpipe::tracegen {
namespace {

using etl::kTypePerfInfo64;
using etl::kTypeSystem64;

constexpr uint8_t kGroupDisk = 0x01;
constexpr uint8_t kGroupMemory = 0x02;
constexpr uint8_t kGroupFile = 0x04;
constexpr uint8_t kGroupTcp = 0x06;
constexpr uint8_t kGroupUdp = 0x08;
constexpr uint8_t kGroupRegistry = 0x09;
constexpr size_t kMaxOpenFiles = 200;
// A scheduled argument holds the low bits of an IRP and, above them, tid / 4.
constexpr int kThreadShift = 40;
constexpr uint64_t kIrpMask = (uint64_t{1} << kThreadShift) - 1;
constexpr uint64_t kIrpHighBits = 0xFFFFA30000000000;

enum Code : uint32_t { kReadDone, kWriteDone };

/// IPv4 and IPv6 addresses and big-endian ports as TcpIp events hold them.
constexpr std::array<std::array<uint8_t, 4>, 4> kAddresses4 = {
    {{10, 0, 0, 5}, {10, 0, 0, 42}, {192, 168, 1, 20}, {172, 16, 3, 9}}};
constexpr std::array<uint8_t, 16> kLocal6 = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x1C, 0x2D, 0x3E, 0x4F, 0, 0, 0, 1};
constexpr std::array<uint16_t, 4> kPorts = {0xBB01, 0x5000, 0x9905, 0x3500};  // 443, 80, 1433, 53

}  // namespace

IoEvents::IoEvents(Simulation& simulation)
    : sim_(simulation),
      file_name_(MakeSystemKind(kTypePerfInfo64, kGroupFile, 0, 2)),
      file_rundown_(MakeSystemKind(kTypePerfInfo64, kGroupFile, 36, 2)),
      file_create_(MakeSystemKind(kTypeSystem64, kGroupFile, 64, 3)),
      file_cleanup_(MakeSystemKind(kTypeSystem64, kGroupFile, 65, 3)),
      file_close_(MakeSystemKind(kTypeSystem64, kGroupFile, 66, 3)),
      file_read_(MakeSystemKind(kTypeSystem64, kGroupFile, 67, 3)),
      file_write_(MakeSystemKind(kTypeSystem64, kGroupFile, 68, 3)),
      file_end_(MakeSystemKind(kTypeSystem64, kGroupFile, 76, 3)),
      query_info_(MakeSystemKind(kTypeSystem64, kGroupFile, 74, 3)),
      disk_read_(MakeSystemKind(kTypePerfInfo64, kGroupDisk, 10, 3)),
      disk_write_(MakeSystemKind(kTypePerfInfo64, kGroupDisk, 11, 3)),
      disk_read_init_(MakeSystemKind(kTypePerfInfo64, kGroupDisk, 12, 3)),
      disk_write_init_(MakeSystemKind(kTypePerfInfo64, kGroupDisk, 13, 3)),
      disk_flush_(MakeSystemKind(kTypePerfInfo64, kGroupDisk, 14, 3)),
      fault_demand_zero_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 11, 2)),
      fault_transition_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 10, 2)),
      fault_copy_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 12, 2)),
      fault_hard_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 32, 2)),
      virtual_alloc_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 98, 2)),
      virtual_free_(MakeSystemKind(kTypePerfInfo64, kGroupMemory, 99, 2)),
      registry_open_(MakeSystemKind(kTypeSystem64, kGroupRegistry, 11, 2)),
      registry_query_(MakeSystemKind(kTypeSystem64, kGroupRegistry, 16, 2)),
      registry_close_(MakeSystemKind(kTypeSystem64, kGroupRegistry, 27, 2)),
      tcp_send_(MakeSystemKind(kTypePerfInfo64, kGroupTcp, 10, 2)),
      tcp_receive_(MakeSystemKind(kTypePerfInfo64, kGroupTcp, 11, 2)),
      tcp_send6_(MakeSystemKind(kTypePerfInfo64, kGroupTcp, 26, 2)),
      tcp_connect_(MakeSystemKind(kTypePerfInfo64, kGroupTcp, 12, 2)),
      udp_send_(MakeSystemKind(kTypePerfInfo64, kGroupUdp, 10, 2)) {}

void IoEvents::Begin() {
  for (size_t i = 0; i < 20; ++i) {
    const OpenFile file{NewIrp(), NewIrp(), sim_.random.Index(sim_.world.data_paths.size())};
    open_files_.push_back(file);
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(file.object).AddUnicode(sim_.world.data_paths[file.path]);
    sim_.Emit(file_name_, 0, payload);
  }
}

void IoEvents::Step() {
  const uint16_t cpu = sim_.BusyCpu();
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 9) return Create(cpu);
  if (dice < 42) return Transfer(cpu);
  if (dice < 50) return Close(cpu);
  if (dice < 68) return Fault(cpu);
  if (dice < 84) return Registry(cpu);
  Network(cpu);
}

void IoEvents::EmitEnd(uint16_t cpu, uint64_t irp) {
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(irp).Add(uint64_t{0}).Add(sim_.random.Chance(97) ? uint32_t{0} : 0xC0000034);
  sim_.Emit(file_end_, cpu, payload);
}

void IoEvents::Create(uint16_t cpu) {
  const OpenFile file{NewIrp(), NewIrp(), sim_.random.Index(sim_.world.data_paths.size())};
  const uint64_t irp = NewIrp();
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(irp).Add(file.object).Add(sim_.RunningThread(cpu).tid).Add(uint32_t{0x01000060}).Add(uint32_t{0x80});
  payload.Add(uint32_t{7}).AddUnicode(sim_.world.data_paths[file.path]);
  const int64_t ticks = sim_.Emit(file_create_, cpu, payload);
  if (sim_.random.Chance(50)) sim_.WalkStack(cpu, ticks);
  EmitEnd(cpu, irp);
  if (open_files_.size() < kMaxOpenFiles) open_files_.push_back(file);
}

void IoEvents::Transfer(uint16_t cpu) {
  if (open_files_.empty()) return Create(cpu);
  const OpenFile& file = sim_.random.Pick(open_files_);
  const uint64_t irp = NewIrp();
  const uint32_t tid = sim_.RunningThread(cpu).tid;
  etl::PayloadWriter& payload = sim_.NewPayload();
  if (sim_.random.Chance(12)) {
    payload.Add(irp).Add(file.object).Add(file.key).Add(uint64_t{0}).Add(tid).Add(uint32_t{5});
    sim_.Emit(query_info_, cpu, payload);
    return EmitEnd(cpu, irp);
  }
  const bool write = sim_.random.Chance(35);
  payload.Add(uint64_t{sim_.random.Skewed(1 << 20)} * 4096).Add(irp).Add(file.object).Add(file.key).Add(tid);
  payload.Add(4096 * (1 + sim_.random.Skewed(16))).Add(uint32_t{0x900}).Add(uint32_t{0});
  const int64_t ticks = sim_.Emit(write ? file_write_ : file_read_, cpu, payload);
  if (sim_.random.Chance(30)) sim_.WalkStack(cpu, ticks);
  if (sim_.random.Chance(40)) {
    StartDisk(cpu, file, write);
  }
  EmitEnd(cpu, irp);
}

void IoEvents::StartDisk(uint16_t cpu, const OpenFile& file, bool write) {
  const uint64_t irp = NewIrp();
  const uint32_t tid = sim_.RunningThread(cpu).tid;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(irp).Add(tid);
  const int64_t started = sim_.Emit(write ? disk_write_init_ : disk_read_init_, cpu, payload);
  const int64_t duration = 500 + sim_.random.Skewed(60'000);
  sim_.Schedule(*this, started + duration, write ? kWriteDone : kReadDone,
                (irp & kIrpMask) | uint64_t{tid / 4} << kThreadShift, file.key);
}

void IoEvents::Resume(uint32_t code, uint64_t a, uint64_t b) {
  const uint16_t cpu = sim_.AnyCpu();
  const uint64_t irp = kIrpHighBits | (a & kIrpMask);
  const auto tid = static_cast<uint32_t>(a >> kThreadShift) * 4;
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(uint32_t{0}).Add(uint32_t{0x60900}).Add(4096 * (1 + sim_.random.Skewed(16))).Add(uint32_t{0});
  payload.Add(uint64_t{sim_.random.Next32()} * 4096).Add(b).Add(irp);
  payload.Add(uint64_t{500 + sim_.random.Skewed(60'000)}).Add(tid);
  sim_.Emit(code == kWriteDone ? disk_write_ : disk_read_, cpu, payload);
  if (code == kWriteDone && sim_.random.Chance(10)) {
    etl::PayloadWriter& flush = sim_.NewPayload();
    flush.Add(uint32_t{0}).Add(uint32_t{0x60000}).Add(uint64_t{sim_.random.Skewed(90'000)}).Add(irp).Add(tid);
    sim_.Emit(disk_flush_, cpu, flush);
  }
}

void IoEvents::Close(uint16_t cpu) {
  if (open_files_.size() < 8) return Create(cpu);
  const size_t index = sim_.random.Index(open_files_.size());
  const OpenFile file = open_files_[index];
  open_files_[index] = open_files_.back();
  open_files_.pop_back();
  for (SystemKind* kind : {&file_cleanup_, &file_close_}) {
    const uint64_t irp = NewIrp();
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(irp).Add(file.object).Add(file.key).Add(sim_.RunningThread(cpu).tid);
    sim_.Emit(*kind, cpu, payload);
    EmitEnd(cpu, irp);
  }
}

void IoEvents::Fault(uint16_t cpu) {
  const Process& process = sim_.RunningProcess(cpu);
  etl::PayloadWriter& payload = sim_.NewPayload();
  const uint64_t address = 0x0000020000000000 + uint64_t{sim_.random.Next32()} * 16;
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 15) {
    payload.Add(address & ~0xFFFFull).Add(uint64_t{0x1000} * (1 + sim_.random.Skewed(64))).Add(process.pid);
    payload.Add(uint32_t{0x3000});
    const int64_t ticks = sim_.Emit(dice < 9 ? virtual_alloc_ : virtual_free_, cpu, payload);
    if (dice < 9) sim_.WalkStack(cpu, ticks);
    return;
  }
  if (dice < 22) {
    payload.Add(sim_.writer.last_ticks(cpu)).Add(uint64_t{sim_.random.Next32()} & ~0xFFFull).Add(address);
    payload.Add(NewIrp()).Add(sim_.RunningThread(cpu).tid).Add(uint32_t{32768});
    sim_.Emit(fault_hard_, cpu, payload);
    return;
  }
  payload.Add(address).Add(process.images.empty() ? sim_.random.Pick(sim_.world.kernel_code)
                                                  : sim_.world.PickUserAddress(sim_.random, process));
  sim_.Emit(dice < 70 ? fault_demand_zero_ : dice < 90 ? fault_transition_ : fault_copy_, cpu, payload);
}

void IoEvents::Registry(uint16_t cpu) {
  const uint64_t key = 0xFFFFB80F00000000 + (uint64_t{sim_.random.Below(1 << 20)} << 4);
  for (SystemKind* kind : {&registry_open_, &registry_query_, &registry_close_}) {
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(sim_.writer.last_ticks(cpu)).Add(sim_.random.Chance(85) ? uint32_t{0} : 0xC0000034).Add(uint32_t{2});
    payload.Add(key);
    payload.AddUnicode(kind == &registry_close_ ? std::u16string_view() : sim_.random.Pick(sim_.world.registry_keys));
    sim_.Emit(*kind, cpu, payload);
  }
}

void IoEvents::Network(uint16_t cpu) {
  const uint32_t pid = sim_.RunningProcess(cpu).pid;
  const uint32_t size = 40 + sim_.random.Skewed(1420);
  const uint64_t connection = NewIrp();
  const auto& remote = sim_.random.Pick(kAddresses4);
  const uint16_t remote_port = sim_.random.Pick(kPorts);
  const auto local_port = static_cast<uint16_t>(0xC000 + sim_.random.Below(200));
  etl::PayloadWriter& payload = sim_.NewPayload();
  payload.Add(pid).Add(size);
  const uint32_t dice = sim_.random.Below(100);
  if (dice < 20) {
    payload.Add(kLocal6).Add(kLocal6);
  } else {
    payload.Add(remote).Add(kAddresses4[0]);
  }
  payload.Add(remote_port).Add(local_port);
  if (dice < 50) {
    const auto now = static_cast<uint32_t>(sim_.now / kTicksPerMillisecond);
    payload.Add(now).Add(now).Add(uint32_t{0}).Add(connection);
    sim_.Emit(dice < 20 ? tcp_send6_ : tcp_send_, cpu, payload);
    return;
  }
  if (dice < 60) {
    payload.Add(uint16_t{1460}).Add(uint16_t{1}).Add(uint16_t{0}).Add(uint16_t{1}).Add(uint32_t{65535});
    payload.Add(int16_t{8}).Add(int16_t{8}).Add(uint32_t{0}).Add(connection);
    sim_.Emit(tcp_connect_, cpu, payload);
    return;
  }
  payload.Add(uint32_t{0}).Add(connection);
  sim_.Emit(dice < 90 ? tcp_receive_ : udp_send_, cpu, payload);
}

void IoEvents::End() {
  for (const OpenFile& file : open_files_) {
    etl::PayloadWriter& payload = sim_.NewPayload();
    payload.Add(file.object).AddUnicode(sim_.world.data_paths[file.path]);
    sim_.Emit(file_rundown_, 0, payload);
  }
}

}  // namespace etwpipe::tracegen

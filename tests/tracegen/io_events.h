// Files, disk, memory, registry and network.
#pragma once

#include "tests/tracegen/simulation.h"

namespace etwpipe::tracegen {

class IoEvents : public Topic {
 public:
  explicit IoEvents(Simulation& simulation);

  void Begin() override;
  void Step() override;
  void Resume(uint32_t code, uint64_t a, uint64_t b) override;
  void End() override;

 private:
  struct OpenFile {
    uint64_t object = 0;
    uint64_t key = 0;
    size_t path = 0;
  };

  void Create(uint16_t cpu);
  void Transfer(uint16_t cpu);
  void Close(uint16_t cpu);
  void StartDisk(uint16_t cpu, const OpenFile& file, bool write);
  void Fault(uint16_t cpu);
  void Registry(uint16_t cpu);
  void Network(uint16_t cpu);
  uint64_t NewIrp() { return 0xFFFFA30F00000000 + (uint64_t{sim_.random.Next32()} & ~0xFull); }
  void EmitEnd(uint16_t cpu, uint64_t irp);

  Simulation& sim_;
  std::vector<OpenFile> open_files_;
  SystemKind file_name_, file_rundown_, file_create_, file_cleanup_, file_close_, file_read_, file_write_, file_end_,
      query_info_;
  SystemKind disk_read_, disk_write_, disk_read_init_, disk_write_init_, disk_flush_;
  SystemKind fault_demand_zero_, fault_transition_, fault_copy_, fault_hard_, virtual_alloc_, virtual_free_;
  SystemKind registry_open_, registry_query_, registry_close_;
  SystemKind tcp_send_, tcp_receive_, tcp_send6_, tcp_connect_, udp_send_;
};

}  // namespace etwpipe::tracegen

#include "formats/facts/image_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "formats/facts/image_lives.h"

namespace etwpipe::facts {
namespace {

// Images of the kernel are told of as of process 0 or 4.
constexpr uint32_t kIdlePid = 0;
constexpr uint32_t kSystemPid = 4;

bool IsKernelImage(const ImageRecord& record, uint64_t kernel_begin) {
  return (record.pid == kIdlePid || record.pid == kSystemPid) && record.base >= kernel_begin;
}

bool EndsWith(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && EqualNames(name.substr(name.size() - end.size()), end);
}

bool ByPlace(const PdbRecord& a, const PdbRecord& b) {
  return std::tie(a.base, a.timestamp, a.pid) < std::tie(b.base, b.timestamp, b.pid);
}

// An ImageID record stands beside the record of its image and has its time; some writers leave its pid 0.
const PdbIdentity* PdbOf(const std::vector<PdbRecord>& pdbs, const ImageRecord& record) {
  for (const uint32_t pid : {record.pid, uint32_t{0}}) {
    const PdbRecord wanted{record.timestamp, pid, record.base, {}};
    const auto found = std::lower_bound(pdbs.begin(), pdbs.end(), wanted, ByPlace);
    if (found != pdbs.end() && !ByPlace(wanted, *found)) return &found->pdb;
  }
  return nullptr;
}

AreaIndex IndexOf(const std::vector<ImageInstance>& images, size_t begin) {
  std::vector<Area> areas;
  for (size_t i = begin; i < images.size(); ++i) {
    const ImageInstance& image = images[i];
    if (image.load < image.unload) {
      areas.push_back({image.base, image.last(), image.load, image.unload, static_cast<uint32_t>(i)});
    }
  }
  return AreaIndex(std::move(areas));
}

}  // namespace

ImageTable ImageTable::Build(BuildArgs args) {
  ImageTable table;
  table.names_ = std::move(args.names);
  table.volumes_ = std::move(args.volumes);
  table.kernel_begin_ = args.pointer_size == 8 ? 0xFFFF800000000000u : 0x80000000u;
  auto& records = args.records;
  records.erase(std::remove_if(records.begin(), records.end(), [](const ImageRecord& r) { return r.size == 0; }),
                records.end());
  std::sort(args.pdbs.begin(), args.pdbs.end(), ByPlace);
  const auto space = [&](const ImageRecord& record) {
    const bool kernel = IsKernelImage(record, table.kernel_begin_);
    return std::pair(!kernel, kernel ? kIdlePid : record.pid);
  };
  std::sort(records.begin(), records.end(), [&](const ImageRecord& a, const ImageRecord& b) {
    return std::tuple(space(a), a.timestamp, a.id) < std::tuple(space(b), b.timestamp, b.id);
  });

  for (auto record = records.begin(); record != records.end();) {
    const auto here = space(*record);
    const bool kernel = !here.first;
    const ProcessTable* processes = kernel ? nullptr : args.processes;
    const size_t first = table.images_.size();
    while (record != records.end() && space(*record) == here) {
      const auto process_at = [&](int64_t time) {
        return processes == nullptr ? nullptr : processes->Find(here.second, time);
      };
      const ProcessInstance* process = process_at(record->timestamp);
      const int64_t begin =
          process == nullptr ? ProcessInstance::kBeforeTrace : std::min(process->start, record->timestamp);
      ImageLives lives(table.images_, begin, args.tolerance);
      const ProcessInstance* next = process;
      for (; record != records.end() && space(*record) == here; ++record) {
        next = process_at(record->timestamp);
        if (next != process) break;
        lives.Add(*record, PdbOf(args.pdbs, *record));
      }
      if (next != process) lives.End(next->start);
    }
    for (size_t i = first; i < table.images_.size(); ++i) table.images_[i].kernel = kernel;
    AreaIndex index = IndexOf(table.images_, first);
    if (kernel) {
      table.kernel_ = std::move(index);
    } else {
      table.processes_.emplace(here.second, std::move(index));
    }
  }

  std::unordered_map<std::string_view, std::string_view> dos_paths;
  for (ImageInstance& image : table.images_) {
    const auto [known, added] = dos_paths.try_emplace(image.file_name);
    if (added) known->second = table.names_.Intern(table.volumes_.ToDos(image.file_name));
    image.dos_path = known->second;
    image.name = LastPart(image.dos_path);
    image.native = EndsWith(image.name, ".ni.dll") || EndsWith(image.name, ".ni.exe");
  }
  return table;
}

const ImageInstance* ImageTable::FindAddress(uint32_t pid, uint64_t address, int64_t timestamp) const {
  constexpr uint64_t kSignExtension = 0xFFFFFFFF80000000u;
  if (address >= kernel_begin_) {
    if (const auto index = kernel_.Find(address, timestamp)) return &images_[*index];
  }
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return nullptr;
  auto index = process->second.Find(address, timestamp);
  if (!index && (address & kSignExtension) == kSignExtension) {
    index = process->second.Find(address & 0xFFFFFFFF, timestamp);
  }
  return index ? &images_[*index] : nullptr;
}

ProcessTable WithImagePaths(const ProcessTable& processes, const ImageTable& images) {
  // The kernel cuts the names of processes at 14 characters in some versions.
  constexpr size_t kCutName = 14;
  ProcessTable table = processes;
  const auto& all = processes.all();
  std::vector<bool> known(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].image_path.empty()) table.SetImagePath(i, images.volumes().ToDos(all[i].image_path));
  }
  for (const ImageInstance& image : images.all()) {
    if (image.kernel) continue;
    const ProcessInstance* process = processes.Find(image.pid, image.load);
    if (process == nullptr) continue;
    const auto index = static_cast<size_t>(process - all.data());
    const std::string_view name = process->image;
    const bool same = EqualNames(name, image.name) ||
                      (name.size() >= kCutName && EqualNames(name, image.name.substr(0, name.size())));
    if (!same || known[index]) continue;
    known[index] = true;
    table.SetImagePath(index, std::string(image.dos_path));
  }
  return table;
}

}  // namespace etwpipe::facts

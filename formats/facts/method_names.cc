#include "formats/facts/method_names.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/facts/method_lives.h"

namespace etwpipe::facts {
namespace {

struct Named {
  int64_t timestamp = 0;
  std::optional<uint16_t> clr_instance;
  MethodNames names;
};

struct TokenKey {
  uint64_t module_id;
  uint32_t token;
  friend bool operator==(const TokenKey&, const TokenKey&) = default;
};
struct TokenHash {
  size_t operator()(const TokenKey& key) const {
    return static_cast<size_t>((key.module_id + key.token * 0x9E3779B9u) * 0x9E3779B97F4A7C15u >> 7);
  }
};
struct TokenNames {
  MethodNames names;
  bool agreed = true;
};

using ByTime = std::vector<Named>;  // in the order of time, as the records are

constexpr uint32_t kRowMask = 0x00FFFFFF;  // a metadata token without its row names nothing

bool Fits(const Named& named, const MethodVersion& version) {
  return !named.clr_instance || !version.clr_instance || named.clr_instance == version.clr_instance;
}

// The first within the life, else the last before it, else the first after it.
const Named* Nearest(const ByTime& all, const MethodVersion& version) {
  const auto within = std::lower_bound(all.begin(), all.end(), version.from,
                                       [](const Named& named, int64_t time) { return named.timestamp < time; });
  const auto first = std::find_if(within, all.end(), [&](const Named& named) { return Fits(named, version); });
  if (first != all.end() && first->timestamp <= version.to) return &*first;
  const auto before = std::find_if(std::make_reverse_iterator(within), all.rend(),
                                   [&](const Named& named) { return Fits(named, version); });
  if (before != all.rend()) return &*before;
  return first == all.end() ? nullptr : &*first;
}

}  // namespace

void LearnNames(std::span<MethodVersion> versions, std::span<const MethodRecord> records, StringPool& strings,
                bool is_32bit) {
  std::unordered_map<uint64_t, ByTime> by_id;
  std::unordered_map<TokenKey, TokenNames, TokenHash> by_token;
  std::unordered_map<uint64_t, MethodNames> stubs;
  for (const MethodVersion& version : versions) {
    if (version.named()) continue;
    by_id[version.method_id];
    if ((version.token & kRowMask) != 0) by_token[{version.module_id, version.token}];
  }
  for (const MethodRecord& record : records) {
    if (record.names.name == 0) continue;
    const uint64_t id = CodeAddress(record.method_id, is_32bit);
    if (record.kind == MethodRecord::Kind::kStub) stubs[id] = record.names;
    if (const auto found = by_id.find(id); found != by_id.end()) {
      found->second.push_back({record.timestamp, record.clr_instance, record.names});
    }
    const auto found = by_token.find({CodeAddress(record.module_id, is_32bit), record.token});
    if (found == by_token.end()) continue;
    TokenNames& token = found->second;
    if (token.names.name == 0) token.names = record.names;
    token.agreed = token.agreed && token.names == record.names;
  }
  for (MethodVersion& version : versions) {
    if (const auto stub = stubs.find(version.method_id); stub != stubs.end()) {
      std::string interop(strings.Get(stub->second.type));
      if (!interop.empty()) interop += '.';
      interop += strings.Get(stub->second.name);
      version.interop_id = strings.Intern(interop);
    }
    if (version.named()) continue;
    if (const Named* named = Nearest(by_id[version.method_id], version)) {
      version.names = named->names;
      continue;
    }
    const auto token = by_token.find({version.module_id, version.token});
    if (token != by_token.end() && token->second.agreed) version.names = token->second.names;
  }
}

}  // namespace etwpipe::facts

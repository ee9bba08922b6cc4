// The functions that took the compiler longest: longest_functions TRACE [N]
//
// Prints, longest first: nanoseconds, the same of CPU time, name.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/library/session.h"

namespace {

namespace session = etwpipe::session;

class LongestFunctions : public session::IAnalyzer {
 public:
  session::Control OnStopActivity(const session::EventStack& stack) override {
    session::MatchEventStackInMember(stack, this, &LongestFunctions::OnFunction);
    return session::Control::kContinue;
  }

  void Print(size_t count) {
    std::sort(functions_.begin(), functions_.end(), [](const Entry& a, const Entry& b) {
      return a.duration != b.duration ? a.duration > b.duration : a.id < b.id;
    });
    for (size_t i = 0; i < std::min(count, functions_.size()); ++i) {
      const Entry& entry = functions_[i];
      std::printf("%lld %lld %s\n", static_cast<long long>(entry.duration), static_cast<long long>(entry.cpu),
                  entry.name.c_str());
    }
  }

 private:
  struct Entry {
    int64_t duration;
    int64_t cpu;
    uint64_t id;
    std::string name;
  };

  void OnFunction(const session::Function& function) {
    functions_.push_back({function.Duration().count(), function.CpuTime().count(), function.event_instance_id(),
                          function.payload()->name});
  }

  std::vector<Entry> functions_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s TRACE [N]\n", argv[0]);
    return 2;
  }
  LongestFunctions functions;
  const session::SessionResult result = session::Analyze(argv[1], 1, functions);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return 1;
  }
  functions.Print(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 10);
  return 0;
}

// The functions that took the compiler longest: longest_functions TRACE [N]
//
// Prints, longest first: nanoseconds, the same of CPU time, name.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

// Whether all of `text` is a number, which `number` then is.
template <typename Number>
bool ReadNumber(const char* text, Number& number) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end;
}

// The exit status once everything is printed.
int Finish(const session::SessionCounts& counts) {
  if (counts.damage != 0) {
    std::fprintf(stderr, "%llu places of the trace could not be read; what stood there is missing\n",
                 static_cast<unsigned long long>(counts.damage));
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::perror("standard output");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 10;
  if (argc < 2 || argc > 3 || (argc == 3 && !ReadNumber(argv[2], count))) {
    std::fprintf(stderr, "usage: %s TRACE [N]\n", argv[0]);
    return 2;
  }
  LongestFunctions functions;
  const session::SessionResult result = session::Analyze(argv[1], 1, functions);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return 1;
  }
  functions.Print(count);
  return Finish(result.counts);
}

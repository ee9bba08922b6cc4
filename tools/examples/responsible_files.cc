// The included files that cost a build most wall-clock time: responsible_files TRACE [N]
//
// Prints, most responsible first: nanoseconds of exclusive wall-clock time responsibility, how often it was read, path.
// responsible_files.c prints the same.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/library/session.h"

namespace {

namespace session = etwpipe::session;

class ResponsibleFiles : public session::IAnalyzer {
 public:
  session::Control OnStopActivity(const session::EventStack& stack) override {
    session::MatchEventStack<session::FrontEndFile>(stack, [this](const session::FrontEndFile& file) {
      Entry& entry = files_[file.payload()->path];
      entry.ticks += file.exclusive_wall_clock_time_responsibility_ticks();
      ++entry.count;
      frequency_ = file.tick_frequency();
    });
    return session::Control::kContinue;
  }

  void Print(size_t count) const {
    std::vector<std::pair<std::string, Entry>> files(files_.begin(), files_.end());
    std::stable_sort(files.begin(), files.end(),
                     [](const auto& a, const auto& b) { return a.second.ticks > b.second.ticks; });
    for (size_t i = 0; i < std::min(count, files.size()); ++i) {
      const auto& [path, entry] = files[i];
      std::printf("%lld %lld %s\n", static_cast<long long>(session::TicksToNanoseconds(entry.ticks, frequency_)),
                  static_cast<long long>(entry.count), path.c_str());
    }
  }

 private:
  struct Entry {
    int64_t ticks = 0;
    int64_t count = 0;
  };
  std::map<std::string, Entry> files_;
  int64_t frequency_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s TRACE [N]\n", argv[0]);
    return 2;
  }
  ResponsibleFiles files;
  const session::SessionResult result = session::Analyze(argv[1], 1, files);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return 1;
  }
  files.Print(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 10);
  return 0;
}

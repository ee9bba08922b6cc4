// The included files that cost a build most wall-clock time: responsible_files TRACE [N]
//
// Prints, most responsible first: nanoseconds of exclusive wall-clock time responsibility, how often it was read, path.
// responsible_files.c prints the same.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
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
  ResponsibleFiles files;
  const session::SessionResult result = session::Analyze(argv[1], 1, files);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.message.c_str());
    return 1;
  }
  files.Print(count);
  return Finish(result.counts);
}

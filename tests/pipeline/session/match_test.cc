// Typed matching of stacks, also against a search through all choices.
#include "pipeline/session/match.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace etwpipe::session {
namespace {

// A stack of events by number; their instance ids are 1, 2, 3, ...
class Stack {
 public:
  explicit Stack(const std::vector<EventId>& ids) {
    for (const EventId id : ids) {
      EventData data;
      data.event_id = static_cast<uint16_t>(id);
      data.event_instance_id = events_.size() + 1;
      if (FindEventKind(data.event_id)->activity) data.flags = kIsActivity;
      events_.push_back(data);
    }
  }
  EventStack view() const { return EventStack(events_); }

 private:
  std::vector<EventData> events_;
};

constexpr EventId kC = EventId::kCompiler;
constexpr EventId kP = EventId::kFrontEndPass;
constexpr EventId kF = EventId::kFrontEndFile;
constexpr EventId kT = EventId::kTemplateInstantiation;
constexpr EventId kL = EventId::kLinker;

template <typename... T>
std::vector<uint64_t> Matched(const Stack& stack) {
  std::vector<uint64_t> ids;
  MatchEventStack<T...>(stack.view(), [&](const T&... events) { (ids.push_back(events.event_instance_id()), ...); });
  return ids;
}

using Ids = std::vector<uint64_t>;

TEST(Match, LastTypeIsTheLastEntry) {
  EXPECT_EQ(Matched<Compiler>(Stack({kC})), Ids({1}));
  EXPECT_EQ(Matched<Compiler>(Stack({kC, kP})), Ids());
  EXPECT_EQ(Matched<FrontEndPass>(Stack({kC, kP})), Ids({2}));
  EXPECT_EQ((Matched<Compiler, FrontEndPass>(Stack({kP}))), Ids());
}

TEST(Match, OthersInOrderWithGaps) {
  const Stack stack({kC, kP, EventId::kC1Dll, kF, kF, kT});
  EXPECT_EQ((Matched<Compiler, TemplateInstantiation>(stack)), Ids({1, 6}));
  EXPECT_EQ((Matched<Compiler, FrontEndFile, TemplateInstantiation>(stack)), Ids({1, 5, 6}));
  EXPECT_EQ((Matched<FrontEndFile, FrontEndFile, TemplateInstantiation>(stack)), Ids({4, 5, 6}));
  EXPECT_EQ((Matched<FrontEndFile, Compiler, TemplateInstantiation>(stack)), Ids()) << "wrong order";
  EXPECT_EQ((Matched<FrontEndFile, FrontEndFile, FrontEndFile, TemplateInstantiation>(stack)), Ids());
  EXPECT_EQ((Matched<Activity, Activity>(stack)), Ids({5, 6}));
}

TEST(Match, ClassesOfSeveralNumbers) {
  EXPECT_EQ((Matched<Invocation, Linker>(Stack({kC, kL}))), Ids({1, 2}));
  EXPECT_EQ((Matched<Invocation>(Stack({kC, kL}))), Ids({2}));
  EXPECT_EQ((Matched<Linker, FileOutput>(Stack({kL, EventId::kObjOutput}))), Ids({1, 2}));
  EXPECT_EQ((Matched<Linker, FileOutput>(Stack({kL, EventId::kFileInput}))), Ids());
  EXPECT_EQ((Matched<Linker, SimpleEvent>(Stack({kL, EventId::kFileInput}))), Ids({1, 2}));
  EXPECT_EQ((Matched<Linker, Activity>(Stack({kL, EventId::kFileInput}))), Ids());
}

TEST(Match, GroupsTakeTheWholeRun) {
  const Stack stack({kC, kF, kP, kF, kF, kF, kT, kT});
  const bool found = MatchEventStack<Compiler, FrontEndFileGroup, TemplateInstantiationGroup>(
      stack.view(),
      [](const Compiler& compiler, const FrontEndFileGroup& files, const TemplateInstantiationGroup& group) {
        EXPECT_EQ(compiler.event_instance_id(), 1u);
        ASSERT_EQ(files.size(), 3u);
        EXPECT_EQ(files.front().event_instance_id(), 4u);
        EXPECT_EQ(files[1].event_instance_id(), 5u);
        EXPECT_EQ(files.back().event_instance_id(), 6u);
        ASSERT_EQ(group.size(), 2u);
        EXPECT_EQ(group.back().event_instance_id(), 8u);
      });
  EXPECT_TRUE(found);
  EXPECT_FALSE((MatchEventStack<FrontEndFileGroup>(stack.view(), [](const FrontEndFileGroup&) {})));
}

struct Member {
  void OnFile(FrontEndFile parent, const FrontEndFile& file) {
    ids = {parent.event_instance_id(), file.event_instance_id()};
  }
  Control Block(const FrontEndFile&) { return Control::kBlock; }
  Ids ids;
};

TEST(Match, MembersByTheirParameters) {
  Member member;
  const Stack stack({kC, kF, kF});
  EXPECT_TRUE(MatchEventStackInMember(stack.view(), &member, &Member::OnFile));
  EXPECT_EQ(member.ids, Ids({2, 3}));
  EXPECT_EQ(MatchEventStackInMember(stack.view(), &member, &Member::Block), Control::kBlock);
  EXPECT_EQ(MatchEventStackInMember(Stack({kC}).view(), &member, &Member::Block), std::nullopt);
}

// Of all ways to choose three entries in order, the last entry being the last: that with the later places from the
// back on.
Ids BruteForce(const std::vector<EventId>& stack, EventId a, EventId b, EventId c) {
  Ids best;
  for (size_t i = 0; i < stack.size(); ++i) {
    for (size_t k = i + 1; k + 1 < stack.size(); ++k) {
      if (stack[i] != a || stack[k] != b || stack.back() != c) continue;
      const Ids ids = {i + 1, k + 1, stack.size()};
      if (best.empty() || ids[1] > best[1] || (ids[1] == best[1] && ids[0] > best[0])) best = ids;
    }
  }
  return best;
}

TEST(Match, RandomStacksAgainstAllChoices) {
  std::mt19937 random(7);
  const std::vector<EventId> kinds = {kC, kF, kT};
  int matches = 0;
  for (int run = 0; run < 5000; ++run) {
    std::vector<EventId> ids(1 + random() % 9);
    for (EventId& id : ids) id = kinds[random() % kinds.size()];
    const Stack stack(ids);
    const Ids expected = BruteForce(ids, kC, kF, kT);
    ASSERT_EQ((Matched<Compiler, FrontEndFile, TemplateInstantiation>(stack)), expected);
    ASSERT_EQ((Matched<FrontEndFile, FrontEndFile, Compiler>(stack)), BruteForce(ids, kF, kF, kC));
    matches += expected.empty() ? 0 : 1;
  }
  EXPECT_GT(matches, 500);
}

}  // namespace
}  // namespace etwpipe::session

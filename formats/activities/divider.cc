#include "formats/activities/divider.h"

namespace etwpipe::activities {
namespace {

class LeafDivider final : public Divider {
 public:
  void Pass(int64_t ticks) override { each_ += Divide({ticks, 0}, leaves_); }
  void Enter(Share& share, uint32_t) override {
    ++leaves_;
    share.since = each_;
  }
  void Leave(Share& share, uint32_t) override {
    --leaves_;
    share.earned += each_ - share.since;
  }

 private:
  uint32_t leaves_ = 0;
  FixedTicks each_;  // what an activity that had always been a leaf would have
};

class RootDivider final : public Divider {
 public:
  void Pass(int64_t ticks) override { each_tree_ += Divide({ticks, 0}, live_trees_); }
  void Enter(Share& share, uint32_t tree) override {
    if (tree >= trees_.size()) trees_.resize(tree + 1);
    Tree& own = trees_[tree];
    if (own.leaves == 0) {
      ++live_trees_;
      own.since = each_tree_;
    } else {
      Settle(own);
    }
    ++own.leaves;
    share.since = own.each;
  }
  void Leave(Share& share, uint32_t tree) override {
    Tree& own = trees_[tree];
    Settle(own);
    share.earned += own.each - share.since;
    if (--own.leaves == 0) --live_trees_;
  }

 private:
  struct Tree {
    uint32_t leaves = 0;
    FixedTicks since;  // of each_tree_, when the number of leaves last changed
    FixedTicks each;   // as LeafDivider::each_, within this tree
  };
  void Settle(Tree& tree) const {
    tree.each += Divide(each_tree_ - tree.since, tree.leaves);
    tree.since = each_tree_;
  }

  uint32_t live_trees_ = 0;
  FixedTicks each_tree_;
  std::vector<Tree> trees_;
};

}  // namespace

std::unique_ptr<Divider> MakeDivider(DivisionRule rule) {
  if (rule == DivisionRule::kRoots) return std::make_unique<RootDivider>();
  return std::make_unique<LeafDivider>();
}

}  // namespace etwpipe::activities

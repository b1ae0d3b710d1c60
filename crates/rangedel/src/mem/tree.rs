//! A persistent search tree over the key space. Each node is responsible for the keys between two splits.
//!
//! ```text
//! inner   splits      d         m         t          children and what covers all of each
//!              [..d)  |  [d..m) |  [m..t) |  [t..)
//! leaf         a-b c-d   d---h     m-p       t-z      fragments, each with its sequence numbers
//! ```
//!
//! A tombstone that spans all the keys of a child goes into the child's [cover](Cover), not into the
//! fragments below. So it changes at most two paths and their neighbours, and a lookup collects the covers on
//! the way down. The outer children are unbounded and never covered.

use std::sync::Arc;

use base::{KeyPrefixes, SeqNo, UserComparator};

use crate::bound::{Bound, compare};
use crate::build::{Builder, EntryList, Item, fragment, merge_into};
use crate::entries::{Entries, Query, append_union};
use crate::fragments::FragmentedTombstones;
use crate::mem::cover::Cover;
use crate::mem::touched::Spans;
use crate::probe::Probe;

/// The maximum number of fragments in a leaf, and of entries in all of them: a change copies the leaf.
const LEAF_FRAGMENTS: usize = 128;
const LEAF_ENTRIES: usize = 1024;
/// The maximum number of children of an inner node.
const FANOUT: usize = 16;

#[derive(Debug)]
pub(super) enum Node {
    Leaf(FragmentedTombstones),
    Inner(Inner),
}

#[derive(Debug)]
pub(super) struct Inner {
    /// The children: one more than there are splits.
    children: Vec<Child>,
    /// The start of each child but the first.
    splits: Vec<Box<[u8]>>,
    prefixes: KeyPrefixes,
}

#[derive(Clone, Debug)]
struct Child {
    node: Arc<Node>,
    /// Tombstones that span all of the child's keys.
    cover: Option<Arc<Cover>>,
}

impl Inner {
    fn new(cmp: &UserComparator, children: Vec<Child>, splits: Vec<Box<[u8]>>) -> Inner {
        base::invariant!(children.len() == splits.len() + 1);
        Inner {
            prefixes: KeyPrefixes::new(cmp, splits.len(), |i| &splits[i]),
            children,
            splits,
        }
    }

    /// The child that is responsible for `key`.
    #[inline]
    fn child_of(&self, cmp: &UserComparator, key: &[u8]) -> usize {
        self.prefixes
            .partition_point(key, |i| compare(cmp, &self.splits[i], key).is_le())
    }

    /// The range of child `i`, given that of the node.
    fn range<'a>(&'a self, i: usize, low: Option<&'a [u8]>, high: Option<&'a [u8]>) -> Range<'a> {
        let split = |i: usize| self.splits.get(i).map(|split| &**split);
        let before = i.checked_sub(1);
        (
            before.map_or(low, split),
            if i < self.splits.len() { split(i) } else { high },
        )
    }
}

/// Bytes that entries of a cover take.
fn memory_of(entries: Entries<'_>) -> usize {
    size_of_val(entries.seqnos) + entries.timestamps.len()
}

/// From the first key up to the second, exclusive; `None` is unbounded.
type Range<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

impl Node {
    /// A leaf without fragments.
    pub fn empty() -> Node {
        Node::Leaf(FragmentedTombstones::default())
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Node::Leaf(fragments) if fragments.is_empty())
    }

    /// The first and the last key of the node's splits and fragments; empty keys if it has none.
    pub fn outer_keys(&self) -> (&[u8], &[u8]) {
        (
            self.outer_key(true).unwrap_or_default(),
            self.outer_key(false).unwrap_or_default(),
        )
    }

    fn outer_key(&self, first: bool) -> Option<&[u8]> {
        match self {
            Node::Leaf(fragments) if fragments.is_empty() => None,
            Node::Leaf(fragments) if first => Some(fragments.start(0).key),
            Node::Leaf(fragments) => Some(fragments.end(fragments.len() - 1).key),
            Node::Inner(inner) => {
                let (child, split) = if first {
                    (inner.children.first(), inner.splits.first())
                } else {
                    (inner.children.last(), inner.splits.last())
                };
                let below = child.and_then(|child| child.node.outer_key(first));
                below.or(split.map(|split| &**split))
            }
        }
    }

    /// Visits the ranges of its tombstones; the node is responsible for the keys of `range`.
    fn each_span(&self, range: Range<'_>, visit: &mut dyn FnMut(&[u8], &[u8])) {
        match self {
            Node::Leaf(fragments) => {
                for i in 0..fragments.len() {
                    visit(fragments.start(i).key, fragments.end(i).key);
                }
            }
            Node::Inner(inner) => {
                for (i, child) in inner.children.iter().enumerate() {
                    let range = inner.range(i, range.0, range.1);
                    if let (Some(_), (Some(low), Some(high))) = (&child.cover, range) {
                        visit(low, high);
                    }
                    child.node.each_span(range, visit);
                }
            }
        }
    }

    fn memory_usage(&self) -> usize {
        match self {
            Node::Leaf(fragments) => fragments.memory_usage(),
            Node::Inner(inner) => {
                size_of::<Node>()
                    + inner.children.len() * size_of::<Child>()
                    + inner.prefixes.memory_usage()
                    + inner
                        .splits
                        .iter()
                        .map(|split| size_of::<Box<[u8]>>() + split.len())
                        .sum::<usize>()
            }
        }
    }

    /// The newest tombstone over the stored `key` that counts, or 0 without one.
    #[inline]
    pub fn newest(&self, cmp: &UserComparator, key: &[u8], query: &Query<'_>) -> SeqNo {
        let mut newest = 0;
        let mut node = self;
        loop {
            match node {
                Node::Leaf(fragments) => return fragments.newest(cmp, key, query).max(newest),
                Node::Inner(inner) => {
                    let child = &inner.children[inner.child_of(cmp, key)];
                    if let Some(cover) = &child.cover {
                        newest = newest.max(cover.newest(cmp, query));
                    }
                    node = &child.node;
                }
            }
        }
    }

    /// Narrows `probe` to the range in which the tombstones over its key do not change. The node is
    /// responsible for the keys from `low` to `high`.
    pub fn probe(&self, probe: &mut Probe<'_>, low: Option<&[u8]>, high: Option<&[u8]>) {
        match self {
            Node::Leaf(fragments) => fragments.probe(probe, &mut 0),
            Node::Inner(inner) => {
                let i = inner.child_of(probe.cmp, probe.key);
                let (low, high) = inner.range(i, low, high);
                probe.narrow(low.map(Bound::before), high.map(Bound::before));
                let child = &inner.children[i];
                if let (Some(cover), Some(low), Some(high)) = (&child.cover, low, high) {
                    let newest = cover.newest(probe.cmp, &probe.query);
                    probe.found_seqno(newest, Bound::before(low), Bound::before(high));
                }
                child.node.probe(probe, low, high);
            }
        }
    }

    /// Passes all tombstones to `builder` as fragments.
    pub fn flatten(&self, cmp: &UserComparator, builder: &mut Builder<'_>) {
        self.flatten_below(cmp, builder, (None, None), Entries::default());
    }

    fn flatten_below(
        &self,
        cmp: &UserComparator,
        builder: &mut Builder<'_>,
        (low, high): Range<'_>,
        cover: Entries<'_>,
    ) {
        match self {
            Node::Inner(inner) => {
                for (i, child) in inner.children.iter().enumerate() {
                    let range = inner.range(i, low, high);
                    let Some(own) = &child.cover else {
                        child.node.flatten_below(cmp, builder, range, cover);
                        continue;
                    };
                    let (mut seqnos, mut timestamps) = (Vec::new(), Vec::new());
                    own.append_to(&mut seqnos, &mut timestamps);
                    let own = Entries {
                        seqnos: &seqnos,
                        timestamps: &timestamps,
                    };
                    let (mut seqnos, mut timestamps) = (Vec::new(), Vec::new());
                    append_union(cmp, own, cover, builder.snapshots(), &mut seqnos, &mut timestamps);
                    let both = Entries {
                        seqnos: &seqnos,
                        timestamps: &timestamps,
                    };
                    child.node.flatten_below(cmp, builder, range, both);
                }
            }
            Node::Leaf(fragments) if cover.is_empty() => builder.push_run(fragments, 0..fragments.len()),
            Node::Leaf(fragments) => {
                let mut at = low.map(Bound::before);
                for i in 0..fragments.len() {
                    let (start, end) = (fragments.start(i), fragments.end(i));
                    if let Some(at) = at.filter(|at| at.compare(cmp, start).is_lt()) {
                        builder.push(at, start, Entries::default(), cover);
                    }
                    builder.push(start, end, fragments.entries(i), cover);
                    at = Some(end);
                }
                if let (Some(at), Some(high)) = (at, high.map(Bound::before))
                    && at.compare(cmp, high).is_lt()
                {
                    builder.push(at, high, Entries::default(), cover);
                }
            }
        }
    }
}

impl Spans for Node {
    fn each(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.each_span((None, None), visit);
    }
}

/// A node that replaces another, or its part from `low` on.
struct Piece {
    /// The start of the node; `None` for the first node: it begins where the replaced node began.
    low: Option<Box<[u8]>>,
    node: Arc<Node>,
}

/// One change of a tree, with the memory it copies and frees.
pub(super) struct Edit<'a> {
    cmp: &'a UserComparator,
    /// Bytes of new nodes and covers.
    pub added_memory: usize,
    /// Bytes of replaced nodes.
    pub freed_memory: usize,
}

impl<'a> Edit<'a> {
    pub fn new(cmp: &'a UserComparator) -> Edit<'a> {
        Edit {
            cmp,
            added_memory: 0,
            freed_memory: 0,
        }
    }

    /// The tree with `items` added.
    pub fn apply(&mut self, root: &Arc<Node>, items: &[Item<'_>]) -> Arc<Node> {
        let mut pieces = self.apply_node(root, (None, None), items);
        while pieces.len() > 1 {
            let children = pieces.into_iter().map(|piece| {
                let child = Child {
                    node: piece.node,
                    cover: None,
                };
                (piece.low, child)
            });
            pieces = self.inner_nodes(children.collect());
        }
        match pieces.pop() {
            Some(piece) => piece.node,
            None => Arc::clone(root),
        }
    }

    fn new_node(&mut self, node: Node) -> Arc<Node> {
        self.added_memory += node.memory_usage();
        Arc::new(node)
    }

    fn apply_node(&mut self, node: &Node, range: Range<'_>, items: &[Item<'_>]) -> Vec<Piece> {
        self.freed_memory += node.memory_usage();
        match node {
            Node::Leaf(fragments) => {
                let items: Vec<Item<'_>> = items.iter().map(|item| self.clip(item, range)).collect();
                let mut builder = Builder::new(self.cmp);
                merge_into(&mut builder, fragments, &fragment(self.cmp, &items));
                self.leaves(builder.finish(), range)
            }
            Node::Inner(inner) => self.apply_inner(inner, range, items),
        }
    }

    /// The part of `item` in `range`, which it overlaps.
    fn clip<'i>(&self, item: &Item<'i>, (low, high): (Option<&'i [u8]>, Option<&'i [u8]>)) -> Item<'i> {
        let mut item = *item;
        if let Some(low) = low.filter(|low| compare(self.cmp, item.start.key, low).is_lt()) {
            item.start = Bound::before(low);
        }
        if let Some(high) = high.filter(|high| compare(self.cmp, item.end.key, high).is_gt()) {
            item.end = Bound::before(high);
        }
        item
    }

    fn apply_inner(&mut self, inner: &Inner, (low, high): Range<'_>, items: &[Item<'_>]) -> Vec<Piece> {
        let cmp = self.cmp;
        // For each child: the items that span it, and those that extend into it.
        let mut work: Vec<(Vec<&Item<'_>>, Vec<Item<'_>>)> = Vec::new();
        work.resize_with(inner.children.len(), Default::default);
        for item in items {
            let (start, end) = (item.start.key, item.end.key);
            let first = inner.child_of(cmp, start);
            let last = inner
                .prefixes
                .partition_point(end, |i| compare(cmp, &inner.splits[i], end).is_lt());
            for (i, (spanning, reaching)) in work.iter_mut().enumerate().take(last + 1).skip(first) {
                let (low, high) = inner.range(i, low, high);
                let spans = (i > first || low.is_some_and(|low| compare(cmp, start, low).is_le()))
                    && (i < last || high.is_some_and(|high| compare(cmp, high, end).is_le()));
                if spans {
                    spanning.push(item);
                } else {
                    reaching.push(*item);
                }
            }
        }
        let mut children = Vec::with_capacity(inner.children.len() + 2);
        let mut list = EntryList::default();
        for (i, (child, (spanning, reaching))) in inner.children.iter().zip(&work).enumerate() {
            let (child_low, child_high) = inner.range(i, low, high);
            list.fill(cmp, spanning.iter().copied());
            self.added_memory += memory_of(list.entries());
            let cover = Cover::with(cmp, child.cover.clone(), list.entries());
            let begins = i.checked_sub(1).map(|before| inner.splits[before].clone());
            if reaching.is_empty() {
                let node = Arc::clone(&child.node);
                children.push((begins, Child { node, cover }));
                continue;
            }
            for piece in self.apply_node(&child.node, (child_low, child_high), reaching) {
                let child = Child {
                    node: piece.node,
                    cover: cover.clone(),
                };
                children.push((piece.low.or_else(|| begins.clone()), child));
            }
        }
        self.inner_nodes(children)
    }

    /// One inner node, or several if there are too many children for one.
    fn inner_nodes(&mut self, children: Vec<(Option<Box<[u8]>>, Child)>) -> Vec<Piece> {
        let count = children.len().div_ceil(FANOUT);
        let size = children.len().div_ceil(count.max(1)).max(1);
        let mut children = children.into_iter().peekable();
        let mut pieces = Vec::with_capacity(count);
        while children.peek().is_some() {
            let mut low = None;
            let (mut group, mut splits) = (Vec::with_capacity(size), Vec::with_capacity(size));
            for (i, (begins, child)) in children.by_ref().take(size).enumerate() {
                if i == 0 {
                    low = begins;
                } else {
                    splits.extend(begins);
                }
                group.push(child);
            }
            let node = self.new_node(Node::Inner(Inner::new(self.cmp, group, splits)));
            // The first new node begins where the replaced node began, and the parent has that key already.
            let low = low.filter(|_| !pieces.is_empty());
            pieces.push(Piece { low, node });
        }
        pieces
    }

    /// One leaf, or several if there are too many entries for one.
    fn leaves(&mut self, fragments: FragmentedTombstones, range: Range<'_>) -> Vec<Piece> {
        if fragments.len() <= LEAF_FRAGMENTS && fragments.num_tombstones() <= LEAF_ENTRIES {
            let node = self.new_node(Node::Leaf(fragments));
            return vec![Piece { low: None, node }];
        }
        if fragments.len() == 1 {
            return self.lone_fragment(&fragments, range);
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut from = 0;
        while from < fragments.len() {
            let mut to = from + 1;
            while to < fragments.len()
                && to - from < LEAF_FRAGMENTS / 2
                && fragments.entry_range(from..to + 1).len() <= LEAF_ENTRIES / 2
            {
                to += 1;
            }
            let mut builder = Builder::new(self.cmp);
            builder.push_run(&fragments, from..to);
            let low = (from > 0).then(|| fragments.start(from).key);
            let high = (to < fragments.len()).then(|| fragments.start(to).key);
            let mut part = self.leaves(builder.finish(), (low.or(range.0), high.or(range.1)));
            if let Some(first) = part.first_mut() {
                first.low = low.map(Into::into);
            }
            pieces.append(&mut part);
            from = to;
        }
        pieces
    }

    /// A range that many tombstones cover becomes a child of its own, so that they, and later ones, are its
    /// cover.
    fn lone_fragment(&mut self, fragments: &FragmentedTombstones, (low, high): Range<'_>) -> Vec<Piece> {
        let (start, end) = (fragments.start(0).key, fragments.end(0).key);
        let entries = fragments.entries(0);
        self.added_memory += memory_of(entries);
        let empty = self.new_node(Node::empty());
        let covered = Child {
            node: Arc::clone(&empty),
            cover: Cover::with(self.cmp, None, entries),
        };
        let covered = self.new_node(Node::Inner(Inner::new(self.cmp, vec![covered], Vec::new())));
        let mut pieces = Vec::with_capacity(3);
        let begins_here = low.is_some_and(|low| compare(self.cmp, low, start).is_eq());
        if !begins_here {
            pieces.push(Piece {
                low: None,
                node: Arc::clone(&empty),
            });
        }
        pieces.push(Piece {
            low: (!begins_here).then(|| start.into()),
            node: covered,
        });
        if !high.is_some_and(|high| compare(self.cmp, high, end).is_eq()) {
            pieces.push(Piece {
                low: Some(end.into()),
                node: empty,
            });
        }
        pieces
    }
}

//! Entries, bounds and outputs in a readable form; with timestamps a user key is written `a/5`.

use std::ops::ControlFlow;

use base::internal_key::{self, TRAILER_LEN};
use base::{BlockwiseCursor, Result, UserComparator};
use esker_compact::{FileBounds, OutputSink};
use rangedel::RangeTombstone;
use testkit::keys::{self, Entry, Item, Tombstone};

/// An internal key and a value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The text form of user keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    pub timestamps: bool,
}

impl Keys {
    pub fn of(cmp: &UserComparator) -> Keys {
        Keys {
            timestamps: cmp.timestamp_size() > 0,
        }
    }

    fn read(self, written: &[u8]) -> Vec<u8> {
        if !self.timestamps {
            return written.to_vec();
        }
        let text = std::str::from_utf8(written).expect("keys with timestamps are text");
        let (key, time) = text.split_once('/').expect("a timestamp after a slash");
        let time = if time == "max" {
            u64::MAX
        } else {
            time.parse().expect("a number")
        };
        [key.as_bytes(), &time.to_le_bytes()].concat()
    }

    fn write(self, user_key: &[u8]) -> Vec<u8> {
        if !self.timestamps || user_key.len() < 8 {
            return user_key.to_vec();
        }
        let (key, time) = user_key.split_at(user_key.len() - 8);
        let time = match u64::from_le_bytes(time.try_into().unwrap()) {
            u64::MAX => "max".to_owned(),
            time => time.to_string(),
        };
        [key, b"/", time.as_bytes()].concat()
    }

    /// Point entries in the order of internal keys, and tombstones.
    pub fn items(self, cmp: &UserComparator, text: &str) -> (Vec<Pair>, Vec<RangeTombstone>) {
        let (mut points, mut ranges) = (Vec::new(), Vec::new());
        for item in keys::parse_items(text).unwrap_or_else(|error| panic!("{error}")) {
            match item {
                Item::Point(mut entry) => {
                    entry.user_key = self.read(&entry.user_key);
                    points.push(entry.into_pair());
                }
                Item::Range(tombstone) => ranges.push(RangeTombstone {
                    start: self.read(&tombstone.start),
                    end: self.read(&tombstone.end),
                    seqno: tombstone.seqno,
                }),
            }
        }
        let order = base::InternalComparator::new(cmp.clone());
        points.sort_by(|a, b| order.compare(&a.0, &b.0));
        (points, ranges)
    }

    pub fn entry(self, key: &[u8], value: &[u8]) -> String {
        let parsed = base::ParsedInternalKey::parse(key).ok();
        match parsed {
            Some(parsed) => {
                Entry::new(self.write(parsed.user_key), parsed.seqno, parsed.kind, value).to_string()
            }
            None => keys::print_entry(key, value),
        }
    }

    pub fn tombstone(self, tombstone: &RangeTombstone) -> String {
        let (start, end) = (self.write(&tombstone.start), self.write(&tombstone.end));
        Tombstone::new(start, end, tombstone.seqno).to_string()
    }
}

/// One output file.
#[derive(Clone, Debug, Default)]
pub struct OutputFile {
    pub points: Vec<(Vec<u8>, Vec<u8>)>,
    pub tombstones: Vec<RangeTombstone>,
    pub bounds: FileBounds,
}

/// Output files in memory. The size of an entry is that of its value plus `overhead`.
#[derive(Debug, Default)]
pub struct Collector {
    pub files: Vec<OutputFile>,
    /// Accepts whole blocks.
    pub copies: bool,
    /// The number of entries that came in blocks.
    pub copied_entries: usize,
    open: Option<OutputFile>,
    size: u64,
    overhead: u64,
}

impl Collector {
    /// A collector that counts `overhead` bytes for each entry.
    pub fn new(overhead: u64) -> Collector {
        Collector {
            overhead,
            copies: true,
            ..Collector::default()
        }
    }
}

impl<C: BlockwiseCursor> OutputSink<C> for Collector {
    fn open(&mut self) -> Result<()> {
        assert!(self.open.is_none());
        self.open = Some(OutputFile::default());
        self.size = 0;
        Ok(())
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let file = self.open.as_mut().expect("an open file");
        assert!(file.tombstones.is_empty(), "points come before tombstones");
        assert!(key.len() >= TRAILER_LEN);
        file.points.push((key.to_vec(), value.to_vec()));
        self.size += value.len() as u64 + self.overhead;
        Ok(())
    }

    fn last_key(&self) -> &[u8] {
        let file = self.open.as_ref().expect("an open file");
        &file.points.last().expect("an entry").0
    }

    fn can_copy_block(&mut self, _: &C) -> bool {
        self.copies
    }

    fn copy_block(&mut self, input: &mut C) -> Result<bool> {
        let mut entries = Vec::new();
        assert!(input.walk_block(|key, value| {
            entries.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        }));
        for (key, value) in &entries {
            OutputSink::<C>::add(self, key, value)?;
        }
        self.copied_entries += entries.len();
        Ok(true)
    }

    fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.open
            .as_mut()
            .expect("an open file")
            .tombstones
            .push(tombstone.clone());
        Ok(())
    }

    fn file_size(&self) -> u64 {
        self.size
    }

    fn close(&mut self, bounds: FileBounds) -> Result<()> {
        let mut file = self.open.take().expect("an open file");
        file.bounds = bounds;
        self.files.push(file);
        Ok(())
    }
}

/// Checks the invariants of a set of output files: in order, within their bounds, disjoint, no user key in
/// two of them.
pub fn check_files(cmp: &UserComparator, files: &[OutputFile]) {
    let order = base::InternalComparator::new(cmp.clone());
    for file in files {
        let bounds = &file.bounds;
        assert!(
            order.compare(&bounds.smallest, &bounds.largest).is_le(),
            "{bounds:?}"
        );
        assert!(
            file.points.is_sorted_by(|a, b| order.compare(&a.0, &b.0).is_lt()),
            "{:?}",
            file.points
                .iter()
                .map(|(key, value)| Keys::of(cmp).entry(key, value))
                .collect::<Vec<_>>()
        );
        let ordered = |a: &RangeTombstone, b: &RangeTombstone| {
            cmp.compare_without_timestamp(&a.start, &b.start)
                .then(b.seqno.cmp(&a.seqno))
                .is_lt()
        };
        assert!(file.tombstones.is_sorted_by(ordered), "{:?}", file.tombstones);
        for (key, _) in &file.points {
            assert!(
                order.compare(&bounds.smallest, key).is_le() && order.compare(key, &bounds.largest).is_le()
            );
            let seqno = internal_key::seqno(key);
            assert!((bounds.smallest_seqno..=bounds.largest_seqno).contains(&seqno));
        }
        for tombstone in &file.tombstones {
            assert!(
                cmp.compare_without_timestamp(&tombstone.start, &tombstone.end)
                    .is_lt()
            );
            let start = internal_key::encode(&tombstone.start, tombstone.seqno, base::Kind::RangeDeletion);
            assert!(order.compare(&bounds.smallest, &start).is_le());
            assert!(
                cmp.compare_without_timestamp(&tombstone.end, internal_key::user_key(&bounds.largest))
                    .is_le()
            );
        }
        assert_eq!(bounds.num_entries, file.points.len() as u64);
        assert_eq!(bounds.num_range_deletions, file.tombstones.len() as u64);
    }
    for pair in files.windows(2) {
        let (left, right) = (&pair[0].bounds, &pair[1].bounds);
        let user = internal_key::user_key;
        let apart = cmp.compare_without_timestamp(user(&left.largest), user(&right.smallest));
        let sentinel = internal_key::trailer(&left.largest)
            == internal_key::pack_trailer(base::MAX_SEQNO, base::Kind::RangeDeletion as u8);
        assert!(apart.is_lt() || (apart.is_eq() && sentinel), "{left:?} {right:?}");
        assert!(
            order.compare(&left.largest, &right.smallest).is_lt(),
            "{left:?} {right:?}"
        );
    }
}

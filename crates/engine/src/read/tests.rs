//! Every cursor of this folder passes the conformance suite, over random memtables, tables and levels with
//! range tombstones of every age and extent.

use std::path::Path;
use std::sync::Arc;

use base::{InternalComparator, Kind, MAX_SEQNO, SeqNo, UserComparator, filename};
use manifest::{FileMetadata, Version, VersionBuilder, VersionEdit};
use memtable::{Memtable, MemtableOptions};
use sst::BlockReadOptions;
use sst::writer::{TableWriter, TableWriterOptions};
use testkit::conformance::check_cursor;
use testkit::keys::Tombstone;
use testkit::rng::{TestRng, rng};
use vfs::{FileSystem, MemFs, OpenOptions};

use super::level_cursor::LevelCursor;
use super::merging_cursor::{MergingCursor, Source};
use crate::files::deletion::Deletion;
use crate::files::obsolete_files::ObsoleteFiles;
use crate::files::open_limit::OpenLimit;
use crate::files::table_cache::{TableCache, TableCacheOptions};
use crate::log::listeners::Listeners;
use crate::options::{Options, TablePaths};

const KEYS: usize = 120;
const ENTRIES: usize = 60;
const DIR: &str = "/db";

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn user_key(number: usize) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// The contents of one input of a merging iterator. All of it is newer than the contents of later inputs.
struct LaneContents {
    entries: Entries,
    tombstones: Vec<Tombstone>,
}

/// Returns random entries and tombstones of a sorted run, with sequence numbers from `first` on.
fn run(rng: &mut TestRng, cmp: &InternalComparator, first: SeqNo, tombstones: usize) -> LaneContents {
    let mut seqnos: Vec<SeqNo> = (first..first + (ENTRIES + tombstones) as SeqNo).collect();
    rng.shuffle(&mut seqnos);
    let covered = seqnos.split_off(ENTRIES);
    let mut entries: Entries = seqnos
        .into_iter()
        .map(|seqno| {
            let kind = if rng.one_in(5) {
                Kind::Deletion
            } else {
                Kind::Value
            };
            let key = base::internal_key::encode(&user_key(rng.usize(..KEYS)), seqno, kind);
            (key, format!("v{seqno}").into_bytes())
        })
        .collect();
    entries.sort_by(|a, b| cmp.compare(&a.0, &b.0));
    let tombstones = covered
        .into_iter()
        .map(|seqno| {
            let start = rng.usize(..KEYS);
            let len = if rng.one_in(3) { KEYS } else { 12 };
            Tombstone::new(user_key(start), user_key(start + 1 + rng.usize(..len)), seqno)
        })
        .collect();
    LaneContents { entries, tombstones }
}

/// Tables in memory and the cache that opens them.
struct Bench {
    fs: Arc<dyn FileSystem>,
    cmp: InternalComparator,
    tables: Arc<TableCache>,
    next_file: u64,
}

impl Bench {
    fn new() -> Bench {
        let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
        fs.create_dir_all(Path::new(DIR)).unwrap();
        let cmp = InternalComparator::new(UserComparator::Bytewise);
        let options = TableCacheOptions {
            block_trace: None,
            num_levels: 7,
            cmp: cmp.clone(),
            prefix_extractor: None,
            stats: Arc::new(crate::stats::Stats::new(
                None,
                Arc::new(base::env::ManualClock::default()),
            )),
            rate_limiter: None,
            block_cache: None,
            row_cache: None,
            charges_cache: false,
            charges_metadata: false,
            direct: false,
            mmap: false,
            advise_random: true,
            auto_readahead: Default::default(),
            block_protection_bytes_per_key: 0,
            metadata_caching: [None; 2],
            largest_flushed: 0,
            uncache_aggressiveness: 0,
            caches_first_reads: false,
            verify_unique_ids: true,
        };
        let files = Options {
            fs: fs.clone(),
            ..Options::default()
        };
        let deletion = Deletion::new(&files, DIR.as_ref());
        let obsolete = Arc::new(ObsoleteFiles::new(deletion, Listeners::none()));
        let limit = Arc::new(OpenLimit::new(11));
        let tables = Arc::new(TableCache::new(
            fs.clone(),
            TablePaths::new(&[], DIR.as_ref()),
            options,
            limit,
            obsolete,
        ));
        Bench {
            fs,
            cmp,
            tables,
            next_file: 1,
        }
    }

    fn table(&mut self, entries: &[(Vec<u8>, Vec<u8>)], tombstones: &[Tombstone]) -> Arc<FileMetadata> {
        let number = self.next_file;
        self.next_file += 1;
        let file = self
            .fs
            .create(&filename::table(Path::new(DIR), number), &Default::default())
            .unwrap();
        // The blocks are small, so that cursors cross many of them.
        let options = TableWriterOptions {
            block_size: 128,
            ..TableWriterOptions::new(self.cmp.clone())
        };
        let mut writer = TableWriter::new(file, options).unwrap();
        entries
            .iter()
            .for_each(|(key, value)| writer.add(key, value).unwrap());
        for tombstone in tombstones {
            writer
                .add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)
                .unwrap();
        }
        let summary = writer.finish().unwrap();
        Arc::new(FileMetadata {
            number,
            size: summary.file_size,
            smallest: summary.smallest.into(),
            largest: summary.largest.into(),
            smallest_seqno: summary.smallest_seqno,
            largest_seqno: summary.largest_seqno,
            ..FileMetadata::default()
        })
    }

    /// Divides a sorted run, with its tombstones, into files at random user keys.
    fn level(&mut self, rng: &mut TestRng, run: &LaneContents) -> Vec<Arc<FileMetadata>> {
        let mut cuts: Vec<usize> = (0..rng.usize(..5)).map(|_| rng.usize(1..KEYS * 2)).collect();
        cuts.extend([0, usize::MAX]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut files = Vec::new();
        for pair in cuts.windows(2) {
            let from = user_key(pair[0]);
            let to = if pair[1] == usize::MAX {
                b"z".to_vec()
            } else {
                user_key(pair[1])
            };
            let inside = |key: &[u8]| from.as_slice() <= key && key < to.as_slice();
            let entries: Entries = run
                .entries
                .iter()
                .filter(|(key, _)| inside(base::internal_key::user_key(key)))
                .cloned()
                .collect();
            let tombstones: Vec<Tombstone> = run
                .tombstones
                .iter()
                .filter(|tombstone| tombstone.start < to && from < tombstone.end)
                .map(|tombstone| {
                    let start = tombstone.start.clone().max(from.clone());
                    Tombstone::new(start, tombstone.end.clone().min(to.clone()), tombstone.seqno)
                })
                .collect();
            if !entries.is_empty() || !tombstones.is_empty() {
                files.push(self.table(&entries, &tombstones));
            }
        }
        files
    }
}

/// The entries of all runs that no tombstone at or below `snapshot` covers.
fn uncovered(cmp: &InternalComparator, runs: &[LaneContents], snapshot: SeqNo) -> Entries {
    let covered = |key: &[u8]| {
        let (user, seqno) = (base::internal_key::user_key(key), base::internal_key::seqno(key));
        runs.iter().flat_map(|run| &run.tombstones).any(|tombstone| {
            let hides = tombstone.seqno > seqno && tombstone.seqno <= snapshot;
            hides && tombstone.start.as_slice() <= user && user < tombstone.end.as_slice()
        })
    };
    let mut entries: Entries = runs
        .iter()
        .flat_map(|run| &run.entries)
        .filter(|(key, _)| !covered(key))
        .cloned()
        .collect();
    entries.sort_by(|a, b| cmp.compare(&a.0, &b.0));
    entries
}

fn memtable(cmp: &InternalComparator, run: &LaneContents) -> Arc<Memtable> {
    let table = Arc::new(Memtable::new(cmp.clone(), MemtableOptions::default()));
    for (key, value) in &run.entries {
        let kind = Kind::from_byte(base::internal_key::kind_byte(key)).unwrap();
        table.add(
            base::internal_key::seqno(key),
            kind,
            base::internal_key::user_key(key),
            value,
        );
    }
    for tombstone in &run.tombstones {
        table.add(
            tombstone.seqno,
            Kind::RangeDeletion,
            &tombstone.start,
            &tombstone.end,
        );
    }
    table
}

#[test]
fn a_level_is_one_sorted_run() {
    let mut rng = rng();
    for _ in 0..20 {
        let mut bench = Bench::new();
        let run = run(&mut rng, &bench.cmp.clone(), 1, 0);
        let files = bench.level(&mut rng, &run);
        let make = || {
            LevelCursor::over_files(
                bench.tables.clone(),
                files.clone(),
                BlockReadOptions::default(),
                OpenOptions::default(),
            )
        };
        check_cursor(make, &run.entries, &bench.cmp, rng.seed());
    }
}

#[test]
fn a_merge_leaves_out_what_tombstones_cover() {
    let mut rng = rng();
    for round in 0..40 {
        let mut bench = Bench::new();
        let cmp = bench.cmp.clone();
        // The children, oldest first: L2, L1, two files of L0, an immutable memtable, the memtable.
        let tombstones = [0, 1, 4][round % 3];
        let runs: Vec<LaneContents> = (0..6)
            .map(|child| run(&mut rng, &cmp, 1 + 100 * child, tombstones))
            .collect();
        let mut edit = VersionEdit::default();
        for (level, run) in [(2, &runs[0]), (1, &runs[1])] {
            edit.new_files
                .extend(bench.level(&mut rng, run).into_iter().map(|file| (level, file)));
        }
        for run in [&runs[2], &runs[3]] {
            edit.new_files
                .push((0, bench.table(&run.entries, &run.tombstones)));
        }
        let mut builder = VersionBuilder::new(&Version::empty(cmp.clone(), 3));
        builder.apply(&edit).unwrap();
        let version = Arc::new(builder.build().unwrap());
        let memtables = [memtable(&cmp, &runs[5]), memtable(&cmp, &runs[4])];
        let snapshot = *rng.pick(&[MAX_SEQNO, 250, 520]);
        let options = BlockReadOptions::default();
        let make = || {
            let mut merged = MergingCursor::new(cmp.clone(), 6, snapshot, None);
            for mem in &memtables {
                let tombstones = mem.range_tombstones().source();
                merged.add(Source::Memtable(mem.cursor()), Some(tombstones));
            }
            for file in version.files(0) {
                let table = bench.tables.table(file).unwrap();
                let tombstones = bench.tables.tombstones_within_bounds(file, &table).clone();
                let cursor = table.cursor(options);
                merged.add(Source::Table(cursor), Some(tombstones.into()));
            }
            for level in 1..3 {
                let cursor = LevelCursor::new(bench.tables.clone(), version.clone(), level, options, true);
                merged.add(Source::Level(cursor), None);
            }
            merged
        };
        check_cursor(make, &uncovered(&cmp, &runs, snapshot), &cmp, rng.seed());
    }
}

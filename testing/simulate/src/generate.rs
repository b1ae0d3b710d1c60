//! Draws histories from a seed.

use base::env::Rng;
use base::simulation::Strategy;
use vfs::UnsyncedPolicy;

use crate::history::{Change, ChangeKind, End, Fault, History, Life, Step, What};
use crate::worker::is_unlogged;

/// Options and the values that they are drawn from: small, so that much happens in a short history.
const DOMAINS: &[(&str, &[&str])] = &[
    ("write_buffer_size", &["4096", "16384", "65536"]),
    ("max_write_buffer_number", &["2", "3", "4"]),
    ("min_write_buffer_number_to_merge", &["1", "2"]),
    ("max_background_jobs", &["1", "2", "4"]),
    ("max_subcompactions", &["1", "3"]),
    ("max_open_files", &["-1", "11", "14"]),
    ("max_total_wal_size", &["0", "4096", "20000"]),
    ("db_write_buffer_size", &["0", "8192"]),
    ("max_manifest_file_size", &["600", "4096", "1073741824"]),
    ("avoid_flush_during_recovery", &["true", "false"]),
    ("avoid_flush_during_shutdown", &["false"]),
    ("allow_concurrent_memtable_write", &["true", "false"]),
    ("wal_compression", &["kNoCompression", "kZSTD"]),
    ("delayed_write_rate", &["16777216", "100000"]),
    ("level0_file_num_compaction_trigger", &["2", "3", "4"]),
    ("level0_slowdown_writes_trigger", &["3", "20"]),
    ("level0_stop_writes_trigger", &["4", "36"]),
    ("num_levels", &["2", "4", "7"]),
    ("target_file_size_base", &["1024", "4096", "65536"]),
    ("max_bytes_for_level_base", &["2048", "16384", "262144"]),
    ("max_bytes_for_level_multiplier", &["2", "10"]),
    ("level_compaction_dynamic_level_bytes", &["true", "false"]),
    (
        "compression",
        &["kNoCompression", "kSnappyCompression", "kLZ4Compression"],
    ),
    (
        "compression_per_level",
        &[
            "kNoCompression:kLZ4Compression",
            "kNoCompression:kSnappyCompression:kLZ4Compression",
        ],
    ),
    ("block_size", &["128", "512", "4096"]),
    ("format_version", &["2", "5", "6", "7"]),
    (
        "filter_policy",
        &["nullptr", "bloomfilter:10:false", "ribbonfilter:10:0"],
    ),
    (
        "index_type",
        &["kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"],
    ),
    ("partition_filters", &["true", "false"]),
    ("metadata_block_size", &["64", "512"]),
    ("block_cache", &["4096", "65536", "4096:lru_cache:65536"]),
    ("paranoid_file_checks", &["true", "false"]),
    ("enable_blob_files", &["true"]),
    ("min_blob_size", &["0", "20"]),
    ("min_older_version_blob_size", &["0", "1", "10"]),
    ("blob_file_size", &["1", "300"]),
    ("enable_blob_garbage_collection", &["true"]),
    ("blob_garbage_collection_age_cutoff", &["0.5", "1"]),
    ("blob_garbage_collection_force_threshold", &["0.3", "1"]),
    (
        "compaction_style",
        &[
            "kCompactionStyleLevel",
            "kCompactionStyleUniversal",
            "kCompactionStyleUniversal",
        ],
    ),
    ("verify_rate_bytes_per_sec", &["0", "1048576", "1073741824"]),
    ("max_bgerror_resume_count", &["0", "1", "2147483647"]),
    ("bgerror_resume_retry_interval", &["1000", "1000000"]),
    ("atomic_flush", &["false", "true"]),
    // An info log is written only if the option is set.
    ("info_log_level", &["INFO_LEVEL"]),
];

struct Generator {
    rng: Rng,
    families: Vec<String>,
    keys: usize,
    max_value: usize,
    next: u64,
    unlogged: bool,
}

/// Returns the history that is drawn from a seed.
pub fn generate(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed);
    let families: Vec<String> = ["warm", "cold"][..rng.usize(..=2)]
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    let mut options = Vec::new();
    for (name, domain) in DOMAINS {
        // Memtables must be small enough to fill up.
        if *name == "write_buffer_size" || rng.bool() {
            options.push(((*name).to_owned(), domain[rng.usize(..domain.len())].to_owned()));
        }
    }
    let mut generator = Generator {
        families: std::iter::once("default".to_owned())
            .chain(families.clone())
            .collect(),
        keys: [3, 8, 24][rng.usize(..3)],
        max_value: [20, 200, 1500][rng.usize(..3)],
        next: 1,
        unlogged: rng.u8(..4) == 0,
        rng,
    };
    let lives = (0..generator.rng.usize(1..=4))
        .map(|_| generator.life())
        .collect();
    let rng = &mut generator.rng;
    let schedule = if rng.u8(..3) == 0 {
        Strategy::Priorities {
            changes: rng.u32(1..8),
            within: 4000,
        }
    } else {
        Strategy::Random {
            one_in: [2, 6, 20, 60][rng.usize(..4)],
        }
    };
    History {
        seed,
        options,
        families,
        latency: [0, 0, 50, 2000][rng.usize(..4)],
        lives,
        schedule: Some(schedule),
    }
}

impl Generator {
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn family(&mut self) -> String {
        self.families[self.rng.usize(..self.families.len())].clone()
    }

    fn key(&mut self) -> String {
        format!("k{:02}", self.rng.usize(..self.keys))
    }

    fn life(&mut self) -> Life {
        let threads = (0..self.rng.usize(1..=4))
            .map(|thread| self.thread(thread))
            .collect();
        let faults = if self.one_in(3) {
            (0..self.rng.usize(1..=2)).map(|_| self.fault()).collect()
        } else {
            Vec::new()
        };
        let full = self.one_in(12).then(|| self.rng.u64(..30_000));
        let at = (!self.one_in(3)).then(|| self.rng.u64(..400));
        let policy = [
            UnsyncedPolicy::Random,
            UnsyncedPolicy::RandomPages,
            UnsyncedPolicy::Lose,
        ][self.rng.usize(..3)];
        let end = match self.rng.u8(..8) {
            0..2 => End::Close,
            2..4 => End::Kill(at),
            _ => End::Power(policy, at),
        };
        Life {
            faults,
            full,
            threads,
            end,
        }
    }

    fn fault(&mut self) -> Fault {
        let (what, op, path, most) = match self.rng.u8(..10) {
            0 => ("fail", "append", ".log", 40),
            1 => (["torn", "partial"][self.rng.usize(..2)], "append", ".log", 40),
            2 => ("fail", "sync", ".log", 8),
            3 => (
                "torn",
                ["rename", "sync_dir", "create"][self.rng.usize(..3)],
                ".",
                10,
            ),
            4 => (
                "fail",
                ["create", "rename", "sync_dir", "remove", "close"][self.rng.usize(..5)],
                ".",
                12,
            ),
            5 => (
                "fail",
                ["append", "sync", "flush"][self.rng.usize(..3)],
                [".sst", "MANIFEST"][self.rng.usize(..2)],
                8,
            ),
            6 => ("short", "read", ".sst", 30),
            7 => ("flip", "read", ".sst", 30),
            8 => ("fail", "read", ".sst", 30),
            _ => (
                "fail",
                ["open", "read", "list", "size", "exists"][self.rng.usize(..5)],
                ".",
                20,
            ),
        };
        Fault {
            open: self.one_in(3),
            what: what.to_owned(),
            op: op.to_owned(),
            path: path.to_owned(),
            nth: self.rng.u64(..most),
        }
    }

    fn thread(&mut self, thread: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut held: Vec<String> = Vec::new();
        let mut iterators: Vec<String> = Vec::new();
        let writer = self.rng.u32(20..90);
        // The name of the family that this thread has created and not dropped, if there is one.
        let mut own: Option<String> = None;
        let comes_and_goes = self.one_in(3);
        for _ in 0..self.rng.usize(3..40) {
            let mut what = match own.take() {
                None if comes_and_goes && self.one_in(6) => {
                    let name = format!("f{}", self.next);
                    own = Some(name.clone());
                    What::Create(name)
                }
                Some(name) if self.one_in(10) => What::Drop(name),
                name => {
                    own = name;
                    self.what(thread, writer, &mut held, &mut iterators)
                }
            };
            if let Some(own) = &own
                && self.rng.bool()
            {
                self.turn_to(&mut what, own);
            }
            steps.push(Step { id: self.next, what });
            self.next += 1;
        }
        steps
    }

    /// Makes an operation use `family`, if the operation can.
    fn turn_to(&mut self, what: &mut What, own: &str) {
        match what {
            What::Write {
                no_wal: false,
                changes,
                ..
            } => {
                let at = self.rng.usize(..changes.len());
                own.clone_into(&mut changes[at].family);
            }
            What::Get { family, .. }
            | What::MultiGet { family, .. }
            | What::Scan { family, .. }
            | What::Iter { family, .. }
            | What::Compact(family)
            | What::CompactFiles(family) => own.clone_into(family),
            What::Flush(families) => families.push(own.to_owned()),
            _ => {}
        }
    }

    fn what(
        &mut self,
        thread: usize,
        writer: u32,
        held: &mut Vec<String>,
        iterators: &mut Vec<String>,
    ) -> What {
        if self.rng.u32(..100) < writer {
            return self.write(thread);
        }
        let snapshot =
            (!held.is_empty() && self.rng.bool()).then(|| held[self.rng.usize(..held.len())].clone());
        let family = self.family();
        match self.rng.u32(..100) {
            0..25 => What::Get {
                family,
                key: self.key(),
                snapshot,
            },
            25..33 => What::MultiGet {
                family,
                keys: (0..self.rng.usize(2..6)).map(|_| self.key()).collect(),
            },
            33..48 => What::Scan {
                family,
                back: self.rng.bool(),
                snapshot,
            },
            48..54 if held.len() < 3 => {
                let name = format!("s{}", self.next);
                held.push(name.clone());
                What::Snapshot(name)
            }
            48..56 if !held.is_empty() => What::Release(held.swap_remove(self.rng.usize(..held.len()))),
            56..61 if iterators.len() < 3 => {
                let name = format!("i{}", self.next);
                iterators.push(name.clone());
                What::Iter {
                    name,
                    family,
                    snapshot,
                }
            }
            56..58 if !iterators.is_empty() => {
                What::Refresh(iterators[self.rng.usize(..iterators.len())].clone())
            }
            56..70 if !iterators.is_empty() => {
                let name = iterators[self.rng.usize(..iterators.len())].clone();
                let to = match self.rng.u8(..6) {
                    0 => "first".to_owned(),
                    1 => "last".to_owned(),
                    _ => self.key(),
                };
                let count = self.rng.i64(1..8) * if self.rng.bool() { 1 } else { -1 };
                What::Move { name, to, count }
            }
            70..80 => What::Flush(if self.one_in(3) {
                self.families.clone()
            } else {
                vec![family]
            }),
            80..83 => What::Compact(family),
            83..85 => What::CompactFiles(family),
            85..91 => What::SyncWal,
            91..93 => What::Wait,
            93..95 => What::Checkpoint {
                logged: self.rng.bool(),
            },
            95..97 => What::Resume,
            // The free space is mostly limited, and now and then unlimited.
            97 => What::Room(match self.one_in(3) {
                true => 1 << 40,
                false => self.rng.u64(..60_000),
            }),
            // A pause that is long enough for the database to resume by itself.
            98 => What::Pause(6_000_000),
            _ => What::Pause(self.rng.u64(1..5000)),
        }
    }

    fn write(&mut self, thread: usize) -> What {
        if self.unlogged && self.one_in(6) {
            // Each thread has its own key, so that the key's numbers grow.
            let key = format!("u{thread}");
            debug_assert!(is_unlogged(&key));
            let change = Change {
                family: self.family(),
                key,
                kind: ChangeKind::Put(8),
            };
            return What::Write {
                sync: false,
                no_wal: true,
                no_slowdown: self.one_in(8),
                low_pri: false,
                changes: vec![change],
            };
        }
        let count = if self.rng.bool() { 1 } else { self.rng.usize(2..6) };
        let changes = (0..count).map(|_| self.change()).collect();
        What::Write {
            sync: self.one_in(5),
            no_wal: false,
            no_slowdown: self.one_in(8),
            low_pri: self.one_in(16),
            changes,
        }
    }

    fn change(&mut self) -> Change {
        let family = self.family();
        let mut key = self.key();
        let kind = match self.rng.u32(..12) {
            0..7 => ChangeKind::Put(self.rng.usize(6..=self.max_value)),
            7..9 => ChangeKind::Delete,
            9 => {
                let other = self.key();
                let (begin, end) = if key <= other { (key, other) } else { (other, key) };
                key = begin;
                ChangeKind::DeleteRange(end)
            }
            _ => {
                key = format!("m{}", self.rng.u8(..3));
                ChangeKind::Merge
            }
        };
        Change { family, key, kind }
    }
}

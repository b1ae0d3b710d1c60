//! Dangerous settings in OPTIONS files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::filename::{self, FileKind};
use base::{Error, Result};
use esker::{LostOption, OptionsFile};
use vfs::FileSystem;

use crate::text::{count, show_size};

/// An OPTIONS file, and the tables next to it.
#[derive(Debug)]
pub struct Loaded {
    /// The path of the file.
    pub path: PathBuf,
    sections: BTreeMap<String, BTreeMap<String, String>>,
    /// Options of the file that have no effect in Esker.
    pub lost: Vec<LostOption>,
    /// The number of tables in the directory of the OPTIONS file.
    tables: u64,
}

impl Loaded {
    /// Returns the newest file in the directory `dir`.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none, and errors of reading and parsing it.
    pub fn newest(fs: &dyn FileSystem, dir: &Path) -> Result<Loaded> {
        let none = || Error::invalid_argument("the directory has no OPTIONS file").in_file(dir);
        let (path, file) = OptionsFile::newest(fs, dir)?.ok_or_else(none)?;
        Ok(Loaded::new(fs, path, &file))
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Errors of reading and parsing it.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<Loaded> {
        let bytes = fs.read_file(path)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Error::corruption("the file is not UTF-8 text")
                .at(error.utf8_error().valid_up_to() as u64)
                .in_file(path)
        })?;
        let parsed = OptionsFile::parse(&text).map_err(|error| error.in_file(path))?;
        Ok(Loaded::new(fs, path.to_path_buf(), &parsed))
    }

    fn new(fs: &dyn FileSystem, path: PathBuf, file: &OptionsFile) -> Loaded {
        let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (title, argument, name, value) in file.entries() {
            let section = match argument {
                Some(argument) => format!("{title} \"{argument}\""),
                None => title.to_owned(),
            };
            let section = sections.entry(section).or_default();
            section.insert(name.to_owned(), value.to_owned());
        }
        let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let names = fs.list(beside.unwrap_or(Path::new("."))).unwrap_or_default();
        let is_table = |name: &&String| matches!(filename::parse(name), Some(FileKind::Table(_)));
        Loaded {
            lost: file.lost(),
            path,
            sections,
            tables: names.iter().filter(is_table).count() as u64,
        }
    }

    /// Returns every option by section and name, without the header of the file.
    pub fn all(&self) -> BTreeMap<(&str, &str), &str> {
        let sections = self.sections.iter().filter(|(section, _)| *section != "Version");
        sections
            .flat_map(|(section, entries)| {
                entries
                    .iter()
                    .map(move |(name, value)| ((&**section, &**name), &**value))
            })
            .collect()
    }

    fn families(&self) -> Vec<&str> {
        let title = |section: &'_ String| {
            let name = section.strip_prefix("CFOptions \"")?.strip_suffix('"')?;
            Some(name.len())
        };
        let sections = self.sections.keys();
        sections
            .filter_map(|section| {
                let len = title(section)?;
                let from = "CFOptions \"".len();
                section.get(from..from + len)
            })
            .collect()
    }

    fn view(&self, section: &str) -> Option<View<'_>> {
        self.sections.get(section).map(View)
    }
}

/// The options of one section. Missing options are not judged.
#[derive(Clone, Copy)]
struct View<'a>(&'a BTreeMap<String, String>);

impl<'a> View<'a> {
    fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(String::as_str)
    }

    fn is(self, name: &str, value: &str) -> bool {
        self.text(name) == Some(value)
    }

    fn number(self, name: &str) -> Option<i128> {
        self.text(name)?.parse().ok()
    }

    /// True if both options exist and `test` holds for them.
    fn both(self, a: &str, b: &str, test: impl Fn(i128, i128) -> bool) -> bool {
        self.number(a)
            .zip(self.number(b))
            .is_some_and(|(a, b)| test(a, b))
    }
}

/// The kind of danger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// The setting can lose rows.
    Data,
    /// Writes stop or wait for long.
    Stall,
    /// Excessive memory, descriptors or disk space.
    Room,
    /// The setting can make operations slow.
    Slow,
}

impl Risk {
    /// The name of the risk in reports.
    pub fn name(self) -> &'static str {
        match self {
            Risk::Data => "DATA",
            Risk::Stall => "STALL",
            Risk::Room => "ROOM",
            Risk::Slow => "SLOW",
        }
    }
}

/// A dangerous setting.
#[derive(Clone, Debug)]
pub struct Danger {
    /// The kind of danger.
    pub risk: Risk,
    /// The section of the options.
    pub section: String,
    /// The options with their values.
    pub what: String,
    /// The reason why the options are dangerous.
    pub reason: String,
}

/// A rule about the options of one section: if `applies` holds, the named options are dangerous for that
/// reason.
struct Rule {
    risk: Risk,
    names: &'static [&'static str],
    applies: fn(View<'_>) -> bool,
    reason: &'static str,
}

const fn rule(
    risk: Risk,
    names: &'static [&'static str],
    applies: fn(View<'_>) -> bool,
    reason: &'static str,
) -> Rule {
    Rule {
        risk,
        names,
        applies,
        reason,
    }
}

const DB_RULES: &[Rule] = &[
    rule(
        Risk::Data,
        &["paranoid_checks"],
        |o| o.is("paranoid_checks", "false"),
        "the database opens, and accepts writes, despite corruption that it has found",
    ),
    rule(
        Risk::Data,
        &["wal_recovery_mode"],
        |o| o.is("wal_recovery_mode", "kSkipAnyCorruptedRecords"),
        "after corruption in a WAL, later rows are recovered without earlier ones that they may depend on",
    ),
    rule(
        Risk::Data,
        &["best_efforts_recovery"],
        |o| o.is("best_efforts_recovery", "true"),
        "if files are missing, the database opens in an older state, and WALs are not replayed",
    ),
    rule(
        Risk::Data,
        &["manual_wal_flush"],
        |o| o.is("manual_wal_flush", "true"),
        "rows stay in the memory of the process until FlushWAL: acknowledged rows are lost when it dies",
    ),
    rule(
        Risk::Data,
        &["avoid_flush_during_shutdown"],
        |o| o.is("avoid_flush_during_shutdown", "true"),
        "rows written without WAL are lost when the database closes",
    ),
    rule(
        Risk::Data,
        &["unordered_write"],
        |o| o.is("unordered_write", "true"),
        "snapshots may change: a row written before one may appear in it later",
    ),
    rule(
        Risk::Data,
        &["allow_mmap_writes"],
        |o| o.is("allow_mmap_writes", "true"),
        "a full or failing disk kills the process (SIGBUS) in the middle of a write",
    ),
    rule(
        Risk::Data,
        &["recycle_log_file_num", "wal_recovery_mode"],
        |o| {
            o.number("recycle_log_file_num").is_some_and(|files| files > 0)
                && (o.is("wal_recovery_mode", "kAbsoluteConsistency")
                    || o.is("wal_recovery_mode", "kTolerateCorruptedTailRecords"))
        },
        "in this mode the old bytes after a recycled WAL's end cannot be distinguished from corruption; RocksDB turns recycling off",
    ),
    rule(
        Risk::Data,
        &["verify_sst_unique_id_in_manifest"],
        |o| o.is("verify_sst_unique_id_in_manifest", "false"),
        "a table that replaces another one, for example after a wrong restore, is not detected",
    ),
    rule(
        Risk::Data,
        &["flush_verify_memtable_count"],
        |o| o.is("flush_verify_memtable_count", "false"),
        "a flush that loses rows is not detected",
    ),
    rule(
        Risk::Data,
        &["compaction_verify_record_count"],
        |o| o.is("compaction_verify_record_count", "false"),
        "a compaction that loses rows is not detected",
    ),
    rule(
        Risk::Stall,
        &["wal_recovery_mode"],
        |o| o.is("wal_recovery_mode", "kAbsoluteConsistency"),
        "after a power failure the database does not open, because the last WAL ends in the middle of a record",
    ),
    rule(
        Risk::Stall,
        &["allow_mmap_reads"],
        |o| o.is("allow_mmap_reads", "true"),
        "a disk that cannot be read kills the process (SIGBUS) instead of causing an error",
    ),
    rule(
        Risk::Stall,
        &["max_background_jobs"],
        |o| {
            o.number("max_background_jobs").is_some_and(|jobs| jobs < 2)
                && o.number("max_background_flushes").unwrap_or(-1) < 0
        },
        "flushes wait for compactions, and writers for flushes",
    ),
];

const FAMILY_RULES: &[Rule] = &[
    rule(
        Risk::Data,
        &["compaction_style", "compaction_options_fifo"],
        |o| o.is("compaction_style", "kCompactionStyleFIFO"),
        "the oldest tables are deleted with their rows once there are more bytes than max_table_files_size, or ttl has passed",
    ),
    rule(
        Risk::Data,
        &["inplace_update_support"],
        |o| o.is("inplace_update_support", "true"),
        "rows are overwritten in memory: snapshots see values written after them",
    ),
    rule(
        Risk::Data,
        &["force_consistency_checks"],
        |o| o.is("force_consistency_checks", "false"),
        "overlapping tables of one level are read as if they did not overlap: old rows reappear",
    ),
    rule(
        Risk::Stall,
        &[
            "level0_slowdown_writes_trigger",
            "level0_file_num_compaction_trigger",
        ],
        |o| {
            o.both(
                "level0_slowdown_writes_trigger",
                "level0_file_num_compaction_trigger",
                |slowdown, begin| slowdown >= 0 && slowdown < begin,
            )
        },
        "writes are slowed before a compaction of L0 begins, and stay slow",
    ),
    rule(
        Risk::Stall,
        &["level0_stop_writes_trigger", "level0_slowdown_writes_trigger"],
        |o| {
            o.both(
                "level0_stop_writes_trigger",
                "level0_slowdown_writes_trigger",
                |stop, slowdown| stop < slowdown,
            )
        },
        "writes stop before they are slowed down",
    ),
    rule(
        Risk::Stall,
        &["level0_stop_writes_trigger", "level0_file_num_compaction_trigger"],
        |o| {
            o.both(
                "level0_stop_writes_trigger",
                "level0_file_num_compaction_trigger",
                |stop, begin| stop <= begin,
            )
        },
        "writes stop as soon as a compaction of L0 is due, or before: they may stop permanently",
    ),
    rule(
        Risk::Stall,
        &["disable_auto_compactions"],
        |o| o.is("disable_auto_compactions", "true"),
        "tables accumulate in L0 until writes stop, and every read searches all of them",
    ),
    rule(
        Risk::Stall,
        &["max_write_buffer_number"],
        |o| o.number("max_write_buffer_number").is_some_and(|most| most < 2),
        "writes stop during every flush, because there is no second memtable",
    ),
    rule(
        Risk::Stall,
        &["min_write_buffer_number_to_merge", "max_write_buffer_number"],
        |o| {
            o.both(
                "min_write_buffer_number_to_merge",
                "max_write_buffer_number",
                |least, most| least > 1 && least >= most,
            )
        },
        "a flush begins only when no memtable is left to write to",
    ),
    rule(
        Risk::Stall,
        &[
            "hard_pending_compaction_bytes_limit",
            "soft_pending_compaction_bytes_limit",
        ],
        |o| {
            o.both(
                "hard_pending_compaction_bytes_limit",
                "soft_pending_compaction_bytes_limit",
                |hard, soft| hard > 0 && hard < soft,
            )
        },
        "writes stop before they are slowed down",
    ),
    rule(
        Risk::Room,
        &["enable_blob_files", "enable_blob_garbage_collection"],
        |o| o.is("enable_blob_files", "true") && o.is("enable_blob_garbage_collection", "false"),
        "a blob file stays as long as one of its values is in use",
    ),
    rule(
        Risk::Room,
        &["level_compaction_dynamic_level_bytes"],
        |o| {
            o.is("level_compaction_dynamic_level_bytes", "false")
                && o.is("compaction_style", "kCompactionStyleLevel")
        },
        "the last level may be hardly larger than the one above: up to twice the space of the rows",
    ),
    rule(
        Risk::Slow,
        &["write_buffer_size"],
        |o| o.number("write_buffer_size").is_some_and(|bytes| bytes < 1 << 20),
        "below 1 MiB: a flush and a tiny table every few rows",
    ),
    rule(
        Risk::Slow,
        &["target_file_size_base", "max_bytes_for_level_base"],
        |o| {
            o.both(
                "target_file_size_base",
                "max_bytes_for_level_base",
                |file, level| file > level,
            )
        },
        "one table fills L1: every compaction rewrites all of it",
    ),
    rule(
        Risk::Slow,
        &[
            "max_bytes_for_level_base",
            "write_buffer_size",
            "level0_file_num_compaction_trigger",
        ],
        |o| {
            let l0 = o
                .number("write_buffer_size")
                .zip(o.number("level0_file_num_compaction_trigger"));
            let base = o.number("max_bytes_for_level_base");
            base.zip(l0)
                .is_some_and(|(base, (bytes, files))| base.saturating_mul(4) < bytes.saturating_mul(files))
        },
        "L1 is far smaller than the output of one L0 compaction: each compaction continues to L2",
    ),
    rule(
        Risk::Slow,
        &["max_compaction_bytes", "target_file_size_base"],
        |o| {
            o.both(
                "max_compaction_bytes",
                "target_file_size_base",
                |compaction, file| compaction > 0 && compaction < file,
            )
        },
        "compactions are cut shorter than one table: many small ones",
    ),
];

const TABLE_RULES: &[Rule] = &[
    rule(
        Risk::Data,
        &["checksum"],
        |o| o.is("checksum", "kNoChecksum"),
        "corrupt bytes on the disk are returned as rows",
    ),
    rule(
        Risk::Slow,
        &["filter_policy"],
        |o| o.is("filter_policy", "nullptr"),
        "no filter: a get reads a block of every level, even for missing keys",
    ),
    rule(
        Risk::Slow,
        &["no_block_cache"],
        |o| o.is("no_block_cache", "true"),
        "every read of a block reads the file and decompresses it",
    ),
    rule(
        Risk::Slow,
        &["block_size"],
        |o| o.number("block_size").is_some_and(|bytes| bytes > 256 << 10),
        "above 256 KiB: a get reads and decompresses all of it",
    ),
    rule(
        Risk::Slow,
        &[
            "cache_index_and_filter_blocks",
            "pin_l0_filter_and_index_blocks_in_cache",
        ],
        |o| {
            o.is("cache_index_and_filter_blocks", "true")
                && o.is("pin_l0_filter_and_index_blocks_in_cache", "false")
        },
        "data blocks evict the indexes and filters of L0, which every get needs, from the cache",
    ),
    rule(
        Risk::Slow,
        &["format_version"],
        |o| o.number("format_version").is_some_and(|version| version < 5),
        "before format version 5 filters are larger and let more absent keys through",
    ),
];

/// The number of tables from which a warning is issued if all of them stay open.
const MANY_TABLES: u64 = 5_000;
/// The bytes of memtables from which a warning is issued.
const LARGE_MEMTABLES: i128 = 4 << 30;

/// Returns all dangers in a file, the worst first.
pub fn dangers(file: &Loaded) -> Vec<Danger> {
    let mut found = Vec::new();
    let mut apply = |section: &str, rules: &[Rule]| {
        let Some(view) = file.view(section) else {
            return;
        };
        for rule in rules.iter().filter(|rule| (rule.applies)(view)) {
            let named = rule.names.iter();
            let named = named.filter_map(|name| Some(format!("{name}={}", view.text(name)?)));
            found.push(Danger {
                risk: rule.risk,
                section: section.to_owned(),
                what: named.collect::<Vec<_>>().join(", "),
                reason: rule.reason.to_owned(),
            });
        }
    };
    apply("DBOptions", DB_RULES);
    for family in file.families() {
        apply(&format!("CFOptions \"{family}\""), FAMILY_RULES);
        apply(&format!("TableOptions/BlockBasedTable \"{family}\""), TABLE_RULES);
    }
    found.extend(dangers_of_several(file));
    found.sort_by_key(|danger| danger.risk);
    found
}

/// Returns the dangers that depend on several sections, or on the tables next to the file.
fn dangers_of_several(file: &Loaded) -> Vec<Danger> {
    let mut found = Vec::new();
    let families = file.families();
    let family_views = families
        .iter()
        .filter_map(|family| Some((*family, file.view(&format!("CFOptions \"{family}\""))?)));
    let memtables: i128 = family_views
        .clone()
        .filter_map(|(_, view)| {
            let most = view.number("max_write_buffer_number")?;
            Some(view.number("write_buffer_size")?.saturating_mul(most))
        })
        .fold(0, i128::saturating_add);
    let size = |bytes: i128| show_size(u64::try_from(bytes).unwrap_or(u64::MAX));
    if let Some(db) = file.view("DBOptions") {
        let mut add = |risk, what: String, reason: String| {
            found.push(Danger {
                risk,
                section: "DBOptions".to_owned(),
                what,
                reason,
            });
        };
        if db.is("max_total_wal_size", "0") && families.len() > 1 {
            add(
                Risk::Room,
                "max_total_wal_size=0".to_owned(),
                format!(
                    "with {} a WAL stays until the idlest of them is flushed: WALs grow to four times the size of all memtables, {}, and an open replays them",
                    count(families.len() as u64, "column family"),
                    size(memtables.saturating_mul(4))
                ),
            );
        }
        if db.is("db_write_buffer_size", "0") && memtables >= LARGE_MEMTABLES {
            add(
                Risk::Room,
                "db_write_buffer_size=0".to_owned(),
                format!(
                    "the total size of memtables is not limited: they may take {}",
                    size(memtables)
                ),
            );
        }
        match db.number("max_open_files") {
            Some(limit) if limit < 0 && file.tables >= MANY_TABLES => add(
                Risk::Room,
                format!("max_open_files={limit}"),
                format!(
                    "{} next to it, each kept open with its index and filter in memory: descriptors and memory for all of them",
                    count(file.tables, "table")
                ),
            ),
            Some(limit) if limit >= 0 && limit < i128::from(file.tables) => add(
                Risk::Slow,
                format!("max_open_files={limit}"),
                format!(
                    "{} next to it: reads reopen evicted tables, with index and filter",
                    count(file.tables, "table")
                ),
            ),
            _ => {}
        }
    }
    for (family, view) in family_views {
        let section = format!("TableOptions/BlockBasedTable \"{family}\"");
        let Some(table) = file.view(&section) else {
            continue;
        };
        if !view.is("prefix_extractor", "nullptr") {
            continue;
        }
        for (name, value, reason) in [
            (
                "whole_key_filtering",
                "false",
                "filters only hold prefixes, but there is no prefix_extractor: they are empty",
            ),
            (
                "index_type",
                "kHashSearch",
                "the hash index needs a prefix_extractor: RocksDB does not open such tables",
            ),
        ] {
            if table.is(name, value) {
                found.push(Danger {
                    risk: Risk::Slow,
                    section: section.clone(),
                    what: format!("{name}={value}, prefix_extractor=nullptr"),
                    reason: reason.to_owned(),
                });
            }
        }
    }
    found
}

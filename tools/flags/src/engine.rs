//! The engine's options as flags under their own names.

use base::{Error, Result};
use esker::option_table::OptionTable;
use esker::{
    BlockBasedOptions, ColumnFamilyOptions, CompactionOptionsUniversal, CompactionPri, CompactionStyle,
    CompressionType, Options, ThreadPool, ThreadPriority,
};

/// An option as the help shows it.
#[derive(Clone, Debug)]
pub struct EngineOption {
    /// The option's name, which is RocksDB's.
    pub name: &'static str,
    /// The type of the value.
    pub type_name: &'static str,
    /// The default value as text.
    pub default: String,
    /// The documentation of the option.
    pub doc: &'static str,
    /// True if the option can be changed while the database is open.
    pub mutable: bool,
}

/// Every option of the database, its column families and their tables.
pub fn rows() -> Vec<EngineOption> {
    fn of<S: OptionTable + Default>() -> impl Iterator<Item = EngineOption> {
        let default = S::default();
        S::rows().iter().map(move |row| EngineOption {
            name: row.name,
            type_name: row.type_name,
            default: (row.get)(&default),
            doc: row.doc,
            mutable: row.mutable,
        })
    }
    of::<Options>()
        .chain(of::<ColumnFamilyOptions>())
        .chain(of::<BlockBasedOptions>())
        .collect()
}

/// The name of an option in the table of options. Flags of db_bench and of db_stress have capitals.
fn in_table(name: &str) -> &str {
    match name {
        "WAL_ttl_seconds" => "wal_ttl_seconds",
        "wal_size_limit_MB" | "WAL_size_limit_MB" => "wal_size_limit_mb",
        name => name,
    }
}

/// `Some` if `name` is an option: true if the option is a boolean.
pub fn is_bool(name: &str) -> Option<bool> {
    let name = in_table(name);
    let kind = |type_name: &str| type_name == "boolean";
    Options::row(name)
        .map(|row| kind(row.type_name))
        .or_else(|| ColumnFamilyOptions::row(name).map(|row| kind(row.type_name)))
        .or_else(|| BlockBasedOptions::row(name).map(|row| kind(row.type_name)))
}

/// Sets an option of the database, or of all families that have no options of their own.
///
/// # Errors
///
/// `InvalidArgument` if there is no such option, or if the value is not one of its values.
pub fn set(options: &mut Options, name: &str, value: &str) -> Result<()> {
    let name = in_table(name);
    // The value is translated: RocksDB's tools use other names for compression types, and numbers for the
    // values of some other options.
    let own_name = match name {
        "blob_compression_type" | "wal_compression" => {
            compression(value).ok().map(CompressionType::options_name)
        }
        _ => numbered(name, value),
    };
    let value = match name {
        // RocksDB's flag separates the numbers by commas; an empty value means the default.
        FANOUTS if value.is_empty() => (get(&Options::default(), name)).unwrap_or_default(),
        FANOUTS => value.replace(',', ":"),
        _ => own_name.unwrap_or(value).to_owned(),
    };
    let value = value.as_str();
    if Options::row(name).is_some() {
        OptionTable::set(options, name, value)
    } else if ColumnFamilyOptions::row(name).is_some() {
        OptionTable::set(&mut options.column_family, name, value)
    } else {
        OptionTable::set(&mut options.column_family.table, name, value)
    }
}

/// The value of an option as text; `None` if there is no such option.
pub fn get(options: &Options, name: &str) -> Option<String> {
    let name = in_table(name);
    let family = &options.column_family;
    Options::row(name)
        .map(|row| (row.get)(options))
        .or_else(|| ColumnFamilyOptions::row(name).map(|row| (row.get)(family)))
        .or_else(|| BlockBasedOptions::row(name).map(|row| (row.get)(&family.table)))
}

const FANOUTS: &str = "max_bytes_for_level_multiplier_additional";

/// The options that RocksDB's tools set by number, and their values in the order of the numbers.
const NUMBERED: &[(&str, &[&str])] = &[
    (
        "data_block_index_type",
        &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"],
    ),
    (
        "index_shortening",
        &[
            "kNoShortening",
            "kShortenSeparators",
            "kShortenSeparatorsAndSuccessor",
        ],
    ),
    (
        "index_type",
        &[
            "kBinarySearch",
            "kHashSearch",
            "kTwoLevelIndexSearch",
            "kBinarySearchWithFirstKey",
        ],
    ),
    ("prepopulate_blob_cache", &["kDisable", "kFlushOnly"]),
    (
        "prepopulate_block_cache",
        &["kDisable", "kFlushOnly", "kFlushAndCompaction"],
    ),
];

fn numbered(name: &str, value: &str) -> Option<&'static str> {
    let (_, values) = NUMBERED.iter().find(|(numbered, _)| *numbered == name)?;
    values.get(value.parse::<usize>().ok()?).copied()
}

/// The compression type that has this name in RocksDB's tools.
///
/// # Errors
///
/// `InvalidArgument` if there is no compression type of that name.
pub fn compression(name: &str) -> Result<CompressionType> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "none" => CompressionType::None,
        "snappy" => CompressionType::Snappy,
        "zlib" => CompressionType::Zlib,
        "bzip2" => CompressionType::Bzip2,
        "lz4" => CompressionType::Lz4,
        "lz4hc" => CompressionType::Lz4Hc,
        "zstd" => CompressionType::Zstd,
        _ => {
            return Err(Error::invalid_argument(format!(
                "--compression_type={name}: no compression of that name"
            )));
        }
    })
}

/// The compaction style that has this number in RocksDB's tools.
///
/// # Errors
///
/// `InvalidArgument` if there is no style of that number.
pub fn compaction_style(number: i32) -> Result<CompactionStyle> {
    match number {
        0 => Ok(CompactionStyle::Level),
        1 => Ok(CompactionStyle::Universal),
        2 => Ok(CompactionStyle::Fifo),
        3 => Ok(CompactionStyle::None),
        other => Err(Error::invalid_argument(format!(
            "--compaction_style={other}: RocksDB has no such style"
        ))),
    }
}

/// Sets the type of memtables by its name in RocksDB's tools.
///
/// # Errors
///
/// `InvalidArgument` if there is no such type.
pub fn set_memtablerep(family: &mut ColumnFamilyOptions, name: &str) -> Result<()> {
    let set = OptionTable::set(family, "memtable_factory", name);
    set.map_err(|error| error.context(&format!("--memtablerep={name}")))
}

/// The compaction priority that has this number in RocksDB's tools.
///
/// # Errors
///
/// `InvalidArgument` if there is no priority of that number.
pub fn compaction_pri(number: i32) -> Result<CompactionPri> {
    let at = usize::try_from(number).ok();
    at.and_then(|at| CompactionPri::ALL.get(at))
        .copied()
        .ok_or_else(|| {
            Error::invalid_argument(format!(
                "--compaction_pri={number}: priorities are 0 to {}",
                CompactionPri::ALL.len() - 1
            ))
        })
}

/// The flags about threads in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadFlags {
    /// `--num_high_pri_threads`: the most threads that flush; 0 for the engine's default
    pub high: usize,
    /// `--num_low_pri_threads`: the most threads that compact; 0 for the engine's default
    pub low: usize,
    /// `--num_bottom_pri_threads`: the most threads that compact into the last level alone
    pub bottom: usize,
    /// `--enable_cpu_prio`: threads that flush and compact have the lowest priority of the processor
    pub lower_cpu: bool,
}

impl ThreadFlags {
    /// Gives the databases that are opened with `options` a pool of threads of their own, if a flag asks for
    /// another one than the process has.
    ///
    /// # Errors
    ///
    /// `NotSupported` for `--enable_cpu_prio` where threads have no priorities of their own.
    pub fn apply(&self, options: &mut Options) -> Result<()> {
        let pool = ThreadPool::new();
        let counts = [
            (self.high, ThreadPriority::High),
            (self.low, ThreadPriority::Low),
            (self.bottom, ThreadPriority::Bottom),
        ];
        for (threads, priority) in counts.into_iter().filter(|(threads, _)| *threads > 0) {
            pool.set_background_threads(threads, priority);
            options.thread_pool = Some(pool.clone());
        }
        if self.lower_cpu {
            for priority in [ThreadPriority::High, ThreadPriority::Low] {
                lower_cpu(&pool, priority)?;
            }
            options.thread_pool = Some(pool);
        }
        Ok(())
    }
}

/// Gives the threads of that priority the lowest priority of the processor.
#[cfg(target_os = "linux")]
fn lower_cpu(pool: &ThreadPool, priority: ThreadPriority) -> Result<()> {
    /// The highest nice value.
    const NICEST: i32 = 19;
    // On Linux the call is for the calling thread alone. As in RocksDB an error is ignored: the work is done
    // all the same.
    pool.prepare_threads(priority, || {
        let _ = rustix::process::setpriority_process(None, NICEST);
    });
    Ok(())
}

/// Refuses: only on Linux has a thread a priority of its own.
#[cfg(not(target_os = "linux"))]
fn lower_cpu(_: &ThreadPool, _: ThreadPriority) -> Result<()> {
    Err(Error::not_supported(
        "--enable_cpu_prio: threads have priorities of their own on Linux only",
    ))
}

/// The options of universal compaction that have flags in RocksDB's tools; 0 means the engine's default.
#[derive(Clone, Copy, Debug)]
pub struct UniversalFlags {
    /// `--universal_size_ratio`
    pub size_ratio: u32,
    /// `--universal_min_merge_width`
    pub min_merge_width: u32,
    /// `--universal_max_merge_width`
    pub max_merge_width: u32,
    /// `--universal_max_size_amplification_percent`
    pub max_size_amplification_percent: u32,
    /// `--universal_max_read_amp`, -1 for the default
    pub max_read_amp: i32,
    /// `--universal_reduce_file_locking`
    pub reduce_file_locking: bool,
}

impl UniversalFlags {
    /// Sets the options that are not at their default.
    pub fn apply(&self, options: &mut CompactionOptionsUniversal) {
        let set = |field: &mut u32, value: u32| {
            if value > 0 {
                *field = value;
            }
        };
        set(&mut options.size_ratio, self.size_ratio);
        set(&mut options.min_merge_width, self.min_merge_width);
        set(&mut options.max_merge_width, self.max_merge_width);
        set(
            &mut options.max_size_amplification_percent,
            self.max_size_amplification_percent,
        );
        options.max_read_amp = self.max_read_amp;
        options.reduce_file_locking = self.reduce_file_locking;
    }
}

/// The help text about options.
pub fn help() -> String {
    let mut text = String::new();
    for row in rows() {
        let doc: Vec<&str> = row.doc.lines().map(str::trim).collect();
        text.push_str(&format!(
            "  --{} ({}, default {:?})\n     {}\n",
            row.name,
            row.type_name,
            row.default,
            doc.join(" ")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_those_of_the_process_unless_a_flag_says_otherwise() {
        let mut options = Options::default();
        ThreadFlags::default().apply(&mut options).unwrap();
        assert!(options.thread_pool.is_none());
        let flags = ThreadFlags {
            high: 5,
            bottom: 7,
            ..ThreadFlags::default()
        };
        flags.apply(&mut options).unwrap();
        let pool = options.thread_pool.unwrap();
        let threads = |priority| pool.background_threads(priority);
        assert_eq!(threads(ThreadPriority::High), 5);
        assert_eq!(threads(ThreadPriority::Bottom), 7);
        let usual = ThreadPool::new().background_threads(ThreadPriority::Low);
        assert_eq!(threads(ThreadPriority::Low), usual);
    }

    /// The nice value of the thread that flushes.
    #[cfg(target_os = "linux")]
    struct Nice(std::sync::mpsc::Sender<i32>);

    #[cfg(target_os = "linux")]
    impl esker::EventListener for Nice {
        fn on_event(&self, event: &esker::Event) {
            if matches!(event, esker::Event::Flushed { .. }) {
                let nice = rustix::process::getpriority_process(None).unwrap();
                let _ = self.0.send(nice);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_flush_have_the_lowest_priority_if_asked() {
        let (sender, nice) = std::sync::mpsc::channel();
        let mut options = Options {
            create_if_missing: true,
            fs: std::sync::Arc::new(esker::file_system::MemFs::new()),
            listeners: vec![std::sync::Arc::new(Nice(sender))],
            ..Options::default()
        };
        let flags = ThreadFlags {
            lower_cpu: true,
            ..ThreadFlags::default()
        };
        flags.apply(&mut options).unwrap();
        let db = esker::Db::open(&options, "/db").unwrap();
        db.put(b"key", b"value").unwrap();
        db.flush().unwrap();
        drop(db);
        assert_eq!(nice.recv(), Ok(19));
    }
}

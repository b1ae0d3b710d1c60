//! Options from text: `write_buffer_size=64k`, `comparator=reverse`, `cf.two.merge_operator=put`.

use std::cmp::Ordering;
use std::sync::Arc;

use base::{merge, prefix};
use esker::option_table::OptionTable;
use esker::{
    AdmissionPolicy, BlockBasedOptions, Cache, CacheOptions, ColumnFamilyOptions, Comparator,
    CompressedSecondaryCacheOptions, DbPath, Error, MemtableFactory, MergeOperator, Options, Result,
    RowLimit, Statistics, StatsLevel, UserComparator, WriteBufferManager,
};
use testkit::TestRng;
use testkit::keys::unescape;
use vfs::RateLimiter;

/// Sets the option or component `name` of the families without options of their own: an option under
/// RocksDB's name, or `comparator`, `merge_operator`, `prefix_extractor`, `block_cache` (its bytes and, after
/// colons, its kind, the bytes of its secondary cache, and the admission policy of that cache),
/// `write_buffer_manager` (its limit in bytes; it stops writers),
/// `rate_limiter` (its bytes a second), `statistics` (its level), `row_limit` (bytes), `row_cache` (its bytes),
/// `blob_cache` (its bytes, or `block_cache`: shared), `db_paths` and `cf_paths` (directories with their
/// sizes). `cf.FAMILY.` before the name sets it for one family, whose options begin as a copy of the common
/// ones.
pub fn set(options: &mut Options, name: &str, value: &str) -> Result<()> {
    if let Some((family, name)) = name.strip_prefix("cf.").and_then(|rest| rest.split_once('.')) {
        let common = options.column_family.clone();
        return set_family(
            options.column_families.entry(family.to_owned()).or_insert(common),
            name,
            value,
        );
    }
    if name == "write_buffer_manager" {
        let limit = value
            .parse()
            .map_err(|_| Error::invalid_argument("write_buffer_manager: bytes"))?;
        options.write_buffer_manager = Some(WriteBufferManager::new(limit, None, true));
        Ok(())
    } else if name == "rate_limiter" {
        let rate = value
            .parse()
            .map_err(|_| Error::invalid_argument("rate_limiter: bytes a second"))?;
        options.rate_limiter = Some(Arc::new(RateLimiter::new(rate)?));
        Ok(())
    } else if name == "row_limit" {
        let bytes = value
            .parse()
            .map_err(|_| Error::invalid_argument("row_limit: bytes"))?;
        options.row_limit = RowLimit::at_most(bytes);
        Ok(())
    } else if name == "row_cache" {
        let bytes = value
            .parse()
            .map_err(|_| Error::invalid_argument("row_cache: bytes"))?;
        options.row_cache = Some(Cache::new(CacheOptions {
            capacity: bytes,
            ..CacheOptions::default()
        }));
        Ok(())
    } else if name == "db_paths" {
        options.db_paths = paths(value)?;
        Ok(())
    } else if name == "statistics" {
        let level = match value {
            "all" => StatsLevel::All,
            "default" => StatsLevel::ExceptDetailedTimers,
            _ => return Err(Error::invalid_argument("statistics: all or default")),
        };
        options.statistics = Some(Statistics::of_level(level));
        Ok(())
    } else if Options::row(name).is_some() {
        options.set(name, value)
    } else {
        set_family(&mut options.column_family, name, value)
    }
}

/// Sets an option or component of one family.
pub fn set_family(options: &mut ColumnFamilyOptions, name: &str, value: &str) -> Result<()> {
    let unknown = || Error::invalid_argument(format!("unknown {name} {value}"));
    match name {
        "comparator" => options.comparator = comparator(value).ok_or_else(unknown)?,
        "merge_operator" if value == "nullptr" => options.merge_operator = None,
        "merge_operator" => options.merge_operator = Some(merge_operator(value).ok_or_else(unknown)?),
        "prefix_extractor" if value == "nullptr" => options.prefix_extractor = None,
        "prefix_extractor" => options.prefix_extractor = Some(prefix::builtin(value).ok_or_else(unknown)?),
        "block_cache" => {
            let parts: Vec<&str> = value.split(':').collect();
            let bytes = |text: &str| text.parse::<usize>().map_err(|_| unknown());
            let cache = CacheOptions {
                capacity: bytes(parts[0])?,
                ..CacheOptions::default()
            };
            let kind = parts.get(1).unwrap_or(&"lru_cache");
            let cache = cache.of_type(kind, options.table.block_size as usize);
            let cache = cache.ok_or_else(unknown)?;
            options.table.block_cache = Some(match parts.get(2) {
                None => Cache::new(cache),
                Some(capacity) => Cache::with_secondary(
                    cache,
                    CompressedSecondaryCacheOptions {
                        capacity: bytes(capacity)?,
                        ..CompressedSecondaryCacheOptions::default()
                    },
                ),
            });
            if let (Some(policy), Some(cache)) = (parts.get(3), &options.table.block_cache) {
                cache.set_admission_policy(AdmissionPolicy::of_name(policy).ok_or_else(unknown)?);
            }
        }
        "cf_paths" => options.cf_paths = paths(value)?,
        "blob_cache" => {
            options.blob_cache = Some(match value {
                "block_cache" => options.table.block_cache.clone().ok_or_else(unknown)?,
                _ => Cache::new(CacheOptions {
                    capacity: value.parse().map_err(|_| unknown())?,
                    ..CacheOptions::default()
                }),
            });
        }
        _ if BlockBasedOptions::row(name).is_some() => options.table.set(name, value)?,
        _ => options.set(name, value)?,
    }
    Ok(())
}

/// Directories and their target sizes in bytes: `/hot:1000,/cold:0`.
fn paths(value: &str) -> Result<Vec<DbPath>> {
    let path = |word: &str| {
        let (path, target) = word.rsplit_once(':')?;
        Some(DbPath::new(path, target.parse().ok()?))
    };
    let paths: Option<Vec<DbPath>> = value.split(',').map(path).collect();
    paths.ok_or_else(|| Error::invalid_argument("directories: DIR:BYTES,..."))
}

/// The comparator of that name: `bytewise`, `reverse`, `u64ts`, `reverse-u64ts`, or `length`: [`ByLength`],
/// which is not built in.
pub fn comparator(name: &str) -> Option<UserComparator> {
    Some(match name {
        "bytewise" => UserComparator::Bytewise,
        "reverse" => UserComparator::ReverseBytewise,
        "u64ts" => UserComparator::BytewiseU64Ts,
        "reverse-u64ts" => UserComparator::ReverseBytewiseU64Ts,
        "length" => UserComparator::Custom(Arc::new(ByLength)),
        _ => return None,
    })
}

/// The merge operator of that name: a built-in one, `stringappend:` and a delimiter, or `max`: [`Max`], which is
/// not built in.
pub fn merge_operator(name: &str) -> Option<Arc<dyn MergeOperator>> {
    match name.strip_prefix("stringappend:") {
        Some(delimiter) => {
            let delimiter = unescape(delimiter).ok()?;
            Some(Arc::new(merge::StringAppend::new(delimiter)))
        }
        None if name == "max" => Some(Arc::new(Max)),
        None => merge::builtin(name),
    }
}

/// A user-defined comparator: shorter keys first, then bytewise.
pub struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &str {
        "dbtest.ByLength"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

/// A user-defined merge operator: the greatest operand wins. It refuses the operand `refuse`, and does not
/// merge operands without their base value.
pub struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "dbtest.Max"
    }

    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        if operands.contains(&&b"refuse"[..]) {
            return None;
        }
        existing
            .into_iter()
            .chain(operands.iter().copied())
            .max()
            .map(<[u8]>::to_vec)
    }
}

/// Draws values from their domains for about half of the options that have one.
pub fn draw<S: OptionTable>(rng: &mut TestRng, options: &mut S) {
    for row in S::rows().iter().filter(|row| !row.domain.is_empty()) {
        if rng.one_in(2) {
            let value = rng.pick(row.domain);
            options
                .set(row.name, value)
                .expect("a domain holds values of its option");
        }
    }
}

/// Table options added to RocksDB after 7.8, whose tools refuse an OPTIONS file with one of them.
const LATER_TABLE_OPTIONS: &[&str] = &[
    "decouple_partitioned_filters",
    "separate_key_value_in_data_block",
    "use_delta_encoding",
];

/// Resets table options that RocksDB 7.8 does not know to their defaults, which are not written to OPTIONS.
pub fn for_tools_of_7_8(table: &mut BlockBasedOptions) {
    let default = BlockBasedOptions::default();
    for name in LATER_TABLE_OPTIONS {
        let row = BlockBasedOptions::row(name).expect("an option of tables");
        (row.set)(table, &(row.get)(&default)).expect("the default is a value of its option");
    }
}

/// Draws options of a database, as [`draw`] does, without impossible combinations.
pub fn draw_of_database(rng: &mut TestRng, options: &mut Options) {
    draw(rng, options);
    options.allow_mmap_reads &= !options.use_direct_reads;
}

/// Draws a memtable factory that `allow_concurrent_memtable_write` permits.
pub fn memtable_factory(rng: &mut TestRng, allow_concurrent_memtable_write: bool) -> MemtableFactory {
    let any = [
        MemtableFactory::SkipList { lookahead: 0 },
        MemtableFactory::Vector { count: 0 },
    ];
    *rng.pick(if allow_concurrent_memtable_write {
        &any[..1]
    } else {
        &any
    })
}

/// Every option that differs from its default, as text for [`set`].
pub fn differing<S: OptionTable + Default>(options: &S) -> String {
    let default = S::default();
    let rows = S::rows()
        .iter()
        .filter(|row| (row.get)(options) != (row.get)(&default));
    rows.map(|row| format!("{}={}", row.name, (row.get)(options)))
        .collect::<Vec<_>>()
        .join(" ")
}

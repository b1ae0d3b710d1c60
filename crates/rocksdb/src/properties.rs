//! Names of properties, for [`property_value`](crate::DBCommon::property_value) and similar calls.

use std::borrow::{Borrow, Cow};
use std::ffi::{CStr, CString};
use std::fmt;
use std::ops::Deref;

use crate::CStrLike;

/// The name of a property.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropName(Cow<'static, CStr>);

impl PropName {
    /// The name as a C string.
    pub fn as_c_str(&self) -> &CStr {
        &self.0
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Deref for PropName {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        &self.0
    }
}

impl AsRef<CStr> for PropName {
    fn as_ref(&self) -> &CStr {
        &self.0
    }
}

impl AsRef<str> for PropName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl ToOwned for PropName {
    type Owned = PropertyName;

    fn to_owned(&self) -> PropertyName {
        PropertyName(PropName(self.0.clone()))
    }
}

impl fmt::Display for PropName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for PropName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq<CStr> for PropName {
    fn eq(&self, other: &CStr) -> bool {
        self.as_c_str() == other
    }
}

impl PartialEq<str> for PropName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<PropName> for CStr {
    fn eq(&self, other: &PropName) -> bool {
        self == other.as_c_str()
    }
}

impl PartialEq<PropName> for str {
    fn eq(&self, other: &PropName) -> bool {
        self == other.as_str()
    }
}

impl<'a> CStrLike for &'a PropName {
    type Baked = &'a CStr;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<&'a CStr, Self::Error> {
        Ok(&self.0)
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(self.0.clone().into_owned())
    }
}

/// An owned name of a property.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyName(PropName);

impl PropertyName {
    /// The name as a C string.
    pub fn into_c_string(self) -> CString {
        self.0.0.into_owned()
    }

    /// The name as text.
    pub fn into_string(self) -> String {
        self.as_str().to_owned()
    }
}

impl Deref for PropertyName {
    type Target = PropName;

    fn deref(&self) -> &PropName {
        &self.0
    }
}

impl Borrow<PropName> for PropertyName {
    fn borrow(&self) -> &PropName {
        &self.0
    }
}

impl AsRef<CStr> for PropertyName {
    fn as_ref(&self) -> &CStr {
        &self.0
    }
}

impl AsRef<str> for PropertyName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq<CString> for PropertyName {
    fn eq(&self, other: &CString) -> bool {
        self.as_c_str() == other.as_c_str()
    }
}

impl PartialEq<String> for PropertyName {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<PropertyName> for CString {
    fn eq(&self, other: &PropertyName) -> bool {
        other == self
    }
}

impl PartialEq<PropertyName> for String {
    fn eq(&self, other: &PropertyName) -> bool {
        other == self
    }
}

impl CStrLike for PropertyName {
    type Baked = CString;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<CString, Self::Error> {
        Ok(self.into_c_string())
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(PropertyName::into_c_string(self))
    }
}

impl<'a> CStrLike for &'a PropertyName {
    type Baked = &'a CStr;
    type Error = std::convert::Infallible;

    fn bake(self) -> Result<&'a CStr, Self::Error> {
        Ok(self.as_c_str())
    }

    fn into_c_string(self) -> Result<CString, Self::Error> {
        Ok(self.as_c_str().to_owned())
    }
}

macro_rules! names {
    ($( $name:ident => $text:literal, )+) => { $(
        #[doc = concat!("`", $text, "`, as RocksDB documents it.")]
        pub const $name: &PropName = &PropName(Cow::Borrowed(
            match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a NUL byte within the name"),
            },
        ));
    )+ };
}

names! {
    STATS => "rocksdb.stats",
    SSTABLES => "rocksdb.sstables",
    CFSTATS => "rocksdb.cfstats",
    CFSTATS_NO_FILE_HISTOGRAM => "rocksdb.cfstats-no-file-histogram",
    CF_FILE_HISTOGRAM => "rocksdb.cf-file-histogram",
    DBSTATS => "rocksdb.dbstats",
    LEVELSTATS => "rocksdb.levelstats",
    NUM_IMMUTABLE_MEM_TABLE => "rocksdb.num-immutable-mem-table",
    NUM_IMMUTABLE_MEM_TABLE_FLUSHED => "rocksdb.num-immutable-mem-table-flushed",
    MEM_TABLE_FLUSH_PENDING => "rocksdb.mem-table-flush-pending",
    NUM_RUNNING_FLUSHES => "rocksdb.num-running-flushes",
    COMPACTION_PENDING => "rocksdb.compaction-pending",
    NUM_RUNNING_COMPACTIONS => "rocksdb.num-running-compactions",
    BACKGROUND_ERRORS => "rocksdb.background-errors",
    CUR_SIZE_ACTIVE_MEM_TABLE => "rocksdb.cur-size-active-mem-table",
    CUR_SIZE_ALL_MEM_TABLES => "rocksdb.cur-size-all-mem-tables",
    SIZE_ALL_MEM_TABLES => "rocksdb.size-all-mem-tables",
    NUM_ENTRIES_ACTIVE_MEM_TABLE => "rocksdb.num-entries-active-mem-table",
    NUM_ENTRIES_IMM_MEM_TABLES => "rocksdb.num-entries-imm-mem-tables",
    NUM_DELETES_ACTIVE_MEM_TABLE => "rocksdb.num-deletes-active-mem-table",
    NUM_DELETES_IMM_MEM_TABLES => "rocksdb.num-deletes-imm-mem-tables",
    ESTIMATE_NUM_KEYS => "rocksdb.estimate-num-keys",
    ESTIMATE_TABLE_READERS_MEM => "rocksdb.estimate-table-readers-mem",
    IS_FILE_DELETIONS_ENABLED => "rocksdb.is-file-deletions-enabled",
    NUM_SNAPSHOTS => "rocksdb.num-snapshots",
    OLDEST_SNAPSHOT_TIME => "rocksdb.oldest-snapshot-time",
    NUM_LIVE_VERSIONS => "rocksdb.num-live-versions",
    CURRENT_SUPER_VERSION_NUMBER => "rocksdb.current-super-version-number",
    ESTIMATE_LIVE_DATA_SIZE => "rocksdb.estimate-live-data-size",
    MIN_LOG_NUMBER_TO_KEEP => "rocksdb.min-log-number-to-keep",
    MIN_OBSOLETE_SST_NUMBER_TO_KEEP => "rocksdb.min-obsolete-sst-number-to-keep",
    TOTAL_SST_FILES_SIZE => "rocksdb.total-sst-files-size",
    LIVE_SST_FILES_SIZE => "rocksdb.live-sst-files-size",
    BASE_LEVEL => "rocksdb.base-level",
    AGGREGATED_TABLE_PROPERTIES => "rocksdb.aggregated-table-properties",
    ACTUAL_DELAYED_WRITE_RATE => "rocksdb.actual-delayed-write-rate",
    IS_WRITE_STOPPED => "rocksdb.is-write-stopped",
    ESTIMATE_OLDEST_KEY_TIME => "rocksdb.estimate-oldest-key-time",
    BLOCK_CACHE_CAPACITY => "rocksdb.block-cache-capacity",
    BLOCK_CACHE_USAGE => "rocksdb.block-cache-usage",
    BLOCK_CACHE_PINNED_USAGE => "rocksdb.block-cache-pinned-usage",
    OPTIONS_STATISTICS => "rocksdb.options-statistics",
}

/// A name that ends with a level, without a NUL byte.
fn at_level(name: &str, level: usize) -> PropertyName {
    let name = CString::new(format!("rocksdb.{name}{level}")).unwrap_or_default();
    PropertyName(PropName(Cow::Owned(name)))
}

/// `rocksdb.num-files-at-level<N>`: the number of tables of a level.
pub fn num_files_at_level(level: usize) -> PropertyName {
    at_level("num-files-at-level", level)
}

/// `rocksdb.compression-ratio-at-level<N>`: the size of a level's rows divided by that of its tables.
pub fn compression_ratio_at_level(level: usize) -> PropertyName {
    at_level("compression-ratio-at-level", level)
}

/// `rocksdb.aggregated-table-properties-at-level<N>`: the sums of the properties of a level's tables.
pub fn aggregated_table_properties_at_level(level: usize) -> PropertyName {
    at_level("aggregated-table-properties-at-level", level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_they_say() {
        assert_eq!(STATS.as_str(), "rocksdb.stats");
        assert_eq!(STATS.to_owned().into_string(), "rocksdb.stats");
        assert_eq!(num_files_at_level(3).as_str(), "rocksdb.num-files-at-level3");
        assert_eq!(STATS.as_c_str(), c"rocksdb.stats");
    }
}

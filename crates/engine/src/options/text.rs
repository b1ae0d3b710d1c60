//! Options as RocksDB's texts: `name=value;name={name=value;...}`.

use base::{Error, Result};

use super::fields::split_outside_braces;

/// Returns RocksDB's names of the values of `option`, in the order of their numbers from 0; `None` if its
/// values have no names.
pub fn value_names(option: &str) -> Option<&'static [&'static str]> {
    Some(match option {
        "compression" | "bottommost_compression" | "wal_compression" | "blob_compression_type" => &[
            "kNoCompression",
            "kSnappyCompression",
            "kZlibCompression",
            "kBZip2Compression",
            "kLZ4Compression",
            "kLZ4HCCompression",
            "kXpressCompression",
            "kZSTD",
        ],
        "compaction_style" => &[
            "kCompactionStyleLevel",
            "kCompactionStyleUniversal",
            "kCompactionStyleFIFO",
            "kCompactionStyleNone",
        ],
        "compaction_pri" => &[
            "kByCompensatedSize",
            "kOldestLargestSeqFirst",
            "kOldestSmallestSeqFirst",
            "kMinOverlappingRatio",
            "kRoundRobin",
        ],
        "wal_recovery_mode" => &[
            "kTolerateCorruptedTailRecords",
            "kAbsoluteConsistency",
            "kPointInTimeRecovery",
            "kSkipAnyCorruptedRecords",
        ],
        "info_log_level" => &[
            "DEBUG_LEVEL",
            "INFO_LEVEL",
            "WARN_LEVEL",
            "ERROR_LEVEL",
            "FATAL_LEVEL",
            "HEADER_LEVEL",
        ],
        "prepopulate_blob_cache" | "prepopulate_block_cache" => {
            &["kDisable", "kFlushOnly", "kFlushAndCompaction"]
        }
        "checksum" => &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"],
        "index_type" => &[
            "kBinarySearch",
            "kHashSearch",
            "kTwoLevelIndexSearch",
            "kBinarySearchWithFirstKey",
        ],
        "data_block_index_type" => &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"],
        "index_shortening" => &[
            "kNoShortening",
            "kShortenSeparators",
            "kShortenSeparatorsAndSuccessor",
        ],
        "stop_style" => &["kCompactionStopStyleSimilarSize", "kCompactionStopStyleTotalSize"],
        _ => return None,
    })
}

/// Returns the `name=value` pairs of a text, which are separated by semicolons outside of braces.
///
/// # Errors
/// `InvalidArgument` for a part without `=`, in RocksDB's words.
pub fn pairs(text: &str) -> Result<Vec<(&str, &str)>> {
    let parts = split_outside_braces(text, ';');
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                Error::invalid_argument(format!("Mismatched key value pair, '=' expected: {part}"))
            })?;
            Ok((name.trim(), value.trim()))
        })
        .collect()
}

/// Returns the text inside the braces around `text`, or `text` if there are none.
pub fn in_braces(text: &str) -> &str {
    text.strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
        .unwrap_or(text)
}

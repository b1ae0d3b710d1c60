//! The text form of compression options: `{level=3;max_dict_bytes=4096;...}`.

use codec::compression::CompressionOptions;

use super::fields::{self, Field, fields};
use crate::options::table::OptionValue;

/// The names of fields that are newer than RocksDB 7.8, and their release; written only if not at their
/// defaults.
pub(crate) const LATER: &[(&str, &str)] = &[("max_compressed_bytes_per_kb", "8.0.0"), ("checksum", "8.6.0")];

/// The first nine fields are in the order of RocksDB's old form, which separates them by colons.
const FIELDS: &[Field<CompressionOptions>] = fields![
    window_bits,
    level,
    strategy,
    max_dict_bytes,
    zstd_max_train_bytes,
    parallel_threads,
    enabled,
    max_dict_buffer_bytes,
    use_zstd_dict_trainer,
    max_compressed_bytes_per_kb,
    checksum,
];

impl OptionValue for CompressionOptions {
    const TYPE: &'static str =
        "compression options: {level=...;max_dict_bytes=...;zstd_max_train_bytes=...;...}";

    fn parse(text: &str) -> Option<CompressionOptions> {
        let mut options = CompressionOptions::default();
        if text.starts_with('{') {
            return fields::parse_onto(&options, FIELDS, &[], text);
        }
        for (i, value) in text.split(':').enumerate() {
            FIELDS.get(i)?.2(&mut options, value.trim())?;
        }
        Some(options)
    }

    fn text(&self) -> String {
        fields::text(self, FIELDS, LATER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_rocksdb_has_is_read() {
        let all = "{checksum=true;max_dict_buffer_bytes=7;enabled=true;max_dict_bytes=4096;max_compressed_bytes_per_kb=800;\
                   parallel_threads=2;zstd_max_train_bytes=5;level=3;use_zstd_dict_trainer=false;strategy=1;window_bits=-12;}";
        let options = CompressionOptions {
            level: 3,
            window_bits: -12,
            strategy: 1,
            max_dict_bytes: 4096,
            zstd_max_train_bytes: 5,
            max_compressed_bytes_per_kb: 800,
            max_dict_buffer_bytes: 7,
            checksum: true,
            enabled: true,
            parallel_threads: 2,
            use_zstd_dict_trainer: false,
        };
        assert_eq!(CompressionOptions::parse(all), Some(options.clone()));
        assert_eq!(CompressionOptions::parse(&options.text()), Some(options));
        let few = CompressionOptions {
            level: 4,
            strategy: 5,
            max_dict_bytes: 6,
            ..CompressionOptions::default()
        };
        assert_eq!(CompressionOptions::parse("-14:4:5:6"), Some(few.clone()));
        assert_eq!(
            few.text(),
            "{window_bits=-14;level=4;strategy=5;max_dict_bytes=6;zstd_max_train_bytes=0;parallel_threads=1;\
             enabled=false;max_dict_buffer_bytes=0;use_zstd_dict_trainer=true;}",
            "nothing that RocksDB 7.8 does not know"
        );
        assert_eq!(
            CompressionOptions::parse("{}"),
            Some(CompressionOptions::default())
        );
        for text in [
            "",
            "{level}",
            "{what=1;}",
            "{level=x;}",
            "1:2:3:4:5:6:true:8:true:10:11:12",
        ] {
            assert_eq!(CompressionOptions::parse(text), None, "{text}");
        }
    }
}

//! The text form of compaction options: `{size_ratio=1;min_merge_width=2;...}`, `kMinOverlappingRatio`,
//! `1:1:2`.

use compact::{
    CompactionOptionsFifo, CompactionOptionsUniversal, CompactionPri, CompactionStopStyle, FileTemperatureAge,
};

use super::fields::{Field, fields, parse_onto, split_outside_braces, text};
use crate::options::table::{OptionValue, enum_option};

/// The compaction style of a family.
///
/// See the example of [`ColumnFamilyOptions`](crate::ColumnFamilyOptions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionStyle {
    /// Each level is a sorted run ten times as large as the one above.
    Level,
    /// Sorted runs ordered by age, merged when several are of similar size: writes less, and needs more
    /// space.
    Universal,
    /// All files are in L0, and the oldest are dropped with their contents once they are too old or too
    /// large.
    Fifo,
    /// Flushed files accumulate in L0 until a manual compaction.
    None,
}

enum_option!(CompactionStyle, "compaction style",
    "kCompactionStyleLevel" => CompactionStyle::Level,
    "kCompactionStyleUniversal" => CompactionStyle::Universal,
    "kCompactionStyleFIFO" => CompactionStyle::Fifo,
    "kCompactionStyleNone" => CompactionStyle::None,
);

enum_option!(CompactionStopStyle, "compaction stop style",
    "kCompactionStopStyleSimilarSize" => CompactionStopStyle::SimilarSize,
    "kCompactionStopStyleTotalSize" => CompactionStopStyle::TotalSize,
);

/// The names of fields that are newer than RocksDB 7.8, and their release; written only if not at their
/// defaults.
pub(crate) const LATER: &[(&str, &str)] = &[
    ("max_read_amp", "9.3.0"),
    ("reduce_file_locking", "10.6.0"),
    ("max_data_files_size", "11.0.0"),
    ("use_kv_ratio_compaction", "11.0.0"),
    ("file_temperature_age_thresholds", "8.3.0"),
];

const UNIVERSAL: &[Field<CompactionOptionsUniversal>] = fields![
    allow_trivial_move,
    stop_style,
    min_merge_width,
    compression_size_percent,
    max_size_amplification_percent,
    incremental,
    max_merge_width,
    size_ratio,
    max_read_amp,
    reduce_file_locking,
];

impl OptionValue for CompactionOptionsUniversal {
    const TYPE: &'static str = "options of universal compaction: {size_ratio=...;min_merge_width=...;...}";

    fn parse(text: &str) -> Option<CompactionOptionsUniversal> {
        CompactionOptionsUniversal::default().parse_onto(text)
    }

    fn parse_onto(&self, text: &str) -> Option<CompactionOptionsUniversal> {
        parse_onto(self, UNIVERSAL, &[], text)
    }

    fn text(&self) -> String {
        text(self, UNIVERSAL, LATER)
    }
}

const FIFO: &[Field<CompactionOptionsFifo>] = fields![
    max_table_files_size,
    allow_compaction,
    max_data_files_size,
    use_kv_ratio_compaction,
    file_temperature_age_thresholds,
];

const FILE_TEMPERATURE_AGE: &[Field<FileTemperatureAge>] = fields![temperature, age];

/// `{{temperature=kWarm;age=10;}:{temperature=kCold;age=20;}}`; for a single entry the outer braces may be
/// missing.
impl OptionValue for Vec<FileTemperatureAge> {
    const TYPE: &'static str = "ages and temperatures: {{temperature=...;age=...;}:{...}}";

    fn parse(text: &str) -> Option<Vec<FileTemperatureAge>> {
        let elements = match text.strip_prefix("{{") {
            Some(_) => text.strip_prefix('{')?.strip_suffix('}')?,
            None if text == "{}" => "",
            None => text,
        };
        split_outside_braces(elements, ':')
            .filter(|element| !element.trim().is_empty())
            .map(|element| {
                let none = FileTemperatureAge::default();
                parse_onto(&none, FILE_TEMPERATURE_AGE, &[], element.trim())
            })
            .collect()
    }

    fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let elements = self
            .iter()
            .map(|element| text(element, FILE_TEMPERATURE_AGE, &[]));
        format!("{{{}}}", elements.collect::<Vec<_>>().join(":"))
    }
}

/// The names and only allowed values of fields for features that Esker does not have.
const FIFO_OTHERS: &[(&str, &str)] = &[
    ("age_for_warm", "0"),
    ("ttl", "0"),
    ("allow_trivial_copy_when_change_temperature", "false"),
    ("trivial_copy_buffer_size", "4096"),
];

impl OptionValue for CompactionOptionsFifo {
    const TYPE: &'static str =
        "options of FIFO compaction: {max_table_files_size=...;allow_compaction=...;...}";

    fn parse(text: &str) -> Option<CompactionOptionsFifo> {
        CompactionOptionsFifo::default().parse_onto(text)
    }

    fn parse_onto(&self, text: &str) -> Option<CompactionOptionsFifo> {
        // Old RocksDB releases wrote the first field alone.
        if !text.contains('=') && !text.starts_with('{') {
            return Some(CompactionOptionsFifo {
                max_table_files_size: OptionValue::parse(text)?,
                ..self.clone()
            });
        }
        parse_onto(self, FIFO, FIFO_OTHERS, text)
    }

    fn text(&self) -> String {
        text(self, FIFO, LATER)
    }
}

impl OptionValue for CompactionPri {
    const TYPE: &'static str = "compaction priority";

    fn parse(text: &str) -> Option<CompactionPri> {
        CompactionPri::from_name(text)
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }
}

impl OptionValue for Vec<u32> {
    const TYPE: &'static str = "integers, separated by colons";

    fn parse(text: &str) -> Option<Vec<u32>> {
        let parts = text.split(':').filter(|part| !part.is_empty());
        parts.map(|part| part.trim().parse().ok()).collect()
    }

    fn text(&self) -> String {
        self.iter().map(u32::to_string).collect::<Vec<_>>().join(":")
    }
}

/// The value with which RocksDB chooses the age itself.
pub(crate) const AGE_OF_CHOICE: u64 = u64::MAX - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ColumnFamilyOptions;
    use crate::options::picker::CHOSEN_AGE;
    use base::Temperature;

    #[test]
    fn options_of_styles_are_read_and_written_as_rocksdb_does() {
        let written_by_rocksdb = "{allow_trivial_move=true;stop_style=kCompactionStopStyleSimilarSize;min_merge_width=3;\
             compression_size_percent=20;max_size_amplification_percent=70;incremental=false;max_merge_width=9;size_ratio=5;}";
        let options = CompactionOptionsUniversal::parse(written_by_rocksdb).unwrap();
        assert_eq!(options.text(), written_by_rocksdb);
        assert_eq!(
            (
                options.size_ratio,
                options.min_merge_width,
                options.max_merge_width
            ),
            (5, 3, 9)
        );
        let newer = CompactionOptionsUniversal::parse("{max_read_amp=7;reduce_file_locking=true;}").unwrap();
        assert_eq!(newer.max_read_amp, 7);
        assert!(
            newer.text().ends_with("size_ratio=1;max_read_amp=7;}"),
            "{}",
            newer.text()
        );
        let changed = options.parse_onto("{size_ratio=6;}").unwrap();
        assert_eq!((changed.size_ratio, changed.min_merge_width), (6, 3));
        for text in ["", "{size_ratio}", "{what=1;}", "{size_ratio=x;}", "size_ratio=1"] {
            assert_eq!(CompactionOptionsUniversal::parse(text), None, "{text}");
        }

        let fifo = CompactionOptionsFifo::parse(
            "{trivial_copy_buffer_size=4096;allow_trivial_copy_when_change_temperature=false;\
             file_temperature_age_thresholds=;allow_compaction=true;age_for_warm=0;max_table_files_size=77;}",
        )
        .unwrap();
        assert_eq!((fifo.max_table_files_size, fifo.allow_compaction), (77, true));
        assert_eq!(fifo.text(), "{max_table_files_size=77;allow_compaction=true;}");
        assert_eq!(
            CompactionOptionsFifo::parse("23").unwrap().max_table_files_size,
            23
        );
        assert_eq!(CompactionOptionsFifo::parse("{age_for_warm=5;}"), None);
        let warm_then_cold = vec![
            FileTemperatureAge {
                temperature: Temperature::WARM,
                age: 10,
            },
            FileTemperatureAge {
                temperature: Temperature::COLD,
                age: 20,
            },
        ];
        let written = "{{temperature=kWarm;age=10;}:{temperature=kCold;age=20;}}";
        assert_eq!(warm_then_cold.text(), written);
        for text in [written, "{{age=10;temperature=kWarm}:{age=20;temperature=kCold}}"] {
            let text = format!("{{file_temperature_age_thresholds={text};max_table_files_size=5}}");
            let fifo = CompactionOptionsFifo::parse(&text).unwrap();
            assert_eq!(fifo.file_temperature_age_thresholds, warm_then_cold, "{text}");
            assert_eq!(fifo.max_table_files_size, 5);
        }
        type Ages = Vec<FileTemperatureAge>;
        assert_eq!(
            Ages::parse("{temperature=kWarm;age=10}").unwrap(),
            warm_then_cold[..1]
        );
        assert_eq!(
            Ages::parse("{{temperature=kWarm;age=10;}}").unwrap(),
            warm_then_cold[..1]
        );
        assert_eq!(Ages::parse("{temperature=kHotter;age=10}"), None);
        assert_eq!(Ages::parse("kWarm"), None);
    }

    #[test]
    fn ages_are_chosen_by_style() {
        let mut options = ColumnFamilyOptions::default();
        assert_eq!(options.ages(), (CHOSEN_AGE, 0));
        options.compaction_style = CompactionStyle::Universal;
        assert_eq!(options.ages(), (CHOSEN_AGE, CHOSEN_AGE));
        options.ttl = 7;
        assert_eq!(options.ages(), (7, 7));
        options.ttl = 0;
        options.periodic_compaction_seconds = 0;
        assert_eq!(options.ages(), (0, 0));
        options.compaction_style = CompactionStyle::Fifo;
        options.periodic_compaction_seconds = 9;
        assert_eq!(options.ages(), (0, 0));
    }

    #[test]
    fn what_cannot_be_together_is_named_together() {
        let options = ColumnFamilyOptions {
            compaction_style: CompactionStyle::Universal,
            compaction_options_universal: CompactionOptionsUniversal {
                max_read_amp: 3,
                ..CompactionOptionsUniversal::default()
            },
            ..ColumnFamilyOptions::default()
        };
        let error = options.check_compaction().unwrap_err().to_string();
        assert!(
            error.contains("max_read_amp=3") && error.contains("level0_file_num_compaction_trigger=4"),
            "{error}"
        );
        let one = ColumnFamilyOptions {
            num_levels: 1,
            ..ColumnFamilyOptions::default()
        };
        assert!(
            one.check_compaction()
                .unwrap_err()
                .to_string()
                .contains("num_levels=1")
        );
    }
}

//! The options of compaction in the form that pickers and stalls take.

use super::compaction::AGE_OF_CHOICE;
use super::option_errors::OptionErrors;
use super::table::OptionValue;
use super::{ColumnFamilyOptions, CompactionStyle};
use base::Result;
use base::Temperature;
use compact::LeveledOptions;
use compact::Style;

/// The age that RocksDB chooses: 30 days.
pub(crate) const CHOSEN_AGE: u64 = 30 * 24 * 60 * 60;

impl ColumnFamilyOptions {
    /// The options that pickers need. The numbers of L0 files that compact, slow and stop are put in that
    /// order, as in RocksDB: writes that stop before the compaction they wait for can start would never
    /// continue.
    ///
    /// For programs that run the pickers of `esker-compact` themselves, as `esker advise` does.
    #[doc(hidden)]
    pub fn leveled(&self) -> LeveledOptions {
        // Universal compaction leaves one sorted run, so that it must not start before there are two.
        let compacts_at = match self.compaction_style {
            CompactionStyle::Universal => self.level0_file_num_compaction_trigger.max(2),
            _ => self.level0_file_num_compaction_trigger,
        };
        let slows_at = match self.level0_slowdown_writes_trigger {
            never @ ..0 => never,
            trigger => trigger.max(compacts_at),
        };
        let stops_at = self.level0_stop_writes_trigger.max(slows_at).max(compacts_at);
        let style = match self.compaction_style {
            CompactionStyle::Level => Style::Level,
            CompactionStyle::Universal => Style::Universal(self.compaction_options_universal.clone()),
            CompactionStyle::Fifo => Style::Fifo(self.compaction_options_fifo.clone()),
            CompactionStyle::None => Style::None,
        };
        // FIFO compaction has all files in L0.
        let piles_up = self.compaction_style == CompactionStyle::Fifo;
        let (ttl, periodic_compaction_seconds) = self.ages();
        LeveledOptions {
            num_levels: self.num_levels as usize,
            level0_file_num_compaction_trigger: self.level0_file_num_compaction_trigger as usize,
            level0_slowdown_writes_trigger: usize::try_from(slows_at).ok().filter(|_| !piles_up),
            level0_stop_writes_trigger: if piles_up { usize::MAX } else { stops_at as usize },
            target_file_size_base: self.target_file_size_base,
            target_file_size_multiplier: self.target_file_size_multiplier as u64,
            max_bytes_for_level_base: self.max_bytes_for_level_base,
            max_bytes_for_level_multiplier: self.max_bytes_for_level_multiplier,
            max_bytes_for_level_multiplier_additional: self.max_bytes_for_level_multiplier_additional.clone(),
            compaction_pri: self.compaction_pri,
            level_compaction_dynamic_level_bytes: self.level_compaction_dynamic_level_bytes
                && style == Style::Level,
            max_compaction_bytes: self.max_compaction_bytes,
            soft_pending_compaction_bytes_limit: self.soft_pending_compaction_bytes_limit,
            hard_pending_compaction_bytes_limit: self.hard_pending_compaction_bytes_limit,
            disable_auto_compactions: self.disable_auto_compactions
                || self.compaction_style == CompactionStyle::None,
            ttl,
            periodic_compaction_seconds,
            write_buffer_size: self.write_buffer_size,
            preclude_last_level_data_seconds: self.preclude_last_level_data_seconds,
            blob_garbage_collection: self.blob_garbage_collection(),
            style,
            ..LeveledOptions::default()
        }
    }

    /// The age in seconds up to which the times of rows are recorded; 0: they are not.
    pub(crate) fn recorded_seconds(&self) -> u64 {
        let precluded = match self.compaction_style {
            CompactionStyle::Level | CompactionStyle::Universal => self.preclude_last_level_data_seconds,
            CompactionStyle::Fifo | CompactionStyle::None => 0,
        };
        self.preserve_internal_time_seconds.max(precluded)
    }

    /// The temperature of a table that is written to `level`.
    pub(crate) fn temperature_at(&self, level: usize) -> Temperature {
        match self.last_level_temperature {
            Temperature::UNKNOWN => self.default_write_temperature,
            last if level + 1 == self.num_levels as usize => last,
            _ => self.default_write_temperature,
        }
    }

    /// True if compactions can exclude the last level and have another to write to.
    pub(crate) fn can_reserve_last_level(&self) -> bool {
        self.compaction_style == CompactionStyle::Universal && self.num_levels >= 3
    }

    /// The effective `ttl` and `periodic_compaction_seconds`, 0 for never, by RocksDB's rules.
    pub(crate) fn ages(&self) -> (u64, u64) {
        let chosen = |seconds: u64, choice: u64| if seconds == AGE_OF_CHOICE { choice } else { seconds };
        let ttl = chosen(self.ttl, CHOSEN_AGE);
        let filters = self.compaction_filter_factory.is_some();
        match self.compaction_style {
            CompactionStyle::Level => {
                let by_filter = if filters { CHOSEN_AGE } else { 0 };
                (ttl, chosen(self.periodic_compaction_seconds, by_filter))
            }
            // The two options mean the same here, and the shorter age applies.
            CompactionStyle::Universal => {
                let period = chosen(self.periodic_compaction_seconds, CHOSEN_AGE);
                let shorter = [ttl, period].into_iter().filter(|&age| age > 0).min();
                (ttl, shorter.unwrap_or(0))
            }
            CompactionStyle::Fifo | CompactionStyle::None => (ttl, 0),
        }
    }

    /// `InvalidArgument` or `NotSupported` for combinations that are not possible, with the names of the
    /// options.
    pub(crate) fn check_compaction(&self) -> Result<()> {
        let universal = &self.compaction_options_universal;
        let mut wrong = OptionErrors::default();
        match self.compaction_style {
            CompactionStyle::Level if self.num_levels < 2 => {
                wrong.invalid(format!(
                    "num_levels={} with compaction_style=kCompactionStyleLevel, which needs 2",
                    self.num_levels
                ));
            }
            CompactionStyle::Universal => {
                let (runs, trigger) = (universal.max_read_amp, self.level0_file_num_compaction_trigger);
                if runs < -1 {
                    wrong.invalid(format!("max_read_amp={runs} is less than -1"));
                }
                if 0 < runs && runs < trigger {
                    wrong.invalid(format!(
                        "max_read_amp={runs} is less than level0_file_num_compaction_trigger={trigger}"
                    ));
                }
                if universal.incremental {
                    wrong.unsupported("incremental=true in compaction_options_universal");
                }
            }
            CompactionStyle::Fifo if self.compaction_options_fifo.use_kv_ratio_compaction => {
                wrong.unsupported("use_kv_ratio_compaction=true in compaction_options_fifo");
            }
            _ => {}
        }
        let ages = &self.compaction_options_fifo.file_temperature_age_thresholds;
        if !ages.is_sorted_by(|a, b| a.age < b.age) {
            wrong.invalid(format!(
                "file_temperature_age_thresholds={} in compaction_options_fifo: ages must rise",
                ages.text()
            ));
        }
        if self.cf_allow_ingest_behind && !self.can_reserve_last_level() {
            wrong.invalid(format!(
                "cf_allow_ingest_behind=true with num_levels={} and compaction_style={}: it needs 3 levels and \
                 kCompactionStyleUniversal",
                self.num_levels,
                self.compaction_style.text()
            ));
        }
        wrong.result()
    }
}

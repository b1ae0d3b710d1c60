//! Presets of options, and options read from a database.

use std::path::Path;

use crate::{BlockBasedOptions, Cache, ColumnFamilyDescriptor, DataBlockIndexType, Env, Error, Options};

impl Options {
    /// Sets the number of background threads.
    pub fn increase_parallelism(&mut self, parallelism: i32) {
        self.set_max_background_jobs(parallelism);
    }

    /// Sets memtables and levels for a memory budget of memtables in bytes, with leveled compaction.
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: usize) {
        self.set_write_buffer_size(memtable_memory_budget / 4);
        let family = &mut self.inner.column_family;
        let budget = (memtable_memory_budget as u64).max(8);
        family.min_write_buffer_number_to_merge = 2;
        family.max_write_buffer_number = 6;
        family.level0_file_num_compaction_trigger = 2;
        family.target_file_size_base = budget / 8;
        family.max_bytes_for_level_base = budget;
        family.compaction_style = esker::CompactionStyle::Level;
        let of_level = |level| match level < 2 {
            true => esker::CompressionType::None,
            false => esker::CompressionType::Lz4,
        };
        family.compression_per_level = (0..family.num_levels).map(of_level).collect();
    }

    /// Sets memtables for a memory budget in bytes, and universal compaction.
    pub fn optimize_universal_style_compaction(&mut self, memtable_memory_budget: usize) {
        self.set_write_buffer_size(memtable_memory_budget / 4);
        let family = &mut self.inner.column_family;
        family.min_write_buffer_number_to_merge = 2;
        family.max_write_buffer_number = 6;
        family.compaction_style = esker::CompactionStyle::Universal;
        family.compaction_options_universal.compression_size_percent = 80;
    }

    /// Sets filters and hashes for a database that is read by Gets, with a block cache of so many MiB.
    pub fn optimize_for_point_lookup(&mut self, block_cache_size_mb: u64) {
        let mut table = BlockBasedOptions::default();
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        table.set_data_block_hash_ratio(0.75);
        table.set_bloom_filter(10.0, false);
        let bytes = usize::try_from(block_cache_size_mb << 20).unwrap_or(usize::MAX);
        table.set_block_cache(&Cache::new_lru_cache(bytes));
        self.set_block_based_table_factory(&table);
        self.set_memtable_prefix_bloom_ratio(0.02);
        self.set_memtable_whole_key_filtering(true);
    }

    /// Disables compactions and stalls while a database is loaded: compact it afterwards.
    pub fn prepare_for_bulk_load(&mut self) {
        let family = &mut self.inner.column_family;
        family.level0_file_num_compaction_trigger = 1 << 30;
        family.level0_slowdown_writes_trigger = 1 << 30;
        family.level0_stop_writes_trigger = 1 << 30;
        family.soft_pending_compaction_bytes_limit = 0;
        family.hard_pending_compaction_bytes_limit = 0;
        family.disable_auto_compactions = true;
        family.max_compaction_bytes = 1 << 60;
        family.num_levels = 2;
        family.max_write_buffer_number = 6;
        family.min_write_buffer_number_to_merge = 1;
        family.target_file_size_base = 256 << 20;
    }

    /// The options of the database in `path`, and its families with their options, from its newest OPTIONS
    /// file. Their tables are read through `cache`.
    ///
    /// # Errors
    /// There is no OPTIONS file, or it is damaged; or, without `ignore_unknown_options`, it has an option
    /// that Esker does not know.
    pub fn load_latest<P: AsRef<Path>>(
        path: P,
        env: Env,
        ignore_unknown_options: bool,
        cache: Cache,
    ) -> Result<(Options, Vec<ColumnFamilyDescriptor>), Error> {
        let found = esker::OptionsFile::newest(&*env.fs(), path.as_ref())?;
        let (_, file) = found.ok_or_else(|| {
            Error::new(format!(
                "NotFound: No options files found in the DB directory: {}",
                path.as_ref().display()
            ))
        })?;
        let (loaded, unknown) = file.options();
        if let Some((section, name)) = unknown.first().filter(|_| !ignore_unknown_options) {
            return Err(Error::invalid_argument(format!(
                "Could not find option {name} of section {section}"
            )));
        }
        let with_cache = |mut options: esker::Options| {
            options.fs = env.fs();
            options.column_family.table.block_cache = Some(cache.0.clone());
            Options {
                inner: options,
                ..Options::default()
            }
        };
        let families = file.families().map(|name| {
            let options = esker::Options {
                column_family: loaded.family(name).clone(),
                ..esker::Options::default()
            };
            ColumnFamilyDescriptor::new(name, with_cache(options))
        });
        let families = families.collect();
        let mut options = loaded.clone();
        options.column_families.clear();
        Ok((with_cache(options), families))
    }
}

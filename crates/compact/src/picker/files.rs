//! Compaction of files that the user names, into a level that the user names.

use std::sync::Arc;

use base::{Error, ErrorKind, Result, Temperature};
use codec::compression::CompressionType;
use manifest::{FileMetadata, Version};

use super::context::PickContext;
use super::inputs::{Files, any_being_compacted, conflicts, grandparents, is_trivial_move};
use crate::levels::LevelTargets;
use crate::plan::{CompactionReason, LevelFiles, Parts, Plan};

/// The options of a compaction of named files. The names and defaults are RocksDB's.
///
/// ```
/// # use esker_compact as esker;
///
/// use esker::CompactFilesOptions;
///
/// let options = CompactFilesOptions {
///     output_file_size_limit: Some(64 << 20),
///     max_subcompactions: 2,
///     ..Default::default()
/// };
/// assert!(!options.allow_trivial_move);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactFilesOptions {
    /// The size of an output file in bytes; `None`: that of the output level's files. Default: `None`.
    pub output_file_size_limit: Option<u64>,
    /// Files are moved instead of rewritten where possible, unless [`compression`](Self::compression) or
    /// [`output_temperature_override`](Self::output_temperature_override) is set. Default: false.
    pub allow_trivial_move: bool,
    /// The number of threads that may write the compaction; 0: the database's option. Default: 0.
    pub max_subcompactions: u32,
    /// The number of the output's directory in `cf_paths` or `db_paths`; `None`: the directory that
    /// compactions choose for the output level. Default: `None`.
    pub output_path_id: Option<u32>,
    /// The compression of the output; `None`: the options of the family decide by level. The settings of the
    /// compression are those of the family. Default: `None`.
    pub compression: Option<CompressionType>,
    /// The temperature of the output; `None`: the options of the family decide by level. Default: `None`.
    pub output_temperature_override: Option<Temperature>,
}

/// The compaction of the files `numbers` to `output_level`, with the further files that are needed so
/// that no older data ends up above newer data.
///
/// # Errors
/// `InvalidArgument` if a file or level does not exist, or the output level is above one of the files.
/// `Aborted` if a file that is needed is in another compaction.
pub fn pick_files(
    context: &PickContext<'_>,
    numbers: &[u64],
    output_level: usize,
    options: &CompactFilesOptions,
) -> Result<Plan> {
    let version = context.version;
    let named = by_level(version, numbers, output_level)?;
    let inputs = with_company(context, &named);
    let busy = inputs.iter().any(|input| any_being_compacted(&input.files));
    if context.running.is_exclusive()
        || busy
        || (inputs[0].level == 0 && context.running.level0_busy())
        || conflicts(context, &inputs, output_level)
    {
        return Err(Error::new(
            ErrorKind::Aborted,
            "Some of the necessary compaction input files are already being compacted",
        ));
    }
    let base_level = LevelTargets::new(version, context.options).base_level;
    let keeps_contents = options.compression.is_none() && options.output_temperature_override.is_none();
    let trivial_move =
        options.allow_trivial_move && keeps_contents && is_trivial_move(context, &inputs, output_level, true);
    let mut plan = Plan::new(Parts {
        version,
        grandparents: grandparents(version, &inputs, output_level),
        inputs,
        output_level,
        trivial_move,
        target_file_size: options
            .output_file_size_limit
            .unwrap_or_else(|| context.options.target_file_size(output_level, base_level)),
        max_compaction_bytes: context.options.max_compaction_bytes(),
        reason: CompactionReason::ManualCompaction,
        score: 0.0,
    });
    plan.write_to(options.output_path_id);
    plan.compression = options.compression;
    plan.output_temperature = options.output_temperature_override;
    Ok(plan)
}

/// The compaction of the files `numbers`, and of no others, to `output_level`. The process that has the
/// database open for writing has picked them, and they are in no other compaction.
///
/// # Errors
/// `InvalidArgument` if a file or level does not exist, or the output level is above one of the files.
pub fn plan_of_given_files(context: &PickContext<'_>, numbers: &[u64], output_level: usize) -> Result<Plan> {
    let version = context.version;
    let named = by_level(version, numbers, output_level)?;
    let inputs = (0..).zip(&named).map(|(level, numbers)| LevelFiles {
        level,
        files: {
            let files = version.files(level).iter();
            files
                .filter(|file| numbers.contains(&file.number))
                .cloned()
                .collect()
        },
    });
    let inputs: Vec<LevelFiles> = inputs.filter(|input| !input.files.is_empty()).collect();
    let base_level = LevelTargets::new(version, context.options).base_level;
    Ok(Plan::new(Parts {
        version,
        grandparents: grandparents(version, &inputs, output_level),
        inputs,
        output_level,
        trivial_move: false,
        target_file_size: context.options.target_file_size(output_level, base_level),
        max_compaction_bytes: context.options.max_compaction_bytes(),
        reason: CompactionReason::ManualCompaction,
        score: 0.0,
    }))
}

/// Returns the files with these numbers by level, down to `output_level`.
fn by_level(version: &Version, numbers: &[u64], output_level: usize) -> Result<Vec<Vec<u64>>> {
    if output_level >= version.num_levels() {
        return Err(Error::invalid_argument(format!(
            "Output level for column family must between [0, {}].",
            version.num_levels().saturating_sub(1)
        )));
    }
    if numbers.is_empty() {
        return Err(Error::invalid_argument("no files to compact are named"));
    }
    let mut named: Vec<Vec<u64>> = vec![Vec::new(); output_level + 1];
    for &number in numbers {
        let level = version.level_of(number).ok_or_else(|| {
            Error::invalid_argument(format!("Specified compaction input file {number} does not exist"))
        })?;
        let Some(of_level) = named.get_mut(level) else {
            return Err(Error::invalid_argument(format!(
                "Cannot compact file to up level, input file: {number} level {level} > output level {output_level}"
            )));
        };
        of_level.push(number);
    }
    Ok(named)
}

/// The files `named`, by level, and the files of each level down to the last that overlap data from above:
/// moved data passes all of those levels.
fn with_company(context: &PickContext<'_>, named: &[Vec<u64>]) -> Vec<LevelFiles> {
    let files = Files::of(context.version);
    let mut inputs: Vec<LevelFiles> = Vec::new();
    for (level, numbers) in named.iter().enumerate() {
        let all = files.level(level);
        let is_named = |file: &Arc<FileMetadata>| numbers.contains(&file.number);
        let taken: Vec<Arc<FileMetadata>> = if level == 0 {
            of_level0(&files, all, is_named, named.len() == 1)
        } else {
            let mut chosen: Vec<bool> = all.iter().map(is_named).collect();
            let above = inputs.iter().flat_map(|input| &input.files);
            // An output file may span the gap between two named files of its own level.
            let own = all
                .iter()
                .filter(|file| level + 1 == named.len() && is_named(file));
            let mut through = above.chain(own).peekable();
            if through.peek().is_some() {
                chosen[files.overlapping(level, files.bounds(through))].fill(true);
            }
            for at in 0..all.len() {
                if chosen[at] {
                    chosen[files.clean_cut(level, at..at + 1)].fill(true);
                }
            }
            let chosen = chosen.into_iter().zip(all).filter(|(chosen, _)| *chosen);
            chosen.map(|(_, file)| Arc::clone(file)).collect()
        };
        if !taken.is_empty() {
            inputs.push(LevelFiles { level, files: taken });
        }
    }
    inputs
}

/// The files of L0. For an output in L0: all between the newest and the oldest named one. Otherwise: the
/// named ones and the older ones that overlap them.
fn of_level0(
    files: &Files<'_>,
    all: &[Arc<FileMetadata>],
    is_named: impl Fn(&Arc<FileMetadata>) -> bool,
    within: bool,
) -> Vec<Arc<FileMetadata>> {
    let Some(newest) = all.iter().position(&is_named) else {
        return Vec::new();
    };
    if within {
        let oldest = all.iter().rposition(&is_named).unwrap_or(newest);
        return all[newest..=oldest].to_vec();
    }
    let mut taken: Vec<Arc<FileMetadata>> = Vec::new();
    // The files are examined from newer to older: an older file never requires a newer one, which may stay
    // above it.
    for file in &all[newest..] {
        let overlaps = |other: &Arc<FileMetadata>| {
            files
                .compare(file.smallest_user_key(), other.largest_user_key())
                .is_le()
                && files
                    .compare(other.smallest_user_key(), file.largest_user_key())
                    .is_le()
        };
        if is_named(file) || taken.iter().any(overlaps) {
            taken.push(Arc::clone(file));
        }
    }
    taken
}

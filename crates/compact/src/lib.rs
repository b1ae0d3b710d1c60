//! Chooses compactions, and drops entries on the way. Pure: no code here touches a disk, a lock or a clock.
//!
//! Decisions:
//!
//! * [`picker`]: from a version, options and running compactions to a [`Plan`]; leveled, universal, FIFO, of
//!   a key range, of named files
//! * [`due`]: files that are compacted for their age, or because they are marked
//! * [`levels`], [`score`]: the target sizes of levels, and the levels that exceed them
//! * [`stall`]: when writes must wait for compactions; [`pace`]: the rate of delayed writes
//! * [`streams`]: keys written in order, and the level that a file of them may be put into at once
//! * [`options`], [`styles`]: the options
//!
//! Transformations:
//!
//! * [`cursor`]: the entries that survive of a compaction's merged inputs
//! * [`outputs`], [`split`], [`partitioner`]: from surviving entries to files, and where a file ends
//! * [`filter`]: how user code, and the engine's blob files, may change entries on the way
//! * [`tombstones`], [`beyond`], [`stripes`]: range tombstones, keys below the output, visibility to
//!   snapshots
#![forbid(unsafe_code)]

pub mod beyond;
mod blob_gc;
pub mod cursor;
pub mod due;
pub mod filter;
pub mod levels;
pub mod options;
mod order;
pub mod outputs;
pub mod pace;
pub mod partitioner;
pub mod path;
pub mod picker;
pub mod plan;
pub mod score;
pub mod seqno_to_time;
pub mod split;
pub mod stall;
pub mod streams;
pub mod stripes;
pub mod styles;
pub mod subranges;
pub mod tombstones;

pub use beyond::{BeyondOutput, KeyRange};
pub use blob_gc::{BlobGarbageCollection, BlobGarbageCollectionPolicy, BlobGarbageRequest};
pub use cursor::{CompactionCursor, CompactionRules, CompactionStats};
pub use filter::{
    BlobHook, CompactionFilter, CompactionFilterFactory, Decision, FilterContext, Relocation,
    TableFileCreationReason, ValueType,
};
pub use levels::LevelTargets;
pub use options::{CompactionPri, LeveledOptions};
pub use outputs::{FileBounds, OutputRange, OutputSink, write_outputs, write_outputs_by_age};
pub use partitioner::{
    PartitionerContext, SstPartitioner, SstPartitionerFactory, SstPartitionerFixedPrefixFactory,
};
pub use picker::files::{CompactFilesOptions, pick_files};
pub use picker::leveled::pick_leveled;
pub use picker::range::{
    BottommostLevelCompaction, CompactRangeOptions, OutputLevel, RangeCompaction, RangePick, RangeRequest,
    RangeStep, pick_range,
};
pub use picker::trim::pick_to_trim;
pub use picker::{FileFacts, JobId, NoFacts, PickContext, Running, pick};
pub use plan::{CompactionReason, LevelFiles, Plan, UpperOutput};
pub use score::{LevelScore, Scores};
pub use seqno_to_time::SeqnoToTimeMapping;
pub use split::{Border, OutputSplitter, SplitLimits};
pub use stall::{StallCause, StallCondition};
pub use streams::{Stream, StreamFinder, any_in_order, files_around, lowest_level};
pub use styles::{
    CompactionOptionsFifo, CompactionOptionsUniversal, CompactionStopStyle, FileTemperatureAge, Style,
};
pub use tombstones::CompactionTombstones;

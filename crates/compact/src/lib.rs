//! What to compact and how entries are dropped on the way. Pure: decides, never touches a disk, a lock or a clock.
//!
//! Deciding:
//!
//! * [`picker`]: a version, options and what runs in, a [`Plan`] out; leveled, universal, FIFO, of a key range, of named files
//! * [`due`]: what is to be compacted for its age, or because it is marked
//! * [`levels`], [`score`]: how large each level may be, and which are too large
//! * [`stall`]: when writes must wait for compactions; [`pace`]: how fast they go then
//! * [`streams`]: keys written in order, and the level a file of them may be put into at once
//! * [`options`], [`styles`]: the knobs
//!
//! Transforming:
//!
//! * [`cursor`]: what survives of the merged entries of a compaction's inputs
//! * [`outputs`], [`split`], [`partitioner`]: from there to files, and where one ends
//! * [`filter`]: what a user's code, and the engine's blob files, may do to entries on the way
//! * [`tombstones`], [`beyond`], [`stripes`]: range tombstones, what lies below the output, what snapshots see
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
pub use outputs::{FileBounds, OutputRange, OutputSink, write_outputs};
pub use partitioner::{
    PartitionerContext, SstPartitioner, SstPartitionerFactory, SstPartitionerFixedPrefixFactory,
};
pub use picker::files::{CompactFilesOptions, pick_files};
pub use picker::leveled::pick_leveled;
pub use picker::range::{
    BottommostLevelCompaction, CompactRangeOptions, OutputLevel, RangeCompaction, RangePick, RangeRequest,
    RangeStep, pick_range,
};
pub use picker::{FileFacts, JobId, NoFacts, PickContext, Running, pick};
pub use plan::{CompactionReason, LevelFiles, Plan};
pub use score::{LevelScore, Scores};
pub use seqno_to_time::SeqnoToTimeMapping;
pub use split::{Border, OutputSplitter, SplitLimits};
pub use stall::{StallCause, StallCondition};
pub use streams::{Stream, StreamFinder, any_in_order, files_around, lowest_level};
pub use styles::{
    CompactionOptionsFifo, CompactionOptionsUniversal, CompactionStopStyle, FileTemperatureAge, Style,
};
pub use tombstones::CompactionTombstones;

//! The choice of files to compact.
//!
//! A picker is a pure function from a version, options and the running compactions to a [`Plan`]. Two rules
//! keep compactions from interfering: a file is input of at most one compaction
//! (`FileMetadata::being_compacted`), and no two compactions write overlapping key ranges to one level
//! ([`Running`]). A third rule keeps the versions of a user key in order: inputs are cut only where the user
//! key changes (a *clean cut*).

use crate::plan::Plan;
use crate::styles::Style;

pub use context::{FileFacts, NoFacts, PickContext};
pub use running::{JobId, Running};

mod context;
mod covered;
pub mod fifo;
pub mod files;
mod inputs;
pub mod leveled;
pub mod range;
mod repeated;
pub mod rewritten;
mod running;
pub mod trim;
pub mod universal;

/// The most urgent compaction in the style of the options; `None` if none is needed or all conflict with
/// running ones. Pure: after the result was [`start`](Running::start)ed, the next call finds a further one.
pub fn pick(context: &PickContext<'_>) -> Option<Plan> {
    let plan = match &context.options.style {
        Style::Level => covered::pick_covered(context).or_else(|| leveled::pick_leveled(context)),
        Style::Universal(options) => {
            covered::pick_covered(context).or_else(|| universal::pick_universal(context, options))
        }
        Style::Fifo(options) => fifo::pick_fifo(context, options),
        Style::None => None,
    };
    plan.filter(|plan| !context.running.rewritten.repeats(context, plan))
}

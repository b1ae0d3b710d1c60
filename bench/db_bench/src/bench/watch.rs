//! Reports that are printed while threads run.

use crate::flags::Flags;
use crate::handles::Handles;
use crate::intervals::Sample;
use crate::resources;
use crate::runner::Observer;

/// Observes the database while threads run.
pub(super) struct Watch<'a> {
    pub flags: &'a Flags,
    pub handles: &'a Handles,
}

impl Watch<'_> {
    /// Table properties of the levels that hold entries.
    fn table_properties(&self) -> String {
        let family = &self.handles.families[0];
        let levels = 0..family.options().num_levels;
        let of_levels = levels.filter_map(|level| {
            let name = format!("rocksdb.aggregated-table-properties-at-level{level}");
            let text = self.handles.db.property(family, &name)?;
            (!text.contains("# entries=0")).then(|| format!("Level[{level}]: {text}\n"))
        });
        of_levels.collect()
    }
}

impl Observer for Watch<'_> {
    fn on_line(&self) {
        if self.flags.stats_per_interval > 0
            && let Some(stats) = self
                .handles
                .db
                .property(&self.handles.families[0], "rocksdb.stats")
        {
            eprintln!("{stats}");
            if self.flags.show_table_properties {
                eprint!("{}", self.table_properties());
            }
        }
    }

    fn sample(&self) -> Sample {
        resources::sample(self.handles)
    }
}

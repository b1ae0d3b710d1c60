//! The filters by which an iterator skips tables, and blocks of tables.

use std::sync::Arc;

use base::Result;
use sst::{BlockPropertyFilter, Table, TableCursor};

use crate::state::read_options::ReadOptions;
use crate::state::read_options::TableFilter;

/// The filters of one iterator.
pub(crate) struct Filters {
    table: Option<TableFilter>,
    block: Option<Arc<dyn BlockPropertyFilter>>,
}

impl Filters {
    /// The filters of `options`; `None` if there are none.
    pub fn of(options: &ReadOptions) -> Option<Arc<Filters>> {
        let any = options.table_filter.is_some() || options.block_property_filter.is_some();
        any.then(|| {
            Arc::new(Filters {
                table: options.table_filter.clone(),
                block: options.block_property_filter.clone(),
            })
        })
    }

    /// Sets up a cursor over `table` to skip the blocks, or the whole table, that the filters reject.
    pub fn apply(&self, table: &Table, cursor: &mut TableCursor) -> Result<()> {
        if let Some(TableFilter(wanted)) = &self.table
            && !wanted(table.properties())
        {
            cursor.skip_all();
        } else if let Some(filter) = self.block.as_deref() {
            cursor.skip_by(filter)?;
        }
        Ok(())
    }
}

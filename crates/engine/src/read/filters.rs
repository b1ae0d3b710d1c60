//! Which tables, and blocks of them, an iterator passes over because its user does not want them.

use std::fmt;
use std::sync::Arc;

use base::Result;
use sst::{BlockPropertyFilter, Table, TableCursor, TableProperties};

use crate::options::ReadOptions;

/// Says by a table's properties whether an iterator is to look into it: RocksDB's `table_filter`.
#[derive(Clone)]
pub struct TableFilter(Arc<dyn Fn(&TableProperties) -> bool + Send + Sync>);

impl TableFilter {
    /// Tables for which `wanted` is false are passed over.
    pub fn new(wanted: impl Fn(&TableProperties) -> bool + Send + Sync + 'static) -> TableFilter {
        TableFilter(Arc::new(wanted))
    }
}

impl fmt::Debug for TableFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableFilter")
    }
}

/// The filters of one iterator.
pub(crate) struct Filters {
    table: Option<TableFilter>,
    block: Option<Arc<dyn BlockPropertyFilter>>,
}

impl Filters {
    /// `None` where everything is wanted.
    pub fn of(options: &ReadOptions) -> Option<Arc<Filters>> {
        let any = options.table_filter.is_some() || options.block_property_filter.is_some();
        any.then(|| {
            Arc::new(Filters {
                table: options.table_filter.clone(),
                block: options.block_property_filter.clone(),
            })
        })
    }

    /// Tells a cursor over `table` what it passes over.
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

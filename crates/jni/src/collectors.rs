//! `org.rocksdb.TablePropertiesCollectorFactory`.

use std::sync::Arc;

use esker::{CompactOnDeletionCollectorFactory, TablePropertiesCollectorFactory};

use crate::env::JLongArray;
use crate::fail::Result;
use crate::frame::native;
use crate::handles;
use crate::settings::Settings;

struct CollectorObject(Arc<dyn TablePropertiesCollectorFactory>);

native!("TablePropertiesCollectorFactory_newCompactOnDeletionCollectorFactory" "JJD" fn(
    env, window: i64, trigger: i64, ratio: f64
) -> i64 {
    let count = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(handles::insert(CollectorObject(Arc::new(CompactOnDeletionCollectorFactory {
        sliding_window_size: count(window),
        deletion_trigger: count(trigger),
        deletion_ratio: ratio,
        min_file_size: 0,
    }))))
});

native!("TablePropertiesCollectorFactory_deleteCompactOnDeletionCollectorFactory" "J" fn(env, factory: i64) {
    handles::close(factory);
    Ok(())
});

native!("Options_setTablePropertiesCollectorFactory" "J_3J" fn(env, options: i64, factories: JLongArray) {
    let given = env
        .longs(factories)?
        .into_iter()
        .map(|factory| Ok(Arc::clone(&handles::get::<CollectorObject>(factory)?.0)))
        .collect::<Result<Vec<_>>>()?;
    handles::get::<Settings>(options)?.change(|inner| inner.parts.collectors = given);
    Ok(())
});

// Java owns each handle.
native!("Options_tablePropertiesCollectorFactory" "J" fn(env, options: i64) -> JLongArray {
    let collectors = handles::get::<Settings>(options)?.look(|inner| inner.parts.collectors.clone());
    let list: Vec<i64> = collectors.into_iter().map(|factory| handles::insert(CollectorObject(factory))).collect();
    env.long_array(&list)
});

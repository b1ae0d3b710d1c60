//! Merge operators. RocksJava has those of RocksDB alone.

use std::sync::Arc;

use base::merge::{StringAppend, UInt64Add};
use esker::MergeOperator;

use crate::env::JString;
use crate::frame::native;
use crate::handles;

/// `org.rocksdb.MergeOperator`.
pub struct MergeObject(pub Arc<dyn MergeOperator>);

native!("StringAppendOperator_newSharedStringAppendOperator" "C" fn(env, delimiter: u16) -> i64 {
    let delimiter = char::from_u32(u32::from(delimiter)).unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok(handles::insert(MergeObject(Arc::new(StringAppend::new(delimiter.to_string())))))
});

native!("StringAppendOperator_newSharedStringAppendOperator" "Ljava_lang_String_2" fn(env, delimiter: JString) -> i64 {
    Ok(handles::insert(MergeObject(Arc::new(StringAppend::new(env.string(delimiter)?)))))
});

native!("UInt64AddOperator_newSharedUInt64AddOperator" "" fn(env) -> i64 {
    Ok(handles::insert(MergeObject(Arc::new(UInt64Add))))
});

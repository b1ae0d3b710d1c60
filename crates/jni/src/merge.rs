//! Merge operators: those of RocksDB, to which RocksJava is limited, and those of `dev.esker`.

use std::any::Any;
use std::sync::Arc;

use base::merge::{StringAppend, UInt64Add};
use esker::MergeOperator;
use jni_sys::jlong;

use crate::env::JString;
use crate::frame::native;
use crate::handles;

/// `org.rocksdb.MergeOperator`.
pub struct MergeObject {
    /// The engine's operator.
    pub operator: Arc<dyn MergeOperator>,
    /// The merge operator as an object of the Java interface, if Java implements it.
    pub own: Option<Box<dyn Any + Send + Sync>>,
}

fn insert(operator: impl MergeOperator) -> jlong {
    handles::insert(MergeObject {
        operator: Arc::new(operator),
        own: None,
    })
}

native!("StringAppendOperator_newSharedStringAppendOperator" "C" fn(env, delimiter: u16) -> i64 {
    let delimiter = char::from_u32(u32::from(delimiter)).unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok(insert(StringAppend::new(delimiter.to_string())))
});

native!("StringAppendOperator_newSharedStringAppendOperator" "Ljava_lang_String_2" fn(env, delimiter: JString) -> i64 {
    Ok(insert(StringAppend::new(env.string(delimiter)?)))
});

native!("UInt64AddOperator_newSharedUInt64AddOperator" "" fn(env) -> i64 {
    Ok(insert(UInt64Add))
});

//! `rocksdb_slicetransform_t`: prefixes of keys, by the caller's functions or of a fixed length. Options take
//! it over.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use esker::PrefixExtractor;

use crate::comparator::name_of;
use crate::ffi::*;
use crate::generation::{Generation, generation};
use crate::options::rocksdb_options_t;

type Transform = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut usize) -> *mut c_char;
type InDomain = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> u8;
type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a prefix extractor.
pub struct CallbackTransform {
    state: CallbackState,
    name: String,
    transform: Transform,
    in_domain: Option<InDomain>,
}

impl PrefixExtractor for CallbackTransform {
    fn name(&self) -> &str {
        &self.name
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let data: *const c_char = key.as_ptr().cast();
        // SAFETY: the caller passed the functions for this state; they read the key, whose length they get.
        let (prefix, length) = unsafe {
            if let Some(in_domain) = self.in_domain
                && in_domain(self.state.pointer, data, key.len()) == 0
            {
                return None;
            }
            let mut length = 0;
            let prefix = (self.transform)(self.state.pointer, data, key.len(), &mut length);
            (prefix as usize, length)
        };
        // A prefix must be a part of its key; any other result is not a prefix.
        let start = prefix.checked_sub(key.as_ptr() as usize)?;
        key.get(start..start.checked_add(length)?)
    }
}

/// The C object `rocksdb_slicetransform_t`.
pub struct rocksdb_slicetransform_t(pub Arc<dyn PrefixExtractor>);

api!(
    fn rocksdb_slicetransform_create(
        state: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
        transform: Option<Transform>,
        in_domain: Option<InDomain>,
        fifth: Option<Name>,
        sixth: *const c_void,
    ) -> *mut rocksdb_slicetransform_t {
        let Some(transform) = transform else {
            return std::ptr::null_mut();
        };
        // Before RocksDB 11 the fifth argument was `in_range`, which RocksDB never called, and the sixth was
        // the name. Programs for RocksDB 11 pass no sixth argument, so its value is undefined.
        let name: Option<Name> = if generation() < Generation::V11_8 {
            std::mem::transmute::<*const c_void, Option<Name>>(sixth)
        } else {
            fifth
        };
        boxed(rocksdb_slicetransform_t(Arc::new(CallbackTransform {
            name: name_of(name, state),
            state: CallbackState::new(state, destructor),
            transform,
            in_domain,
        })))
    }
);

fn builtin(name: &str) -> *mut rocksdb_slicetransform_t {
    base::prefix::builtin(name).map_or(std::ptr::null_mut(), |extractor| {
        boxed(rocksdb_slicetransform_t(extractor))
    })
}

api!(
    fn rocksdb_slicetransform_create_fixed_prefix(length: usize) -> *mut rocksdb_slicetransform_t {
        builtin(&format!("rocksdb.FixedPrefix.{length}"))
    }
);

api!(
    fn rocksdb_slicetransform_create_noop() -> *mut rocksdb_slicetransform_t {
        builtin("rocksdb.Noop")
    }
);

api!(
    fn rocksdb_options_set_prefix_extractor(
        options: *mut rocksdb_options_t,
        transform: *mut rocksdb_slicetransform_t,
    ) {
        (*options).prefix_extractor = taken(transform).map(|transform| transform.0);
    }
);

//! `org.rocksdb.Slice` and `DirectSlice`: bytes that the object owns.

use base::sync::Mutex;
use jni_sys::jlong;

use crate::env::{JBuffer, JByteArray, JObject, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;

/// The bytes, and the length of the prefix that was removed.
pub struct SliceObject(Mutex<Slice>);

struct Slice {
    /// The bytes, boxed so that a buffer of Java can refer to them.
    bytes: Box<[u8]>,
    from: usize,
    length: usize,
}

impl SliceObject {
    /// Returns a slice with a copy of the bytes.
    pub fn new(bytes: &[u8]) -> SliceObject {
        SliceObject(Mutex::new(Slice {
            bytes: bytes.into(),
            from: 0,
            length: bytes.len(),
        }))
    }

    /// Returns a copy of the bytes.
    pub fn copy(&self) -> Vec<u8> {
        self.look(<[u8]>::to_vec)
    }

    fn look<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        let slice = self.0.lock();
        look(&slice.bytes[slice.from..slice.from + slice.length])
    }
}

fn slice(bytes: &[u8]) -> jlong {
    handles::insert(SliceObject::new(bytes))
}

fn look<R>(handle: jlong, look: impl FnOnce(&[u8]) -> R) -> Result<R> {
    Ok(handles::get::<SliceObject>(handle)?.look(look))
}

native!("AbstractSlice_createNewSliceFromString" "Ljava_lang_String_2" fn(env, text: JString) -> i64 {
    Ok(slice(env.string(text)?.as_bytes()))
});

native!("Slice_createNewSlice0" "_3BI" fn(env, bytes: JByteArray, offset: i32) -> i64 {
    let length = env.length(bytes.0)? as i32;
    Ok(slice(&env.bytes(bytes, offset, length.saturating_sub(offset))?))
});

native!("Slice_createNewSlice1" "_3B" fn(env, bytes: JByteArray) -> i64 {
    Ok(slice(&env.whole(bytes)?))
});

native!("DirectSlice_createNewDirectSlice0" "Ljava_nio_ByteBuffer_2I" fn(env, buffer: JBuffer, length: i32) -> i64 {
    Ok(slice(env.direct(buffer, 0, length)?))
});

native!("DirectSlice_createNewDirectSlice1" "Ljava_nio_ByteBuffer_2" fn(env, buffer: JBuffer) -> i64 {
    let class = env.class("java/nio/Buffer")?;
    let capacity = env.method(class, "capacity", "()I")?;
    let capacity = env.call_int(buffer.0, capacity, &[])?;
    // RocksDB reads up to a zero byte.
    let bytes = env.direct(buffer, 0, capacity)?;
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(slice(&bytes[..length]))
});

native!("AbstractSlice_size0" "J" fn(env, handle: i64) -> i32 { look(handle, |bytes| bytes.len() as i32) });

native!("AbstractSlice_empty0" "J" fn(env, handle: i64) -> bool { look(handle, <[u8]>::is_empty) });

native!("AbstractSlice_toString0" "JZ" fn(env, handle: i64, hex: bool) -> JString {
    let text = look(handle, |bytes| match hex {
        true => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
        false => String::from_utf8_lossy(bytes).into_owned(),
    })?;
    env.new_string(&text)
});

native!("AbstractSlice_compare0" "JJ" fn(env, handle: i64, other: i64) -> i32 {
    let other = handles::get::<SliceObject>(other)?.copy();
    look(handle, |bytes| bytes.cmp(&other) as i32)
});

native!("AbstractSlice_startsWith0" "JJ" fn(env, handle: i64, other: i64) -> bool {
    let other = handles::get::<SliceObject>(other)?.copy();
    look(handle, |bytes| bytes.starts_with(&other))
});

native!("Slice_data0" "J" fn(env, handle: i64) -> JByteArray {
    env.byte_array(&handles::get::<SliceObject>(handle)?.copy())
});

native!("DirectSlice_data0" "J" fn(env, handle: i64) -> JObject {
    let held = handles::get::<SliceObject>(handle)?;
    let mut slice = held.0.lock();
    let (from, length) = (slice.from, slice.length);
    // SAFETY: the bytes do not move until the slice is closed. Java's contract forbids the use of its buffers
    // after that.
    let buffer = unsafe { env.new_direct(slice.bytes[from..].as_mut_ptr(), length) };
    buffer.map(JObject)
});

native!("DirectSlice_get0" "JI" fn(env, handle: i64, at: i32) -> i8 {
    let at = usize::try_from(at).map_err(|_| Fail::bounds(at))?;
    look(handle, |bytes| bytes.get(at).copied())?.map(|byte| byte as i8).ok_or_else(|| Fail::bounds(at as i32))
});

fn remove_prefix(handle: jlong, count: i32) -> Result<()> {
    let held = handles::get::<SliceObject>(handle)?;
    let mut slice = held.0.lock();
    match usize::try_from(count) {
        Ok(count) if count <= slice.length => {
            slice.from += count;
            slice.length -= count;
            Ok(())
        }
        _ => Err(Fail::bounds(count)),
    }
}

native!("Slice_removePrefix0" "JI" fn(env, handle: i64, count: i32) { remove_prefix(handle, count) });

native!("DirectSlice_removePrefix0" "JI" fn(env, handle: i64, count: i32) { remove_prefix(handle, count) });

native!("DirectSlice_setLength0" "JI" fn(env, handle: i64, length: i32) {
    let held = handles::get::<SliceObject>(handle)?;
    let mut slice = held.0.lock();
    match usize::try_from(length) {
        Ok(length) if length <= slice.bytes.len() - slice.from => {
            slice.length = length;
            Ok(())
        }
        _ => Err(Fail::bounds(length)),
    }
});

fn clear(handle: jlong) -> Result<()> {
    handles::get::<SliceObject>(handle)?.0.lock().length = 0;
    Ok(())
}

native!("Slice_clear0" "JZJ" fn(env, handle: i64, internal: bool, offset: i64) { clear(handle) });

native!("DirectSlice_clear0" "JZJ" fn(env, handle: i64, internal: bool, offset: i64) { clear(handle) });

// The functions do nothing, because a slice frees its bytes when it is closed.
native!("Slice_disposeInternalBuf" "JJ" fn(env, handle: i64, offset: i64) { Ok(()) });

native!("DirectSlice_disposeInternalBuf" "JJ" fn(env, handle: i64, offset: i64) { Ok(()) });

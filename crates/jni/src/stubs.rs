//! Functions that need no body of their own: those that end an object, and those that are not there yet.

use jni_sys::{JNIEnv, jobject};

use crate::env::Env;
use crate::fail::Fail;

/// Throws what a method that is not there throws.
#[cold]
pub fn refuse(env: *mut JNIEnv, this: jobject, name: &str) {
    // SAFETY: the JVM calls with the pointer of this thread.
    let env = unsafe { Env::of(env, this) };
    Fail::unsupported(&format!("org.rocksdb.{name}")).throw(&env, name);
}

/// Declares a function that is not there yet. It takes none of its arguments, which C's calling conventions allow, and its zero serves
/// for every type that is returned but fractions, which a caller with an exception does not look at.
macro_rules! absent {
    ($($export:literal $name:literal)+) => { $(
        const _: () = {
            #[unsafe(export_name = concat!("Java_org_rocksdb_", $export))]
            extern "system" fn absent(env: *mut jni_sys::JNIEnv, this: jni_sys::jobject) -> i64 {
                $crate::stubs::refuse(env, this, $name);
                0
            }
        };
    )+ };
}
pub(crate) use absent;

/// Declares a function that ends the object of a handle.
macro_rules! dispose {
    ($($export:literal)+) => { $(
        const _: () = {
            #[unsafe(export_name = concat!("Java_org_rocksdb_", $export))]
            extern "system" fn dispose(env: *mut jni_sys::JNIEnv, this: jni_sys::jobject, handle: i64) {
                $crate::frame::enter(env, this, $export, |_env| {
                    $crate::handles::close(handle);
                    Ok(())
                })
            }
        };
    )+ };
}
pub(crate) use dispose;

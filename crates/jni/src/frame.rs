//! The declaration of a native method, and the frame around its body: errors and panics become exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use esker::Error;
use jni_sys::{JNIEnv, jobject};

use crate::env::{Env, JByteArray, JByteArrays, JIntArray, JLongArray, JObject, JObjects, JString, JStrings};
use crate::fail::{Fail, Result};

/// The value that a method returns if it throws.
pub trait Zero {
    /// The zero, false or null of the type.
    const ZERO: Self;
}

macro_rules! zero {
    ($($type:ty => $value:expr),+ $(,)?) => { $(
        impl Zero for $type {
            const ZERO: $type = $value;
        }
    )+ };
}
const NULL: jobject = std::ptr::null_mut();
zero!(
    () => (), bool => false, i8 => 0, i32 => 0, i64 => 0, f64 => 0.0,
    JByteArray => JByteArray(NULL), JByteArrays => JByteArrays(NULL), JIntArray => JIntArray(NULL),
    JLongArray => JLongArray(NULL), JObject => JObject(NULL), JObjects => JObjects(NULL),
    JString => JString(NULL), JStrings => JStrings(NULL),
);

/// Declares a native method: its mangled class and name, its mangled signature, and its body. The method is
/// exported under its long name, by which the JVM distinguishes overloads and the signatures of other
/// releases. It is exported a second time with `Jni` after its name: releases from 9.7 on use that spelling
/// for methods that became static.
macro_rules! native {
    (@group $name:literal { $($rest:tt)* }) => {
        $crate::frame::native!($name $($rest)*);
    };
    ($name:literal $signature:literal fn($env:ident $(, $arg:ident: $type:ty)* $(,)?) $(-> $ret:ty)? $body:block) => {
        const _: () = {
            $crate::frame::check($signature, &[$(<$type as $crate::env::JavaType>::CODE),*]);

            fn method_body($env: $crate::env::Env<'_>, $($arg: $type),*) -> $crate::fail::Result<$crate::frame::ret!($($ret)?)> {
                // This line uses every argument, because some native methods do not use all of them.
                let _ = (&$env, $(&$arg),*);
                $body
            }

            #[unsafe(export_name = concat!("Java_org_rocksdb_", $name, "__", $signature))]
            extern "system" fn method_plain(
                env: *mut jni_sys::JNIEnv, this: jni_sys::jobject, $($arg: $type),*
            ) -> $crate::frame::ret!($($ret)?) {
                $crate::frame::enter(env, this, $name, |env| method_body(env, $($arg),*))
            }

            #[unsafe(export_name = concat!("Java_org_rocksdb_", $name, "Jni__", $signature))]
            extern "system" fn method_marked(
                env: *mut jni_sys::JNIEnv, this: jni_sys::jobject, $($arg: $type),*
            ) -> $crate::frame::ret!($($ret)?) {
                $crate::frame::enter(env, this, $name, |env| method_body(env, $($arg),*))
            }
        };
    };
}
pub(crate) use native;

/// Declares the same method of several classes.
macro_rules! natives {
    ($($name:literal)+ ; $rest:tt) => { $( $crate::frame::native!(@group $name $rest); )+ };
}
pub(crate) use natives;

/// The Rust type of a method's result.
macro_rules! ret {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}
pub(crate) use ret;

/// Runs a native method's body.
#[inline]
pub fn enter<'a, R: Zero>(
    env: *mut JNIEnv,
    this: jobject,
    name: &str,
    body: impl FnOnce(Env<'a>) -> Result<R>,
) -> R {
    // SAFETY: the JVM passes the pointer of this thread, which is valid until the method returns.
    let env = unsafe { Env::of(env, this) };
    match catch_unwind(AssertUnwindSafe(|| body(env))) {
        Ok(Ok(value)) => value,
        Ok(Err(fail)) => {
            fail.throw(&env, name);
            R::ZERO
        }
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Fail::Status(Error::corruption(format!(
                "internal error: {name} panicked: {text}"
            )))
            .throw(&env, name);
            R::ZERO
        }
    }
}

/// Compares a mangled signature with the codes of a method's parameter types at compile time: the JVM does
/// not check them.
pub const fn check(signature: &str, codes: &[&str]) {
    let signature = signature.as_bytes();
    let (mut at, mut argument) = (0, 0);
    while argument < codes.len() {
        let code = codes[argument].as_bytes();
        let any = code[code.len() - 1] == b'*';
        let fixed = if any { code.len() - 1 } else { code.len() };
        let mut i = 0;
        while i < fixed {
            assert!(
                at + i < signature.len() && signature[at + i] == code[i],
                "a type differs from the signature"
            );
            i += 1;
        }
        at += fixed;
        if any {
            at += 1;
            while signature[at - 1] != b'2' || signature[at - 2] != b'_' {
                at += 1;
            }
        }
        argument += 1;
    }
    assert!(at == signature.len(), "arguments are missing");
}

//! Functions without a body of their own: those that end an object, and those that are not implemented.

use jni_sys::{JNIEnv, jobject};

use crate::env::Env;
use crate::fail::Fail;

/// Throws the exception of a method that is not implemented.
#[cold]
pub fn refuse(env: *mut JNIEnv, this: jobject, name: &str) {
    // SAFETY: the JVM calls with the pointer of this thread.
    let env = unsafe { Env::of(env, this) };
    Fail::unsupported(&format!("org.rocksdb.{name}")).throw(&env, name);
}

/// Declares a function that is not implemented. It reads none of its arguments, which C's calling conventions
/// allow. It returns 0 for every result type; a caller does not read the result of a method that throws.
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

#[cfg(test)]
mod tests {
    const PROGRAMS: &str = include_str!("../programs.txt");
    const NATIVES: &str = include_str!("../natives.tsv");
    const STUBS: &str = include_str!("generated/stubs.rs");

    /// Returns a symbol without the suffix that later releases append to methods that became static.
    fn plain(symbol: &str) -> String {
        let (name, signature) = symbol.split_once("__").unwrap_or((symbol, ""));
        format!("{}__{signature}", name.strip_suffix("Jni").unwrap_or(name))
    }

    #[test]
    fn what_kafka_spark_and_flink_need_is_there() {
        let (_, absent) = STUBS.split_once("absent! {").unwrap();
        let absent: Vec<String> = absent.split('"').skip(1).step_by(4).map(plain).collect();
        let needed: Vec<&str> = PROGRAMS
            .lines()
            .filter(|line| !line.starts_with('#') && *line != "----")
            .collect();
        let programs = PROGRAMS
            .lines()
            .take_while(|line| *line != "----")
            .filter(|line| !line.starts_with('#'));
        assert_eq!((programs.count(), needed.len()), (190, 438));
        let named: Vec<String> = NATIVES
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let mut words = line.split('\t');
                let (class, method) = (words.next().unwrap(), words.next().unwrap());
                let class = class.replace('_', "_1").replace('$', "_00024").replace('.', "_");
                plain(&format!("{class}_{}__", method.replace('_', "_1")))
            })
            .collect();
        for symbol in needed {
            let (name, signature) = symbol.split_once("__").unwrap_or((symbol, ""));
            assert!(
                named.contains(&format!("{name}__")),
                "{symbol} is no native method"
            );
            let is_absent = |stub: &String| match symbol.contains("__") {
                true => *stub == format!("{name}__{signature}"),
                false => stub.starts_with(&format!("{name}__")),
            };
            assert!(!absent.iter().any(is_absent), "{symbol} is not there");
        }
    }
}

//! The stacks of samples, in readable form.

use pprof::Frames;

/// The functions, outermost first, without the functions that start threads and those that take samples.
pub fn frames(sample: &Frames) -> Vec<String> {
    let innermost_first: Vec<String> = sample
        .frames
        .iter()
        .flatten()
        .map(|symbol| named(symbol.name(), &symbol.filename()))
        .collect();
    tidied(innermost_first)
}

/// `name` without type arguments, and with its crate in front if it has none: inlined functions have bare
/// names.
fn named(name: String, file: &str) -> String {
    let bare = match name.find('<') {
        // `<Type as Trait>::function` begins with `<`.
        None | Some(0) => name.as_str(),
        Some(at) => name[..at].trim_end_matches("::"),
    };
    match crate_of(file) {
        Some(crate_name) if !bare.contains("::") => format!("{crate_name}::{bare}"),
        _ => bare.to_owned(),
    }
}

/// The crate a source file belongs to, by its path.
fn crate_of(file: &str) -> Option<String> {
    let behind = |mark: &str| file.split_once(mark).map(|(_, rest)| rest);
    let first = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    if let Some(rest) = behind("/registry/src/") {
        // The path of a source file in Cargo's registry has the name of the index, then the crate's name and
        // version.
        let name = first(rest.split_once('/')?.1);
        let (name, _) = name.rsplit_once('-')?;
        return Some(name.replace('-', "_"));
    }
    if let Some(rest) = behind("/library/") {
        return Some(first(rest));
    }
    if let Some(rest) = behind("crates/") {
        return Some(match first(rest).as_str() {
            "engine" => "esker".to_owned(),
            name => format!("esker_{name}"),
        });
    }
    let programs = ["testing/", "bench/", "tools/"];
    programs.iter().find_map(|home| behind(home)).map(first)
}

fn tidied(mut innermost_first: Vec<String>) -> Vec<String> {
    let takes_samples = |name: &String| {
        name.starts_with("backtrace::") || name.contains("pprof::") || name.contains("restore_rt")
    };
    if let Some(last) = innermost_first.iter().rposition(takes_samples) {
        innermost_first.drain(..=last);
    }
    let begins = |name: &String| name.contains("__rust_begin_short_backtrace");
    if let Some(first) = innermost_first.iter().position(begins) {
        innermost_first.truncate(first);
    }
    innermost_first.reverse();
    // A function that is inlined into an alias of itself appears twice in a row in a stack, and counts once.
    innermost_first.dedup();
    // The functions of the standard library that start a thread are between the thread's entry and its work,
    // and are left out.
    let is_start = |name: &String| {
        [
            "std::thread::",
            "std::panic",
            "std::sys::",
            "core::ops::function::",
            "<core::panic::",
            "__rust_try",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    let starts = innermost_first.iter().take_while(|name| is_start(name)).count();
    if starts < innermost_first.len() {
        innermost_first.drain(..starts);
    }
    if innermost_first.is_empty() {
        innermost_first.push("(unknown)".to_owned());
    }
    innermost_first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_programs_is_left_out() {
        let stack = |names: &[&str]| tidied(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            stack(&[
                "backtrace::backtrace::trace_unsynchronized",
                "__restore_rt",
                "esker::get",
                "db_bench::workloads::read::random",
                "core::ops::function::FnOnce::call_once",
                "std::sys::backtrace::__rust_begin_short_backtrace",
                "clone3",
            ]),
            ["db_bench::workloads::read::random", "esker::get"]
        );
        assert_eq!(
            stack(&["__libc_pwrite64", "__libc_pwrite64", "x::y"]),
            ["x::y", "__libc_pwrite64"]
        );
        assert_eq!(stack(&["std::sys::futex"]), ["std::sys::futex"]);
        assert_eq!(stack(&[]), ["(unknown)"]);
    }

    #[test]
    fn inlined_functions_have_the_name_of_their_crate() {
        for (name, file, expected) in [
            (
                "put_opt",
                "/there/esker/crates/engine/src/db/write.rs",
                "esker::put_opt",
            ),
            ("find", "crates/sst/src/block/mod.rs", "esker_sst::find"),
            (
                "fill",
                "/src/bench/db_bench/src/workloads/write.rs",
                "db_bench::fill",
            ),
            (
                "iter<u8>",
                "/rustc/59807616/library/core/src/slice/mod.rs",
                "core::iter",
            ),
            (
                "f",
                "/c/registry/src/index.crates.io-1949/crc-fast-1.10.0/src/lib.rs",
                "crc_fast::f",
            ),
            ("<a::B>::c", "crates/sst/src/lib.rs", "<a::B>::c"),
            ("memcpy", "Unknown", "memcpy"),
        ] {
            assert_eq!(named(name.to_owned(), file), expected);
        }
    }
}

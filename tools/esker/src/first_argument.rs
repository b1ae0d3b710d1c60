//! The directory of the database as the first argument, before or after the command: `esker DIR verify`,
//! `esker verify DIR`, and `esker DIR`, which shows the levels.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Args;

/// The command for a directory alone.
const OVERVIEW: &str = "lsm";

/// Returns the arguments of the process with such a directory as `--db`. Only an existing directory counts,
/// and only without `--db`, so that keys and files keep their meaning.
pub fn with_db(args: Vec<OsString>) -> Vec<OsString> {
    let has_db = |arg: &OsString| arg == "--db" || arg.to_string_lossy().starts_with("--db=");
    let (Some(program), Some(first)) = (args.first(), args.get(1)) else {
        return args;
    };
    if args.iter().any(has_db) {
        return args;
    }
    let (command, dir, rest) = match args.get(2) {
        _ if takes_db(first) => match args.get(2) {
            Some(dir) => (first.clone(), dir, &args[3..]),
            None => return args,
        },
        Some(command) if takes_db(command) => (command.clone(), first, &args[3..]),
        None => (OVERVIEW.into(), first, &args[2..]),
        _ => return args,
    };
    if !Path::new(dir).is_dir() {
        return args;
    }
    let mut with_db = vec![program.clone(), command, "--db".into(), dir.clone()];
    with_db.extend_from_slice(rest);
    with_db
}

/// True for the name of a command that has `--db`.
fn takes_db(word: &OsString) -> bool {
    let args = Args::command();
    args.find_subcommand(word)
        .is_some_and(|command| command.get_arguments().any(|arg| arg.get_long() == Some("db")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_takes_the_place_of_db() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().to_str().unwrap();
        let rewritten = |words: &[&str]| {
            let args = ["esker"]
                .iter()
                .chain(words)
                .map(|word| OsString::from(*word))
                .collect();
            let words: Vec<String> = with_db(args)
                .into_iter()
                .skip(1)
                .map(|word| word.into_string().unwrap().replace(dir, "DIR"))
                .collect();
            words.join(" ")
        };
        assert_eq!(rewritten(&[dir]), "lsm --db DIR");
        assert_eq!(rewritten(&[dir, "verify", "--quiet"]), "verify --db DIR --quiet");
        assert_eq!(rewritten(&["get", dir, "key"]), "get --db DIR key");
        assert_eq!(rewritten(&["sst", dir]), "sst --db DIR");
        // With `--db` no argument is taken as the directory, because a key may have the name of one.
        assert_eq!(rewritten(&["get", "--db", "x", dir]), "get --db x DIR");
        assert_eq!(rewritten(&["get", "--db=x", dir]), "get --db=x DIR");
        for unchanged in [
            "",
            "verify",
            "--version",
            "help verify",
            "/no/such/dir verify",
            "sst /no/file",
        ] {
            let words: Vec<&str> = unchanged.split_whitespace().collect();
            assert_eq!(rewritten(&words), unchanged);
        }
    }
}

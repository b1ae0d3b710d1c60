//! The page of a database in a browser.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc;

use base::{Error, ErrorKind, Result};
use serve::http::{Access, Config, new_token};
use serve::{Directory, Page};
use vfs::FileSystem;

use crate::args::ServeArgs;
use crate::directory;
use crate::output::{Failure, Out};

/// Serves the page until the process is interrupted.
pub fn serve(args: &ServeArgs, out: &mut Out) -> Result<(), Failure> {
    let token = match &args.token_file {
        Some(file) => Some(token_in(file)?),
        None if args.addr.ip().is_loopback() => None,
        None => Some(new_token()?),
    };
    let config = Config {
        address: args.addr,
        access: token.map_or(Access::Loopback, Access::Token),
        hosts: args.host.clone(),
        ..Config::default()
    };
    let directory = Directory {
        dir: args.dir.clone(),
        wal_dir: args.wal_dir.clone(),
        db_log_dir: args.db_log_dir.clone(),
    };
    let page = Page::of_directory(&directory, config)?;
    writeln!(out, "{}", page.url())?;
    out.finish()?;
    let (send, stopped) = mpsc::channel();
    let handler = ctrlc::set_handler(move || {
        // The first signal ends the wait, and later signals have no effect.
        let _ = send.send(());
    });
    handler.map_err(|error| Error::new(ErrorKind::Io, format!("While waiting for a signal: {error}")))?;
    // The sender is never dropped, so the wait ends only by a signal.
    let _ = stopped.recv();
    Ok(())
}

/// The token in a file, without the white space around it.
fn token_in(file: &Path) -> Result<String> {
    let bytes = directory::fs().read_file(file)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::invalid_argument("the file is not UTF-8 text").in_file(file))?;
    Ok(text.trim().to_owned())
}

//! OPTIONS files: dangerous settings, options without effect in Esker, and the changes between two files.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use base::Result;
use esker::LostOption;
use serve::dangers::{Loaded, dangers};

use crate::args::OptionsArgs;
use crate::directory;
use crate::output::{Failure, Out};
use crate::text::count;

/// Shows the dangerous settings in the last file, and if there are two, the changes.
pub fn options(args: &OptionsArgs, out: &mut Out) -> Result<(), Failure> {
    let file = opened(&args.file)?;
    let Some(newer) = &args.newer else {
        return show_dangers(&file, out);
    };
    let newer = opened(newer)?;
    writeln!(out, "{} -> {}", file.path.display(), newer.path.display())?;
    let mut changes = 0;
    let (old, new) = (file.all(), newer.all());
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (section, name) = key;
        let line = match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => format!("{old} -> {new}"),
            (Some(old), None) => format!("{old} -> not there"),
            (None, Some(new)) => format!("not there -> {new}"),
            (None, None) => continue,
        };
        changes += 1;
        writeln!(out, "[{section}] {name}: {line}")?;
    }
    writeln!(out, "{}", count(changes, "change"))?;
    show_dangers(&newer, out)
}

fn show_dangers(file: &Loaded, out: &mut Out) -> Result<(), Failure> {
    let found = dangers(file);
    writeln!(out, "{}", file.path.display())?;
    for danger in &found {
        writeln!(
            out,
            "{:<6} [{}] {}",
            danger.risk.name(),
            danger.section,
            danger.what
        )?;
        writeln!(out, "       {}", danger.reason)?;
    }
    match found.len() {
        0 => writeln!(out, "nothing dangerous known")?,
        several => writeln!(out, "{}", count(several as u64, "danger"))?,
    }
    show_lost(&file.lost, out)
}

/// Shows the options that have no effect in Esker.
fn show_lost(lost: &[LostOption], out: &mut Out) -> Result<(), Failure> {
    for lost in lost {
        let LostOption {
            section,
            name,
            value,
            loss,
            what,
            ..
        } = lost;
        writeln!(out, "LOST   [{section}] {name}={value} ({})", loss.name())?;
        writeln!(out, "       {what}")?;
    }
    if !lost.is_empty() {
        writeln!(
            out,
            "{} without effect in Esker",
            count(lost.len() as u64, "option")
        )?;
    }
    Ok(())
}

/// Opens the OPTIONS file at `path`, or the newest one in the directory `path`.
fn opened(path: &Path) -> Result<Loaded> {
    match path.is_dir() {
        true => Loaded::newest(&directory::fs(), path),
        false => Loaded::open(&directory::fs(), path),
    }
}

//! A terminal: frames, and keys.

use std::io::{Write, stdin, stdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use super::frame::{View, draw};
use super::layout::{LEAST_WIDTH, cut, wrapped};
use crate::output::{Failure, Out};
use serve::observe::Observer;

/// The sequences that switch to another screen without the cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The keys, in the last line.
const KEYS: &str = "q quit   s sort   f next family, a all";

/// Returns the width and height of the terminal in columns and lines. `None` if it does not know them.
pub fn size() -> Option<(usize, usize)> {
    // The size of either is used, because the input may be a pipe while the output is a terminal.
    let known = [tcgetwinsize(stdout()), tcgetwinsize(stdin())];
    let size = known.into_iter().flatten().find(|size| size.ws_col > 0)?;
    Some((
        usize::from(size.ws_col).max(LEAST_WIDTH),
        usize::from(size.ws_row),
    ))
}

/// The terminal's raw mode. Dropping it restores the previous mode.
struct Raw(Termios);

impl Raw {
    /// Makes keys available one by one and invisible.
    fn enter() -> std::io::Result<Raw> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        Ok(Raw(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // If the terminal is gone, nothing remains to be restored.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
    }
}

/// Shows a frame every `interval` seconds until `q` is pressed.
pub fn run(observer: &mut Observer, mut view: View, interval: f64, out: &mut Out) -> Result<(), Failure> {
    let _raw = Raw::enter()?;
    out.write_all(ENTER.as_bytes())?;
    let ended = frames(observer, &mut view, interval, out);
    out.write_all(LEAVE.as_bytes())?;
    out.finish()?;
    ended
}

fn frames(observer: &mut Observer, view: &mut View, interval: f64, out: &mut Out) -> Result<(), Failure> {
    let mut before = None;
    loop {
        let now = observer.look();
        if let Some((columns, rows)) = size() {
            view.width = columns;
            // The last line of the terminal shows the keys. The frame ends one line before it.
            view.height = Some(rows.max(4) - 2);
        }
        out.write_all(b"\x1b[H\x1b[J")?;
        let names = match now {
            Ok(now) => {
                out.write_all(draw(&now, before.as_ref(), view).as_bytes())?;
                let names: Vec<String> = now.families.iter().map(|family| family.name.clone()).collect();
                before = Some(now);
                names
            }
            // An error does not end the view: the next observation may succeed, because another process may
            // be writing the file.
            Err(error) => {
                let mut text = String::new();
                // Writing to a string does not fail.
                let _ = wrapped(&mut text, view.width, &error.to_string());
                out.write_all(text.as_bytes())?;
                Vec::new()
            }
        };
        write!(out, "{}", cut(KEYS, view.width))?;
        out.finish()?;
        match key(interval)? {
            Some(b'q' | 3) => return Ok(()),
            Some(b's') => view.sort = view.sort.next(),
            Some(b'a') => view.family = None,
            Some(b'f') => {
                let at = names.iter().position(|name| Some(name) == view.family.as_ref());
                view.family = names.get(at.map_or(0, |at| at + 1)).cloned();
            }
            _ => {}
        }
    }
}

/// The key pressed within `seconds`.
fn key(seconds: f64) -> Result<Option<u8>, Failure> {
    let stdin = stdin();
    let time = Duration::from_secs_f64(seconds);
    let limit = Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let mut wait = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut wait, Some(&limit)) {
        Ok(0) | Err(Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(std::io::Error::from(error).into()),
    }
    let mut byte = [0];
    match read(&stdin, &mut byte) {
        // The terminal is gone.
        Ok(0) => Ok(Some(b'q')),
        Ok(_) => Ok(Some(byte[0])),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

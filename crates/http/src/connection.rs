//! One connection: a request is read and answered before its deadline, and the connection is closed.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use base::user_code;

use crate::config::Config;
use crate::request::{Head, Request, parse};
use crate::response::Response;

/// The maximum size of a request in bytes.
const MAX_HEAD: usize = 8 << 10;

/// The size in bytes of the pieces in which responses are written: the deadline is checked between them.
const PIECE: usize = 64 << 10;

/// The most bytes of a refused request that are read after the response.
const MAX_DRAINED: usize = 64 << 10;

/// The time that is left before a deadline.
struct Deadline<'a> {
    config: &'a Config,
    at: Duration,
}

impl Deadline<'_> {
    fn begin(config: &Config) -> Deadline<'_> {
        Deadline::since(config, config.clock.now())
    }

    /// The deadline of work that began at `begun`.
    fn since(config: &Config, begun: Duration) -> Deadline<'_> {
        Deadline {
            config,
            at: begun.saturating_add(config.deadline),
        }
    }

    /// `None` once the deadline has passed.
    fn left(&self) -> Option<Duration> {
        let left = self.at.checked_sub(self.config.clock.now())?;
        (!left.is_zero()).then_some(left)
    }
}

/// Answers the request on `stream`, which was accepted at the time `accepted`. An error of the network ends
/// it silently: its client is no longer connected.
pub(crate) fn serve(
    mut stream: TcpStream,
    config: &Config,
    handler: &dyn Fn(&Request) -> Response,
    accepted: Duration,
) {
    let (response, head_only) = match read(&mut stream, &Deadline::since(config, accepted), config) {
        Some(Head::Whole(request, head_only)) => {
            let answered = user_code::catch(|| handler(&request));
            let failed = |_| Response::error(500, "the answer to this request has failed");
            (answered.unwrap_or_else(failed), head_only)
        }
        Some(Head::Refused(response)) => (response, false),
        Some(Head::Partial) | None => return,
    };
    let written = write(&mut stream, &response, head_only, config);
    if written.is_some() && response.status != 200 {
        drain(&mut stream, config);
    }
    // The client may have closed it already.
    let _ = stream.shutdown(Shutdown::Both);
}

/// Reads a head. `None` if the client closes the connection before its end.
fn read(stream: &mut TcpStream, deadline: &Deadline<'_>, config: &Config) -> Option<Head> {
    let mut bytes = Vec::with_capacity(1024);
    let mut piece = [0; 1024];
    loop {
        let Some(left) = deadline.left() else {
            return Some(Head::Refused(Response::error(
                408,
                "the request took too long to arrive",
            )));
        };
        stream.set_read_timeout(Some(left)).ok()?;
        let read = match stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(read) => read,
            Err(error) if is_timeout(error.kind()) => continue,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        bytes.extend_from_slice(&piece[..read]);
        match parse(&bytes, config) {
            Head::Partial if bytes.len() >= MAX_HEAD => return Some(Head::Refused(Response::too_large())),
            Head::Partial => {}
            head => return Some(head),
        }
    }
}

/// True for the errors by which a blocking socket reports a timeout.
fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn write(stream: &mut TcpStream, response: &Response, head_only: bool, config: &Config) -> Option<()> {
    let deadline = Deadline::begin(config);
    let body: &[u8] = if head_only { &[] } else { &response.body };
    let head = response.head();
    for piece in std::iter::once(head.as_bytes()).chain(body.chunks(PIECE)) {
        stream.set_write_timeout(Some(deadline.left()?)).ok()?;
        stream.write_all(piece).ok()?;
    }
    stream.flush().ok()
}

/// Reads more bytes for a limited time: a close with unread bytes would discard a response that the client
/// has not read yet.
fn drain(stream: &mut TcpStream, config: &Config) {
    let deadline = Deadline::begin(config);
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut piece = [0; 4096];
    let mut drained = 0;
    while drained < MAX_DRAINED {
        let Some(left) = deadline.left() else { return };
        if stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(read) => drained += read,
        }
    }
}

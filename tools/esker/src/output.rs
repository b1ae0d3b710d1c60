//! Standard output, and how a command ends.

use std::io::{self, BufWriter, IsTerminal, Write};

use base::{Error, ErrorKind};

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// Something is wrong with the database or the machine.
    Error(Error),
    /// Something is wrong with the command line, beyond what its grammar says.
    Usage(String),
    /// Nobody reads standard output any more.
    PipeClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<io::Error> for Failure {
    /// Of writing to standard output: commands read and write files through `vfs`, which names them.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::PipeClosed,
            io::ErrorKind::StorageFull => Error::new(
                ErrorKind::NoSpace,
                format!("While writing to standard output: {error}"),
            )
            .into(),
            _ => Error::new(
                ErrorKind::Io,
                format!("While writing to standard output: {error}"),
            )
            .into(),
        }
    }
}

/// Standard output, in pieces of some size whatever it leads to.
pub struct Out {
    writer: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

/// Bytes gathered before they are handed on.
const BUFFER: usize = 64 << 10;

impl Out {
    pub fn new() -> Out {
        let stdout = io::stdout();
        Out {
            terminal: stdout.is_terminal(),
            writer: BufWriter::with_capacity(BUFFER, Box::new(stdout)),
        }
    }

    /// Into a file, for tests.
    #[cfg(test)]
    pub fn to(file: std::fs::File) -> Out {
        Out {
            terminal: false,
            writer: BufWriter::with_capacity(BUFFER, Box::new(file)),
        }
    }

    /// True if people look at it as it comes.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Hands on what was gathered.
    pub fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush()?)
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

//! Standard output, and the ways a command ends.

use std::io::{self, BufWriter, IsTerminal, Write};

use base::{Error, ErrorKind};

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// An error of the database or the machine.
    Error(Error),
    /// An error in the command line that its parser does not find.
    Usage(String),
    /// The program that reads standard output has closed it.
    PipeClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<io::Error> for Failure {
    /// The error of writing to standard output: commands read and write files through `vfs`, which names
    /// them.
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

/// Buffered standard output, whatever it leads to.
pub struct Out {
    writer: BufWriter<Box<dyn Write>>,
    terminal: bool,
}

/// The size of the buffer in bytes.
const BUFFER: usize = 64 << 10;

impl Out {
    pub fn new() -> Out {
        let stdout = io::stdout();
        Out {
            terminal: stdout.is_terminal(),
            writer: BufWriter::with_capacity(BUFFER, Box::new(stdout)),
        }
    }

    /// Output into a file, for tests.
    #[cfg(test)]
    pub fn to(file: std::fs::File) -> Out {
        Out {
            terminal: false,
            writer: BufWriter::with_capacity(BUFFER, Box::new(file)),
        }
    }

    /// True if the output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Flushes the buffer.
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

//! Logs: files whose appends reach the kernel one by one, and which are extended ahead of them by zeros.
//!
//! ```text
//! header | frame, one for each append: length u32, little-endian | encrypted bytes | ... | zeros
//! ```
//!
//! A reader of a log must know where its data ends: zeros follow, and an encrypted byte may be zero. So each
//! append is a frame, and a length of zero ends the data. The keystream runs over the bytes of the appends
//! alone. A process that dies during an append leaves a frame whose last bytes decrypt to noise, which the
//! checksum of the record finds as it finds a record that was torn.

use std::path::Path;
use std::sync::Arc;

use base::sync::Mutex;
use base::{Error, Result};
use vfs::RandomAccessFile;

use crate::cipher::Cipher;
use crate::header::HEADER_LEN;

/// The bytes of a frame's length.
const LENGTH: u64 = 4;

/// The number of bytes that a search for frames reads at once.
const PIECE: usize = 64 << 10;

/// A frame of the log.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The offset in the log of the frame's bytes.
    offset: u64,
    /// The offset in the file of the frame's bytes.
    place: u64,
    len: u64,
}

impl Frame {
    fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// The frames that were found so far.
#[derive(Debug, Default)]
struct Frames {
    found: Vec<Frame>,
}

impl Frames {
    fn end(&self) -> u64 {
        self.found.last().map_or(0, Frame::end)
    }

    /// Searches for frames up to `end` of the log. The last frame that was found is read again: its append may
    /// have been under way.
    fn search(&mut self, file: &dyn RandomAccessFile, end: u64) -> Result<()> {
        self.found.pop();
        let mut offset = self.end();
        let mut place = self
            .found
            .last()
            .map_or(HEADER_LEN as u64, |last| last.place + last.len);
        let (mut piece, mut piece_at) = (Vec::new(), place);
        while offset < end {
            let within = (place - piece_at) as usize;
            let length = match piece.get(within..within + LENGTH as usize) {
                Some(length) => u32::from_le_bytes(length.try_into().expect("four bytes")),
                None => {
                    piece.resize(PIECE, 0);
                    let read = file.read_at(place, &mut piece)?;
                    piece.truncate(read);
                    piece_at = place;
                    match piece.first_chunk() {
                        Some(length) => u32::from_le_bytes(*length),
                        None => break,
                    }
                }
            };
            if length == 0 {
                break;
            }
            let frame = Frame {
                offset,
                place: place + LENGTH,
                len: u64::from(length),
            };
            offset = frame.end();
            place = frame.place + frame.len;
            self.found.push(frame);
        }
        Ok(())
    }
}

/// A log that is read at any offset, also while it grows.
#[derive(Debug)]
pub(crate) struct LogReader {
    file: Arc<dyn RandomAccessFile>,
    cipher: Cipher,
    frames: Mutex<Frames>,
    /// The length of the log when it was opened.
    len: u64,
}

impl LogReader {
    /// Finds all frames of `file`.
    pub fn open(file: Arc<dyn RandomAccessFile>, cipher: Cipher) -> Result<LogReader> {
        let mut reader = LogReader {
            len: 0,
            file,
            cipher,
            frames: Mutex::default(),
        };
        reader.len = reader.end()?;
        Ok(reader)
    }

    /// The present length of the log. A frame that the file ends in has the bytes that exist.
    pub fn end(&self) -> Result<u64> {
        let mut frames = self.frames.lock();
        frames.search(&*self.file, u64::MAX)?;
        let Some(last) = frames.found.last() else {
            return Ok(0);
        };
        Ok(last.offset + self.existing(last)?)
    }

    /// The number of bytes of a frame that the file has.
    fn existing(&self, frame: &Frame) -> Result<u64> {
        if frame.place + frame.len <= self.file.len() {
            return Ok(frame.len);
        }
        // The log may have grown since it was opened, or end within the frame.
        let mut byte = [0];
        let has = |at: u64, byte: &mut [u8]| Ok::<bool, Error>(self.file.read_at(at, byte)? == 1);
        if has(frame.place + frame.len - 1, &mut byte)? {
            return Ok(frame.len);
        }
        let (mut some, mut most) = (0, frame.len - 1);
        while some < most {
            let middle = some + (most - some).div_ceil(2);
            match has(frame.place + middle - 1, &mut byte)? {
                true => some = middle,
                false => most = middle - 1,
            }
        }
        Ok(some)
    }

    /// The place in the file at which the log is cut to `len` bytes; `None` if it is not that long.
    pub fn cut(&self, len: u64) -> Result<Option<u64>> {
        let mut frames = self.frames.lock();
        frames.search(&*self.file, u64::MAX)?;
        if len == 0 {
            return Ok(Some(HEADER_LEN as u64));
        }
        let at = frames.found.partition_point(|frame| frame.end() < len);
        Ok(frames
            .found
            .get(at)
            .map(|frame| frame.place + (len - frame.offset)))
    }

    /// The frames that have bytes from `offset` up to `end`.
    fn frames(&self, offset: u64, end: u64) -> Result<Vec<Frame>> {
        let mut frames = self.frames.lock();
        // The last frame may have been read while its append was in progress, so frames are searched again
        // unless it is not needed.
        let is_settled = frames.found.len() > 1 && frames.found[frames.found.len() - 2].end() >= end;
        if !is_settled {
            frames.search(&*self.file, end)?;
        }
        let first = frames.found.partition_point(|frame| frame.end() <= offset);
        let found = frames.found[first..].iter();
        Ok(found.take_while(|frame| frame.offset < end).copied().collect())
    }
}

impl RandomAccessFile for LogReader {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let end = offset.saturating_add(buf.len() as u64);
        let frames = self.frames(offset, end)?;
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
            return Ok(0);
        };
        // One read takes all frames, with the lengths between them.
        let place = first.place + offset.saturating_sub(first.offset);
        let place_end = last.place + last.len.min(end - last.offset);
        let len = usize::try_from(place_end - place)
            .ok()
            .filter(|len| *len <= buf.len() + frames.len() * LENGTH as usize)
            .ok_or_else(|| {
                Error::corruption("the frames of an encrypted log overlap").in_file(self.path())
            })?;
        let mut raw = vec![0; len];
        let read = self.file.read_at(place, &mut raw)?;
        raw.truncate(read);
        let mut filled = 0;
        for frame in &frames {
            let from = frame.place.max(place) - place;
            let to = (frame.place + frame.len).min(place_end) - place;
            let existing = raw
                .get(from as usize..(to as usize).min(raw.len()))
                .unwrap_or(&[]);
            buf[filled..filled + existing.len()].copy_from_slice(existing);
            filled += existing.len();
        }
        self.cipher.apply(offset, &mut buf[..filled])?;
        Ok(filled)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.file.prefetch(offset.saturating_add(HEADER_LEN as u64), len);
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

//! Streams: sequences of keys that were written in ascending, or in descending, order, several of them
//! interleaved.
//!
//! A user who writes N streams into one database, each under its own prefix, gets memtables with N runs of
//! keys in each of which sequence numbers only rise (or only fall). A file that is cut at the borders of such
//! runs never spans the place where the next keys of a stream will go. Its rows never have to be merged with
//! others, so it is put at once into the level where it will stay. A file that is cut anywhere else overlaps
//! the next rows, and every byte is rewritten level by level.

use std::sync::Arc;

use base::{Cursor, MAX_SEQNO, Result, SeqNo, UserComparator, internal_key, shared_len};
use manifest::{FileMetadata, Version};

use crate::options::LeveledOptions;
use crate::picker::Running;
use crate::split::Border;

/// The number of adjacent keys with rising, or falling, sequence numbers that is too high for chance.
const MIN_KEYS: u64 = 32;

/// The number of keys after which the finder, if hardly any key was in a long run, asks whether it should see
/// more keys.
const PROBE: u64 = 4096;

/// The number of places at which [`any_in_order`] samples keys, and the number of keys at each place.
const PLACES: u64 = 32;
const KEYS_AT_PLACE: u64 = 512;

/// In a stream, one key in this number of keys may be out of order.
const KEYS_PER_STRAY: u64 = 8;

/// The number of adjacent keys in order that may be the beginning of a stream.
const MIN_PIECE: u64 = 8;

/// The number of adjacent keys in order that may be the rest of an interrupted stream.
const MIN_REST: u64 = 3;

/// The part of a flush that belongs to one stream: the user keys from `first` up to `end`, exclusive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The stream's smallest user key.
    pub first: Vec<u8>,
    /// The stream's largest user key.
    pub last: Vec<u8>,
    /// The next user key after `last` in the flush, of any stream; `None`: there is none.
    pub end: Option<Vec<u8>>,
    /// The approximate bytes of the stream's keys and values.
    pub bytes: u64,
    /// True if the keys of the stream came in descending order.
    pub falls: bool,
}

impl Stream {
    /// The place where the stream's next keys will go.
    pub fn border(&self) -> Border {
        let key = if self.falls { &self.first } else { &self.last };
        Border {
            key: key[..].into(),
            behind: !self.falls,
        }
    }
}

/// Finds the streams among entries that are shown in the order of internal keys. Costs two comparisons and a
/// copy of the key for each entry.
#[derive(Debug)]
pub struct StreamFinder {
    min_bytes: u64,
    /// Runs that have ended, and are streams or may become streams.
    found: Vec<SeqnoRun>,
    open: SeqnoRun,
    /// The user key that was written before the last key.
    before: Vec<u8>,
    /// The number of user keys that the detector was shown.
    shown: u64,
    in_long_runs: u64,
}

/// Adjacent keys whose sequence numbers all rise, or all fall.
#[derive(Debug, Default)]
struct SeqnoRun {
    stream: Stream,
    direction: Option<Direction>,
    first_seqno: SeqNo,
    last_seqno: SeqNo,
    /// The sequence number of the key before the last: the last key may have been out of order itself.
    before_seqno: SeqNo,
    keys: u64,
    /// The number of keys of the run that were out of order.
    strays: u64,
    /// The number of keys that the finder had been shown when the run ended.
    ended_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Rising,
    Falling,
}

impl Direction {
    fn of(from: SeqNo, to: SeqNo) -> Direction {
        if to > from {
            Direction::Rising
        } else {
            Direction::Falling
        }
    }
}

impl StreamFinder {
    /// A finder of streams of at least `min_bytes`.
    pub fn new(min_bytes: u64) -> StreamFinder {
        StreamFinder {
            min_bytes,
            found: Vec::new(),
            open: SeqnoRun::default(),
            before: Vec::new(),
            shown: 0,
            in_long_runs: 0,
        }
    }

    /// Takes the next entry. Returns false, at most once, if hardly any keys so far are in order: if none are
    /// [elsewhere](any_in_order) either, the caller need not show more.
    #[inline]
    pub fn add(&mut self, internal: &[u8], value_len: usize) -> bool {
        let (key, seqno) = (internal_key::user_key(internal), internal_key::seqno(internal));
        let bytes = (internal.len() + value_len) as u64;
        if self.shown == 0 {
            self.open = SeqnoRun::of(key, seqno);
        } else if key == self.open.stream.last {
            // The entry is an older version of the last key: the time when it was written says nothing about
            // the order of keys.
            self.open.stream.bytes += bytes;
            return true;
        } else {
            let direction = Direction::of(self.open.last_seqno, seqno);
            if *self.open.direction.get_or_insert(direction) == direction {
                std::mem::swap(&mut self.before, &mut self.open.stream.last);
                self.open.extend(key, seqno);
            } else {
                self.turn_at(key, seqno);
            }
        }
        self.open.stream.bytes += bytes;
        self.shown += 1;
        self.shown != PROBE || self.is_in_order()
    }

    /// True if at least a quarter of the keys shown are in long runs.
    fn is_in_order(&self) -> bool {
        self.in_long_runs.max(self.open.keys) * 4 >= self.shown
    }

    /// The order turns at `key`: a run ends.
    #[cold]
    fn turn_at(&mut self, key: &[u8], seqno: SeqNo) {
        let ended = &mut self.open;
        // Where a rising stream is next to a falling one, the neighbour's first key still seems to rise. It
        // goes to the run with which it shares the longer prefix.
        let last = &ended.stream.last;
        let next = if ended.keys > 1 && shared_len(last, key) > shared_len(&self.before, last) {
            let mut next = SeqnoRun::of(last, ended.last_seqno);
            next.direction = Some(Direction::of(ended.last_seqno, seqno));
            ended.stream.end = Some(last.clone());
            ended.keys -= 1;
            std::mem::swap(&mut ended.stream.last, &mut self.before);
            next.extend(key, seqno);
            next
        } else {
            ended.stream.end = Some(key.to_vec());
            self.before.clone_from(last);
            SeqnoRun::of(key, seqno)
        };
        let ended = std::mem::replace(&mut self.open, next);
        self.end(ended);
    }

    fn end(&mut self, run: SeqnoRun) {
        let run = SeqnoRun {
            ended_at: self.shown,
            ..run
        };
        if run.keys >= MIN_KEYS {
            self.in_long_runs += run.keys;
        }
        // A few keys out of order do not end a stream that continues after them.
        match self.found.last_mut() {
            Some(before) if before.goes_on_in(&run) => before.join(run),
            _ if run.keys >= MIN_PIECE => self.found.push(run),
            _ => {}
        }
    }

    /// The streams, by key.
    pub fn finish(mut self) -> Vec<Stream> {
        let last = std::mem::take(&mut self.open);
        self.end(last);
        let min_bytes = self.min_bytes;
        let long = |run: &SeqnoRun| run.keys >= MIN_KEYS && run.stream.bytes >= min_bytes;
        let runs = self.found.into_iter().filter(long);
        let streams = runs.map(|run| Stream {
            falls: run.direction == Some(Direction::Falling),
            ..run.stream
        });
        streams.collect()
    }
}

/// True if many keys in a row are in order somewhere after the position of `cursor`. Samples keys at places
/// spread evenly, by their first bytes, over the keys that follow. Groups of keys under prefixes of their own
/// are told apart, so the largest group does not take all places. Only works in bytewise order, in which such
/// places can be computed. Moves the cursor.
pub fn any_in_order(cursor: &mut impl Cursor, cmp: &UserComparator) -> Result<bool> {
    if !cmp.is_bytewise() || !cursor.valid() {
        return Ok(false);
    }
    let mut passed = internal_key::user_key(cursor.key()).to_vec();
    cursor.seek_to_last();
    if !cursor.valid() {
        return cursor.status().map(|()| false);
    }
    let last = internal_key::user_key(cursor.key()).to_vec();
    let mut target = Vec::new();
    for place in places(&passed, &last) {
        if place <= passed {
            continue;
        }
        internal_key::set_seek_target(&mut target, &place, MAX_SEQNO);
        cursor.seek(&target);
        let mut finder = StreamFinder::new(0);
        while cursor.valid() && finder.shown < KEYS_AT_PLACE {
            finder.add(cursor.key(), cursor.value().len());
            cursor.next();
        }
        cursor.status()?;
        if finder.shown >= MIN_KEYS && finder.is_in_order() {
            return Ok(true);
        }
        passed.clone_from(&finder.open.stream.last);
    }
    Ok(false)
}

/// Keys that divide the range between two keys evenly, in ascending order, without the first key.
fn places(first: &[u8], last: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<> {
    let common = shared_len(first, last);
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let behind = key.get(common..).unwrap_or_default();
        let len = behind.len().min(bytes.len());
        bytes[..len].copy_from_slice(&behind[..len]);
        u128::from(u64::from_be_bytes(bytes))
    };
    let (low, high) = (number(first), number(last));
    let prefix = first[..common].to_vec();
    (1..u128::from(PLACES)).map(move |at| {
        let number = low + high.saturating_sub(low) * at / u128::from(PLACES);
        let mut key = prefix.clone();
        key.extend_from_slice(&(number as u64).to_be_bytes());
        key
    })
}

impl SeqnoRun {
    fn of(key: &[u8], seqno: SeqNo) -> SeqnoRun {
        let mut run = SeqnoRun {
            first_seqno: seqno,
            ..SeqnoRun::default()
        };
        run.stream.first.extend_from_slice(key);
        run.extend(key, seqno);
        run
    }

    #[inline]
    fn extend(&mut self, key: &[u8], seqno: SeqNo) {
        self.stream.last.clear();
        self.stream.last.extend_from_slice(key);
        self.before_seqno = std::mem::replace(&mut self.last_seqno, seqno);
        self.keys += 1;
    }

    /// True if `later`, which ended after this run, continues the same stream.
    fn goes_on_in(&self, later: &SeqnoRun) -> bool {
        later.keys >= MIN_REST
            && later.direction == self.direction
            && Some(Direction::of(self.before_seqno, later.first_seqno)) == self.direction
            && self.strays_to(later) * KEYS_PER_STRAY <= self.keys + later.keys
    }

    /// The number of keys out of order up to the end of `later`.
    fn strays_to(&self, later: &SeqnoRun) -> u64 {
        let between = (later.ended_at - self.ended_at).saturating_sub(later.keys);
        self.strays + later.strays + between
    }

    fn join(&mut self, later: SeqnoRun) {
        self.strays = self.strays_to(&later);
        self.stream.last = later.stream.last;
        self.stream.end = later.stream.end;
        self.stream.bytes += later.stream.bytes;
        (self.before_seqno, self.last_seqno) = (later.before_seqno, later.last_seqno);
        self.keys += later.keys;
        self.ended_at = later.ended_at;
    }
}

/// The lowest level that `stream`, which is newer than all files, may be put into as a file of its own; 0 if
/// it must go to L0. The second result is true if no file below that level overlaps its keys.
///
/// No file above that level holds one of its keys, as far as `has_none` knows about files whose ranges
/// overlap them. No file of the level itself overlaps them, and no running job writes there around them. So a
/// read finds newer rows before older ones. The range must be [reserved](Running::reserve) until the file is
/// installed.
pub fn lowest_level(
    version: &Version,
    running: &Running,
    options: &LeveledOptions,
    stream: &Stream,
    has_none: impl Fn(&FileMetadata) -> bool,
) -> (usize, bool) {
    let cmp: &UserComparator = version.cmp().user();
    let (smallest, largest) = (&stream.first[..], &stream.last[..]);
    if running.is_exclusive() || running.reserves(cmp, smallest, largest) {
        return (0, false);
    }
    let levels = version.num_levels();
    let around = |level: usize| files_around(version, level, stream);
    let above = (0..levels).find(|&level| around(level).any(|file| !has_none(file)));
    // In the level `above` or a lower one, the stream would be below older rows of its keys, or in one level
    // with them.
    let level = (1..above.unwrap_or(levels))
        .rev()
        .find(|&level| around(level).next().is_none() && !running.writes_to(cmp, level, smallest, largest));
    let Some(level) = level else {
        return (0, false);
    };
    let below = (level + 1..levels).find(|&level| around(level).next().is_some());
    let overlapped = below.map_or(0, |level| around(level).map(|file| file.size).sum());
    if stream.bytes.saturating_add(overlapped) > options.max_compaction_bytes() {
        return (0, false);
    }
    (level, below.is_none())
}

/// The files of `level` whose ranges overlap the keys of `stream`.
pub fn files_around<'a>(
    version: &'a Version,
    level: usize,
    stream: &'a Stream,
) -> impl Iterator<Item = &'a Arc<FileMetadata>> {
    let cmp: &UserComparator = version.cmp().user();
    let (smallest, largest) = (Some(&stream.first[..]), Some(&stream.last[..]));
    let files = match level {
        0 => version.files(0),
        _ => &version.files(level)[version.overlapping_range(level, smallest, largest)],
    };
    files
        .iter()
        .filter(move |file| file.overlaps(cmp, smallest, largest))
}

#[cfg(test)]
mod tests {
    use base::Kind;

    use super::*;

    /// The streams among `entries`, each as first, last, end.
    fn found(entries: &[(String, SeqNo)]) -> Vec<(String, String, String)> {
        let mut sorted = entries.to_vec();
        sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut finder = StreamFinder::new(1000);
        for (key, seqno) in &sorted {
            if !finder.add(&internal_key::encode(key.as_bytes(), *seqno, Kind::Value), 100) {
                return Vec::new();
            }
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        finder
            .finish()
            .into_iter()
            .map(|stream| {
                let end = stream.end.map_or("-".to_owned(), text);
                (text(stream.first), text(stream.last), end)
            })
            .collect()
    }

    fn expect(streams: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        let owned = |(a, b, c): &(&str, &str, &str)| (a.to_string(), b.to_string(), c.to_string());
        streams.iter().map(owned).collect()
    }

    /// Entries of `streams` interleaved streams of 100 keys each; the streams in `falling` have descending
    /// keys.
    fn in_turn(streams: u64, falling: fn(u64) -> bool) -> Vec<(String, SeqNo)> {
        (0..100 * streams)
            .map(|at| {
                let (stream, number) = (at % streams, at / streams);
                let number = if falling(stream) { 99 - number } else { number };
                (format!("{stream}:{number:04}"), 1000 + at)
            })
            .collect()
    }

    #[test]
    fn streams_end_where_the_order_turns() {
        let three = expect(&[
            ("0:0000", "0:0099", "1:0000"),
            ("1:0000", "1:0099", "2:0000"),
            ("2:0000", "2:0099", "-"),
        ]);
        assert_eq!(found(&in_turn(3, |_| false)), three);
        assert_eq!(found(&in_turn(3, |_| true)), three);
        // The entries have a rising stream next to a falling one, and then the reverse.
        assert_eq!(found(&in_turn(3, |stream| stream == 1)), three);
        assert_eq!(found(&in_turn(3, |stream| stream != 1)), three);
        assert_eq!(
            found(&in_turn(1, |_| false)),
            expect(&[("0:0000", "0:0099", "-")])
        );
    }

    #[test]
    fn a_few_keys_out_of_turn_do_not_end_a_stream() {
        let mut entries = in_turn(2, |_| false);
        // One key of the stream was written late, and another key twice.
        entries.push(("0:0080x".to_owned(), 9000));
        entries.push(("1:0070".to_owned(), 9001));
        assert_eq!(
            found(&entries),
            expect(&[("0:0000", "0:0099", "1:0000"), ("1:0000", "1:0099", "-")])
        );
    }

    #[test]
    fn what_is_in_no_order_has_no_streams() {
        let mut rng = testkit::rng::rng();
        let entries: Vec<_> = (0..10_000)
            .map(|at| (format!("{:08}", rng.u64(0..100_000_000)), at))
            .collect();
        assert_eq!(found(&entries), []);
        // A stream among keys without order is found, if the others are not too many.
        let mut entries = entries[..500].to_vec();
        entries.extend((0..100).map(|at| (format!("s{at:04}"), 20_000 + at)));
        let streams = found(&entries);
        assert_eq!(streams.len(), 1, "{streams:?}");
        assert_eq!((&*streams[0].1, &*streams[0].2), ("s0099", "-"));
    }
}

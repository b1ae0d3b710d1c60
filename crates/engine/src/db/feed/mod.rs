//! Change feeds: the written rows, in order, read back from archived and live WALs. With a named cursor a
//! feed continues after a restart.
//!
//! A cursor is a position and the oldest WAL that is needed to continue from it. The thread that deletes
//! files keeps that WAL and all later ones, in the archive, up to the cursor's budget. An acknowledgement
//! makes the rows before the position durable first, and then the cursor: after a crash a feed continues with
//! the first row that was not acknowledged, and no other row has its sequence number.
//!
//! While a cursor exists, WALs are synced before tables with their rows become durable: no row survives a
//! crash in a table and is missing from the feed.

mod families;
mod recycling;
pub(crate) mod stream;
pub(crate) mod wals;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use base::env::Clock;
use base::{Error, ErrorKind, Result, SeqNo};

use self::families::{Names, Source};
use self::stream::{Update, UpdateStream, gap};
use self::wals::Wals;
use crate::batch::before_images::{BeforeImage, images_of};
use crate::batch::operation::Operation;
use crate::batch::write_batch::WriteBatch;
use crate::files::archived_wals::create_directory;
use crate::files::feed_cursor::{Cursor, check_name};
use crate::lifecycle::manifest_tail::read_manifest;
use crate::lifecycle::moment::read_identity;
use crate::lifecycle::wal_dir::WalDir;
use crate::options::Options;
use crate::state::handle::Db;

/// The default maximum number of bytes of archived WALs that are kept for a cursor.
const DEFAULT_BUDGET: u64 = 1 << 30;

/// The rows that a change feed reads, and where it begins.
///
/// See the example of [`Db::feed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedOptions {
    /// The name of a durable cursor: up to 64 letters, digits, dots, dashes and underscores. The feed
    /// continues at the position that was [acknowledged](Feed::acknowledge) last; a cursor that does not
    /// exist is created at [`since`](Self::since). A cursor is for one reader at a time. Without a name no
    /// WAL is kept for the feed. Default: none.
    pub cursor: Option<String>,
    /// The sequence number of the first row of a feed without a cursor, or with a new one. The rows before a
    /// new cursor are made durable first. Default: the oldest row in WALs.
    pub since: Option<SeqNo>,
    /// The maximum number of bytes of archived WALs that are kept for a new cursor. If the WALs exceed it,
    /// the oldest are deleted, and the feed reports a [gap](FeedEvent::Gap). Default: 1 GiB.
    pub retain_bytes: u64,
    /// The families whose rows are read, by name. If no family is named, the rows of all families are read.
    /// Default: none.
    pub column_families: BTreeSet<String>,
}

impl Default for FeedOptions {
    fn default() -> FeedOptions {
        FeedOptions {
            cursor: None,
            since: None,
            retain_bytes: DEFAULT_BUDGET,
            column_families: BTreeSet::new(),
        }
    }
}

/// A result of [`Feed::next`]: rows, or a gap in the sequence numbers.
///
/// See the example of [`Db::feed`].
#[derive(Clone, Debug)]
pub enum FeedEvent {
    /// A batch with rows of the families that are read.
    Batch(FeedBatch),
    /// The sequence numbers from `from` to `to`, both inclusive, are in no WAL: rows were written without
    /// one, files were ingested, or WALs are gone.
    Gap {
        /// The first number that is missing.
        from: SeqNo,
        /// The last missing sequence number.
        to: SeqNo,
    },
}

/// Rows that were written together. A two-phase transaction is one batch, at its commit.
///
/// See the example of [`Db::feed`].
#[derive(Clone, Debug)]
pub struct FeedBatch {
    sequence: SeqNo,
    batch: WriteBatch,
    names: BTreeMap<u32, Arc<str>>,
    wanted: Arc<BTreeSet<String>>,
}

/// A row of a [`FeedBatch`].
///
/// See the example of [`Db::feed`].
#[derive(Clone, Copy, Debug)]
pub struct FeedRow<'a> {
    /// The sequence number of the row.
    pub sequence: SeqNo,
    /// The id of the row's column family.
    pub family_id: u32,
    /// The name of the row's family, even if the family was dropped since. `None` if it was dropped while
    /// there was neither an archive nor a cursor, or while the database had another `wal_dir`.
    pub family: Option<&'a str>,
    /// The operation that wrote the row.
    pub operation: Operation<'a>,
    /// The value that the row replaces, if the write [recorded](crate::WriteOptions::before_images) it.
    pub before: BeforeImage<'a>,
}

/// A change feed: see [`Db::feed`]. It keeps the database open.
///
/// See the example of [`Db::feed`].
pub struct Feed {
    stream: UpdateStream,
    wals: Arc<Wals>,
    names: Names,
    clock: Arc<dyn Clock>,
    db: Option<Db>,
    wanted: Arc<BTreeSet<String>>,
    /// The sequence number after the last event; `None` before the first event of a feed that begins with the
    /// oldest row.
    position: Option<SeqNo>,
    /// The number of the WAL in which the feed came to its position.
    read: u64,
    cursor: Option<Cursor>,
    /// Positions of the feed, each with the WALs at that position.
    passed: VecDeque<(SeqNo, WalsAt)>,
    /// A batch that was read, and that is returned after a gap.
    behind_gap: Option<Update>,
}

/// The WALs at a position of a feed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WalsAt {
    /// The number of the oldest WAL that is needed to continue from the position.
    keep: u64,
    /// The number of the WAL in which the feed came to the position.
    read: u64,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed")
            .field("position", &self.position)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Reads the written rows, in order, from WALs: a row is returned as soon as it is visible to reads, even
    /// before it is durable. Rows without a WAL and ingested files are not returned; they appear as
    /// [gaps](FeedEvent::Gap).
    ///
    /// ```
    /// # fn main() -> esker::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// use esker::{FeedEvent, FeedOptions};
    /// let db = esker::Db::open(&esker::Options { create_if_missing: true, ..Default::default() }, dir.path())?;
    /// let options = FeedOptions { cursor: Some("replica".to_owned()), ..Default::default() };
    /// let mut feed = db.feed(&options)?;
    /// db.put(b"key", b"value")?;
    /// while let Some(event) = feed.next()? {
    ///     if let FeedEvent::Batch(batch) = event {
    ///         for row in batch.rows() {
    ///             println!("{:?}", row?);
    ///         }
    ///     }
    ///     feed.acknowledge(feed.position())?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` if `since`, or the cursor, is beyond the next row: the database is older than the cursor.
    /// `InvalidArgument` for a bad name. `NotSupported` for a cursor of a database that is open for reading
    /// only.
    pub fn feed(&self, options: &FeedOptions) -> Result<Feed> {
        let inner = self.inner();
        inner.check_open()?;
        if options.cursor.is_some() && inner.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let names = Names::new(inner.options.fs.clone(), &inner.wal_dir, Source::Db(self.clone()));
        let feed = Feed::begin(
            Wals::of(self),
            names,
            inner.options.clock.clone(),
            Some(self.clone()),
            options,
        )?;
        feed.check_written(feed.position())?;
        Ok(feed)
    }

    /// Deletes a cursor, and the WALs that were kept for this cursor only. Returns false if no cursor has
    /// that name.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn drop_feed_cursor(&self, name: &str) -> Result<bool> {
        let inner = self.inner();
        inner.check_open()?;
        if inner.read_only {
            return Err(Error::not_supported("the database is open for reading only"));
        }
        let dropped = Cursor::remove(&*inner.options.fs, &inner.wal_dir, name)?;
        inner.cursors_changed();
        Ok(dropped)
    }
}

impl Feed {
    /// Same as [`Db::feed`], of a database in `path` that this process does not have open, and that another
    /// process may write to. Rows of that process are read as soon as the kernel has them.
    ///
    /// From now on the process that has the database open keeps WALs for a new cursor, because it reads the
    /// cursors before it archives or deletes a WAL. A database that recycles WALs does not read them: while
    /// another process has it open, a new cursor is refused.
    ///
    /// # Errors
    /// Those of [`Db::feed`]; `NotSupported` for a new cursor that is refused; those of reading the MANIFEST.
    pub fn open(options: &Options, path: impl AsRef<Path>, feed: &FeedOptions) -> Result<Feed> {
        let dir = path.as_ref();
        let (_, manifest) = read_manifest(options, dir)?;
        let id = match manifest.db_id {
            Some(id) => Some(id),
            None => read_identity(&*options.fs, dir)?,
        };
        let wal_dir = WalDir::look(options, dir, id.as_deref())?;
        let source = Source::Manifest(Box::new(options.clone()), dir.to_path_buf());
        let names = Names::new(options.fs.clone(), &wal_dir, source);
        // The lock of a database that recycles WALs is held while the cursor is created: no process can open
        // the database meanwhile and overwrite a WAL that the cursor needs.
        let _lock = match &feed.cursor {
            Some(name) if Cursor::read(&*options.fs, &wal_dir, name)?.is_none() => {
                recycling::lock_if_it_recycles(options, dir)?
            }
            _ => None,
        };
        Feed::begin(
            Wals::in_directory(options, &wal_dir),
            names,
            options.clock.clone(),
            None,
            feed,
        )
    }

    fn begin(
        wals: Wals,
        names: Names,
        clock: Arc<dyn Clock>,
        db: Option<Db>,
        options: &FeedOptions,
    ) -> Result<Feed> {
        let wals = Arc::new(wals);
        let mut feed = Feed {
            stream: UpdateStream::new(wals.clone(), None),
            wals: wals.clone(),
            names,
            clock,
            db,
            wanted: Arc::new(options.column_families.clone()),
            position: options.since,
            read: 0,
            cursor: None,
            passed: VecDeque::new(),
            behind_gap: None,
        };
        let first = match &options.cursor {
            Some(name) => {
                let cursor = feed.take_cursor(name, options)?;
                let (first, read) = (cursor.keep, cursor.read);
                feed.position = Some(cursor.position);
                feed.read = read;
                feed.passed
                    .push_back((cursor.position, WalsAt { keep: first, read }));
                feed.cursor = Some(cursor);
                Some(first)
            }
            None => options
                .since
                .map(|since| wals.holding(since))
                .transpose()?
                .flatten(),
        };
        feed.stream = UpdateStream::new(wals, first);
        Ok(feed)
    }

    /// Returns the cursor called that name; creates it if it does not exist.
    fn take_cursor(&self, name: &str, options: &FeedOptions) -> Result<Cursor> {
        check_name(name)?;
        let (fs, wal_dir) = (self.wals.fs(), self.wals.wal_dir());
        if let Some(cursor) = Cursor::read(fs, wal_dir, name)? {
            return Ok(cursor);
        }
        let all = self.wals.all()?;
        // Outstanding sections are in live WALs.
        let live = all
            .iter()
            .find(|(_, wal)| !wal.archived)
            .map_or(0, |(number, _)| *number);
        let (position, first) = match options.since {
            // A crash that lost rows before the cursor would give their sequence numbers to new rows, which
            // the feed would pass over.
            Some(since) => {
                self.check_written(since)?;
                self.sync_rows(live)?;
                (since, self.wals.holding(since)?)
            }
            None => self.wals.oldest_row()?,
        };
        let read = first.unwrap_or(live);
        let cursor = Cursor {
            name: name.to_owned(),
            position,
            keep: read.min(live),
            read,
            budget: options.retain_bytes,
            acknowledged: self.clock.unix_seconds(),
        };
        create_directory(fs, wal_dir)?;
        cursor.write(fs, wal_dir)?;
        self.cursor_changed();
        Ok(cursor)
    }

    /// Refuses a position beyond the next row of a database that this process has open.
    fn check_written(&self, position: SeqNo) -> Result<()> {
        let Some(end) = self.db.as_ref().map(|db| db.latest_sequence_number() + 1) else {
            return Ok(());
        };
        if position > end {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("Requested sequence {position} not yet written in the db, whose next is {end}"),
            ));
        }
        Ok(())
    }

    /// Makes the rows of the WALs from number `oldest` on durable.
    fn sync_rows(&self, oldest: u64) -> Result<()> {
        match &self.db {
            Some(db) => db.sync_wal(),
            None => self.wals.sync_from(oldest),
        }
    }

    fn cursor_changed(&self) {
        if let Some(db) = &self.db {
            db.inner().cursors_changed();
        }
    }

    /// The next event; `None` at the end of the WALs, where a later call may find more.
    ///
    /// # Errors
    /// `Corruption` if sequence numbers go back, which they do where a recovery left out rows that the feed
    /// had read; those of reading a WAL.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that has ended does not go on"
    )]
    pub fn next(&mut self) -> Result<Option<FeedEvent>> {
        while let Some(update) = self.next_update()? {
            let expected = self.position.unwrap_or(update.sequence);
            if update.sequence > expected {
                let missing = FeedEvent::Gap {
                    from: expected,
                    to: update.sequence - 1,
                };
                self.position = Some(update.sequence);
                self.read = self.stream.reading().unwrap_or(self.read);
                self.behind_gap = Some(update);
                return Ok(Some(missing));
            }
            if update.is_before(expected) {
                let damage = self.stream.take_damage();
                if damage.is_some_and(|(wal, _)| wal >= self.read) {
                    return Err(gap(expected, update.sequence, None));
                }
                continue;
            }
            self.position = Some(update.next_sequence());
            self.read = self.stream.reading().unwrap_or(self.read);
            self.record_passed(update.next_sequence());
            let batch = self.named(update)?;
            if batch.has_rows()? {
                return Ok(Some(FeedEvent::Batch(batch)));
            }
        }
        // The feed may have passed whole WALs without a row, which it no longer needs.
        if let Some(position) = self.position {
            self.record_passed(position);
        }
        Ok(None)
    }

    fn next_update(&mut self) -> Result<Option<Update>> {
        match self.behind_gap.take() {
            Some(update) => Ok(Some(update)),
            None => self.stream.next(),
        }
    }

    fn record_passed(&mut self, position: SeqNo) {
        let Some(keep) = self.stream.oldest_needed().filter(|_| self.cursor.is_some()) else {
            return;
        };
        let wals = WalsAt {
            keep,
            read: self.read,
        };
        if self.passed.back().is_none_or(|(_, last)| *last != wals) {
            self.passed.push_back((position, wals));
        }
    }

    fn named(&mut self, update: Update) -> Result<FeedBatch> {
        let mut names = BTreeMap::new();
        for operation in update.batch.operations() {
            let Some(id) = operation?.family() else { continue };
            if !names.contains_key(&id)
                && let Some(name) = self.names.of(id)?
            {
                names.insert(id, name);
            }
        }
        Ok(FeedBatch {
            sequence: update.sequence,
            batch: update.batch,
            names,
            wanted: self.wanted.clone(),
        })
    }

    /// The sequence number after the last event: all rows with lower numbers, of any family, were returned. 0
    /// before the first event of a feed that begins with the oldest row.
    pub fn position(&self) -> SeqNo {
        self.position.unwrap_or(0)
    }

    /// The position of the last acknowledgement: after a restart the feed continues there. `None` without a
    /// cursor.
    pub fn acknowledged(&self) -> Option<SeqNo> {
        self.cursor.as_ref().map(|cursor| cursor.position)
    }

    /// Says that all rows before `position`, a [`position`](Self::position) of this feed, need not come
    /// again. The rows are made durable, and then the cursor. WALs that no cursor needs any more are deleted.
    /// An older position than the last is ignored.
    ///
    /// # Errors
    /// `InvalidArgument` without a cursor, and for a position that the feed has not come to; those of the
    /// file system, after which the cursor stands where it stood.
    pub fn acknowledge(&mut self, position: SeqNo) -> Result<()> {
        let reached = self.position();
        let Some(cursor) = &self.cursor else {
            return Err(Error::invalid_argument("the change feed has no cursor"));
        };
        if position > reached {
            return Err(Error::invalid_argument(format!(
                "position {position} of change feed {} cannot be acknowledged: the feed has come to {reached}",
                cursor.name
            )));
        }
        if position < cursor.position {
            return Ok(());
        }
        // Drops the marks before the newest one that is at or before the position: the first mark then names
        // the oldest WAL that is needed.
        while self.passed.get(1).is_some_and(|(from, _)| *from <= position) {
            self.passed.pop_front();
        }
        let at = WalsAt {
            keep: cursor.keep,
            read: cursor.read,
        };
        let WalsAt { keep, read } = self.passed.front().map_or(at, |(_, wals)| *wals);
        if (position, keep, read) == (cursor.position, cursor.keep, cursor.read) {
            return Ok(());
        }
        let cursor = Cursor {
            position,
            keep,
            read,
            acknowledged: self.clock.unix_seconds(),
            ..cursor.clone()
        };
        self.sync_rows(keep)?;
        cursor.write(self.wals.fs(), self.wals.wal_dir())?;
        self.cursor = Some(cursor);
        self.cursor_changed();
        Ok(())
    }
}

impl FeedBatch {
    /// The sequence number of the first row of the batch, of any family.
    pub fn sequence(&self) -> SeqNo {
        self.sequence
    }

    /// The whole batch, with the rows of all families.
    pub fn batch(&self) -> &WriteBatch {
        &self.batch
    }

    /// The rows of the families that are read, in order.
    pub fn rows(&self) -> impl Iterator<Item = Result<FeedRow<'_>>> {
        let mut next = self.sequence;
        let (images, malformed) = match images_of(&self.batch) {
            Ok(images) => (images, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        let mut images = images.into_iter();
        let whole = malformed.is_none();
        let rows = self.batch.operations().filter(move |_| whole);
        malformed.into_iter().chain(rows.filter_map(move |operation| {
            let operation = match operation {
                Ok(operation) => operation,
                Err(error) => return Some(Err(error)),
            };
            let family_id = operation.family()?;
            let sequence = next;
            next += 1;
            let before = images.next().unwrap_or_default();
            let family = self.names.get(&family_id).map(|name| &**name);
            let is_wanted = self.wanted.is_empty() || family.is_some_and(|name| self.wanted.contains(name));
            is_wanted.then_some(Ok(FeedRow {
                sequence,
                family_id,
                family,
                operation,
                before,
            }))
        }))
    }

    fn has_rows(&self) -> Result<bool> {
        Ok(self.rows().next().transpose()?.is_some())
    }
}

//! The state that belongs to the thread with the write queue's lock.

use std::time::Duration;

use base::SeqNo;

/// The state guarded by the write queue's lock.
pub(crate) struct Writer {
    /// The WAL that is written to; `None` in a read-only database.
    pub wal: Option<wal::Writer>,
    /// The length of `wal` in bytes when it held no row yet.
    pub wal_head: u64,
    /// The number of the next WAL, if an attempt to create that WAL has failed.
    pub next_wal: Option<u64>,
    /// The sequence number after the last record of the WALs; lower than that of the next row if rows were
    /// written without WAL.
    pub logged_next: SeqNo,
    /// The sequence number of the last record of the current WAL: that of its first row.
    pub logged_record: SeqNo,
    /// The sequence number of the last row.
    pub last_seqno: SeqNo,
    /// True if rows were written without WAL since the last flush of all memtables: a close must flush them.
    pub unlogged: bool,
    /// The encoded batch of the current write, if the write is a single operation and not a batch.
    pub scratch: Vec<u8>,
    /// The number of bytes written since writers were last stalled.
    pub delayed_bytes: u64,
    /// The time by which the bytes written so far should have taken at the delayed rate. Used while writes
    /// are delayed.
    pub paid: WriteCredit,
    /// True while the first stalled writer waits with this lock released.
    pub held_back: bool,
    /// The number of writes in a row that found this lock free, since a write last waited for it or the queue
    /// last checked for waiters.
    pub in_a_row: u32,
}

impl Writer {
    pub fn new(last_seqno: SeqNo) -> Writer {
        Writer {
            wal: None,
            wal_head: 0,
            next_wal: None,
            logged_next: 0,
            logged_record: 0,
            last_seqno,
            unlogged: false,
            scratch: Vec::new(),
            delayed_bytes: 0,
            paid: WriteCredit::default(),
            held_back: false,
            in_a_row: 0,
        }
    }

    /// Makes `wal`, which holds no row yet, the WAL that is written to, and returns the previous one.
    pub fn begin(&mut self, wal: wal::Writer) -> Option<wal::Writer> {
        self.wal_head = wal.len();
        self.logged_next = self.last_seqno + 1;
        self.logged_record = self.logged_next;
        self.wal.replace(wal)
    }
}

impl Writer {
    /// Takes back the sequence numbers after `kept`, of those reserved up to `reserved`. False, and none is
    /// taken back, if a row was written since the reservation, or if a WAL has begun: the first record of a
    /// WAL has the next number, and no row of the WAL may have a lower one.
    pub fn take_back(&mut self, reserved: SeqNo, kept: SeqNo) -> bool {
        let is_free = self.last_seqno == reserved && self.logged_next <= kept + 1;
        if is_free {
            self.last_seqno = kept;
        }
        is_free
    }
}

/// The shortest delay of a write: shorter waits cost more than they slow. Idle writers accrue at most this
/// much credit.
pub(crate) const LEAST_WAIT: Duration = Duration::from_millis(1);

/// The time that the bytes written while writes are delayed should have taken at the delayed rate.
#[derive(Debug, Default)]
pub(crate) struct WriteCredit {
    until: Duration,
}

impl WriteCredit {
    /// Charges `bytes` at `rate` bytes per second. Returns the time that the writer must wait: zero, or at
    /// least [`LEAST_WAIT`].
    pub fn charge(&mut self, now: Duration, bytes: u64, rate: u64) -> Duration {
        let from = self.until.max(now.saturating_sub(LEAST_WAIT));
        self.until = from + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        match self.until.saturating_sub(now) {
            due if due >= LEAST_WAIT => due,
            _ => Duration::ZERO,
        }
    }
}

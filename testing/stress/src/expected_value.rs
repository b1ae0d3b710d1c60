//! The expected value of one key, in 32 bits that one store changes at once.
//!
//! ```text
//! bit  31      30             29..16            15             14..0
//!      absent  delete pending deletions so far  write pending  number of the last write
//! ```
//!
//! The thread that changes a key marks the change as pending before it calls the database, and as done after
//! the database has returned. After the process died, a pending mark means that the states before and after
//! the change are both right. A reader without the key's lock derives from the states before and after its
//! read what it may have seen. The two numbers wrap round, which takes so long that no reader can be
//! confused.

/// The expected value of one key. See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedValue(u32);

const WRITES: u32 = 0x7fff;
const WRITE_PENDING: u32 = 1 << 15;
const DELETIONS: u32 = 0x3fff << 16;
const ONE_DELETION: u32 = 1 << 16;
const DELETE_PENDING: u32 = 1 << 30;
const ABSENT: u32 = 1 << 31;

impl ExpectedValue {
    /// A key that was never written.
    pub const NEVER: ExpectedValue = ExpectedValue(ABSENT);

    /// The value of [`bits`](Self::bits).
    pub fn from_bits(bits: u32) -> ExpectedValue {
        ExpectedValue(bits)
    }

    /// The bits to store.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// False if the key does not exist, pending changes ignored.
    pub fn exists(self) -> bool {
        self.0 & ABSENT == 0
    }

    /// True while a change is pending.
    pub fn is_pending(self) -> bool {
        self.0 & (WRITE_PENDING | DELETE_PENDING) != 0
    }

    /// The number of the last write, which its value contains.
    pub fn write(self) -> u32 {
        self.0 & WRITES
    }

    /// The number of the next write.
    pub fn next_write(self) -> u32 {
        (self.0 + 1) & WRITES
    }

    /// The state with a write pending.
    pub fn begin_write(self) -> ExpectedValue {
        ExpectedValue(self.0 | WRITE_PENDING)
    }

    /// The state with a deletion pending.
    pub fn begin_delete(self) -> ExpectedValue {
        ExpectedValue(self.0 | DELETE_PENDING)
    }

    /// The state if the pending change was not done.
    pub fn roll_back(self) -> ExpectedValue {
        ExpectedValue(self.0 & !(WRITE_PENDING | DELETE_PENDING))
    }

    /// The state if the pending change, if there is one, was done.
    pub fn settle(self) -> ExpectedValue {
        let settled = self.roll_back().0;
        if self.0 & WRITE_PENDING != 0 {
            return ExpectedValue(settled & !(WRITES | ABSENT) | self.next_write());
        }
        if self.0 & DELETE_PENDING != 0 {
            let deletions = settled.wrapping_add(ONE_DELETION) & DELETIONS;
            return ExpectedValue(settled & !DELETIONS | deletions | ABSENT);
        }
        ExpectedValue(settled)
    }

    fn deletions(self) -> u32 {
        self.0 & DELETIONS
    }
}

/// The values that a reader without the key's lock may see, from the states before and after its read.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The state before the read.
    pub before: ExpectedValue,
    /// The state after the read.
    pub after: ExpectedValue,
}

impl Window {
    /// False if the key existed throughout the read.
    pub fn may_be_absent(self) -> bool {
        !self.before.exists()
            || self.before.is_delete_pending()
            || self.before.deletions() != self.after.settle().deletions()
    }

    /// True if the value of write `number` may have been in the database at some moment of the read.
    pub fn may_hold(self, number: u32) -> bool {
        let (first, last) = (self.before.write(), self.after.settle_write().write());
        // The two differences are on the ring of numbers.
        let within = number.wrapping_sub(first) & WRITES <= last.wrapping_sub(first) & WRITES;
        // If the key was absent before, the value must be one that was written since.
        within && (self.before.exists() || number != first)
    }
}

impl ExpectedValue {
    fn is_delete_pending(self) -> bool {
        self.0 & DELETE_PENDING != 0
    }

    /// The state of the key as if its pending write were done.
    fn settle_write(self) -> ExpectedValue {
        if self.0 & WRITE_PENDING != 0 {
            self.settle()
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(times: u32) -> ExpectedValue {
        (0..times).fold(ExpectedValue::NEVER, |value, _| value.begin_write().settle())
    }

    #[test]
    fn changes_are_counted() {
        let value = written(3);
        assert!(value.exists() && !value.is_pending());
        assert_eq!(value.write(), 3);
        let pending = value.begin_delete();
        assert!(pending.exists() && pending.is_pending());
        assert_eq!(pending.roll_back(), value);
        let gone = pending.settle();
        assert!(!gone.exists() && !gone.is_pending());
        let again = gone.begin_write().settle();
        assert_eq!((again.exists(), again.write()), (true, 4));
        assert_eq!(value.settle(), value);
        assert_eq!(ExpectedValue::from_bits(again.bits()), again);
    }

    #[test]
    fn numbers_wrap_round_and_touch_nothing_else() {
        let mut value = written(0x7fff);
        assert_eq!(value.next_write(), 0);
        value = value.begin_write().settle();
        assert_eq!((value.write(), value.exists(), value.deletions()), (0, true, 0));
        for _ in 0..0x4000 {
            value = value.begin_delete().settle();
        }
        assert_eq!((value.write(), value.exists(), value.deletions()), (0, false, 0));
        let window = Window {
            before: ExpectedValue(0x7ffe),
            after: ExpectedValue(1),
        };
        let held: Vec<u32> = [0x7ffd, 0x7ffe, 0x7fff, 0, 1, 2]
            .into_iter()
            .filter(|&n| window.may_hold(n))
            .collect();
        assert_eq!(held, [0x7ffe, 0x7fff, 0, 1]);
    }

    #[test]
    fn a_reader_sees_what_was_there_while_it_read() {
        let (absent, one) = (ExpectedValue::NEVER, written(1));
        let window = |before, after| Window { before, after };
        // In these cases no change of the row is pending.
        assert!(!window(one, one).may_be_absent());
        assert!(
            window(one, one).may_hold(1) && !window(one, one).may_hold(2) && !window(one, one).may_hold(0)
        );
        assert!(window(absent, absent).may_be_absent() && !window(absent, absent).may_hold(0));
        // A write is pending or done.
        assert!(window(absent, absent.begin_write()).may_hold(1));
        assert!(window(absent, one).may_hold(1) && window(absent, one).may_be_absent());
        assert!(window(one, one.begin_write()).may_hold(2) && window(one, one.begin_write()).may_hold(1));
        assert!(!window(one, written(2)).may_be_absent());
        // In these states a deletion is pending, or was done before another write.
        assert!(window(one, one.begin_delete()).may_be_absent());
        assert!(window(one.begin_delete(), one.begin_delete()).may_be_absent());
        let back = one.begin_delete().settle().begin_write().settle();
        assert!(
            window(one, back).may_be_absent()
                && window(one, back).may_hold(1)
                && window(one, back).may_hold(2)
        );
    }
}

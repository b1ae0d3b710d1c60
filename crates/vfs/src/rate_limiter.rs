//! RocksDB's generic rate limiter: a limit of bytes a second for all its users, granted in periods.
//!
//! Every [`refill_period_us`](RateLimiterOptions::refill_period_us) one period's share of bytes becomes
//! available. A request for more than is left waits in the queue of its priority. The next refill serves the
//! queues from the highest priority down, and grants in part what it cannot grant entirely. Bytes that are
//! not requested within a period expire.
//!
//! Several databases, and backups of them, may share one limiter. It has no thread: waiting requests refill.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::env::{Clock, SystemClock};
use base::sync::{Condvar, Mutex};
use base::{Error, Result};

/// The priority of a request, the lowest first.
///
/// See the example of [`RateLimiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum IoPriority {
    /// Work that no user waits for: compactions, backups, integrity checks.
    #[default]
    Low,
    /// The priority between low and high.
    Mid,
    /// Work that writers will soon wait for: flushes.
    High,
    /// Work that a user waits for now. Always first.
    User,
}

const PRIORITIES: usize = 4;

/// The kind of an operation.
///
/// See the example of [`RateLimiter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpType {
    /// The request is for a read.
    Read,
    /// The request is for a write.
    Write,
}

/// The operations that count against the limit.
///
/// See the example of [`RateLimiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimiterMode {
    /// Reads count, and writes do not.
    ReadsOnly,
    /// Writes count, and reads do not.
    #[default]
    WritesOnly,
    /// Reads and writes count against the rate.
    AllIo,
}

/// The parameters of RocksDB's `NewGenericRateLimiter`.
///
/// See the example of [`RateLimiter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimiterOptions {
    /// The rate in bytes a second, at least 1. Default: 100 MiB.
    pub rate_bytes_per_sec: u64,
    /// The time between refills in microseconds, at least 1. Longer periods allow bursts, shorter ones cost
    /// more wake-ups. Default: 100000, a tenth of a second.
    pub refill_period_us: u64,
    /// One refill in this many serves lower priorities first, so that they do not starve;
    /// [`IoPriority::User`] always comes first. 1 to 100. Default: 10.
    pub fairness: u32,
    /// The operations that count. Default: [`RateLimiterMode::WritesOnly`].
    pub mode: RateLimiterMode,
    /// The maximum number of bytes that one [`request_token`](RateLimiter::request_token) gets; 0: a period's
    /// share. Default: 0.
    pub single_burst_bytes: u64,
    /// Tunes the rate to the recent demand, between a twentieth of
    /// [`rate_bytes_per_sec`](Self::rate_bytes_per_sec) and all of it. Every hundred periods it rises by a
    /// twentieth if more than nine in ten of them left a request waiting, and falls if less than half did. It
    /// begins at half. Default: false.
    pub auto_tuned: bool,
}

impl Default for RateLimiterOptions {
    fn default() -> RateLimiterOptions {
        RateLimiterOptions {
            rate_bytes_per_sec: 100 << 20,
            refill_period_us: 100_000,
            fairness: 10,
            mode: RateLimiterMode::WritesOnly,
            single_burst_bytes: 0,
            auto_tuned: false,
        }
    }
}

/// The number of periods between adjustments of the rate.
const PERIODS_PER_TUNE: u32 = 100;

/// The rate is never tuned below this fraction of the maximum.
const RANGE: u64 = 20;

/// The percentage of periods that left a request waiting below which the rate falls, and the percentage above
/// which it rises.
const WATERMARKS: (u64, u64) = (50, 90);

/// The percentage by which one adjustment changes the rate.
const TUNE_STEP: u64 = 5;

/// Delays its users so that together they move no more than a number of bytes a second. Shared as `Arc`.
///
/// ```
/// # mod esker {
/// #     pub use base::env::SystemClock;
/// #     pub use esker_vfs::rate_limiter::*;
/// # }
/// use esker::{IoPriority, OpType, RateLimiter, RateLimiterMode, RateLimiterOptions, SystemClock};
/// use std::sync::Arc;
///
/// let options = RateLimiterOptions {
///     rate_bytes_per_sec: 32 << 20,
///     mode: RateLimiterMode::AllIo,
///     ..Default::default()
/// };
/// // Set as `Options::rate_limiter`.
/// let limiter = RateLimiter::with_options(options, Arc::new(SystemClock::new()))?;
/// limiter.request(4096, IoPriority::High, OpType::Read);
/// assert_eq!(limiter.total_bytes_through(Some(IoPriority::High)), 4096);
/// # Ok::<(), base::Error>(())
/// ```
pub struct RateLimiter {
    options: RateLimiterOptions,
    clock: Arc<dyn Clock>,
    /// The current rate in bytes a second.
    rate: AtomicU64,
    /// The maximum rate in bytes a second, if the rate is tuned.
    most: AtomicU64,
    grants: Mutex<Grants>,
    /// The condition variable that is notified when a request is granted.
    granted: Condvar,
}

/// The waiting requests and the available bytes.
#[derive(Default)]
struct Grants {
    available: u64,
    next_refill: Duration,
    refills: u64,
    /// The number of periods whose bytes did not suffice.
    drains: u64,
    /// The number of drains at the last adjustment of the rate, and its time.
    tuned: (u64, Duration),
    /// The waiting requests by priority; each queue is first in, first out.
    queues: [VecDeque<Request>; PRIORITIES],
    next_id: u64,
    /// The number of requests so far, by priority.
    requests: [u64; PRIORITIES],
    bytes_through: [u64; PRIORITIES],
}

struct Request {
    id: u64,
    /// The bytes not granted yet.
    bytes: u64,
}

impl RateLimiter {
    /// A limiter of writes with RocksDB's defaults. `InvalidArgument` if the rate is 0.
    pub fn new(rate_bytes_per_sec: u64) -> Result<RateLimiter> {
        let options = RateLimiterOptions {
            rate_bytes_per_sec,
            ..RateLimiterOptions::default()
        };
        RateLimiter::with_options(options, Arc::new(SystemClock::new()))
    }

    /// A limiter with its time from `clock`. `InvalidArgument` if an option is out of range.
    pub fn with_options(options: RateLimiterOptions, clock: Arc<dyn Clock>) -> Result<RateLimiter> {
        check_rate(options.rate_bytes_per_sec)?;
        if options.refill_period_us == 0 {
            return Err(Error::invalid_argument("refill_period_us must be greater than 0"));
        }
        if !(1..=100).contains(&options.fairness) {
            return Err(Error::invalid_argument("fairness is outside 1..=100"));
        }
        let grants = Grants {
            next_refill: clock.now(),
            tuned: (0, clock.now()),
            ..Grants::default()
        };
        let rate = match options.auto_tuned {
            true => (options.rate_bytes_per_sec / 2).max(1),
            false => options.rate_bytes_per_sec,
        };
        Ok(RateLimiter {
            rate: AtomicU64::new(rate),
            most: AtomicU64::new(options.rate_bytes_per_sec),
            options,
            clock,
            grants: Mutex::new(grants),
            granted: Condvar::new(),
        })
    }

    /// Waits until `bytes` may be read or written, if operations of the kind `op` count. A request larger
    /// than a period's share takes several periods.
    ///
    /// Nothing ends the wait early: a caller that may be stopped uses [`request_while`](Self::request_while).
    pub fn request(&self, bytes: u64, priority: IoPriority, op: OpType) {
        self.request_while(bytes, priority, op, || true);
    }

    /// Requests bytes as [`request`](Self::request) does, as long as `goes_on` returns true. `goes_on` is
    /// called before the wait, at each refill and at each [`wake`](Self::wake), under the limiter's lock.
    /// Returns false if `goes_on` ended the wait; the bytes granted by then are lost.
    pub fn request_while(
        &self,
        bytes: u64,
        priority: IoPriority,
        op: OpType,
        goes_on: impl Fn() -> bool,
    ) -> bool {
        if !self.is_rate_limited(op) {
            return true;
        }
        let class = priority as usize;
        let mut grants = self.grants.lock();
        grants.requests[class] += 1;
        if grants.queues.iter().all(VecDeque::is_empty) {
            // Waiting requests refill by themselves.
            self.refill_if_due(&mut grants);
        }
        let Some(id) = grants.ask(class, bytes) else {
            return true;
        };
        loop {
            if !goes_on() {
                grants.queues[class].retain(|request| request.id != id);
                return false;
            }
            if let Some(early) = self.refill_if_due(&mut grants) {
                // The wait for the end of a period uses the machine's clock; the limiter's clock then decides
                // whether the period is over.
                self.granted.wait_for(&mut grants, early);
            }
            if !grants.queues[class].iter().any(|request| request.id == id) {
                return true;
            }
        }
    }

    /// Begins a period if the last one is over; otherwise returns the time until then.
    fn refill_if_due(&self, grants: &mut Grants) -> Option<Duration> {
        let now = self.clock.now();
        if grants.next_refill > now {
            return Some(grants.next_refill - now);
        }
        let period = Duration::from_micros(self.options.refill_period_us);
        if self.options.auto_tuned {
            self.tune(grants, now, period);
        }
        grants.refill(now, period, self.bytes_per_period(), self.options.fairness);
        self.granted.notify_all();
        None
    }

    /// Makes all waits in [`request_while`](Self::request_while) call `goes_on`.
    pub fn wake(&self) {
        // The lock ensures that no thread is between its call of `goes_on` and its wait.
        let _grants = self.grants.lock();
        self.granted.notify_all();
    }

    /// Waits for as many of `bytes` as one request may get, and returns their number: all of them if `op`
    /// does not count, otherwise at most [`single_burst_bytes`](Self::single_burst_bytes), rounded down to
    /// `alignment` (of direct I/O; 0 or 1: none) but never to 0.
    pub fn request_token(&self, bytes: u64, alignment: u64, priority: IoPriority, op: OpType) -> u64 {
        if !self.is_rate_limited(op) || bytes == 0 {
            return bytes;
        }
        let mut granted = bytes.min(self.single_burst_bytes());
        if alignment > 1 {
            granted = (granted - granted % alignment).max(alignment);
        }
        self.request(granted, priority, op);
        granted
    }

    /// True if operations of this type count.
    pub fn is_rate_limited(&self, op: OpType) -> bool {
        match self.options.mode {
            RateLimiterMode::ReadsOnly => op == OpType::Read,
            RateLimiterMode::WritesOnly => op == OpType::Write,
            RateLimiterMode::AllIo => true,
        }
    }

    /// The rate in bytes a second.
    pub fn bytes_per_second(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// Changes the rate from the next refill on, or, if it is tuned, its maximum. `InvalidArgument` for
    /// the rate 0.
    pub fn set_bytes_per_second(&self, rate: u64) -> Result<()> {
        check_rate(rate)?;
        self.most.store(rate, Ordering::Relaxed);
        let now = match self.options.auto_tuned {
            true => (rate / 2).max(1),
            false => rate,
        };
        self.rate.store(now, Ordering::Relaxed);
        Ok(())
    }

    /// Adjusts the rate, if that is due.
    fn tune(&self, grants: &mut Grants, now: Duration, period: Duration) {
        let (drains, at) = grants.tuned;
        let passed = now.saturating_sub(at);
        if passed < period * PERIODS_PER_TUNE {
            return;
        }
        let periods = (passed.as_micros() / period.as_micros().max(1)).max(1) as u64;
        let drained = (grants.drains - drains).saturating_mul(100) / periods;
        let (most, rate) = (self.most.load(Ordering::Relaxed), self.bytes_per_second());
        let tuned = match drained {
            0 => 0,
            below if below < WATERMARKS.0 => rate / (100 + TUNE_STEP) * 100,
            above if above > WATERMARKS.1 => rate.saturating_mul(100 + TUNE_STEP) / 100,
            _ => rate,
        };
        let least = (most / RANGE).max(1);
        self.rate.store(tuned.clamp(least, most), Ordering::Relaxed);
        grants.tuned = (grants.drains, now);
    }

    /// The maximum number of bytes that one [`request_token`](Self::request_token) gets.
    pub fn single_burst_bytes(&self) -> u64 {
        match self.options.single_burst_bytes {
            0 => self.bytes_per_period(),
            bytes => bytes,
        }
    }

    /// The bytes granted so far, for one priority or for all.
    pub fn total_bytes_through(&self, priority: Option<IoPriority>) -> u64 {
        of(&self.grants.lock().bytes_through, priority)
    }

    /// The requests made so far, for one priority or for all. Operations that do not count are excluded.
    pub fn total_requests(&self, priority: Option<IoPriority>) -> u64 {
        of(&self.grants.lock().requests, priority)
    }

    /// The number of periods so far whose bytes did not suffice.
    pub fn total_drains(&self) -> u64 {
        self.grants.lock().drains
    }

    /// The number of waiting requests, for one priority or for all.
    pub fn total_pending_requests(&self, priority: Option<IoPriority>) -> u64 {
        let grants = self.grants.lock();
        let waiting = [0, 1, 2, 3].map(|class: usize| grants.queues[class].len() as u64);
        of(&waiting, priority)
    }

    fn bytes_per_period(&self) -> u64 {
        let bytes = u128::from(self.bytes_per_second()) * u128::from(self.options.refill_period_us);
        u64::try_from(bytes / 1_000_000).unwrap_or(u64::MAX).max(1)
    }
}

fn check_rate(rate: u64) -> Result<()> {
    match rate {
        0 => Err(Error::invalid_argument("bytes per second must be greater than 0")),
        _ => Ok(()),
    }
}

fn of(numbers: &[u64; PRIORITIES], priority: Option<IoPriority>) -> u64 {
    match priority {
        Some(priority) => numbers[priority as usize],
        None => numbers.iter().sum(),
    }
}

impl Grants {
    /// Takes `bytes` if they are available. Otherwise takes the available ones, queues a request for the
    /// rest, and returns the id to wait for.
    fn ask(&mut self, class: usize, bytes: u64) -> Option<u64> {
        // Waiting requests come first: bytes are left only if a refill found no other request.
        let taken = self.available.min(bytes);
        self.available -= taken;
        self.bytes_through[class] += taken;
        if taken == bytes {
            return None;
        }
        if self.queues.iter().all(VecDeque::is_empty) {
            self.drains += 1;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.queues[class].push_back(Request {
            id,
            bytes: bytes - taken,
        });
        Some(id)
    }

    /// Begins a period of `share` bytes, and grants them to the waiting requests.
    fn refill(&mut self, now: Duration, period: Duration, share: u64, fairness: u32) {
        // After a small delay the next period begins where the last one ended; a long idle time is not made
        // up for.
        self.next_refill = match self.next_refill + period {
            next if next > now => next,
            _ => now + period,
        };
        self.available = share;
        self.refills += 1;
        for priority in order(self.refills.is_multiple_of(u64::from(fairness))) {
            let class = priority as usize;
            while let Some(request) = self.queues[class].front_mut() {
                let given = request.bytes.min(self.available);
                request.bytes -= given;
                self.available -= given;
                self.bytes_through[class] += given;
                if request.bytes > 0 {
                    self.drains += 1;
                    return;
                }
                self.queues[class].pop_front();
            }
        }
    }
}

/// The order in which priorities are served.
fn order(lower_first: bool) -> [IoPriority; PRIORITIES] {
    use IoPriority::{High, Low, Mid, User};
    match lower_first {
        true => [User, Low, Mid, High],
        false => [User, High, Mid, Low],
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimiter({} bytes/s)", self.bytes_per_second())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use base::env::ManualClock;

    use super::*;

    const PERIOD: Duration = Duration::from_millis(1);

    /// A limiter of a thousand bytes a millisecond.
    fn limiter(mode: RateLimiterMode, fairness: u32) -> (Arc<RateLimiter>, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let options = RateLimiterOptions {
            rate_bytes_per_sec: 1_000_000,
            refill_period_us: PERIOD.as_micros() as u64,
            fairness,
            mode,
            ..RateLimiterOptions::default()
        };
        let limiter = RateLimiter::with_options(options, clock.clone()).unwrap();
        (Arc::new(limiter), clock)
    }

    /// Requests on another thread, and returns once the request waits.
    fn wait_in_line(limiter: &Arc<RateLimiter>, bytes: u64, priority: IoPriority) -> thread::JoinHandle<()> {
        let waiting = limiter.total_pending_requests(None);
        let shared = limiter.clone();
        let thread = thread::spawn(move || shared.request(bytes, priority, OpType::Write));
        while limiter.total_pending_requests(None) == waiting {
            thread::yield_now();
        }
        thread
    }

    /// Advances the clock by one period, and returns once a waiting request has refilled.
    fn next_period(limiter: &RateLimiter, clock: &ManualClock) {
        let refills = limiter.grants.lock().refills;
        clock.advance(PERIOD);
        while limiter.grants.lock().refills == refills {
            thread::yield_now();
        }
    }

    #[test]
    fn a_period_has_its_share_and_no_more() {
        let (limiter, clock) = limiter(RateLimiterMode::WritesOnly, 10);
        limiter.request(400, IoPriority::Low, OpType::Write);
        limiter.request(600, IoPriority::Low, OpType::Write);
        assert_eq!(limiter.total_bytes_through(None), 1000);

        let late = wait_in_line(&limiter, 2500, IoPriority::Low);
        for granted in [2000, 3000] {
            next_period(&limiter, &clock);
            assert_eq!(limiter.total_bytes_through(None), granted);
            assert_eq!(limiter.total_pending_requests(None), 1);
        }
        next_period(&limiter, &clock);
        late.join().unwrap();
        assert_eq!(limiter.total_bytes_through(None), 3500);
        assert_eq!(limiter.total_requests(None), 3);
        // The other half of the period is available.
        limiter.request(500, IoPriority::Low, OpType::Write);
    }

    #[test]
    fn silence_saves_nothing_up() {
        let (limiter, clock) = limiter(RateLimiterMode::AllIo, 10);
        limiter.request(1000, IoPriority::Low, OpType::Read);
        clock.advance(PERIOD * 100);
        limiter.request(1000, IoPriority::Low, OpType::Read);
        let next = wait_in_line(&limiter, 1, IoPriority::Low);
        next_period(&limiter, &clock);
        next.join().unwrap();
    }

    #[test]
    fn higher_priorities_come_first() {
        let (limiter, clock) = limiter(RateLimiterMode::WritesOnly, 100);
        limiter.request(1000, IoPriority::Low, OpType::Write);
        let order = [
            IoPriority::Low,
            IoPriority::High,
            IoPriority::User,
            IoPriority::Mid,
        ];
        let threads = order.map(|priority| wait_in_line(&limiter, 1000, priority));
        for expected in [
            IoPriority::User,
            IoPriority::High,
            IoPriority::Mid,
            IoPriority::Low,
        ] {
            let before = limiter.total_bytes_through(Some(expected));
            next_period(&limiter, &clock);
            assert_eq!(
                limiter.total_bytes_through(Some(expected)),
                before + 1000,
                "{expected:?}"
            );
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn one_refill_in_fairness_goes_to_the_lowest_first() {
        let (limiter, clock) = limiter(RateLimiterMode::WritesOnly, 3);
        // The first refill.
        limiter.request(1000, IoPriority::High, OpType::Write);
        let low = wait_in_line(&limiter, 1000, IoPriority::Low);
        let high = wait_in_line(&limiter, 10_000, IoPriority::High);
        next_period(&limiter, &clock);
        assert_eq!(limiter.total_bytes_through(Some(IoPriority::Low)), 0);
        next_period(&limiter, &clock);
        assert_eq!(limiter.total_bytes_through(Some(IoPriority::Low)), 1000);
        low.join().unwrap();
        (0..9).for_each(|_| next_period(&limiter, &clock));
        high.join().unwrap();
    }

    #[test]
    fn a_wait_ends_when_nobody_wants_it_any_more() {
        let (limiter, _clock) = limiter(RateLimiterMode::WritesOnly, 10);
        limiter.request(1000, IoPriority::Low, OpType::Write);
        let wanted = Arc::new(AtomicBool::new(true));
        let waiting = {
            let (limiter, wanted) = (limiter.clone(), wanted.clone());
            let goes_on = move || wanted.load(Ordering::Relaxed);
            thread::spawn(move || limiter.request_while(1, IoPriority::Low, OpType::Write, goes_on))
        };
        while limiter.total_pending_requests(None) == 0 {
            thread::yield_now();
        }
        wanted.store(false, Ordering::Relaxed);
        limiter.wake();
        assert!(!waiting.join().unwrap());
        assert_eq!(limiter.total_pending_requests(None), 0);
        assert_eq!(limiter.total_bytes_through(None), 1000);
    }

    #[test]
    fn what_does_not_count_does_not_wait() {
        let (limiter, _clock) = limiter(RateLimiterMode::WritesOnly, 10);
        limiter.request(1 << 40, IoPriority::Low, OpType::Read);
        assert_eq!(
            limiter.request_token(1 << 40, 0, IoPriority::Low, OpType::Read),
            1 << 40
        );
        assert_eq!(limiter.total_requests(None), 0);
    }

    #[test]
    fn a_token_is_a_burst_at_most() {
        let (limiter, clock) = limiter(RateLimiterMode::AllIo, 10);
        let token = |bytes, alignment| {
            clock.advance(PERIOD);
            limiter.request_token(bytes, alignment, IoPriority::Low, OpType::Read)
        };
        assert_eq!(token(0, 0), 0);
        assert_eq!(token(300, 0), 300);
        // 700 bytes are left of the last period, and the next one has begun.
        assert_eq!(token(5000, 256), 768);
        limiter.set_bytes_per_second(100_000).unwrap();
        assert_eq!(token(5000, 0), 100);
        assert!(limiter.set_bytes_per_second(0).is_err());
    }

    #[test]
    fn the_rate_follows_what_is_asked_for() {
        let clock = Arc::new(ManualClock::default());
        let options = RateLimiterOptions {
            rate_bytes_per_sec: 2_000_000,
            refill_period_us: PERIOD.as_micros() as u64,
            auto_tuned: true,
            ..RateLimiterOptions::default()
        };
        let limiter = Arc::new(RateLimiter::with_options(options, clock.clone()).unwrap());
        assert_eq!(limiter.bytes_per_second(), 1_000_000);
        // The demand exceeds the supply all the time.
        let greedy = wait_in_line(&limiter, 500_000, IoPriority::Low);
        for _ in 0..150 {
            next_period(&limiter, &clock);
        }
        assert_eq!(limiter.bytes_per_second(), 1_050_000);
        while limiter.total_pending_requests(None) > 0 {
            next_period(&limiter, &clock);
        }
        greedy.join().unwrap();
        let before = limiter.bytes_per_second();
        assert!((1_100_000..2_000_000).contains(&before), "{before}");
        // No request waits any more.
        let mut passed = 0;
        while limiter.bytes_per_second() >= before && passed < 1_000 {
            clock.advance(PERIOD);
            limiter.request(1, IoPriority::Low, OpType::Write);
            passed += 1;
        }
        assert!(limiter.bytes_per_second() < before);
        limiter.set_bytes_per_second(400_000).unwrap();
        assert_eq!(limiter.bytes_per_second(), 200_000);
    }

    #[test]
    fn out_of_range() {
        assert!(RateLimiter::new(0).is_err());
        let clock = Arc::new(ManualClock::default());
        for options in [
            RateLimiterOptions {
                refill_period_us: 0,
                ..Default::default()
            },
            RateLimiterOptions {
                fairness: 0,
                ..Default::default()
            },
        ] {
            assert!(RateLimiter::with_options(options, clock.clone()).is_err());
        }
        assert_eq!(
            RateLimiter::new(1).unwrap().single_burst_bytes(),
            1,
            "a period's share is never 0"
        );
    }
}

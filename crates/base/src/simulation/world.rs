//! A world: its threads, its clock, and the thread whose turn it is.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use fastrand::Rng;

use super::schedule::{Candidate, Scheduler, Strategy, Turn};
use super::sites::{LockCounts, LockSite, Sites};

/// The observer, which is called with the name of each named [`point`], on its thread and before another
/// thread runs.
pub type Observer = Arc<dyn Fn(&'static str) + Send + Sync>;

/// The settings of a world.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed, which determines every random choice.
    pub seed: u64,
    /// How the next thread is chosen.
    pub strategy: Strategy,
    /// The maximum number of points: a world that takes more points fails.
    pub most_points: u64,
    /// Records the alternatives at each point, while there is a thread that has passed a [`mark`].
    pub keep_choices: bool,
}

/// The outcome of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The reason for the failure, if the world failed: a panic, a deadlock, too many points.
    pub failure: Option<String>,
    /// The number of points it took.
    pub points: u64,
    /// The number of switches to another thread.
    pub switches: u64,
    /// The time of the world's clock at the end.
    pub time: Duration,
    /// The turns with which [`Strategy::Turns`] repeats the run.
    pub turns: Vec<Turn>,
    /// For each point with alternatives, in order, the turns that would have chosen them; empty if they were
    /// not recorded.
    pub choices: Vec<Vec<Turn>>,
}

/// A world whose thread makes no progress for so long waits for an event outside of the world.
const SILENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    state: Mutex<WorldState>,
}

struct WorldState {
    scheduler: Scheduler,
    chance: Rng,
    threads: Vec<Thread>,
    /// Threads that have not ended.
    alive: Vec<usize>,
    by_name: HashMap<String, usize>,
    current: usize,
    micros: u64,
    points: u64,
    most_points: u64,
    switches: u64,
    turns: Vec<Turn>,
    choices: Option<Vec<Vec<Turn>>>,
    failure: Option<String>,
    observer: Option<Observer>,
    sites: Sites,
    ended: Sender<()>,
}

struct Thread {
    name: String,
    status: Status,
    gate: Arc<Gate>,
    mark: u64,
    count: u64,
    /// True if the time limit ended the thread's last wait.
    timed_out: bool,
    /// The thread was interrupted: until that point it runs by default only when no other thread can.
    behind: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    /// Waits for a wake-up of this key, or for a time of the clock.
    Waiting {
        on: usize,
        until: Option<u64>,
    },
    Done,
}

/// The gate at which a thread waits for its turn.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *locked(&self.open) = true;
        self.changed.notify_one();
    }

    fn pass(&self) {
        let mut open = locked(&self.open);
        while !*open {
            open = self.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        *open = false;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The maximum number of points for which an interrupted thread stays behind the others: enough to flush and
/// compact the data it reads.
const BEHIND: u64 = 1000;

/// The key that only sleepers wait on.
const NOTHING: usize = 0;

thread_local! {
    static CURRENT: RefCell<Option<ThreadSlot>> = const { RefCell::new(None) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A thread's place in a world.
#[derive(Clone)]
pub(crate) struct ThreadSlot {
    world: Arc<World>,
    thread: usize,
}

/// A lock that is held, or was held until it was released.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    /// The line that took the lock.
    pub site: LockSite,
    /// The world's points when the lock was taken.
    since: u64,
}

impl Hold {
    /// A hold by a thread outside of a world, which is not counted.
    pub fn outside(site: LockSite) -> Hold {
        Hold { site, since: 0 }
    }
}

/// The calling thread's place, if it belongs to a world.
pub(crate) fn place() -> Option<ThreadSlot> {
    // Also `None` while thread-local variables are dropped.
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// True if the calling thread belongs to a world.
pub fn is_simulated() -> bool {
    place().is_some()
}

/// A point at which another thread may run. A name other than "" is passed to the [`Observer`]. Does nothing
/// outside of a world.
pub fn point(name: &'static str) {
    if let Some(place) = place() {
        place.point(name);
    }
}

/// Restarts the count of this thread's points at this mark: [`Turn`]s stay valid when the part before it
/// changes.
pub fn mark(number: u64) {
    if let Some(place) = place() {
        let mut state = locked(&place.world.state);
        let thread = &mut state.threads[place.thread];
        thread.mark = number;
        thread.count = 0;
    }
}

/// A random number from the world's seed. `None` outside of a world.
pub fn chance() -> Option<u64> {
    let place = place()?;
    Some(locked(&place.world.state).chance.u64(..))
}

/// The time of the world's clock. `None` outside of a world.
pub fn now() -> Option<Duration> {
    let place = place()?;
    Some(Duration::from_micros(locked(&place.world.state).micros))
}

/// The number of points the world took so far: orders two events. `None` outside of a world.
pub fn points() -> Option<u64> {
    let place = place()?;
    Some(locked(&place.world.state).points)
}

/// The calling thread's number in its world, in the order of starts. `None` outside of a world.
pub fn number() -> Option<usize> {
    place().map(|place| place.thread)
}

/// The calling thread's name in its world. `None` outside of a world.
pub fn name() -> Option<String> {
    let place = place()?;
    Some(locked(&place.world.state).threads[place.thread].name.clone())
}

/// Begins new counts of the locks that the world's threads take, and returns those since the last call;
/// before the first call nothing is counted. Empty outside of a world.
pub fn count_locks() -> BTreeMap<LockSite, LockCounts> {
    place().map_or_else(BTreeMap::new, |place| locked(&place.world.state).sites.restart())
}

/// Waits until the world's clock has advanced by `time`. Returns at once outside of a world.
pub fn sleep(time: Duration) {
    if let Some(place) = place() {
        place.wait_on(NOTHING, Some(time));
    }
}

/// Sets the observer of named points, or removes it.
pub fn observe(observer: Option<Observer>) {
    if let Some(place) = place() {
        locked(&place.world.state).observer = observer;
    }
}

/// Runs `body` on the first thread of a new world, until all threads it started have ended too.
pub fn run(settings: Settings, body: impl FnOnce() + Send + 'static) -> Outcome {
    static HOOK: Once = Once::new();
    HOOK.call_once(keep_panics);
    let (ended, watch) = channel();
    let world = Arc::new(World {
        state: Mutex::new(WorldState {
            scheduler: Scheduler::new(settings.strategy, settings.seed),
            chance: Rng::with_seed(settings.seed ^ 0x5eed),
            threads: Vec::new(),
            alive: Vec::new(),
            by_name: HashMap::new(),
            current: 0,
            micros: 0,
            points: 0,
            most_points: settings.most_points,
            switches: 0,
            turns: Vec::new(),
            choices: settings.keep_choices.then(Vec::new),
            failure: None,
            observer: None,
            sites: Sites::default(),
            ended,
        }),
    });
    let first = ThreadSlot {
        thread: register(&world, "main"),
        world: world.clone(),
    };
    let started = std::thread::Builder::new()
        .name("main".to_owned())
        .spawn(move || first.enter(body));
    locked(&world.state).open_current();
    let thread = match started {
        Ok(thread) => thread,
        Err(error) => return world.outcome(Some(format!("cannot start a thread: {error}"))),
    };
    let silent = world.watch(&watch);
    let outcome =
        world.outcome(silent.then(|| "a thread waits for an event outside of the simulation".to_owned()));
    if outcome.failure.is_none() {
        // The thread has passed its last point; its thread-local variables may still be dropped.
        drop(thread.join());
    }
    outcome
}

/// Keeps the panic messages of worlds' threads for the world's failure, instead of printing them.
fn keep_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if !is_simulated() {
            before(info);
            return;
        }
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        let at = info.location().map_or_else(String::new, |at| format!(" at {at}"));
        let thread = name().unwrap_or_default();
        let told = format!("{thread} panicked{at}: {text}");
        let _ = PANIC.try_with(|panic| *panic.borrow_mut() = Some(told));
    }));
}

fn register(world: &World, name: &str) -> usize {
    let mut state = locked(&world.state);
    let number = state.threads.len();
    let mut unique = name.to_owned();
    let mut again = 1;
    while state.by_name.contains_key(&unique) {
        again += 1;
        unique = format!("{name}-{again}");
    }
    state.by_name.insert(unique.clone(), number);
    state.threads.push(Thread {
        name: unique,
        status: Status::Ready,
        gate: Arc::default(),
        mark: 0,
        count: 0,
        timed_out: false,
        behind: 0,
    });
    state.alive.push(number);
    number
}

impl World {
    /// Returns when the world has ended: true if it made no progress any more.
    fn watch(&self, ended: &Receiver<()>) -> bool {
        let mut seen = 0;
        loop {
            match ended.recv_timeout(SILENCE) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    let points = locked(&self.state).points;
                    if points == seen {
                        return true;
                    }
                    seen = points;
                }
            }
        }
    }

    fn outcome(&self, failure: Option<String>) -> Outcome {
        let mut state = locked(&self.state);
        Outcome {
            failure: state.failure.take().or(failure),
            points: state.points,
            switches: state.switches,
            time: Duration::from_micros(state.micros),
            turns: std::mem::take(&mut state.turns),
            choices: state.choices.take().unwrap_or_default(),
        }
    }
}

impl WorldState {
    fn open_current(&self) {
        self.threads[self.current].gate.open();
    }

    /// Chooses the next thread after `thread` has come to a point. `None` if no thread can ever run again.
    fn next(&mut self, thread: usize) -> Option<usize> {
        self.micros += 1;
        let own = self.threads[thread].status == Status::Ready;
        let interested = self.scheduler.is_interested();
        if own && !interested && self.choices.is_none() {
            return Some(thread);
        }
        let default = if own { Some(thread) } else { self.successor(thread) };
        self.keep_choice(thread, default);
        let mut chosen = None;
        if interested {
            let candidates: Vec<Candidate> = self
                .alive
                .iter()
                .filter_map(|&thread| self.candidate(thread))
                .collect();
            let at = &self.threads[thread];
            let place = (&at.name[..], at.mark, at.count);
            let named = |name: &str| self.by_name.get(name).copied();
            chosen = self
                .scheduler
                .choose(&candidates, thread, self.points, place, named);
        }
        let next = chosen.or(default)?;
        if Some(next) != default {
            self.turns.push(self.turn(thread, next));
            if own {
                self.threads[thread].behind = self.points + BEHIND;
            }
        }
        self.threads[next].behind = 0;
        if let Status::Waiting {
            until: Some(until), ..
        } = self.threads[next].status
        {
            self.micros = self.micros.max(until);
            self.threads[next].timed_out = true;
            self.threads[next].status = Status::Ready;
        }
        Some(next)
    }

    /// The turn that chooses `to` now that `thread` has come to a point.
    fn turn(&self, thread: usize, to: usize) -> Turn {
        let at = &self.threads[thread];
        Turn {
            thread: at.name.clone(),
            mark: at.mark,
            count: at.count,
            to: self.threads[to].name.clone(),
        }
    }

    fn keep_choice(&mut self, thread: usize, default: Option<usize>) {
        if self.choices.is_none() || !self.alive.iter().any(|&thread| self.threads[thread].mark > 0) {
            return;
        }
        let ready = |&other: &usize| {
            Some(other) != default && self.candidate(other).is_some_and(|candidate| !candidate.early)
        };
        let others: Vec<Turn> = self
            .alive
            .iter()
            .copied()
            .filter(ready)
            .map(|other| self.turn(thread, other))
            .collect();
        if let Some(choices) = self.choices.as_mut().filter(|_| !others.is_empty()) {
            choices.push(others);
        }
    }

    fn candidate(&self, thread: usize) -> Option<Candidate> {
        let behind = self.threads[thread].behind > self.points;
        let early = match self.threads[thread].status {
            Status::Ready => false,
            Status::Waiting {
                until: Some(until), ..
            } => until > self.micros,
            Status::Waiting { until: None, .. } | Status::Done => return None,
        };
        Some(Candidate {
            thread,
            early,
            behind,
        })
    }

    /// The next thread when `thread` cannot run: the next ready one, otherwise the one that wakes first.
    /// Threads that were not interrupted come first.
    fn successor(&self, thread: usize) -> Option<usize> {
        let after = self.alive.partition_point(|&other| other <= thread);
        let (before, after) = self.alive.split_at(after);
        let turn = after.iter().chain(before);
        let candidates: Vec<Candidate> = turn.filter_map(|&other| self.candidate(other)).collect();
        let wakes = |other: usize| match self.threads[other].status {
            Status::Waiting { until, .. } => until.unwrap_or(u64::MAX),
            Status::Ready | Status::Done => 0,
        };
        let first = |behind: bool| {
            let of = || {
                candidates
                    .iter()
                    .filter(move |candidate| candidate.behind == behind)
            };
            let ready = of().find(|candidate| !candidate.early);
            let next =
                ready.or_else(|| of().min_by_key(|candidate| (wakes(candidate.thread), candidate.thread)));
            next.map(|candidate| candidate.thread)
        };
        first(false).or_else(|| first(true))
    }

    /// The world has failed: the caller of `run` returns without its threads.
    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
        // The receiver may be gone.
        let _ = self.ended.send(());
    }

    fn deadlock(&self) -> String {
        let waiting = self.alive.iter().map(|&thread| {
            let thread = &self.threads[thread];
            format!("{} (mark {}, point {})", thread.name, thread.mark, thread.count)
        });
        format!(
            "deadlock: no thread can run of {}",
            waiting.collect::<Vec<_>>().join(", ")
        )
    }
}

impl ThreadSlot {
    /// Runs a thread's body.
    pub fn enter<T>(&self, body: impl FnOnce() -> T) -> std::thread::Result<T> {
        self.wait_for_turn();
        CURRENT.with(|current| *current.borrow_mut() = Some(self.clone()));
        let result = catch_unwind(AssertUnwindSafe(body));
        if result.is_err() {
            let told = PANIC.with(|panic| panic.borrow_mut().take());
            let mut state = locked(&self.world.state);
            let told = told.unwrap_or_else(|| "a thread panicked".to_owned());
            state.failure.get_or_insert(told);
        }
        CURRENT.with(|current| *current.borrow_mut() = None);
        self.end();
        result
    }

    /// Adds a thread with the given name, which must [`enter`](Place::enter).
    pub fn child(&self, name: &str) -> ThreadSlot {
        ThreadSlot {
            thread: register(&self.world, name),
            world: self.world.clone(),
        }
    }

    /// Removes a child that could not be started.
    pub fn forget(&self) {
        let mut state = locked(&self.world.state);
        state.threads[self.thread].status = Status::Done;
        state.alive.retain(|&thread| thread != self.thread);
    }

    fn wait_for_turn(&self) {
        let gate = locked(&self.world.state).threads[self.thread].gate.clone();
        gate.pass();
    }

    pub fn point(&self, name: &'static str) {
        if !name.is_empty() {
            let observer = locked(&self.world.state).observer.clone();
            if let Some(observer) = observer {
                observer(name);
            }
        }
        self.hand_over(Status::Ready);
    }

    /// Waits until another thread [wakes](Place::wake) this key, or for `limit`. True if the limit ended the
    /// wait.
    pub fn wait_on(&self, on: usize, limit: Option<Duration>) -> bool {
        let until = limit.map(|limit| {
            let micros = locked(&self.world.state).micros;
            micros.saturating_add(limit.as_micros().min(u128::from(u64::MAX)) as u64)
        });
        self.hand_over(Status::Waiting { on, until })
    }

    fn hand_over(&self, status: Status) -> bool {
        let mut state = locked(&self.world.state);
        let me = self.thread;
        state.points += 1;
        state.threads[me].count += 1;
        state.threads[me].status = status;
        state.threads[me].timed_out = false;
        if state.points > state.most_points {
            let why = format!("it has not ended after {} points", state.most_points);
            state.fail(why);
            drop(state);
            abandoned();
        }
        let Some(next) = state.next(me) else {
            let why = state.deadlock();
            state.fail(why);
            drop(state);
            abandoned();
        };
        if next == me {
            return state.threads[me].timed_out;
        }
        state.switches += 1;
        state.current = next;
        let (theirs, mine) = (state.threads[next].gate.clone(), state.threads[me].gate.clone());
        drop(state);
        theirs.open();
        mine.pass();
        locked(&self.world.state).threads[me].timed_out
    }

    fn end(&self) {
        let mut state = locked(&self.world.state);
        state.points += 1;
        state.threads[self.thread].count += 1;
        state.threads[self.thread].status = Status::Done;
        state.alive.retain(|&thread| thread != self.thread);
        state.wake(self.key());
        if state.alive.is_empty() {
            let _ = state.ended.send(());
            return;
        }
        let Some(next) = state.next(self.thread) else {
            let why = state.deadlock();
            state.fail(why);
            return;
        };
        state.switches += 1;
        state.current = next;
        state.open_current();
    }

    /// Returns when this thread has ended.
    pub fn await_end(&self, waiting: &ThreadSlot) {
        while locked(&self.world.state).threads[self.thread].status != Status::Done {
            waiting.wait_on(self.key(), None);
        }
    }

    /// The key on which threads wait for this thread: not the address of anything.
    fn key(&self) -> usize {
        usize::MAX - self.thread
    }

    /// Counts a lock that this thread has taken at `site`.
    pub fn hold(&self, site: LockSite, waited: bool) -> Hold {
        let mut state = locked(&self.world.state);
        state.sites.taken(site, waited);
        Hold {
            site,
            since: state.points,
        }
    }

    /// Counts the release of a lock.
    pub fn released(&self, hold: Hold) {
        let mut state = locked(&self.world.state);
        let points = state.points.saturating_sub(hold.since);
        state.sites.released(hold.site, points);
    }

    /// Wakes all waiters of this key.
    pub fn wake(&self, on: usize) {
        locked(&self.world.state).wake(on);
    }

    /// Wakes the waiter of this key with the lowest number. True if there was one.
    pub fn wake_one(&self, on: usize) -> bool {
        let mut state = locked(&self.world.state);
        let waits = |&thread: &usize| matches!(state.threads[thread].status, Status::Waiting { on: its, .. } if its == on);
        let first = state.alive.iter().copied().find(waits);
        if let Some(thread) = first {
            state.threads[thread].status = Status::Ready;
        }
        first.is_some()
    }
}

impl WorldState {
    fn wake(&mut self, on: usize) {
        for &thread in &self.alive {
            let status = &mut self.threads[thread].status;
            if matches!(*status, Status::Waiting { on: its, .. } if its == on) {
                *status = Status::Ready;
            }
        }
    }
}

/// Parks the current thread permanently: the threads of a failed world stay here.
fn abandoned() -> ! {
    loop {
        std::thread::park();
    }
}

//! Background threads in one pool for all databases of a process: RocksDB's `Env`.
//!
//! A database has a *task* for each kind of work: flushes, compactions, compactions into the last level,
//! housekeeping, and, from its first asynchronous read of a file on, reads. Whenever there may be work, it
//! [notifies](Task::notify) its task, which enters the queue of that kind unless it is there already. A
//! thread takes the first task of the queue, runs it once, and puts it back at the end if there may be more
//! work. So each database is served, however busy another is. A database without work is in no queue, and
//! costs neither a thread nor time.
//!
//! Threads start when a queue is longer than the number of idle threads, up to the limit of the kind. They
//! end when no database uses the pool, or when the kind has too many. Housekeeping may request another run
//! after some time: an idle thread of that kind watches the pool's clock.
//!
//! ```text
//! idle --notify--> queued --a thread takes it--> running --did something, or notified meanwhile--> queued
//!                                                 running --nothing to do--> idle [--after a while--> queued]
//! ```
//!
//! The pool's lock is the innermost: no lock is taken under it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use base::env::{Clock, SystemClock, process_cpu, thread_cpu};
use base::sync::thread::{self, JoinHandle};
use base::sync::{Condvar, Mutex, MutexGuard};
use base::user_code::catch;

use crate::options::processors::Processors;
use crate::options::thread_preparation::{Preparation, Prepared};

/// A kind of work with threads of its own: RocksDB's `Env::Priority`.
///
/// See the example of [`ThreadPool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPriority {
    /// Automatic compactions into the last level, which rarely end a stall of writes. By default there are no
    /// threads of this priority, and those of [`Low`](ThreadPriority::Low) run these compactions.
    Bottom,
    /// Compactions by threads of low priority.
    Low,
    /// Flushes by threads of high priority.
    High,
    /// Asynchronous reads whose blocks are not in memory: see [`Db::get_async`](crate::Db::get_async).
    /// RocksDB has no such threads.
    Read,
}

/// A kind of work, each with threads of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The work is a flush.
    Flush,
    /// The work is a compaction.
    Compaction,
    /// The work is the deletion of files, or a periodic task.
    Housekeeping,
    /// The work is a compaction into the last level, which a thread for compactions has handed over.
    Bottom,
    /// The work is a read of a row, for a future.
    Read,
}

const KINDS: [Kind; 5] = [
    Kind::Flush,
    Kind::Compaction,
    Kind::Housekeeping,
    Kind::Bottom,
    Kind::Read,
];

impl Kind {
    /// The name of the kind's threads.
    fn thread_name(self) -> &'static str {
        match self {
            Kind::Flush => "esker-flush",
            Kind::Compaction => "esker-compact",
            Kind::Housekeeping => "esker-delete",
            Kind::Bottom => "esker-bottom",
            Kind::Read => "esker-read",
        }
    }
}

/// The result of a task's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The run did some work, and there may be more work.
    Again,
    /// The run found no work.
    Nothing,
    /// The run found no work; the task needs another run after at most this time.
    After(Duration),
}

/// A function that runs a task once, and returns whether another run is needed.
type TaskFn = Arc<dyn Fn() -> Next + Send + Sync>;

/// Background threads for any number of databases, passed to each by
/// [`Options::thread_pool`](crate::Options::thread_pool). Clones refer to the same pool.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use esker::{Db, Options, ThreadPool, ThreadPriority};
///
/// let pool = ThreadPool::new();
/// pool.set_background_threads(4, ThreadPriority::Low);
/// for name in ["one", "two"] {
///     let options = Options {
///         create_if_missing: true,
///         thread_pool: Some(pool.clone()),
///         ..Default::default()
///     };
///     Db::open(&options, dir.path().join(name))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ThreadPool(Arc<Pool>);

struct Pool {
    state: Mutex<PoolState>,
    /// Idle threads of each kind wait here.
    work: [Condvar; KINDS.len()],
    /// The condition variable on which a thread that removes a task waits for the end of the task's last
    /// run.
    ended: Condvar,
    processors: Mutex<Processors>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct PoolState {
    tasks: BTreeMap<u64, TaskState>,
    /// The id of the next task.
    next_task: u64,
    queues: [Queue; KINDS.len()],
    /// The times at which tasks need another run.
    timers: BTreeSet<(Duration, u64)>,
    /// The age of the pool, which grows when the pool has no database left. Threads that were started in an
    /// earlier age end.
    age: u64,
    handles: BTreeMap<u64, JoinHandle<()>>,
    /// The number of the next thread.
    next_thread: u64,
}

/// The queued tasks of a kind, and the number of threads for them.
#[derive(Default)]
struct Queue {
    tasks: VecDeque<u64>,
    /// The number of threads.
    threads: usize,
    /// The number of idle threads.
    idle: usize,
    /// The maximum number of threads.
    most: usize,
    preparation: Preparation,
}

struct TaskState {
    kind: Kind,
    run: TaskFn,
    /// True if the task is in the queue.
    queued: bool,
    /// The number of runs in progress.
    running: usize,
    /// The maximum number of runs in progress.
    most: usize,
    /// True if the task was notified while it could not be queued.
    again: bool,
    timer: Option<Duration>,
}

/// A database's task for one kind of work. Dropped or [closed](Task::close), it has no further runs.
pub(crate) struct Task {
    pool: ThreadPool,
    id: u64,
}

impl ThreadPool {
    /// A pool without threads. The limit of each priority is the number of CPUs, at least four; that of
    /// [`Bottom`](ThreadPriority::Bottom) is 0.
    pub fn new() -> ThreadPool {
        ThreadPool::with_clock(Arc::new(SystemClock::new()))
    }

    fn with_clock(clock: Arc<dyn Clock>) -> ThreadPool {
        // A simulation must run the same way on every machine.
        let processors = match base::sync::SIMULATED {
            true => 1,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let mut state = PoolState::default();
        for queue in &mut state.queues {
            queue.most = processors.max(LEAST_THREADS);
        }
        state.queues[Kind::Bottom as usize].most = 0;
        ThreadPool(Arc::new(Pool {
            state: Mutex::new(state),
            work: Default::default(),
            ended: Condvar::new(),
            processors: Mutex::new(Processors::new(processors, clock.now(), process_cpu())),
            clock,
        }))
    }

    /// The pool shared by all databases of the process that have no other. The child of a fork has a pool of
    /// its own: the threads of its parent do not run in it.
    pub fn of_process() -> ThreadPool {
        static POOL: ArcSwapOption<(u32, ThreadPool)> = ArcSwapOption::const_empty();
        let process = std::process::id();
        loop {
            let current = POOL.load_full();
            match &current {
                Some(shared) if shared.0 == process => return shared.1.clone(),
                _ => {}
            }
            let own = Arc::new((process, ThreadPool::new()));
            POOL.compare_and_swap(&current, Some(own));
            // The pool of the parent process is not dropped: the drop would wait for threads that do not
            // exist in the child.
            std::mem::forget(current);
        }
    }

    /// The pool of a database with `clock` and without a pool option.
    pub(crate) fn default_of(clock: &Arc<dyn Clock>) -> ThreadPool {
        match base::sync::SIMULATED {
            // A seed determines everything in a simulated world, independently of other worlds: none shares
            // threads with another.
            true => ThreadPool::with_clock(clock.clone()),
            false => ThreadPool::of_process(),
        }
    }

    /// Sets the maximum number of threads for work of that priority, at least one except for
    /// [`Bottom`](ThreadPriority::Bottom). Excess threads end after their current run, the last one when no
    /// work is left. Opening a database, or changing its `max_background_jobs`, raises the limit to the
    /// number of threads that the database needs.
    pub fn set_background_threads(&self, threads: usize, priority: ThreadPriority) {
        let mut state = self.0.state.lock();
        let kind = priority.kind();
        state.queues[kind as usize].most = threads.max(usize::from(kind != Kind::Bottom));
        self.0.start_threads(&mut state, kind);
        drop(state);
        self.0.work[kind as usize].notify_all();
    }

    /// The maximum number of threads for work of that priority.
    pub fn background_threads(&self, priority: ThreadPriority) -> usize {
        self.0.state.lock().queues[priority.kind() as usize].most
    }

    /// Has each thread of that priority call `prepare` before its next work, and threads that start later
    /// before their first: for the priority of a thread in the system, as RocksDB's
    /// `LowerThreadPoolIOPriority` sets it. Replaces the `prepare` of an earlier call.
    pub fn prepare_threads(&self, priority: ThreadPriority, prepare: impl Fn() + Send + Sync + 'static) {
        let kind = priority.kind();
        self.0.state.lock().queues[kind as usize]
            .preparation
            .replace(prepare);
        self.0.work[kind as usize].notify_all();
    }

    /// The number of threads, busy or idle.
    pub fn threads(&self) -> usize {
        let state = self.0.state.lock();
        state.queues.iter().map(|queue| queue.threads).sum()
    }

    /// The number of databases in the queue for a thread of that priority: `Env::GetThreadPoolQueueLen`.
    pub fn queue_len(&self, priority: ThreadPriority) -> usize {
        self.0.state.lock().queues[priority.kind() as usize].tasks.len()
    }

    /// Adds a task whose `run` at most `most` threads call at a time.
    ///
    /// # Errors
    /// A thread of that kind cannot be started, and there is none.
    pub(crate) fn add(
        &self,
        kind: Kind,
        most: usize,
        run: impl Fn() -> Next + Send + Sync + 'static,
    ) -> io::Result<Task> {
        let mut state = self.0.state.lock();
        let id = state.next_task;
        state.next_task += 1;
        let task = TaskState {
            kind,
            run: Arc::new(run),
            queued: false,
            running: 0,
            most: most.max(1),
            again: false,
            timer: None,
        };
        state.tasks.insert(id, task);
        let task = Task {
            pool: self.clone(),
            id,
        };
        let queue = &mut state.queues[kind as usize];
        let started = match kind {
            // The user of the pool sets the number of these threads.
            Kind::Bottom => Ok(()),
            _ => {
                if kind != Kind::Read {
                    queue.most = queue.most.max(most);
                }
                match queue.threads {
                    0 => self.0.start_thread(&mut state, kind),
                    _ => Ok(()),
                }
            }
        };
        drop(state);
        started.map(|()| task)
    }
}

/// The minimum limit of threads per kind, however few CPUs there are: one database that blocks, for example
/// in a listener, must not block the others at once.
const LEAST_THREADS: usize = 4;

impl Default for ThreadPool {
    fn default() -> ThreadPool {
        ThreadPool::new()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        let threads: Vec<usize> = state.queues.iter().map(|queue| queue.threads).collect();
        f.debug_struct("ThreadPool").field("threads", &threads).finish()
    }
}

impl ThreadPriority {
    fn kind(self) -> Kind {
        match self {
            ThreadPriority::Bottom => Kind::Bottom,
            ThreadPriority::Low => Kind::Compaction,
            ThreadPriority::High => Kind::Flush,
            ThreadPriority::Read => Kind::Read,
        }
    }
}

impl Queue {
    /// The maximum number of threads now. Queued tasks keep one thread in any case.
    fn limit(&self) -> usize {
        self.most.max(usize::from(!self.tasks.is_empty()))
    }
}

impl Task {
    /// True if a thread runs the task once it is notified. Starts the first thread of the kind.
    pub fn has_thread(&self) -> bool {
        let mut state = self.pool.0.state.lock();
        let Some(task) = state.tasks.get(&self.id) else {
            return false;
        };
        let kind = task.kind;
        let queue = &state.queues[kind as usize];
        queue.most > 0 && (queue.threads > 0 || self.pool.0.start_thread(&mut state, kind).is_ok())
    }

    /// The number of processors that neither the program nor background work uses. The thread of the caller
    /// counts as background work. 0 in a simulation.
    pub fn idle_processors(&self) -> usize {
        if base::sync::SIMULATED {
            return 0;
        }
        let pool = &self.pool.0;
        let (now, process) = (pool.clock.now(), process_cpu());
        pool.processors.lock().idle(now, process)
    }

    /// Runs `work` on a thread outside the pool, and counts the thread as background work.
    pub fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        let _counted = Counted::begin(&self.pool.0.processors);
        work()
    }

    /// Notifies the task that there may be work to do.
    pub fn notify(&self) {
        let pool = &self.pool.0;
        pool.enqueue(&mut pool.state.lock(), self.id);
    }

    /// Sets the maximum number of threads that run the task at a time, and raises the limit of the kind to
    /// it.
    pub fn set_most(&self, most: usize) {
        let mut state = self.pool.0.state.lock();
        let Some(task) = state.tasks.get_mut(&self.id) else {
            return;
        };
        task.most = most.max(1);
        let kind = task.kind;
        let queue = &mut state.queues[kind as usize];
        queue.most = queue.most.max(most);
        self.pool.0.enqueue(&mut state, self.id);
    }

    /// Ends the task's runs. Returns when those in progress have ended and, if no database is left, the
    /// threads too.
    pub fn close(&self) {
        let handles = self.remove(true);
        // A panic in a thread printed its message when it occurred.
        handles.into_values().for_each(|thread| drop(thread.join()));
    }

    /// Same as [`close`](Self::close), without waiting, for a caller that may be a thread of the pool: a run
    /// in progress is the last one, and the threads end by themselves.
    pub fn leave(&self) {
        drop(self.remove(false));
    }

    /// Removes the database's task from the pool. A caller that waits gets the result after the task's
    /// running jobs have ended. Returns the threads of the pool if no database is left: they end.
    fn remove(&self, waits: bool) -> BTreeMap<u64, JoinHandle<()>> {
        let pool = &self.pool.0;
        let mut state = pool.state.lock();
        let Some(task) = state.tasks.get_mut(&self.id) else {
            return BTreeMap::new();
        };
        // A task whose limit of runs is 0 is not queued again.
        task.most = 0;
        let (kind, timer) = (task.kind, task.timer.take());
        state.timers.remove(&(timer.unwrap_or_default(), self.id));
        state.queues[kind as usize].tasks.retain(|id| *id != self.id);
        let is_running = |state: &PoolState| state.tasks.get(&self.id).is_some_and(|task| task.running > 0);
        while waits && is_running(&state) {
            pool.ended.wait(&mut state);
        }
        // The function is dropped without the lock.
        let removed = state.tasks.remove(&self.id);
        if !state.tasks.is_empty() {
            drop(state);
            drop(removed);
            return BTreeMap::new();
        }
        state.age += 1;
        let handles = std::mem::take(&mut state.handles);
        for queue in &mut state.queues {
            (queue.threads, queue.idle) = (0, 0);
        }
        drop(state);
        for work in &pool.work {
            work.notify_all();
        }
        drop(removed);
        handles
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.close();
    }
}

/// A guard: its thread counts as background work until the guard is dropped.
struct Counted<'a> {
    processors: &'a Mutex<Processors>,
    before: Duration,
}

impl<'a> Counted<'a> {
    fn begin(processors: &'a Mutex<Processors>) -> Counted<'a> {
        processors.lock().begin();
        Counted {
            processors,
            before: thread_cpu(),
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let used = thread_cpu().saturating_sub(self.before);
        self.processors.lock().end(used);
    }
}

impl Pool {
    /// Adds a task to its queue, unless it is there already or has as many runs in progress as it may.
    fn enqueue(self: &Arc<Self>, state: &mut PoolState, id: u64) {
        let Some(task) = state.tasks.get_mut(&id) else {
            return;
        };
        if task.queued {
            return;
        }
        if task.running >= task.most {
            task.again = true;
            return;
        }
        task.queued = true;
        let kind = task.kind;
        state.queues[kind as usize].tasks.push_back(id);
        self.start_threads(state, kind);
        self.work[kind as usize].notify_one();
    }

    /// Starts threads while more tasks are queued than threads are idle. If none can be started, the existing
    /// threads do the work.
    fn start_threads(self: &Arc<Self>, state: &mut PoolState, kind: Kind) {
        loop {
            let queue = &state.queues[kind as usize];
            let enough = queue.tasks.len() <= queue.idle || queue.threads >= queue.limit();
            if enough || self.start_thread(state, kind).is_err() {
                return;
            }
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut PoolState, kind: Kind) -> io::Result<()> {
        let (pool, age, number) = (self.clone(), state.age, state.next_thread);
        let thread = thread::Builder::new()
            .name(kind.thread_name().to_owned())
            .spawn(move || pool.serve(kind, age, number))?;
        state.next_thread += 1;
        state.handles.insert(number, thread);
        let queue = &mut state.queues[kind as usize];
        queue.threads += 1;
        // The new thread counts as idle until it has checked the queue.
        queue.idle += 1;
        Ok(())
    }

    /// The main loop of a thread.
    fn serve(self: &Arc<Self>, kind: Kind, age: u64, number: u64) {
        let mut state = self.state.lock();
        if state.age == age {
            state.queues[kind as usize].idle -= 1;
        }
        let mut prepared = Prepared::default();
        while state.age == age {
            if let Some(prepare) = prepared.due(&state.queues[kind as usize].preparation) {
                // A panic in the preparation of a thread affects no database.
                MutexGuard::unlocked(&mut state, || drop(catch(&*prepare)));
                continue;
            }
            let queue = &mut state.queues[kind as usize];
            if queue.threads > queue.limit() {
                queue.threads -= 1;
                state.handles.remove(&number);
                return;
            }
            if kind == Kind::Housekeeping {
                self.wake_due(&mut state);
            }
            match state.queues[kind as usize].tasks.pop_front() {
                Some(id) => self.run_task(&mut state, id),
                None => self.wait(&mut state, kind),
            }
        }
    }

    fn wait(&self, state: &mut MutexGuard<'_, PoolState>, kind: Kind) {
        let age = state.age;
        state.queues[kind as usize].idle += 1;
        let due = state.timers.first().map(|(due, _)| *due);
        match due.filter(|_| kind == Kind::Housekeeping) {
            Some(due) => {
                let time = due.saturating_sub(self.clock.now());
                self.work[kind as usize].wait_for(state, time);
            }
            None => self.work[kind as usize].wait(state),
        }
        if state.age == age {
            state.queues[kind as usize].idle -= 1;
        }
    }

    /// Queues the tasks whose time has come.
    fn wake_due(self: &Arc<Self>, state: &mut PoolState) {
        let now = self.clock.now();
        while let Some(&(due, id)) = state.timers.first() {
            if due > now {
                return;
            }
            state.timers.pop_first();
            if let Some(task) = state.tasks.get_mut(&id) {
                task.timer = None;
            }
            self.enqueue(state, id);
        }
    }

    fn run_task(self: &Arc<Self>, state: &mut MutexGuard<'_, PoolState>, id: u64) {
        let Some(task) = state.tasks.get_mut(&id) else {
            return;
        };
        task.queued = false;
        task.again = false;
        task.running += 1;
        let run = task.run.clone();
        if let Some(timer) = task.timer.take() {
            state.timers.remove(&(timer, id));
        }
        let next = MutexGuard::unlocked(state, move || {
            let _counted = Counted::begin(&self.processors);
            // The job reports its own panic. The thread continues, because other databases need it.
            let next = catch(&*run).unwrap_or(Next::Nothing);
            drop(run);
            next
        });
        let Some(task) = state.tasks.get_mut(&id) else {
            return;
        };
        task.running -= 1;
        let again = task.again || next == Next::Again;
        let again = again && task.most > 0;
        self.ended.notify_all();
        if again {
            self.enqueue(state, id);
        } else if let Next::After(time) = next
            && task.most > 0
        {
            let due = self.clock.now() + time;
            let before = task.timer.replace(due);
            if let Some(before) = before {
                state.timers.remove(&(before, id));
            }
            state.timers.insert((due, id));
        }
    }
}

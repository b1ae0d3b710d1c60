//! A gate at which threads wait until a test opens it: in user code, in a listener, or in a file system.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Result;
use esker::Event;
use vfs::layer::{Call, Layer};
use vfs::{FileSystem, MemFs, Op};

use crate::events::Recorder;

/// A timeout longer than any machine needs: a thread that waits longer panics.
const LONG: Duration = Duration::from_secs(120);

/// The gate. Default: open.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    closed: bool,
    /// The number of threads that wait at the gate.
    waiting: usize,
    /// The number of threads that may still pass the closed gate.
    permits: usize,
}

impl Gate {
    /// A closed gate.
    pub fn closed() -> Arc<Gate> {
        let gate = Gate::default();
        gate.close();
        Arc::new(gate)
    }

    /// Makes threads wait at the gate from now on.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Lets all threads pass, those that wait and later ones.
    pub fn open(&self) {
        self.lock().closed = false;
        self.changed.notify_all();
    }

    /// True if threads do not wait.
    pub fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// The place of the gate: waits while it is closed.
    #[track_caller]
    pub fn pass(&self) {
        let mut state = self.lock();
        if !state.closed {
            return;
        }
        state.waiting += 1;
        self.changed.notify_all();
        let mut state = self.wait_while(state, |state| state.closed && state.permits == 0);
        state.waiting -= 1;
        state.permits = state.permits.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Lets one thread pass the closed gate, and returns when it has passed.
    #[track_caller]
    pub fn let_one_pass(&self) {
        let mut state = self.lock();
        state.permits += 1;
        self.changed.notify_all();
        drop(self.wait_while(state, |state| state.permits > 0));
    }

    /// Waits until `count` threads wait at the gate.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        drop(self.wait_while(self.lock(), |state| state.waiting < count));
    }

    /// The number of threads that wait at the gate now.
    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// A listener that stands at the gate: the notification of the events that `at` accepts waits there. It
    /// records its passages.
    pub fn listener(
        self: &Arc<Self>,
        at: impl Fn(&Event) -> bool + Send + Sync + 'static,
    ) -> Arc<Recorder<()>> {
        let gate = self.clone();
        Recorder::of(move |event| at(event).then(|| gate.pass()))
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn wait_while<'a>(
        &'a self,
        state: MutexGuard<'a, GateState>,
        condition: impl Fn(&GateState) -> bool,
    ) -> MutexGuard<'a, GateState> {
        let waited = self
            .changed
            .wait_timeout_while(state, LONG, |state| condition(state));
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "waited in vain at the gate: {state:?}");
        state
    }
}

/// Opens a gate when it is dropped.
pub struct OpensOnDrop(pub Arc<Gate>);

impl Drop for OpensOnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A file system in memory in which the creation of a table waits at a gate.
#[derive(Clone, Debug)]
pub struct GatedTables {
    /// The file system.
    pub fs: MemFs,
    /// The gate.
    pub gate: Arc<Gate>,
}

impl Layer for GatedTables {
    fn below(&self) -> &dyn FileSystem {
        &self.fs
    }

    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
        if call.op == Op::Create && call.path.extension().is_some_and(|name| name == "sst") {
            self.gate.pass();
        }
        perform()
    }
}

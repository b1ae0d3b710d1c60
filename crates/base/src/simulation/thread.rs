//! The standard library's threads, for worlds. A thread started outside of a world is an ordinary thread.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread as real;

use super::world::{ThreadSlot, place};

/// The result of a thread, or its panic.
pub type Result<T> = real::Result<T>;

/// Starts threads.
#[derive(Debug)]
pub struct Builder {
    name: String,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// A thread that can be waited for.
pub struct JoinHandle<T> {
    thread: real::JoinHandle<Result<T>>,
    place: Option<ThreadSlot>,
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle")
    }
}

/// A thread started in a [`scope`] that can be waited for.
pub struct ScopedJoinHandle<'scope, T> {
    thread: real::ScopedJoinHandle<'scope, Result<T>>,
    place: Option<ThreadSlot>,
}

/// A scope of threads that may borrow.
pub struct Scope<'scope, 'env> {
    real: &'scope real::Scope<'scope, 'env>,
    started: Arc<Mutex<Vec<ThreadSlot>>>,
}

fn await_end(thread: &Option<ThreadSlot>) {
    if let (Some(thread), Some(me)) = (thread, place()) {
        thread.await_end(&me);
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread.
    pub fn join(self) -> Result<T> {
        await_end(&self.place);
        self.thread.join().and_then(|result| result)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread.
    pub fn join(self) -> Result<T> {
        await_end(&self.place);
        self.thread.join().and_then(|result| result)
    }
}

fn live<T>(place: Option<ThreadSlot>, body: impl FnOnce() -> T) -> Result<T> {
    match place {
        Some(place) => place.enter(body),
        None => Ok(body()),
    }
}

impl Builder {
    /// A builder of a thread without a name.
    pub fn new() -> Builder {
        Builder {
            name: "thread".to_owned(),
        }
    }

    /// Sets the name of the thread, which the world makes unique.
    pub fn name(self, name: String) -> Builder {
        Builder { name }
    }

    fn child(&self) -> Option<ThreadSlot> {
        place().map(|place| place.child(&self.name))
    }

    fn started(place: &Option<ThreadSlot>, failed: bool) {
        match place {
            Some(place) if failed => place.forget(),
            _ => super::point(""),
        }
    }

    /// Starts a thread.
    pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let place = self.child();
        let its = place.clone();
        let thread = real::Builder::new()
            .name(self.name)
            .spawn(move || live(its, body));
        Builder::started(&place, thread.is_err());
        Ok(JoinHandle {
            thread: thread?,
            place,
        })
    }

    /// Starts a thread that may borrow from outside of the scope.
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &Scope<'scope, '_>,
        body: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let place = self.child();
        let its = place.clone();
        let thread = real::Builder::new()
            .name(self.name)
            .spawn_scoped(scope.real, move || live(its, body));
        Builder::started(&place, thread.is_err());
        let thread = thread?;
        scope
            .started
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(place.clone());
        Ok(ScopedJoinHandle { thread, place })
    }
}

/// Starts a thread.
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(body).expect("the system starts a thread")
}

/// Runs `body`, which may start threads that borrow, and waits for all of them.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
{
    /// Waits for all scoped threads through the world. The later wait of the standard library cannot be
    /// simulated, and then ends at once.
    struct AwaitAll(Arc<Mutex<Vec<ThreadSlot>>>);
    impl Drop for AwaitAll {
        fn drop(&mut self) {
            let Some(me) = place() else { return };
            let started = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            started.iter().for_each(|thread| thread.await_end(&me));
        }
    }
    real::scope(|real| {
        let started: Arc<Mutex<Vec<ThreadSlot>>> = Arc::default();
        let _all = AwaitAll(started.clone());
        body(&Scope { real, started })
    })
}

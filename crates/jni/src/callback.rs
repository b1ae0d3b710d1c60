//! Calls from the library into Java: references that outlive a method, and threads of ours that the JVM learns of.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use jni_sys::{JNI_VERSION_1_6, JNIEnv, JavaVM, jclass, jmethodID, jobject, jvalue};

use crate::env::Env;
use crate::fail::{Fail, Result};

/// The virtual machine. There is one in a process.
struct Machine(*mut JavaVM);

// SAFETY: the functions of a virtual machine may be called by any thread.
unsafe impl Send for Machine {}
// SAFETY: as above.
unsafe impl Sync for Machine {}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// A reference to an object of Java's that lives until it is dropped, by whichever thread.
pub struct Global {
    object: jobject,
    is_weak: bool,
}

// SAFETY: global references may be used by any thread.
unsafe impl Send for Global {}
// SAFETY: as above.
unsafe impl Sync for Global {}

impl Global {
    /// Keeps the object.
    pub fn strong(env: &Env<'_>, object: jobject) -> Result<Global> {
        remember(env)?;
        Ok(Global {
            object: env.global(object)?,
            is_weak: false,
        })
    }

    /// Does not keep it: Java's own object holds the handle of what holds this.
    pub fn weak(env: &Env<'_>, object: jobject) -> Result<Global> {
        remember(env)?;
        Ok(Global {
            object: env.weak(object)?,
            is_weak: true,
        })
    }

    /// The reference.
    pub fn reference(&self) -> jobject {
        self.object
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        let (object, is_weak) = (self.object, self.is_weak);
        // A machine that has ended needs no references back.
        let _ = attached(|env| {
            match is_weak {
                true => env.forget_weak(object),
                false => env.forget_global(object),
            }
            Ok(())
        });
    }
}

/// A method, which lives as long as its class, and that as long as an object of it.
#[derive(Clone, Copy)]
pub struct Method(pub jmethodID);

// SAFETY: the numbers of methods may be used by any thread.
unsafe impl Send for Method {}
// SAFETY: as above.
unsafe impl Sync for Method {}

/// Classes that were looked up on a thread of Java's, by their names with slashes. A thread of ours finds those of the class path alone,
/// and not those of the class loader that has loaded `org.rocksdb`.
pub struct Classes(BTreeMap<&'static str, Global>);

impl Classes {
    /// Looks them up.
    pub fn of(env: &Env<'_>, names: &[&'static str]) -> Result<Classes> {
        let mut classes = BTreeMap::new();
        for name in names {
            let class = env.class(name)?;
            classes.insert(*name, Global::strong(env, class)?);
            env.forget(class);
        }
        Ok(Classes(classes))
    }

    /// One of them.
    pub fn class(&self, name: &str) -> jclass {
        self.0.get(name).map_or(std::ptr::null_mut(), Global::reference)
    }

    /// A new object of one of them.
    pub fn object(
        &self,
        env: &Env<'_>,
        name: &str,
        signature: &str,
        arguments: &[jvalue],
    ) -> Result<jobject> {
        let class = self.class(name);
        let constructor = env.method(class, "<init>", signature)?;
        env.construct(class, constructor, arguments)
    }
}

fn remember(env: &Env<'_>) -> Result<()> {
    if MACHINE.get().is_none() {
        // Another thread may have been first: it is the same machine.
        let _ = MACHINE.set(Machine(env.vm()?));
    }
    Ok(())
}

/// A thread of ours that the JVM knows, until the thread ends.
struct Attached;

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(machine) = MACHINE.get() {
            // SAFETY: this thread was attached by us, and calls no more of Java.
            unsafe { ((**machine.0).v1_2.DetachCurrentThread)(machine.0) };
        }
    }
}

thread_local! {
    static ATTACHED: RefCell<Option<Attached>> = const { RefCell::new(None) };
}

/// Runs `call` with the JVM as this thread sees it. A thread of ours is attached once, as a daemon, which keeps no JVM from ending, and
/// detached when it ends. An exception that Java throws in it is taken away, and is an error: on a thread of Java's too, since the engine
/// goes on and may call Java again.
pub fn attached<R>(call: impl FnOnce(&Env<'_>) -> Result<R>) -> Result<R> {
    let machine = MACHINE.get().ok_or_else(|| Fail::state("no virtual machine"))?.0;
    let mut raw: *mut JNIEnv = std::ptr::null_mut();
    // SAFETY: the machine lives as long as the process; the place may be written.
    let known = unsafe { ((**machine).v1_2.GetEnv)(machine, (&raw mut raw).cast(), JNI_VERSION_1_6) };
    if known != 0 {
        // SAFETY: as above; no arguments stand for a thread without a name of its own.
        let code = unsafe {
            ((**machine).v1_4.AttachCurrentThreadAsDaemon)(
                machine,
                (&raw mut raw).cast(),
                std::ptr::null_mut(),
            )
        };
        if code != 0 || raw.is_null() {
            return Err(Fail::state("the thread cannot be attached"));
        }
        // Where the thread's values are gone already, the thread stays attached until it is gone too.
        let _ = ATTACHED.try_with(|attached| *attached.borrow_mut() = Some(Attached));
    }
    // SAFETY: the pointer is this thread's.
    let env = unsafe { Env::of(raw, std::ptr::null_mut()) };
    let result = call(&env);
    if result.is_err() {
        env.clear();
    }
    result
}

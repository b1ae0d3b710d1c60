//! Calls from the library into Java: references that outlive a method call, and attachment of the library's
//! threads to the JVM.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use jni_sys::{JNI_VERSION_1_6, JNIEnv, JavaVM, jclass, jmethodID, jobject, jvalue};

use crate::env::Env;
use crate::fail::{Fail, Result};

/// The virtual machine. A process has one.
struct Machine(*mut JavaVM);

// SAFETY: the functions of a virtual machine may be called by any thread.
unsafe impl Send for Machine {}
// SAFETY: the functions of a virtual machine may be called by any thread.
unsafe impl Sync for Machine {}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// A global reference to an object of Java. Any thread may drop it.
pub struct Global {
    object: jobject,
    is_weak: bool,
}

// SAFETY: global references may be used by any thread.
unsafe impl Send for Global {}
// SAFETY: global references may be used by any thread.
unsafe impl Sync for Global {}

impl Global {
    /// Creates a reference that keeps the object alive.
    pub fn strong(env: &Env<'_>, object: jobject) -> Result<Global> {
        remember(env)?;
        Ok(Global {
            object: env.global(object)?,
            is_weak: false,
        })
    }

    /// Creates a reference that does not keep the object alive. The Java object holds the handle of this
    /// reference's owner.
    pub fn weak(env: &Env<'_>, object: jobject) -> Result<Global> {
        remember(env)?;
        Ok(Global {
            object: env.weak(object)?,
            is_weak: true,
        })
    }

    /// Returns the reference.
    pub fn reference(&self) -> jobject {
        self.object
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        let (object, is_weak) = (self.object, self.is_weak);
        // After the end of the virtual machine no reference needs to be released.
        let _ = attached(|env| {
            match is_weak {
                true => env.forget_weak(object),
                false => env.forget_global(object),
            }
            Ok(())
        });
    }
}

/// The ID of a method. It is valid as long as its class is loaded, which lasts at least as long as an object
/// of the class.
#[derive(Clone, Copy)]
pub struct Method(pub jmethodID);

// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Send for Method {}
// SAFETY: the IDs of methods may be used by any thread.
unsafe impl Sync for Method {}

/// Classes by their names with slashes, looked up on a thread of Java. A thread of the library finds only the
/// classes of the class path, not those of the class loader that has loaded `org.rocksdb`.
pub struct Classes(BTreeMap<&'static str, Global>);

impl Classes {
    /// Looks up the Java classes with the given names.
    pub fn of(env: &Env<'_>, names: &[&'static str]) -> Result<Classes> {
        let mut classes = BTreeMap::new();
        for name in names {
            let class = env.class(name)?;
            classes.insert(*name, Global::strong(env, class)?);
            env.forget(class);
        }
        Ok(Classes(classes))
    }

    /// Returns one of the classes.
    pub fn class(&self, name: &str) -> jclass {
        self.0.get(name).map_or(std::ptr::null_mut(), Global::reference)
    }

    /// Creates an object of one of the classes.
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
        // Another thread may have stored the virtual machine already: a process has only one.
        let _ = MACHINE.set(Machine(env.vm()?));
    }
    Ok(())
}

/// Detaches a thread of the library from the JVM when the thread ends.
struct Attached;

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(machine) = MACHINE.get() {
            // SAFETY: this module has attached this thread, and the thread calls Java no more.
            unsafe { ((**machine.0).v1_2.DetachCurrentThread)(machine.0) };
        }
    }
}

thread_local! {
    static ATTACHED: RefCell<Option<Attached>> = const { RefCell::new(None) };
}

/// Runs `call` with this thread's view of the JVM. A thread of the library is attached once, as a daemon,
/// which does not prevent the end of the JVM, and detached when the thread ends. An exception of Java in
/// `call` is cleared and becomes an error, on threads of Java too: the engine continues, and may call Java
/// again.
pub fn attached<R>(call: impl FnOnce(&Env<'_>) -> Result<R>) -> Result<R> {
    let machine = MACHINE.get().ok_or_else(|| Fail::state("no JVM is known"))?.0;
    let mut raw: *mut JNIEnv = std::ptr::null_mut();
    // SAFETY: the virtual machine lives as long as the process; the out-pointer may be written.
    let known = unsafe { ((**machine).v1_2.GetEnv)(machine, (&raw mut raw).cast(), JNI_VERSION_1_6) };
    if known != 0 {
        // SAFETY: the virtual machine lives as long as the process; null arguments mean a thread without a
        // name.
        let code = unsafe {
            ((**machine).v1_4.AttachCurrentThreadAsDaemon)(
                machine,
                (&raw mut raw).cast(),
                std::ptr::null_mut(),
            )
        };
        if code != 0 || raw.is_null() {
            return Err(Fail::state("the thread cannot be attached to the JVM"));
        }
        // If the thread's local values are destroyed already, the thread stays attached until it ends.
        let _ = ATTACHED.try_with(|attached| *attached.borrow_mut() = Some(Attached));
    }
    // SAFETY: the pointer belongs to this thread.
    let env = unsafe { Env::of(raw, std::ptr::null_mut()) };
    let result = call(&env);
    if result.is_err() {
        env.clear();
    }
    result
}

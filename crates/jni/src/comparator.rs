//! Comparators that Java implements.

use std::cmp::Ordering;
use std::sync::Arc;

use esker::{Comparator, UserComparator};
use jni_sys::{jlong, jvalue};

use crate::callback::{Global, Method, attached};
use crate::env::{Env, JString};
use crate::fail::{Fail, Result};
use crate::frame::native;
use crate::handles;
use crate::settings::Settings;

/// `org.rocksdb.AbstractComparator`.
struct ComparatorObject(Arc<JavaComparator>);

/// A comparator that a Java object implements.
struct JavaComparator {
    name: String,
    object: Global,
    bridge: Global,
    compare: Method,
    /// True if keys are passed in buffers over the engine's memory, false if they are passed in arrays.
    direct: bool,
}

impl JavaComparator {
    fn key(&self, env: &Env<'_>, key: &[u8]) -> Result<jni_sys::jobject> {
        if self.direct {
            // SAFETY: the key does not move while Java compares. The contract of comparators forbids changing
            // or keeping a key.
            return unsafe { env.new_direct(key.as_ptr().cast_mut(), key.len()) };
        }
        let array = env.byte_array(key)?;
        let signature = "([B)Ljava/nio/ByteBuffer;";
        let buffer = env.call_static("java/nio/ByteBuffer", "wrap", signature, &[jvalue { l: array.0 }])?;
        env.forget(array.0);
        Ok(buffer)
    }

    fn ask(&self, env: &Env<'_>, a: &[u8], b: &[u8]) -> Result<Ordering> {
        let (a, b) = (self.key(env, a)?, self.key(env, b)?);
        let arguments = [
            jvalue {
                l: self.object.reference(),
            },
            jvalue { l: a },
            jvalue { i: -1 },
            jvalue { l: b },
            jvalue { i: -1 },
        ];
        let order = env.call_static_int(self.bridge.reference(), self.compare.0, &arguments);
        [a, b].into_iter().for_each(|buffer| env.forget(buffer));
        Ok(order?.cmp(&0))
    }
}

impl Comparator for JavaComparator {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match attached(|env| self.ask(env, a, b)) {
            Ok(order) => order,
            // An exception of a Java comparator becomes a panic, which the engine turns into an error if it
            // can.
            Err(_) => panic!("the comparator {} threw an exception", self.name),
        }
    }
}

native!("AbstractComparator_createNewComparator" "J" fn(env, options: i64) -> i64 {
    let class = env.class_of(env.this)?;
    let name = env.method(class, "name", "()Ljava/lang/String;")?;
    let name = env.string(JString(env.call_object(env.this, name, &[])?))?;
    let bridge = env.class("org/rocksdb/AbstractComparatorJniBridge")?;
    let signature = "(Lorg/rocksdb/AbstractComparator;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;I)I";
    let compare = env.static_method(bridge, "compareInternal", signature)?;
    let direct = handles::get::<Settings>(options)?.look(|inner| inner.flag("use_direct_buffer", true));
    Ok(handles::insert(ComparatorObject(Arc::new(JavaComparator {
        name,
        object: Global::strong(&env, env.this)?,
        bridge: Global::strong(&env, bridge)?,
        compare: Method(compare),
        direct,
    }))))
});

native!("AbstractComparator_usingDirectBuffers" "J" fn(env, comparator: i64) -> bool {
    Ok(handles::get::<ComparatorObject>(comparator)?.0.direct)
});

/// Returns the engine's comparator of a handle.
pub fn user(comparator: jlong) -> Result<UserComparator> {
    match handles::get::<ComparatorObject>(comparator) {
        Ok(comparator) => Ok(UserComparator::Custom(
            Arc::clone(&comparator.0) as Arc<dyn Comparator>
        )),
        Err(_) => Err(Fail::Closed(
            "the comparator is closed, or is none of this library's".to_owned(),
        )),
    }
}

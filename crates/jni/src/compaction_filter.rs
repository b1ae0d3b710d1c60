//! Compaction filters: those of the library, from which Java chooses, and those that Java implements.

use std::any::Any;
use std::sync::Arc;

use esker::{CompactionFilter, CompactionFilterFactory, Decision, FilterContext, ValueType};
use jni_sys::{jlong, jvalue};

use crate::callback::{Global, Method, attached};
use crate::env::JString;
use crate::fail::Result;
use crate::frame::native;
use crate::handles;

/// `org.rocksdb.AbstractCompactionFilter`.
pub struct FilterObject(pub Arc<dyn Kind>);

/// A kind of filter, with its settings.
pub trait Kind: Send + Sync {
    /// Returns the name of the filter.
    fn name(&self) -> &str;
    /// Returns a filter for one compaction.
    fn make(&self) -> Box<dyn CompactionFilter>;
    /// Returns the Java object of the filter, if it has one.
    fn own(&self) -> Option<&dyn Any> {
        None
    }
}

/// Removes rows whose value is empty.
struct RemoveEmptyValue;

impl Kind for RemoveEmptyValue {
    fn name(&self) -> &str {
        "RemoveEmptyValueCompactionFilter"
    }

    fn make(&self) -> Box<dyn CompactionFilter> {
        Box::new(RemoveEmptyValue)
    }
}

impl CompactionFilter for RemoveEmptyValue {
    fn filter(&mut self, _level: usize, _key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        match value_type == ValueType::Value && value.is_empty() {
            true => Decision::Remove,
            false => Decision::Keep,
        }
    }
}

native!("RemoveEmptyValueCompactionFilter_createNewRemoveEmptyValueCompactionFilter0" "" fn(env) -> i64 {
    Ok(handles::insert(FilterObject(Arc::new(RemoveEmptyValue))))
});

/// A factory of filters of one kind.
struct Always(Arc<dyn Kind>);

impl CompactionFilterFactory for Always {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn create(&self, _context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        Some(self.0.make())
    }
}

/// Returns a factory of the filter of a handle.
pub fn factory_of_filter(filter: jlong) -> Result<Arc<dyn CompactionFilterFactory>> {
    Ok(Arc::new(Always(Arc::clone(
        &handles::get::<FilterObject>(filter)?.0,
    ))))
}

/// `org.rocksdb.AbstractCompactionFilterFactory`.
struct FactoryObject(Arc<JavaFactory>);

/// A Java object that chooses a filter for each compaction.
struct JavaFactory {
    name: String,
    object: Global,
    create: Method,
}

impl CompactionFilterFactory for JavaFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, context: &FilterContext) -> Option<Box<dyn CompactionFilter>> {
        let arguments = [
            jvalue {
                z: context.is_full_compaction,
            },
            jvalue {
                z: context.is_manual_compaction,
            },
        ];
        let handle = attached(|env| {
            let factory = env.local(self.object.reference());
            let handle = env.call_long(factory, self.create.0, &arguments);
            env.forget(factory);
            handle
        });
        let filter = handle.and_then(|handle| {
            let made = handles::get::<FilterObject>(handle).map(|filter| filter.0.make());
            // The Java object has given up the handle of the filter, so the handle is closed here.
            handles::close(handle);
            made
        });
        // Without a filter a compaction keeps all rows.
        filter.ok()
    }
}

native!("AbstractCompactionFilterFactory_createNewCompactionFilterFactory0" "" fn(env) -> i64 {
    let class = env.class_of(env.this)?;
    let name = env.method(class, "name", "()Ljava/lang/String;")?;
    let name = env.string(JString(env.call_object(env.this, name, &[])?))?;
    let base = env.class("org/rocksdb/AbstractCompactionFilterFactory")?;
    let create = env.method(base, "createCompactionFilter", "(ZZ)J")?;
    Ok(handles::insert(FactoryObject(Arc::new(JavaFactory {
        name,
        object: Global::strong(&env, env.this)?,
        create: Method(create),
    }))))
});

/// Returns the factory of a handle.
pub fn factory(factory: jlong) -> Result<Arc<dyn CompactionFilterFactory>> {
    Ok(Arc::clone(&handles::get::<FactoryObject>(factory)?.0) as Arc<dyn CompactionFilterFactory>)
}

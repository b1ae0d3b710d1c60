//! The package `dev.esker`, whose sources are in `crates/jni/java`: merge operators and compaction filters in
//! Java.

use std::sync::{Arc, OnceLock};

use esker::{CompactionFilter, Decision, MergeOperator, ValueType};
use jni_sys::{jobject, jvalue};

use crate::callback::{Classes, Global, Method, attached};
use crate::compaction_filter::{FilterObject, Kind};
use crate::env::{Env, JByteArray, JString, Reference};
use crate::fail::{Fail, Result};
use crate::handles;
use crate::merge::MergeObject;

/// Declares a native method of `dev.esker`: its class and name, its signature, and its body.
macro_rules! own {
    ($name:literal $signature:literal fn($env:ident $(, $arg:ident: $type:ty)*) $(-> $ret:ty)? $body:block) => {
        const _: () = {
            $crate::frame::check($signature, &[$(<$type as $crate::env::JavaType>::CODE),*]);

            fn method_body($env: Env<'_>, $($arg: $type),*) -> Result<$crate::frame::ret!($($ret)?)> {
                let _ = &$env;
                $body
            }

            #[unsafe(export_name = concat!("Java_dev_esker_", $name, "__", $signature))]
            extern "system" fn method(
                env: *mut jni_sys::JNIEnv, this: jobject, $($arg: $type),*
            ) -> $crate::frame::ret!($($ret)?) {
                $crate::frame::enter(env, this, $name, |env| method_body(env, $($arg),*))
            }
        };
    };
}

/// A Java object and its methods that the library calls. It is bound after the handle is created, because
/// Java's constructor needs the handle first.
struct Bound<M> {
    name: String,
    object: OnceLock<(Global, M)>,
}

impl<M> Bound<M> {
    fn new(name: String) -> Bound<M> {
        Bound {
            name,
            object: OnceLock::new(),
        }
    }

    fn bind(&self, env: &Env<'_>, methods: M) -> Result<()> {
        let bound = (Global::strong(env, env.this)?, methods);
        self.object
            .set(bound)
            .map_err(|_| Fail::state("the object is bound already"))
    }

    /// Calls Java. Returns `None` if the object is not bound, or if Java throws: the exception is printed.
    fn call<R>(&self, call: impl FnOnce(&Env<'_>, jobject, &M) -> Result<R>) -> Option<R> {
        let (object, methods) = self.object.get()?;
        let called = attached(|env| {
            env.in_frame(|| {
                let result = call(env, object.reference(), methods);
                env.describe();
                result
            })
        });
        called.ok()
    }
}

/// Copies an array that Java has returned. `None` if it is null.
fn returned(env: &Env<'_>, array: jobject) -> Result<Option<Vec<u8>>> {
    match JByteArray(array).is_null() {
        true => Ok(None),
        false => Ok(Some(env.whole(JByteArray(array))?.to_vec())),
    }
}

fn array(env: &Env<'_>, bytes: Option<&[u8]>) -> Result<jvalue> {
    Ok(jvalue {
        l: match bytes {
            Some(bytes) => env.byte_array(bytes)?.0,
            None => std::ptr::null_mut(),
        },
    })
}

/// The methods of `dev.esker.JavaMergeOperator`, and the class of byte arrays.
struct MergeMethods {
    full: Method,
    partial: Method,
    classes: Classes,
}

struct JavaMergeOperator(Bound<MergeMethods>);

impl MergeOperator for JavaMergeOperator {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.0.call(|env, object, methods| {
            let list = env.array_of(methods.classes.class("[B"), operands.len())?;
            for (at, operand) in operands.iter().enumerate() {
                let operand = env.byte_array(operand)?;
                env.set_element(list, at, operand.0)?;
                env.forget(operand.0);
            }
            let arguments = [array(env, Some(key))?, array(env, existing)?, jvalue { l: list }];
            returned(env, env.call_object(object, methods.full.0, &arguments)?)
        })?
    }

    fn partial_merge(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        self.0.call(|env, object, methods| {
            let arguments = [
                array(env, Some(key))?,
                array(env, Some(older))?,
                array(env, Some(newer))?,
            ];
            returned(env, env.call_object(object, methods.partial.0, &arguments)?)
        })?
    }
}

/// The operator of a handle of `dev.esker`; the options take a second handle.
struct OwnOperator(Arc<JavaMergeOperator>);

own!("JavaMergeOperator_create" "Ljava_lang_String_2" fn(env, name: JString) -> i64 {
    let operator = Arc::new(JavaMergeOperator(Bound::new(env.string(name)?)));
    Ok(handles::insert(MergeObject {
        operator: Arc::clone(&operator) as Arc<dyn MergeOperator>,
        own: Some(Box::new(OwnOperator(operator))),
    }))
});

own!("JavaMergeOperator_bind" "J" fn(env, handle: i64) {
    let class = env.class("dev/esker/JavaMergeOperator")?;
    let methods = MergeMethods {
        full: Method(env.method(class, "fullMerge", "([B[B[[B)[B")?),
        partial: Method(env.method(class, "partialMerge", "([B[B[B)[B")?),
        classes: Classes::of(&env, &["[B"])?,
    };
    let held = handles::get::<MergeObject>(handle)?;
    let own = held.own.as_ref().and_then(|own| own.downcast_ref::<OwnOperator>());
    own.ok_or_else(Fail::null)?.0.0.bind(&env, methods)
});

own!("JavaMergeOperator_dispose" "J" fn(env, handle: i64) {
    handles::close(handle);
    Ok(())
});

/// The methods of `dev.esker.JavaCompactionFilter`, and the class of byte arrays.
struct FilterMethods {
    decide: Method,
    classes: Classes,
}

struct JavaFilter(Bound<FilterMethods>);

/// The filter of one compaction, for the engine.
struct Filtering(Arc<JavaFilter>);

impl Kind for Filtering {
    fn name(&self) -> &str {
        &self.0.0.name
    }

    fn make(&self) -> Box<dyn CompactionFilter> {
        Box::new(Filtering(Arc::clone(&self.0)))
    }

    fn own(&self) -> Option<&dyn std::any::Any> {
        Some(&*self.0)
    }
}

impl Filtering {
    /// Calls the method with the number of a `JavaCompactionFilter.Kind`.
    fn decide(&self, level: usize, key: &[u8], kind: i32, value: &[u8]) -> Decision {
        let decided = self.0.0.call(|env, object, methods| {
            let bytes = env.array_of(methods.classes.class("[B"), 1)?;
            let arguments = [
                jvalue { i: level as i32 },
                array(env, Some(key))?,
                jvalue { i: kind },
                array(env, Some(value))?,
                jvalue { l: bytes },
            ];
            let number = env.call_byte(object, methods.decide.0, &arguments)?;
            let bytes = returned(env, env.element(bytes, 0)?)?.unwrap_or_default();
            Ok(match number {
                1 => Decision::Remove,
                2 => Decision::ChangeValue(bytes),
                3 => Decision::RemoveAndSkipUntil(bytes),
                _ => Decision::Keep,
            })
        });
        decided.unwrap_or(Decision::Keep)
    }
}

impl CompactionFilter for Filtering {
    fn filter(&mut self, level: usize, key: &[u8], value_type: ValueType, value: &[u8]) -> Decision {
        let kind = match value_type {
            ValueType::Value => 0,
            ValueType::MergeOperand => 1,
        };
        self.decide(level, key, kind, value)
    }

    fn filter_entity(&mut self, level: usize, key: &[u8], columns: &[(&[u8], &[u8])]) -> Decision {
        let mut entity = Vec::new();
        match base::entity::encode(columns, &mut entity) {
            Ok(()) => self.decide(level, key, 2, &entity),
            // A column of 4 GiB or more, which a Java array could not hold either.
            Err(_) => Decision::Keep,
        }
    }
}

own!("JavaCompactionFilter_create" "Ljava_lang_String_2" fn(env, name: JString) -> i64 {
    let filter = Arc::new(JavaFilter(Bound::new(env.string(name)?)));
    Ok(handles::insert(FilterObject(Arc::new(Filtering(filter)))))
});

own!("JavaCompactionFilter_bind" "J" fn(env, handle: i64) {
    let class = env.class("dev/esker/JavaCompactionFilter")?;
    let methods = FilterMethods {
        decide: Method(env.method(class, "decide", "(I[BI[B[[B)B")?),
        classes: Classes::of(&env, &["[B"])?,
    };
    let held = handles::get::<FilterObject>(handle)?;
    let own = held.0.own().and_then(|own| own.downcast_ref::<JavaFilter>());
    own.ok_or_else(Fail::null)?.0.bind(&env, methods)
});

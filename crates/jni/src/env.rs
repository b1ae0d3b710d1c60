//! The table of functions that the JVM gives each native method, with Rust's types: arrays are copied, strings are UTF-8, and an
//! exception that Java has thrown is an error.

use std::marker::PhantomData;
use std::ops::Deref;

use jni_sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject, jsize, jvalue};

use crate::fail::{Fail, Result};

/// Calls a function of the table.
macro_rules! jni {
    ($env:expr, $name:ident $(, $arg:expr)* $(,)?) => {
        ((**$env.raw).v1_6.$name)($env.raw $(, $arg)*)
    };
}

/// A type that a native method takes, and its code in a mangled signature.
pub trait JavaType {
    /// The code; one that ends in `*` stands for every class.
    const CODE: &'static str;
}

macro_rules! primitives {
    ($($type:ty => $code:literal),+ $(,)?) => { $(
        impl JavaType for $type {
            const CODE: &'static str = $code;
        }
    )+ };
}
primitives!(bool => "Z", i8 => "B", u16 => "C", jint => "I", jlong => "J", f64 => "D");

/// A reference to an object.
pub trait Reference: Copy {
    /// True of Java's null.
    fn is_null(self) -> bool;
}

macro_rules! references {
    ($($(#[$meta:meta])+ $name:ident => $code:literal),+ $(,)?) => { $(
        $(#[$meta])+
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name(pub jobject);

        impl JavaType for $name {
            const CODE: &'static str = $code;
        }

        impl Reference for $name {
            fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    )+ };
}
references!(
    /// `byte[]`.
    JByteArray => "_3B",
    /// `int[]`.
    JIntArray => "_3I",
    /// `long[]`.
    JLongArray => "_3J",
    /// `byte[][]`.
    JByteArrays => "_3_3B",
    /// `String`.
    JString => "Ljava_lang_String_2",
    /// `String[]`.
    JStrings => "_3Ljava_lang_String_2",
    /// `java.nio.ByteBuffer`.
    JBuffer => "Ljava_nio_ByteBuffer_2",
    /// An array of objects.
    JObjects => "_3L*",
    /// An object.
    JObject => "L*",
);

/// The JVM as the native method that runs sees it.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    raw: *mut JNIEnv,
    /// The object whose method runs, or its class.
    pub this: jobject,
    frame: PhantomData<&'a ()>,
}

/// Bytes up to which an array is copied to the stack.
const ON_STACK: usize = 256;

/// A copy of a part of a Java array.
pub struct Bytes {
    short: [u8; ON_STACK],
    long: Vec<u8>,
    length: usize,
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.length <= ON_STACK {
            &self.short[..self.length]
        } else {
            &self.long
        }
    }
}

impl<'a> Env<'a> {
    /// Over the pointer that the JVM gave.
    ///
    /// # Safety
    /// The pointer is the one of this thread, and good for `'a`.
    pub unsafe fn of(raw: *mut JNIEnv, this: jobject) -> Env<'a> {
        Env {
            raw,
            this,
            frame: PhantomData,
        }
    }

    /// An error if Java has thrown.
    pub fn check(&self) -> Result<()> {
        // SAFETY: `of` has the pointer's promise; the function takes nothing else.
        match unsafe { jni!(self, ExceptionCheck) } {
            true => Err(Fail::Thrown),
            false => Ok(()),
        }
    }

    /// Takes what Java has thrown away; true if there was something.
    pub fn clear(&self) -> bool {
        // SAFETY: as in `check`.
        unsafe {
            let thrown = jni!(self, ExceptionCheck);
            if thrown {
                jni!(self, ExceptionClear);
            }
            thrown
        }
    }

    /// Prints what Java has thrown, and takes it away.
    pub fn describe(&self) {
        // SAFETY: as in `check`.
        unsafe {
            if jni!(self, ExceptionCheck) {
                jni!(self, ExceptionDescribe);
                jni!(self, ExceptionClear);
            }
        }
    }

    /// Runs `body`, and gives every local reference back that it has made. On a thread of ours no method of Java's ends, which would do so.
    pub fn in_frame<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        const REFERENCES: jint = 64;
        // SAFETY: as in `check`; the frame is popped below, on this thread.
        if unsafe { jni!(self, PushLocalFrame, REFERENCES) } != 0 {
            return Err(Fail::Thrown);
        }
        let result = body();
        // SAFETY: the frame is the one pushed above; nothing of it is kept.
        unsafe { jni!(self, PopLocalFrame, std::ptr::null_mut()) };
        result
    }

    fn not_null(&self, object: jobject) -> Result<jobject> {
        if object.is_null() {
            self.check()?;
            return Err(Fail::null());
        }
        Ok(object)
    }

    /// The length of an array. `NullPointerException` if there is none.
    pub fn length(&self, array: jobject) -> Result<usize> {
        let array = self.not_null(array)?;
        // SAFETY: the JVM gave it as an array, and it is not null.
        Ok(unsafe { jni!(self, GetArrayLength, array) } as usize)
    }

    /// A copy of `length` bytes of an array from `offset` on. `ArrayIndexOutOfBoundsException` where they are not in it.
    #[inline]
    pub fn bytes(&self, array: JByteArray, offset: jint, length: jint) -> Result<Bytes> {
        let array = self.not_null(array.0)?;
        let count = usize::try_from(length).map_err(|_| Fail::bounds(length))?;
        let mut bytes = Bytes {
            short: [0; ON_STACK],
            long: Vec::new(),
            length: count,
        };
        let to = if count <= ON_STACK {
            bytes.short.as_mut_ptr()
        } else {
            // Looked at before memory is taken for what the caller merely claims.
            let there = self.length(array)?;
            if usize::try_from(offset).map_or(true, |from| from > there || count > there - from) {
                return Err(Fail::bounds(offset));
            }
            bytes.long = vec![0; count];
            bytes.long.as_mut_ptr()
        };
        // SAFETY: `to` has room for `length` bytes; the JVM checks the region against the array.
        unsafe { jni!(self, GetByteArrayRegion, array, offset, length, to.cast()) };
        self.check()?;
        Ok(bytes)
    }

    /// A copy of the first `length` bytes of an array.
    #[inline]
    pub fn head(&self, array: JByteArray, length: jint) -> Result<Bytes> {
        self.bytes(array, 0, length)
    }

    /// A copy of a whole array.
    pub fn whole(&self, array: JByteArray) -> Result<Bytes> {
        let length = self.length(array.0)?;
        self.bytes(array, 0, length as jint)
    }

    /// A new `byte[]`.
    #[inline]
    pub fn byte_array(&self, bytes: &[u8]) -> Result<JByteArray> {
        let length = jsize::try_from(bytes.len()).map_err(|_| too_large())?;
        // SAFETY: the region is the whole of the array just made, and `bytes` has as many.
        unsafe {
            let array = jni!(self, NewByteArray, length);
            if array.is_null() {
                return Err(Fail::Thrown);
            }
            jni!(self, SetByteArrayRegion, array, 0, length, bytes.as_ptr().cast());
            Ok(JByteArray(array))
        }
    }

    /// Writes to an array as much of `bytes` as goes into `length` bytes from `offset` on.
    pub fn fill(&self, array: JByteArray, offset: jint, length: jint, bytes: &[u8]) -> Result<()> {
        let array = self.not_null(array.0)?;
        let count = bytes
            .len()
            .min(usize::try_from(length).map_err(|_| Fail::bounds(length))?);
        // SAFETY: `bytes` has `count` of them; the JVM checks the region.
        unsafe {
            jni!(
                self,
                SetByteArrayRegion,
                array,
                offset,
                count as jsize,
                bytes.as_ptr().cast()
            )
        };
        self.check()
    }

    /// The memory of `length` bytes of a direct buffer from `offset` on. `IllegalArgumentException` of any other buffer, or where they are
    /// not in it.
    pub fn direct(&self, buffer: JBuffer, offset: jint, length: jint) -> Result<&'a mut [u8]> {
        let buffer = self.not_null(buffer.0)?;
        // SAFETY: the object is a buffer; the memory is the buffer's, which the caller holds while the method runs, and the region is
        // inside of it. Java promises no more about who else writes there than C++ has.
        unsafe {
            let address: *mut u8 = jni!(self, GetDirectBufferAddress, buffer).cast();
            let capacity = jni!(self, GetDirectBufferCapacity, buffer);
            if address.is_null() || capacity < 0 {
                return Err(Fail::argument("the buffer is not direct"));
            }
            let (from, count) = (i64::from(offset), i64::from(length));
            if from < 0 || count < 0 || from + count > capacity {
                return Err(Fail::argument("the buffer ends before the region"));
            }
            Ok(std::slice::from_raw_parts_mut(
                address.add(from as usize),
                count as usize,
            ))
        }
    }

    /// A direct buffer over memory that outlives the use Java makes of it.
    ///
    /// # Safety
    /// The memory stays where it is while Java may read it.
    pub unsafe fn new_direct(&self, bytes: *mut u8, length: usize) -> Result<jobject> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { jni!(self, NewDirectByteBuffer, bytes.cast(), length as jlong) };
        self.not_null(buffer)
    }

    /// The text of a `String`.
    pub fn string(&self, text: JString) -> Result<String> {
        let text = self.not_null(text.0)?;
        // SAFETY: the object is a string; the buffer has as many units as the string.
        unsafe {
            let length = jni!(self, GetStringLength, text);
            let mut units = vec![0_u16; length.max(0) as usize];
            jni!(self, GetStringRegion, text, 0, length, units.as_mut_ptr());
            self.check()?;
            Ok(String::from_utf16_lossy(&units))
        }
    }

    /// A new `String`.
    pub fn new_string(&self, text: &str) -> Result<JString> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = jsize::try_from(units.len()).map_err(|_| too_large())?;
        // SAFETY: the vector has `length` units.
        let made = unsafe { jni!(self, NewString, units.as_ptr(), length) };
        self.not_null(made).map(JString)
    }

    /// The numbers of a `long[]`.
    pub fn longs(&self, array: JLongArray) -> Result<Vec<jlong>> {
        let length = self.length(array.0)?;
        let mut list = vec![0; length];
        // SAFETY: the vector has room for the whole array.
        unsafe {
            jni!(
                self,
                GetLongArrayRegion,
                array.0,
                0,
                length as jsize,
                list.as_mut_ptr()
            )
        };
        self.check()?;
        Ok(list)
    }

    /// The numbers of an `int[]`.
    pub fn ints(&self, array: JIntArray) -> Result<Vec<jint>> {
        let length = self.length(array.0)?;
        let mut list = vec![0; length];
        // SAFETY: as in `longs`.
        unsafe {
            jni!(
                self,
                GetIntArrayRegion,
                array.0,
                0,
                length as jsize,
                list.as_mut_ptr()
            )
        };
        self.check()?;
        Ok(list)
    }

    /// A new `long[]`.
    pub fn long_array(&self, list: &[jlong]) -> Result<JLongArray> {
        let length = jsize::try_from(list.len()).map_err(|_| too_large())?;
        // SAFETY: the region is the whole of the array just made.
        unsafe {
            let array = self.not_null(jni!(self, NewLongArray, length))?;
            jni!(self, SetLongArrayRegion, array, 0, length, list.as_ptr());
            Ok(JLongArray(array))
        }
    }

    /// A new `int[]`.
    pub fn int_array(&self, list: &[jint]) -> Result<JIntArray> {
        let length = jsize::try_from(list.len()).map_err(|_| too_large())?;
        // SAFETY: as in `long_array`.
        unsafe {
            let array = self.not_null(jni!(self, NewIntArray, length))?;
            jni!(self, SetIntArrayRegion, array, 0, length, list.as_ptr());
            Ok(JIntArray(array))
        }
    }

    /// Writes numbers to an `int[]` from its beginning.
    pub fn set_ints(&self, array: JIntArray, list: &[jint]) -> Result<()> {
        let array = self.not_null(array.0)?;
        // SAFETY: the vector has as many; the JVM checks the region.
        unsafe {
            jni!(
                self,
                SetIntArrayRegion,
                array,
                0,
                list.len() as jsize,
                list.as_ptr()
            )
        };
        self.check()
    }

    /// Writes numbers to a `long[]` from its beginning.
    pub fn set_longs(&self, array: JLongArray, list: &[jlong]) -> Result<()> {
        let array = self.not_null(array.0)?;
        // SAFETY: as in `set_ints`.
        unsafe {
            jni!(
                self,
                SetLongArrayRegion,
                array,
                0,
                list.len() as jsize,
                list.as_ptr()
            )
        };
        self.check()
    }

    /// An element of an array of objects; null where there is none.
    pub fn element(&self, array: jobject, at: usize) -> Result<jobject> {
        let array = self.not_null(array)?;
        // SAFETY: the object is an array of objects; the JVM checks the index.
        let element = unsafe { jni!(self, GetObjectArrayElement, array, at as jsize) };
        self.check()?;
        Ok(element)
    }

    /// Puts an element into an array of objects.
    pub fn set_element(&self, array: jobject, at: usize, element: jobject) -> Result<()> {
        // SAFETY: as in `element`; the JVM checks the class.
        unsafe { jni!(self, SetObjectArrayElement, array, at as jsize, element) };
        self.check()
    }

    /// The arrays of a `byte[][]`.
    pub fn byte_arrays(&self, arrays: JByteArrays) -> Result<Vec<Vec<u8>>> {
        let mut list = Vec::new();
        for at in 0..self.length(arrays.0)? {
            let array = self.element(arrays.0, at)?;
            list.push(self.whole(JByteArray(array))?.to_vec());
            self.forget(array);
        }
        Ok(list)
    }

    /// The strings of a `String[]`.
    pub fn strings(&self, strings: JStrings) -> Result<Vec<String>> {
        let mut list = Vec::new();
        for at in 0..self.length(strings.0)? {
            let text = self.element(strings.0, at)?;
            list.push(self.string(JString(text))?);
            self.forget(text);
        }
        Ok(list)
    }

    /// Gives a reference back before the method ends.
    pub fn forget(&self, object: jobject) {
        // SAFETY: a local reference of this frame, which nothing uses any more; null is taken.
        unsafe { jni!(self, DeleteLocalRef, object) };
    }

    /// The class of that name, with slashes, seen from the class whose method runs.
    pub fn class(&self, name: &str) -> Result<jclass> {
        let text = zero_ended(name);
        // SAFETY: the text ends with NUL.
        let class = unsafe { jni!(self, FindClass, text.as_ptr().cast()) };
        self.not_null(class)
    }

    /// A method of a class.
    pub fn method(&self, class: jclass, name: &str, signature: &str) -> Result<jmethodID> {
        let (name, signature) = (zero_ended(name), zero_ended(signature));
        // SAFETY: a class, and texts that end with NUL.
        let method = unsafe {
            jni!(
                self,
                GetMethodID,
                class,
                name.as_ptr().cast(),
                signature.as_ptr().cast()
            )
        };
        self.check()?;
        Ok(method)
    }

    /// True if the class has a static method of that name and signature.
    pub fn has_static(&self, class: jclass, name: &str, signature: &str) -> bool {
        let found = self.static_method(class, name, signature).is_ok();
        // The JVM throws where there is none.
        !self.clear() && found
    }

    /// A new object of the class of that name.
    pub fn object(&self, class: &str, signature: &str, arguments: &[jvalue]) -> Result<jobject> {
        let class = self.class(class)?;
        let constructor = self.method(class, "<init>", signature)?;
        let object = self.construct(class, constructor, arguments);
        self.forget(class);
        object
    }

    /// A new object.
    pub fn construct(&self, class: jclass, constructor: jmethodID, arguments: &[jvalue]) -> Result<jobject> {
        // SAFETY: the constructor is the class's, and `arguments` are those of its signature.
        let object = unsafe { jni!(self, NewObjectA, class, constructor, arguments.as_ptr()) };
        self.not_null(object)
    }

    /// The class of an object.
    pub fn class_of(&self, object: jobject) -> Result<jclass> {
        let object = self.not_null(object)?;
        // SAFETY: it is an object.
        self.not_null(unsafe { jni!(self, GetObjectClass, object) })
    }

    /// Calls a method that returns an object, or null.
    pub fn call_object(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jobject> {
        // SAFETY: the method is of the object's class, and `arguments` are those of its signature.
        let found = unsafe { jni!(self, CallObjectMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns nothing.
    pub fn call_void(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<()> {
        // SAFETY: as in `call_object`.
        unsafe { jni!(self, CallVoidMethodA, object, method, arguments.as_ptr()) };
        self.check()
    }

    /// Calls a method that returns an `int`.
    pub fn call_int(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jint> {
        // SAFETY: as in `call_object`.
        let found = unsafe { jni!(self, CallIntMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `long`.
    pub fn call_long(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jlong> {
        // SAFETY: as in `call_object`.
        let found = unsafe { jni!(self, CallLongMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `byte`.
    pub fn call_byte(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<i8> {
        // SAFETY: as in `call_object`.
        let found = unsafe { jni!(self, CallByteMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `short`.
    pub fn call_short(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<i16> {
        // SAFETY: as in `call_object`.
        let found = unsafe { jni!(self, CallShortMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `boolean`.
    pub fn call_bool(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<bool> {
        // SAFETY: as in `call_object`.
        let found = unsafe { jni!(self, CallBooleanMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// A constant of an enum.
    pub fn enum_constant(&self, class: &str, name: &str) -> Result<jobject> {
        let signature = zero_ended(&format!("L{class};"));
        let class = self.class(class)?;
        let name = zero_ended(name);
        // SAFETY: a class, and texts that end with NUL.
        let field = unsafe {
            jni!(
                self,
                GetStaticFieldID,
                class,
                name.as_ptr().cast(),
                signature.as_ptr().cast()
            )
        };
        self.check()?;
        // SAFETY: the field is the class's, and an object.
        let constant = unsafe { jni!(self, GetStaticObjectField, class, field) };
        self.forget(class);
        self.not_null(constant)
    }

    /// A static method of a class.
    pub fn static_method(&self, class: jclass, name: &str, signature: &str) -> Result<jmethodID> {
        let (name, signature) = (zero_ended(name), zero_ended(signature));
        // SAFETY: a class, and texts that end with NUL.
        let method = unsafe {
            jni!(
                self,
                GetStaticMethodID,
                class,
                name.as_ptr().cast(),
                signature.as_ptr().cast()
            )
        };
        self.check()?;
        Ok(method)
    }

    /// Calls a static method that returns an `int`.
    pub fn call_static_int(&self, class: jclass, method: jmethodID, arguments: &[jvalue]) -> Result<jint> {
        // SAFETY: the method is the class's, and `arguments` are those of its signature.
        let found = unsafe { jni!(self, CallStaticIntMethodA, class, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a static method that returns an object.
    pub fn call_static(
        &self,
        class: &str,
        name: &str,
        signature: &str,
        arguments: &[jvalue],
    ) -> Result<jobject> {
        let class = self.class(class)?;
        let method = self.static_method(class, name, signature)?;
        // SAFETY: the method is the class's, and `arguments` are those of its signature.
        let found = unsafe { jni!(self, CallStaticObjectMethodA, class, method, arguments.as_ptr()) };
        self.check()?;
        self.forget(class);
        Ok(found)
    }

    /// A new array of objects of that class.
    pub fn object_array(&self, class: &str, length: usize) -> Result<jobject> {
        let class = self.class(class)?;
        let array = self.array_of(class, length);
        self.forget(class);
        array
    }

    /// The same of a class that was looked up.
    pub fn array_of(&self, class: jclass, length: usize) -> Result<jobject> {
        // SAFETY: a class; the elements are null.
        self.not_null(unsafe { jni!(self, NewObjectArray, length as jsize, class, std::ptr::null_mut()) })
    }

    /// A new `String[]`.
    pub fn string_array<T: AsRef<str>>(&self, list: impl IntoIterator<Item = T>) -> Result<JStrings> {
        let list: Vec<T> = list.into_iter().collect();
        let array = self.object_array("java/lang/String", list.len())?;
        for (at, text) in list.iter().enumerate() {
            let text = self.new_string(text.as_ref())?;
            self.set_element(array, at, text.0)?;
            self.forget(text.0);
        }
        Ok(JStrings(array))
    }

    /// A new `byte[][]`; `None` is null.
    pub fn array_of_arrays<T: Deref<Target = [u8]>>(&self, list: &[Option<T>]) -> Result<JByteArrays> {
        let array = self.object_array("[B", list.len())?;
        for (at, bytes) in list.iter().enumerate() {
            if let Some(bytes) = bytes {
                let bytes = self.byte_array(bytes)?;
                self.set_element(array, at, bytes.0)?;
                self.forget(bytes.0);
            }
        }
        Ok(JByteArrays(array))
    }

    /// A new `HashMap` of texts.
    pub fn string_map<'t>(&self, pairs: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<JObject> {
        let map = self.object("java/util/HashMap", "()V", &[])?;
        for (key, value) in pairs {
            let (key, value) = (self.new_string(key)?, self.new_string(value)?);
            self.map_put(map, key.0, value.0)?;
            self.forget(key.0);
            self.forget(value.0);
        }
        Ok(JObject(map))
    }

    /// Puts an entry into a `java.util.Map`.
    pub fn map_put(&self, map: jobject, key: jobject, value: jobject) -> Result<()> {
        let class = self.class("java/util/Map")?;
        let put = self.method(
            class,
            "put",
            "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        )?;
        let before = self.call_object(map, put, &[jvalue { l: key }, jvalue { l: value }])?;
        self.forget(before);
        self.forget(class);
        Ok(())
    }

    /// Adds to a `java.util.List`.
    pub fn list_add(&self, list: jobject, element: jobject) -> Result<()> {
        let class = self.class("java/util/List")?;
        let add = self.method(class, "add", "(Ljava/lang/Object;)Z")?;
        self.call_bool(list, add, &[jvalue { l: element }])?;
        self.forget(class);
        Ok(())
    }

    /// A reference that outlives the method; given back by [`crate::callback::Global`].
    pub fn global(&self, object: jobject) -> Result<jobject> {
        let object = self.not_null(object)?;
        // SAFETY: it is an object.
        self.not_null(unsafe { jni!(self, NewGlobalRef, object) })
    }

    /// A reference that outlives the method and does not keep the object from being collected.
    pub fn weak(&self, object: jobject) -> Result<jobject> {
        let object = self.not_null(object)?;
        // SAFETY: it is an object.
        self.not_null(unsafe { jni!(self, NewWeakGlobalRef, object) })
    }

    /// A local reference to what another one refers to; null if that is gone.
    pub fn local(&self, object: jobject) -> jobject {
        // SAFETY: a reference that is held.
        unsafe { jni!(self, NewLocalRef, object) }
    }

    /// Gives a reference of [`global`](Env::global) back.
    pub fn forget_global(&self, object: jobject) {
        // SAFETY: whoever calls holds the reference, and lets it go.
        unsafe { jni!(self, DeleteGlobalRef, object) };
    }

    /// Gives a reference of [`weak`](Env::weak) back.
    pub fn forget_weak(&self, object: jobject) {
        // SAFETY: as in `forget_global`.
        unsafe { jni!(self, DeleteWeakGlobalRef, object) };
    }

    /// The virtual machine.
    pub fn vm(&self) -> Result<*mut jni_sys::JavaVM> {
        let mut vm = std::ptr::null_mut();
        // SAFETY: the place may be written.
        let code = unsafe { jni!(self, GetJavaVM, &raw mut vm) };
        match code {
            0 => Ok(vm),
            _ => Err(Fail::state("no virtual machine")),
        }
    }

    /// Throws an object.
    pub fn throw(&self, exception: jobject) {
        // SAFETY: the object is a throwable.
        unsafe { jni!(self, Throw, exception) };
    }

    /// Throws a new exception of that class. Where that fails Java has thrown another one.
    pub fn throw_new(&self, class: &str, message: &str) {
        let thrown = self
            .new_string(message)
            .and_then(|message| self.object(class, "(Ljava/lang/String;)V", &[jvalue { l: message.0 }]));
        if let Ok(exception) = thrown {
            self.throw(exception);
        }
    }
}

fn zero_ended(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// An array longer than Java's arrays can be.
fn too_large() -> Fail {
    Fail::Status(esker::Error::invalid_argument(
        "Requested array size exceeds VM limit",
    ))
}

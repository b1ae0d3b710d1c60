//! The JVM's table of functions with Rust's types: arrays are copied, strings are UTF-8, and a pending
//! exception of Java is an error.

use std::marker::PhantomData;
use std::ops::Deref;

use jni_sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject, jsize, jvalue};

use crate::fail::{Fail, Result};

/// Calls a function of the JNI's function table.
macro_rules! jni {
    ($env:expr, $name:ident $(, $arg:expr)* $(,)?) => {
        ((**$env.raw).v1_6.$name)($env.raw $(, $arg)*)
    };
}

/// A type of a parameter of a native method, with its code in a mangled signature.
pub trait JavaType {
    /// The code of the type in a mangled signature. A code that ends in `*` stands for all classes.
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
    /// True if the reference is Java's null.
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
    /// A Java object.
    JObject => "L*",
);

/// The JVM as the running native method sees it.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    raw: *mut JNIEnv,
    /// The object or the class of the running method.
    pub this: jobject,
    frame: PhantomData<&'a ()>,
}

/// The maximum size of an array that is copied to the stack, in bytes.
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

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<'a> Env<'a> {
    /// Returns the environment of the pointer that the JVM has passed.
    ///
    /// # Safety
    /// The pointer belongs to this thread, and is valid for `'a`.
    pub unsafe fn of(raw: *mut JNIEnv, this: jobject) -> Env<'a> {
        Env {
            raw,
            this,
            frame: PhantomData,
        }
    }

    /// Returns an error if an exception is pending.
    pub fn check(&self) -> Result<()> {
        // SAFETY: the pointer is valid as promised to `of`; the function has no other arguments.
        match unsafe { jni!(self, ExceptionCheck) } {
            true => Err(Fail::Thrown),
            false => Ok(()),
        }
    }

    /// Clears a pending exception. Returns true if there was one.
    pub fn clear(&self) -> bool {
        // SAFETY: the pointer is valid as promised to `of`; the function has no other arguments.
        unsafe {
            let thrown = jni!(self, ExceptionCheck);
            if thrown {
                jni!(self, ExceptionClear);
            }
            thrown
        }
    }

    /// Prints a pending exception and clears it.
    pub fn describe(&self) {
        // SAFETY: the pointer is valid as promised to `of`; the function has no other arguments.
        unsafe {
            if jni!(self, ExceptionCheck) {
                jni!(self, ExceptionDescribe);
                jni!(self, ExceptionClear);
            }
        }
    }

    /// Runs `body`, and releases every local reference that it has created. On threads of the library no
    /// return from a native method releases them.
    pub fn in_frame<R>(&self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        const REFERENCES: jint = 64;
        // SAFETY: the pointer is valid as promised to `of`; the frame is popped below, on this thread.
        if unsafe { jni!(self, PushLocalFrame, REFERENCES) } != 0 {
            return Err(Fail::Thrown);
        }
        let result = body();
        // SAFETY: this function has pushed the frame, and no reference of the frame is kept.
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

    /// Returns the length of an array. `NullPointerException` if the array is null.
    pub fn length(&self, array: jobject) -> Result<usize> {
        let array = self.not_null(array)?;
        // SAFETY: the JVM has passed the object as an array, and it is not null.
        Ok(unsafe { jni!(self, GetArrayLength, array) } as usize)
    }

    /// Returns a copy of `length` bytes of an array from `offset` on. `ArrayIndexOutOfBoundsException` if the
    /// range is not inside the array.
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
            // The check comes before the allocation, because the caller's length may be wrong.
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

    /// Returns a copy of the first `length` bytes of an array.
    #[inline]
    pub fn head(&self, array: JByteArray, length: jint) -> Result<Bytes> {
        self.bytes(array, 0, length)
    }

    /// Returns a copy of a whole array.
    pub fn whole(&self, array: JByteArray) -> Result<Bytes> {
        let length = self.length(array.0)?;
        self.bytes(array, 0, length as jint)
    }

    /// Creates a `byte[]`.
    #[inline]
    pub fn byte_array(&self, bytes: &[u8]) -> Result<JByteArray> {
        let length = jsize::try_from(bytes.len()).map_err(|_| too_large())?;
        // SAFETY: the region is the whole of the new array, which has the length of `bytes`.
        unsafe {
            let array = jni!(self, NewByteArray, length);
            if array.is_null() {
                return Err(Fail::Thrown);
            }
            jni!(self, SetByteArrayRegion, array, 0, length, bytes.as_ptr().cast());
            Ok(JByteArray(array))
        }
    }

    /// Copies `bytes` to an array from `offset` on, at most `length` bytes.
    pub fn fill(&self, array: JByteArray, offset: jint, length: jint, bytes: &[u8]) -> Result<()> {
        let array = self.not_null(array.0)?;
        let count = bytes
            .len()
            .min(usize::try_from(length).map_err(|_| Fail::bounds(length))?);
        // SAFETY: `bytes` has at least `count` bytes; the JVM checks the region.
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

    /// Returns the memory of `length` bytes of a direct buffer from `offset` on. `IllegalArgumentException`
    /// if the buffer is not direct or the range is not inside it.
    pub fn direct(&self, buffer: JBuffer, offset: jint, length: jint) -> Result<&'a mut [u8]> {
        let buffer = self.not_null(buffer.0)?;
        // SAFETY: the object is a buffer. The caller holds the buffer, and so its memory, while the method
        // runs; the region is inside it. As in C++, concurrent writers are excluded only by the caller.
        unsafe {
            let address: *mut u8 = jni!(self, GetDirectBufferAddress, buffer).cast();
            let capacity = jni!(self, GetDirectBufferCapacity, buffer);
            if address.is_null() || capacity < 0 {
                return Err(Fail::argument("the buffer is not direct"));
            }
            let (from, count) = (i64::from(offset), i64::from(length));
            if from < 0 || count < 0 || from + count > capacity {
                return Err(Fail::argument("the range exceeds the buffer"));
            }
            Ok(std::slice::from_raw_parts_mut(
                address.add(from as usize),
                count as usize,
            ))
        }
    }

    /// Creates a direct buffer over memory that outlives Java's use of it.
    ///
    /// # Safety
    /// The memory does not move while Java may read it.
    pub unsafe fn new_direct(&self, bytes: *mut u8, length: usize) -> Result<jobject> {
        // SAFETY: the caller promises that the memory stays in place while Java may read it.
        let buffer = unsafe { jni!(self, NewDirectByteBuffer, bytes.cast(), length as jlong) };
        self.not_null(buffer)
    }

    /// Returns the text of a `String`.
    pub fn string(&self, text: JString) -> Result<String> {
        let text = self.not_null(text.0)?;
        // SAFETY: the object is a string; the buffer has the length of the string.
        unsafe {
            let length = jni!(self, GetStringLength, text);
            let mut units = vec![0_u16; length.max(0) as usize];
            jni!(self, GetStringRegion, text, 0, length, units.as_mut_ptr());
            self.check()?;
            Ok(String::from_utf16_lossy(&units))
        }
    }

    /// Creates a `String`.
    pub fn new_string(&self, text: &str) -> Result<JString> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = jsize::try_from(units.len()).map_err(|_| too_large())?;
        // SAFETY: the vector has `length` units.
        let made = unsafe { jni!(self, NewString, units.as_ptr(), length) };
        self.not_null(made).map(JString)
    }

    /// Returns the numbers of a `long[]`.
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

    /// Returns the numbers of an `int[]`.
    pub fn ints(&self, array: JIntArray) -> Result<Vec<jint>> {
        let length = self.length(array.0)?;
        let mut list = vec![0; length];
        // SAFETY: the vector has room for the whole array.
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

    /// Creates a `long[]`.
    pub fn long_array(&self, list: &[jlong]) -> Result<JLongArray> {
        let length = jsize::try_from(list.len()).map_err(|_| too_large())?;
        // SAFETY: the region is the whole of the new array.
        unsafe {
            let array = self.not_null(jni!(self, NewLongArray, length))?;
            jni!(self, SetLongArrayRegion, array, 0, length, list.as_ptr());
            Ok(JLongArray(array))
        }
    }

    /// Creates an `int[]`.
    pub fn int_array(&self, list: &[jint]) -> Result<JIntArray> {
        let length = jsize::try_from(list.len()).map_err(|_| too_large())?;
        // SAFETY: the region is the whole of the new array.
        unsafe {
            let array = self.not_null(jni!(self, NewIntArray, length))?;
            jni!(self, SetIntArrayRegion, array, 0, length, list.as_ptr());
            Ok(JIntArray(array))
        }
    }

    /// Writes numbers to the beginning of an `int[]`.
    pub fn set_ints(&self, array: JIntArray, list: &[jint]) -> Result<()> {
        let array = self.not_null(array.0)?;
        // SAFETY: the vector has the length of the region; the JVM checks the region.
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

    /// Writes numbers to the beginning of a `long[]`.
    pub fn set_longs(&self, array: JLongArray, list: &[jlong]) -> Result<()> {
        let array = self.not_null(array.0)?;
        // SAFETY: the list has the length of the region; the JVM checks the region.
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

    /// Returns an element of an array of objects, which may be null.
    pub fn element(&self, array: jobject, at: usize) -> Result<jobject> {
        let array = self.not_null(array)?;
        // SAFETY: the object is an array of objects; the JVM checks the index.
        let element = unsafe { jni!(self, GetObjectArrayElement, array, at as jsize) };
        self.check()?;
        Ok(element)
    }

    /// Sets an element of an array of objects.
    pub fn set_element(&self, array: jobject, at: usize, element: jobject) -> Result<()> {
        // SAFETY: the object is an array of objects; the JVM checks the index and the class.
        unsafe { jni!(self, SetObjectArrayElement, array, at as jsize, element) };
        self.check()
    }

    /// Returns the arrays of a `byte[][]`.
    pub fn byte_arrays(&self, arrays: JByteArrays) -> Result<Vec<Vec<u8>>> {
        let mut list = Vec::new();
        for at in 0..self.length(arrays.0)? {
            let array = self.element(arrays.0, at)?;
            list.push(self.whole(JByteArray(array))?.to_vec());
            self.forget(array);
        }
        Ok(list)
    }

    /// Returns the strings of a `String[]`.
    pub fn strings(&self, strings: JStrings) -> Result<Vec<String>> {
        let mut list = Vec::new();
        for at in 0..self.length(strings.0)? {
            let text = self.element(strings.0, at)?;
            list.push(self.string(JString(text))?);
            self.forget(text);
        }
        Ok(list)
    }

    /// Releases a local reference before the method ends.
    pub fn forget(&self, object: jobject) {
        // SAFETY: the argument is a local reference of this frame that is not used again; null is allowed.
        unsafe { jni!(self, DeleteLocalRef, object) };
    }

    /// Returns the class with the given name, with slashes, as the class of the running method sees it.
    pub fn class(&self, name: &str) -> Result<jclass> {
        let text = zero_ended(name);
        // SAFETY: the text ends with NUL.
        let class = unsafe { jni!(self, FindClass, text.as_ptr().cast()) };
        self.not_null(class)
    }

    /// Returns a method of a class.
    pub fn method(&self, class: jclass, name: &str, signature: &str) -> Result<jmethodID> {
        let (name, signature) = (zero_ended(name), zero_ended(signature));
        // SAFETY: the arguments are a class, and texts that end with NUL.
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

    /// True if the class has a static method with the given name and signature.
    pub fn has_static(&self, class: jclass, name: &str, signature: &str) -> bool {
        let found = self.static_method(class, name, signature).is_ok();
        // The JVM throws if the method does not exist.
        !self.clear() && found
    }

    /// Creates an object of the class with the given name.
    pub fn object(&self, class: &str, signature: &str, arguments: &[jvalue]) -> Result<jobject> {
        let class = self.class(class)?;
        let constructor = self.method(class, "<init>", signature)?;
        let object = self.construct(class, constructor, arguments);
        self.forget(class);
        object
    }

    /// Creates an object.
    pub fn construct(&self, class: jclass, constructor: jmethodID, arguments: &[jvalue]) -> Result<jobject> {
        // SAFETY: the constructor belongs to the class, and `arguments` have the types of its signature.
        let object = unsafe { jni!(self, NewObjectA, class, constructor, arguments.as_ptr()) };
        self.not_null(object)
    }

    /// Returns the class of an object.
    pub fn class_of(&self, object: jobject) -> Result<jclass> {
        let object = self.not_null(object)?;
        // SAFETY: the reference is an object.
        self.not_null(unsafe { jni!(self, GetObjectClass, object) })
    }

    /// Calls a method that returns an object, or null.
    pub fn call_object(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jobject> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallObjectMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method without a result.
    pub fn call_void(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<()> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        unsafe { jni!(self, CallVoidMethodA, object, method, arguments.as_ptr()) };
        self.check()
    }

    /// Calls a method that returns an `int`.
    pub fn call_int(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jint> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallIntMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `long`.
    pub fn call_long(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<jlong> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallLongMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `byte`.
    pub fn call_byte(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<i8> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallByteMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `short`.
    pub fn call_short(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<i16> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallShortMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Calls a method that returns a `boolean`.
    pub fn call_bool(&self, object: jobject, method: jmethodID, arguments: &[jvalue]) -> Result<bool> {
        // SAFETY: the method belongs to the object's class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallBooleanMethodA, object, method, arguments.as_ptr()) };
        self.check()?;
        Ok(found)
    }

    /// Returns a constant of an enum.
    pub fn enum_constant(&self, class: &str, name: &str) -> Result<jobject> {
        let signature = zero_ended(&format!("L{class};"));
        let class = self.class(class)?;
        let name = zero_ended(name);
        // SAFETY: the arguments are a class, and texts that end with NUL.
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
        // SAFETY: the field belongs to the class, and its type is an object.
        let constant = unsafe { jni!(self, GetStaticObjectField, class, field) };
        self.forget(class);
        self.not_null(constant)
    }

    /// Returns a static method of a class.
    pub fn static_method(&self, class: jclass, name: &str, signature: &str) -> Result<jmethodID> {
        let (name, signature) = (zero_ended(name), zero_ended(signature));
        // SAFETY: the arguments are a class, and texts that end with NUL.
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
        // SAFETY: the method belongs to the class, and `arguments` have the types of its signature.
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
        // SAFETY: the method belongs to the class, and `arguments` have the types of its signature.
        let found = unsafe { jni!(self, CallStaticObjectMethodA, class, method, arguments.as_ptr()) };
        self.check()?;
        self.forget(class);
        Ok(found)
    }

    /// Creates an array of objects of the class with the given name.
    pub fn object_array(&self, class: &str, length: usize) -> Result<jobject> {
        let class = self.class(class)?;
        let array = self.array_of(class, length);
        self.forget(class);
        array
    }

    /// Creates an array of objects of a class.
    pub fn array_of(&self, class: jclass, length: usize) -> Result<jobject> {
        // SAFETY: a class; the elements are null.
        self.not_null(unsafe { jni!(self, NewObjectArray, length as jsize, class, std::ptr::null_mut()) })
    }

    /// Creates a `String[]`.
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

    /// Creates a `byte[][]`; `None` becomes null.
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

    /// Creates a `HashMap` of texts.
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

    /// Adds an element to a `java.util.List`.
    pub fn list_add(&self, list: jobject, element: jobject) -> Result<()> {
        let class = self.class("java/util/List")?;
        let add = self.method(class, "add", "(Ljava/lang/Object;)Z")?;
        self.call_bool(list, add, &[jvalue { l: element }])?;
        self.forget(class);
        Ok(())
    }

    /// Creates a global reference, which outlives the method. [`crate::callback::Global`] releases it.
    pub fn global(&self, object: jobject) -> Result<jobject> {
        let object = self.not_null(object)?;
        // SAFETY: the reference is an object.
        self.not_null(unsafe { jni!(self, NewGlobalRef, object) })
    }

    /// Creates a weak global reference, which outlives the method and does not keep the object alive.
    pub fn weak(&self, object: jobject) -> Result<jobject> {
        let object = self.not_null(object)?;
        // SAFETY: the reference is an object.
        self.not_null(unsafe { jni!(self, NewWeakGlobalRef, object) })
    }

    /// Returns a local reference to the object of another reference; null if the object is collected.
    pub fn local(&self, object: jobject) -> jobject {
        // SAFETY: the caller holds the reference.
        unsafe { jni!(self, NewLocalRef, object) }
    }

    /// Releases a reference of [`global`](Env::global).
    pub fn forget_global(&self, object: jobject) {
        // SAFETY: the caller holds the reference, and does not use it again.
        unsafe { jni!(self, DeleteGlobalRef, object) };
    }

    /// Releases a reference of [`weak`](Env::weak).
    pub fn forget_weak(&self, object: jobject) {
        // SAFETY: the caller holds the reference, and does not use it again.
        unsafe { jni!(self, DeleteWeakGlobalRef, object) };
    }

    /// Returns the virtual machine.
    pub fn vm(&self) -> Result<*mut jni_sys::JavaVM> {
        let mut vm = std::ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        let code = unsafe { jni!(self, GetJavaVM, &raw mut vm) };
        match code {
            0 => Ok(vm),
            _ => Err(Fail::state("no JVM is known")),
        }
    }

    /// Throws an object.
    pub fn throw(&self, exception: jobject) {
        // SAFETY: the object is a throwable.
        unsafe { jni!(self, Throw, exception) };
    }

    /// Throws a new exception of the given class. If its creation fails, Java has thrown another exception.
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

/// An error for an array beyond the maximum length of Java's arrays.
fn too_large() -> Fail {
    Fail::Status(esker::Error::invalid_argument(
        "Requested array size exceeds VM limit",
    ))
}

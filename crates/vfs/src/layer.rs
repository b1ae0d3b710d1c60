//! File systems that wrap another one and act around its operations.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

use crate::{
    Ahead, CreateOptions, FileLock, FileSync, FileSystem, Op, OpenOptions, PendingRead, RandomAccessFile,
    ReadBuffer, WritableFile,
};

/// A requested operation.
///
/// See the example of [`Layer`].
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The operation.
    pub op: Op,
    /// The path; if there are two, the new one.
    pub path: &'a Path,
    /// The old path, of renames, links and reused files.
    pub from: Option<&'a Path>,
    /// Further arguments.
    pub details: Details<'a>,
}

/// The arguments of a [`Call`] besides its paths.
///
/// See the example of [`Layer`].
#[derive(Clone, Copy, Debug)]
pub enum Details<'a> {
    /// The operation has no further arguments.
    None,
    /// The options of opening a file.
    Open(&'a OpenOptions),
    /// The options of creating a file.
    Create(&'a CreateOptions),
    /// The new length of a truncation, or the number of bytes appended.
    Length(u64),
    /// The offset and the length of a read.
    Range(u64, usize),
}

impl<'a> Call<'a> {
    fn new(op: Op, path: &'a Path) -> Call<'a> {
        Call {
            op,
            path,
            from: None,
            details: Details::None,
        }
    }

    fn from(self, from: &'a Path) -> Call<'a> {
        Call {
            from: Some(from),
            ..self
        }
    }

    fn with(self, details: Details<'a>) -> Call<'a> {
        Call { details, ..self }
    }
}

/// A file system that wraps another one and [acts around](Layer::around) each of its operations. Clones are
/// handles to the same one: every open file holds one.
///
/// ```
/// # mod esker {
/// #     pub use esker_vfs as file_system;
/// # }
///
/// use base::Result;
/// use esker::file_system::{Call, FileSystem, Layer, MemFs, Op};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// /// Counts the files that are created.
/// #[derive(Clone, Debug, Default)]
/// struct CountsCreations {
///     below: MemFs,
///     created: Arc<AtomicU64>,
/// }
///
/// impl Layer for CountsCreations {
///     fn below(&self) -> &dyn FileSystem {
///         &self.below
///     }
///
///     fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T> {
///         if call.op == Op::Create {
///             self.created.fetch_add(1, Ordering::Relaxed);
///         }
///         perform()
///     }
/// }
///
/// let fs = CountsCreations::default();
/// fs.write_file("/a".as_ref(), b"1")?;
/// assert_eq!(fs.created.load(Ordering::Relaxed), 1);
/// # Ok::<(), base::Error>(())
/// ```
pub trait Layer: Clone + Debug + Send + Sync + 'static {
    /// The wrapped file system.
    fn below(&self) -> &dyn FileSystem;

    /// Acts before, after, or in place of an operation, which `perform` performs.
    fn around<T>(&self, call: &Call<'_>, perform: impl FnOnce() -> Result<T>) -> Result<T>;

    /// Acts around a read.
    fn read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        self.around(call, || file.read_at(offset, buf))
    }

    /// Acts around a started read. By default the layer acts around its start, which suits layers that do not
    /// examine the bytes read.
    fn start_read(
        &self,
        call: &Call<'_>,
        file: &dyn RandomAccessFile,
        offset: u64,
        len: usize,
        memory: ReadBuffer,
    ) -> PendingRead {
        self.around(call, || Ok(file.start_read(offset, len, memory)))
            .unwrap_or_else(PendingRead::failed)
    }

    /// Acts around a hint, which is passed on by default.
    fn prefetch(&self, _call: &Call<'_>, file: &dyn RandomAccessFile, offset: u64, len: u64) {
        file.prefetch(offset, len);
    }

    /// Acts around an append.
    fn append(&self, call: &Call<'_>, file: &mut dyn WritableFile, data: &[u8]) -> Result<()> {
        self.around(call, || file.append(data))
    }

    /// Acts around the length of a file.
    fn size(&self, call: &Call<'_>) -> Result<u64> {
        self.around(call, || self.below().size(call.path))
    }

    /// See [`FileSystem::unwatched`]. Default: none.
    fn unwatched(&self) -> Option<Arc<dyn FileSystem>> {
        None
    }

    /// A file opened for reading, whose reads go through [`read`](Layer::read).
    fn reader(&self, file: Arc<dyn RandomAccessFile>) -> Arc<dyn RandomAccessFile> {
        Arc::new(Reader {
            file,
            layer: self.clone(),
        })
    }

    /// A created file, whose operations go through [`around`](Layer::around) and [`append`](Layer::append).
    fn writer(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        Box::new(Writer {
            file,
            path: path.to_path_buf(),
            layer: self.clone(),
        })
    }

    /// True if files may be [mapped](RandomAccessFile::mapped): reads of a mapping bypass the layer. Default:
    /// true.
    fn maps(&self) -> bool {
        true
    }
}

impl<L: Layer> FileSystem for L {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let call = Call::new(Op::Open, path).with(Details::Open(options));
        let file = self.around(&call, || self.below().open_random(path, options))?;
        Ok(self.reader(file))
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let call = Call::new(Op::Create, path).with(Details::Create(options));
        let file = self.around(&call, || self.below().create(path, options))?;
        Ok(self.writer(path, file))
    }

    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        let call = Call::new(Op::Reuse, new).from(old).with(Details::Create(options));
        let file = self.around(&call, || self.below().reuse(old, new, options))?;
        Ok(self.writer(new, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let call = Call::new(Op::Rename, to).from(from);
        self.around(&call, || self.below().rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.around(&Call::new(Op::Remove, path), || self.below().remove(path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let call = Call::new(Op::Link, to).from(from);
        self.around(&call, || self.below().link(from, to))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        let call = Call::new(Op::Truncate, path).with(Details::Length(len));
        self.around(&call, || self.below().truncate(path, len))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.around(&Call::new(Op::List, dir), || self.below().list(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.around(&Call::new(Op::CreateDir, dir), || {
            self.below().create_dir_all(dir)
        })
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.around(&Call::new(Op::RemoveDir, dir), || self.below().remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.around(&Call::new(Op::SyncDir, dir), || self.below().sync_dir(dir))
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.around(&Call::new(Op::Sync, path), || self.below().sync_file(path))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.around(&Call::new(Op::Exists, path), || self.below().exists(path))
    }

    fn size(&self, path: &Path) -> Result<u64> {
        Layer::size(self, &Call::new(Op::Size, path))
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.around(&Call::new(Op::Modified, path), || {
            self.below().modified_seconds(path)
        })
    }

    fn links(&self, path: &Path) -> Result<u64> {
        self.below().links(path)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.around(&Call::new(Op::Lock, path), || self.below().lock(path))
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.around(&Call::new(Op::FreeSpace, dir), || self.below().free_space(dir))
    }

    fn unwatched(&self) -> Option<Arc<dyn FileSystem>> {
        Layer::unwatched(self)
    }
}

#[derive(Debug)]
struct Reader<L> {
    file: Arc<dyn RandomAccessFile>,
    layer: L,
}

impl<L: Layer> RandomAccessFile for Reader<L> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let call = Call::new(Op::Read, self.file.path()).with(Details::Range(offset, buf.len()));
        self.layer.read(&call, &*self.file, offset, buf)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn mapped(&self) -> Option<&[u8]> {
        if self.layer.maps() {
            self.file.mapped()
        } else {
            None
        }
    }

    fn prefetch(&self, offset: u64, len: u64) {
        let details = Details::Range(offset, usize::try_from(len).unwrap_or(usize::MAX));
        let call = Call::new(Op::Prefetch, self.file.path()).with(details);
        self.layer.prefetch(&call, &*self.file, offset, len);
    }

    fn start_read(&self, offset: u64, len: usize, memory: ReadBuffer) -> PendingRead {
        let call = Call::new(Op::Read, self.file.path()).with(Details::Range(offset, len));
        self.layer.start_read(&call, &*self.file, offset, len, memory)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[derive(Debug)]
struct Writer<L> {
    file: Box<dyn WritableFile>,
    path: PathBuf,
    layer: L,
}

impl<L: Layer> WritableFile for Writer<L> {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let call = Call::new(Op::Append, &self.path).with(Details::Length(data.len() as u64));
        self.layer.append(&call, &mut *self.file, data)
    }

    fn append_partly(&mut self, data: &[u8], part: usize, error: Error) -> Error {
        self.file.append_partly(data, part, error)
    }

    fn flush(&mut self) -> Result<()> {
        self.layer
            .around(&Call::new(Op::Flush, &self.path), || self.file.flush())
    }

    fn sync(&mut self) -> Result<()> {
        self.layer
            .around(&Call::new(Op::Sync, &self.path), || self.file.sync())
    }

    fn sync_all(&mut self) -> Result<()> {
        self.layer
            .around(&Call::new(Op::SyncAll, &self.path), || self.file.sync_all())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn close(&mut self) -> Result<()> {
        self.layer
            .around(&Call::new(Op::Close, &self.path), || self.file.close())
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn mapped_bytes(&self) -> u64 {
        self.file.mapped_bytes()
    }

    fn syncer(&self) -> Option<Arc<dyn FileSync>> {
        Some(Arc::new(Syncer {
            file: self.file.syncer()?,
            path: self.path.clone(),
            layer: self.layer.clone(),
        }))
    }
}

#[derive(Debug)]
struct Syncer<L> {
    file: Arc<dyn FileSync>,
    path: PathBuf,
    layer: L,
}

impl<L: Layer> FileSync for Syncer<L> {
    fn sync(&self) -> Result<()> {
        self.layer
            .around(&Call::new(Op::Sync, &self.path), || self.file.sync())
    }

    fn ahead(self: Arc<Self>) -> Option<Ahead> {
        self.file.clone().ahead()
    }
}

//! The file system that encrypts.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use base::{Error, Result};
use vfs::{CreateOptions, FileLock, FileSystem, OpenOptions, RandomAccessFile, WritableFile};

use crate::cipher::Cipher;
use crate::header::{HEADER_LEN, Header, Layout};
use crate::log::LogReader;
use crate::master_keys::{FileKey, MasterKeys};
use crate::plain::{PlainReader, Writer};

/// A file system that encrypts the contents of every file, over another one.
///
/// A file gets a random key when it is created, and no key is used for two files: a recycled WAL is a new file
/// in place of the old one. Nothing is mapped, neither tables nor logs that are read. A log is synced once more,
/// when it is created, so that its header is durable before its first record.
///
/// RocksDB cannot read the files: [`decrypt_directory`](crate::decrypt_directory) writes a plain copy.
#[derive(Clone, Debug)]
pub struct EncryptedFs {
    below: Arc<dyn FileSystem>,
    keys: Arc<dyn MasterKeys>,
    reads_plain_files: bool,
}

/// The contents of a file's first page.
enum Found {
    Header(Header),
    /// The first page of the file has no header yet, and the file has no bytes after that page.
    Nothing,
    /// The file is not encrypted, and may be read so.
    PlainFile,
}

impl EncryptedFs {
    /// Encrypts all files of `below`.
    pub fn new(below: Arc<dyn FileSystem>, keys: Arc<dyn MasterKeys>) -> EncryptedFs {
        EncryptedFs {
            below,
            keys,
            reads_plain_files: false,
        }
    }

    /// The same file system, which also reads files that are not encrypted. An existing database can be
    /// encrypted in this way: each file that is written from then on is, and a compaction of everything
    /// rewrites the tables. By default an unencrypted file is an error.
    pub fn reading_plain_files(mut self) -> EncryptedFs {
        self.reads_plain_files = true;
        self
    }

    /// The name of the master key that a file's key is wrapped with; `None` for a file that is not encrypted.
    /// Once no file needs a master key any more, it can be destroyed.
    ///
    /// # Errors
    /// Those of reading the file; `Corruption` if its header is damaged.
    pub fn master_key_of(&self, path: &Path) -> Result<Option<String>> {
        let file = self.below.open_random(path, &OpenOptions::default())?;
        match self.find_header(&*file) {
            Ok(Found::Header(header)) => Ok(Some(header.key.master_key)),
            Ok(Found::Nothing | Found::PlainFile) => Ok(None),
            Err(_) if !has_magic(&*file)? => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn find_header(&self, file: &dyn RandomAccessFile) -> Result<Found> {
        let mut page = vec![0; HEADER_LEN];
        let read = file.read_at(0, &mut page)?;
        page.truncate(read);
        match Header::decode(&page) {
            Ok(header) if read == HEADER_LEN => Ok(Found::Header(header)),
            decoded => {
                if is_unwritten(file, &page)? {
                    return Ok(Found::Nothing);
                }
                match decoded {
                    Err(_) if self.reads_plain_files && !has_magic(file)? => Ok(Found::PlainFile),
                    Err(error) => Err(error.in_file(file.path())),
                    Ok(_) => Err(Error::corruption("the file ends in its header").in_file(file.path())),
                }
            }
        }
    }

    /// Opens a file by its header; `None` as long as it has none.
    fn open_by_header(&self, file: &Arc<dyn RandomAccessFile>) -> Result<Option<Arc<dyn RandomAccessFile>>> {
        Ok(match self.find_header(&**file)? {
            Found::Nothing => None,
            Found::PlainFile => Some(file.clone()),
            Found::Header(header) => {
                let cipher = self.cipher_of(&header, file.path())?;
                let file = file.clone();
                Some(match header.layout {
                    Layout::Plain => Arc::new(PlainReader { file, cipher }),
                    Layout::Log => Arc::new(LogReader::open(file, cipher)?),
                })
            }
        })
    }

    fn cipher_of(&self, header: &Header, path: &Path) -> Result<Cipher> {
        let key = self
            .keys
            .unwrap(&header.key)
            .map_err(|error| error.in_file(path))?;
        Cipher::new(&key)
    }

    /// A file of the layout that `options` ask for, with its header.
    fn begin(
        &self,
        mut file: Box<dyn WritableFile>,
        options: &CreateOptions,
    ) -> Result<Box<dyn WritableFile>> {
        let key = FileKey::random()?;
        let header = Header {
            layout: match options.log {
                true => Layout::Log,
                false => Layout::Plain,
            },
            key: self.keys.wrap(&key).map_err(|error| error.in_file(file.path()))?,
        };
        file.append(&header.encode()?)?;
        if options.log {
            file.sync()?;
        }
        Ok(Box::new(Writer::new(file, Cipher::new(&key)?, options.log)))
    }
}

fn has_magic(file: &dyn RandomAccessFile) -> Result<bool> {
    let mut magic = [0; 8];
    Ok(file.read_at(0, &mut magic)? == magic.len() && Header::is_magic(&magic))
}

/// True if a crash has left the file before its header was durable, and so before anything else was: after the
/// page of the header, of which any part may be there, the file has nothing or zeros.
fn is_unwritten(file: &dyn RandomAccessFile, page: &[u8]) -> Result<bool> {
    let is_header = page.len() < 8 || page.iter().all(|&byte| byte == 0) || Header::is_magic(&page[..8]);
    let mut next = [0; 16];
    let read = file.read_at(HEADER_LEN as u64, &mut next)?;
    Ok(is_header && next[..read].iter().all(|&byte| byte == 0))
}

/// A file without a header: a crash has left it before its first bytes were durable, or its writer has not
/// passed them to the kernel yet. It is empty until it has a header.
#[derive(Debug)]
struct Headless {
    file: Arc<dyn RandomAccessFile>,
    fs: EncryptedFs,
    opened: OnceLock<Arc<dyn RandomAccessFile>>,
}

impl RandomAccessFile for Headless {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if self.opened.get().is_none()
            && let Some(opened) = self.fs.open_by_header(&self.file)?
        {
            // Another thread may have opened the file meanwhile.
            let _ = self.opened.set(opened);
        }
        match self.opened.get() {
            Some(opened) => opened.read_at(offset, buf),
            None => Ok(0),
        }
    }

    fn len(&self) -> u64 {
        0
    }

    fn mapped(&self) -> Option<&[u8]> {
        None
    }

    fn prefetch(&self, _offset: u64, _len: u64) {}

    fn path(&self) -> &Path {
        self.file.path()
    }
}

impl FileSystem for EncryptedFs {
    fn open_random(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn RandomAccessFile>> {
        let options = OpenOptions {
            mmap: false,
            ..*options
        };
        let file = self.below.open_random(path, &options)?;
        Ok(match self.open_by_header(&file)? {
            Some(opened) => opened,
            None => Arc::new(Headless {
                file,
                fs: self.clone(),
                opened: OnceLock::new(),
            }),
        })
    }

    fn create(&self, path: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.begin(self.below.create(path, options)?, options)
    }

    /// Removes the recycled file `old` and creates `new`: overwriting the old file would encrypt with its key
    /// twice.
    fn reuse(&self, old: &Path, new: &Path, options: &CreateOptions) -> Result<Box<dyn WritableFile>> {
        self.below.remove(old)?;
        self.create(new, options)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.below.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.below.remove(path)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.below.link(from, to)
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        let file = self.below.open_random(path, &OpenOptions::default())?;
        let place = match self.find_header(&*file)? {
            Found::PlainFile => Some(len),
            Found::Nothing => (len == 0).then_some(0),
            Found::Header(header) => match header.layout {
                Layout::Plain => {
                    let place = len.saturating_add(HEADER_LEN as u64);
                    (place <= file.len()).then_some(place)
                }
                Layout::Log => {
                    let cipher = self.cipher_of(&header, path)?;
                    LogReader::open(file.clone(), cipher)?.cut(len)?
                }
            },
        };
        match place {
            Some(place) => self.below.truncate(path, place),
            None => Err(
                Error::not_supported(format!("an encrypted file cannot be extended to {len} bytes"))
                    .in_file(path),
            ),
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.below.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.below.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.below.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.below.sync_dir(dir)
    }

    fn sync_file(&self, path: &Path) -> Result<()> {
        self.below.sync_file(path)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.below.exists(path)
    }

    /// The length of the contents. That of a log is found by reading the lengths of its frames.
    fn size(&self, path: &Path) -> Result<u64> {
        let size = self.below.size(path)?;
        // The path may be that of a directory, which has a size but cannot be opened as a file.
        let Ok(file) = self.below.open_random(path, &OpenOptions::default()) else {
            return Ok(size);
        };
        match self.find_header(&*file)? {
            Found::PlainFile => Ok(size),
            Found::Nothing => Ok(0),
            Found::Header(header) => match header.layout {
                Layout::Plain => Ok(size.saturating_sub(HEADER_LEN as u64)),
                Layout::Log => LogReader::open(file, self.cipher_of(&header, path)?)?.end(),
            },
        }
    }

    fn modified_seconds(&self, path: &Path) -> Result<u64> {
        self.below.modified_seconds(path)
    }

    fn links(&self, path: &Path) -> Result<u64> {
        self.below.links(path)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.below.lock(path)
    }

    fn free_space(&self, dir: &Path) -> Result<u64> {
        self.below.free_space(dir)
    }
}

//! Files of a trace, plain or compressed with xz.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use xz4rust::{XzDecoder, XzNextBlockResult};

use crate::error::TraceError;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 1 << 18;

/// The dictionary that a decoder begins with, and the largest one that a file may ask for. `xz -9` has 64 MiB.
const DICTIONARY_BYTES: usize = 8 << 20;
const DICTIONARY_BYTES_MAX: usize = 256 << 20;

/// Whether a file is compressed, by its name.
pub(crate) fn is_xz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xz")
}

/// Opens a regular file. Others are refused, because a device or pipe may never end.
fn open_plain(path: &Path) -> Result<File, TraceError> {
    let refuse =
        |error: &dyn std::fmt::Display| TraceError::of_file(path.display(), format!("cannot be read: {error}"));
    let metadata = std::fs::metadata(path).map_err(|error| refuse(&error))?;
    if !metadata.is_file() {
        return Err(refuse(&"it is no plain file"));
    }
    File::open(path).map_err(|error| refuse(&error))
}

/// Opens a file to be read once, from its beginning on.
pub(crate) fn open_stream(path: &Path) -> Result<Box<dyn BufRead>, TraceError> {
    let file = BufReader::with_capacity(CHUNK_BYTES, open_plain(path)?);
    if is_xz(path) {
        return Ok(Box::new(BufReader::with_capacity(CHUNK_BYTES, XzStream::new(file))));
    }
    Ok(Box::new(file))
}

/// Opens a file to be read anywhere. A compressed one is unpacked into a temporary file, which has no name and so
/// disappears with the last use of it.
pub(crate) fn open_anywhere(path: &Path) -> Result<File, TraceError> {
    if !is_xz(path) {
        return open_plain(path);
    }
    let unpack = || -> io::Result<File> {
        let mut unpacked = nameless()?;
        let mut packed = XzStream::new(BufReader::with_capacity(CHUNK_BYTES, File::open(path)?));
        io::copy(&mut packed, &mut unpacked)?;
        unpacked.flush()?;
        unpacked.rewind()?;
        Ok(unpacked)
    };
    unpack().map_err(|error| TraceError::of_file(path.display(), format!("cannot be unpacked: {error}")))
}

/// A temporary file without a name.
pub(crate) fn nameless() -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("chorus-trace-{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The contents of a file that is compressed with xz: one stream, or several one after the other.
struct XzStream<R> {
    packed: R,
    decoder: Box<XzDecoder<'static>>,
    /// Whether a stream has begun and not ended.
    within: bool,
    /// Streams that have ended.
    streams: u64,
}

impl<R: BufRead> XzStream<R> {
    fn new(packed: R) -> XzStream<R> {
        let decoder = XzDecoder::in_heap_with_alloc_dict_size(DICTIONARY_BYTES, DICTIONARY_BYTES_MAX);
        XzStream { packed, decoder, within: false, streams: 0 }
    }

    /// Begins the next stream. Returns whether there is one. Zeros may stand between streams.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let packed = self.packed.fill_buf()?;
            let Some(&first) = packed.first() else {
                return if self.streams > 0 { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            };
            if first != 0 || self.streams == 0 {
                return Ok(true);
            }
            let zeros = packed.iter().take_while(|&&byte| byte == 0).count();
            self.packed.consume(zeros);
        }
    }
}

impl<R: BufRead> Read for XzStream<R> {
    fn read(&mut self, unpacked: &mut [u8]) -> io::Result<usize> {
        if unpacked.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within && !self.begin()? {
                return Ok(0);
            }
            self.within = true;
            let packed = self.packed.fill_buf()?;
            if packed.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the compressed file ends too early"));
            }
            let (taken, made) = match self.decoder.decode(packed, unpacked) {
                Ok(XzNextBlockResult::NeedMoreData(0, 0)) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the compressed file makes no sense"));
                }
                Ok(XzNextBlockResult::NeedMoreData(taken, made)) => (taken, made),
                Ok(XzNextBlockResult::EndOfStream(taken, made)) => {
                    self.decoder.reset();
                    self.within = false;
                    self.streams += 1;
                    (taken, made)
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            };
            self.packed.consume(taken);
            if made > 0 {
                return Ok(made);
            }
        }
    }
}

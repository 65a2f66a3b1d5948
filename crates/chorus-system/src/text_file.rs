//! Files that people write: UTF-8 text of a reasonable size.

use std::fs::File;
use std::io::Read;

/// The largest file that is read. It is far above any real file, and bounds the read where a device is named by
/// mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The text of the file at `path`, or why there is none.
pub fn read_text(path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string().to_lowercase())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8 text (first bad byte at offset {})", error.utf8_error().valid_up_to())
    })
}

//! The files that a program is made of: read once, and identified by their contents.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::document::Node;
use crate::element::Element;
use crate::error::Result;
use crate::npy;

/// The largest file that is read: as large as all buffers may be.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// Reads the files that a program names, relative to it.
pub(crate) struct Files {
    folder: PathBuf,
    digest: Sha256,
}

impl Files {
    /// The files beside a program file with this text.
    pub(crate) fn beside(path: &Path, text: &str) -> Files {
        let mut digest = Sha256::new();
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
        Files { folder: path.parent().unwrap_or(Path::new("")).to_owned(), digest }
    }

    /// The contents of the file that `node` names.
    pub(crate) fn read(&mut self, node: &Node<'_>) -> Result<(PathBuf, Vec<u8>)> {
        let path = self.folder.join(node.name("the path of a file, from where the program file lies")?);
        let bytes =
            read(&path).map_err(|reason| node.mistake(format!("{} cannot be read: {reason}", path.display())))?;
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(&bytes);
        Ok((path, bytes))
    }

    /// The elements in the file that `node` names: a `.npy` file, or bytes as they are.
    pub(crate) fn elements(&mut self, node: &Node<'_>, element: Element) -> Result<Vec<u8>> {
        let (path, bytes) = self.read(node)?;
        let elements = if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
            npy::elements(&bytes, element)
        } else if (bytes.len() as u64).is_multiple_of(element.bytes()) {
            Ok(bytes)
        } else {
            let size = element.bytes();
            Err(format!("its {} bytes are no multiple of {size}, the bytes of an element", bytes.len()))
        };
        elements.map_err(|reason| node.mistake(format!("{}: {reason}", path.display())))
    }

    /// The SHA-256 of everything that was read, in hexadecimal digits.
    pub(crate) fn sha256(self) -> String {
        self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string().to_lowercase())?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string().to_lowercase())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err("it is larger than 4 GiB".to_owned());
    }
    Ok(bytes)
}

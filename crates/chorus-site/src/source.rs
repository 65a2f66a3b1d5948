//! The pages that the site is made of, as they are written, and the drawings in them: packed when the crate was built.

use std::collections::BTreeMap;

/// The pages and drawings by their paths in the source tree.
const PACK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/book.pack"));

/// The files by their paths from the root of the source tree.
pub(crate) fn files() -> BTreeMap<&'static str, &'static [u8]> {
    unpack(PACK).unwrap_or_else(|| unreachable!("the build script packed the pages"))
}

/// The files of a pack; none where it is no pack.
fn unpack(mut pack: &[u8]) -> Option<BTreeMap<&str, &[u8]>> {
    let mut files = BTreeMap::new();
    while !pack.is_empty() {
        let path = line(&mut pack)?;
        let length: usize = line(&mut pack)?.parse().ok()?;
        let (contents, rest) = pack.split_at_checked(length)?;
        files.insert(path, contents);
        pack = rest;
    }
    Some(files)
}

/// Takes the first line off a text.
fn line<'a>(text: &mut &'a [u8]) -> Option<&'a str> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&text[..end]).ok()?;
    *text = &text[end + 1..];
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_unpacked_and_a_broken_one_is_not() {
        assert_eq!(unpack(b"a.md\n9\none\n".as_slice()), None, "a length that does not fit");
        let files = unpack(b"a.md\n4\none\nb.md\n0\n".as_slice()).unwrap();
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [("a.md", &b"one\n"[..]), ("b.md", &b""[..])]);
    }

    #[test]
    fn the_crate_carries_the_contents_and_the_map() {
        let files = files();
        for path in ["docs/README.md", "README.md", "ARCHITECTURE.md", "docs/images/report.png"] {
            assert!(files.get(path).is_some_and(|contents| contents.len() > 1000), "{path}");
        }
    }
}

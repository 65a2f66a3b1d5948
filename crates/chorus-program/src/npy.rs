//! Arrays of NumPy: `.npy` files of versions 1 to 3 with elements of a buffer's type, the least significant byte first,
//! rows behind each other.

use crate::document::excerpt;
use crate::element::Element;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The bytes of the elements, or why the file does not fit.
pub(crate) fn elements(bytes: &[u8], element: Element) -> Result<Vec<u8>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no `.npy` file: it does not begin with \\x93NUMPY")?;
    let cut = || "it ends within its header".to_owned();
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk::<2>().map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest)),
        2 | 3 => rest.split_first_chunk::<4>().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)),
        other => return Err(format!("its version is {other}; expected 1 to 3")),
    }
    .ok_or_else(cut)?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = String::from_utf8_lossy(header);
    let kind = entry(&header, "descr").map(|kind| kind.trim_matches(['\'', '"']));
    if kind != Some(element.numpy()) {
        let kind = excerpt(kind.unwrap_or("nothing"));
        return Err(format!(
            "its elements are `{kind}`; elements of type {} are `{}`",
            element.name(),
            element.numpy()
        ));
    }
    let shape = shape(&header).ok_or("its header has no `shape`")?;
    let count = shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size)).unwrap_or(u64::MAX);
    if entry(&header, "fortran_order") != Some("False") && shape.len() > 1 {
        return Err("its columns lie behind each other; numpy.ascontiguousarray makes rows of them".to_owned());
    }
    if count.checked_mul(element.bytes()) != Some(data.len() as u64) {
        let expected = count.saturating_mul(element.bytes());
        return Err(format!("it has {} bytes of elements, and its shape makes {expected}", data.len()));
    }
    Ok(data.to_vec())
}

/// The value of a key of the header, which is a dictionary as Python writes it.
fn entry<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let quoted = format!("'{key}':");
    let rest = &header[header.find(&quoted)? + quoted.len()..];
    Some(rest[..rest.find([',', '}'])?].trim())
}

fn shape(header: &str) -> Option<Vec<u64>> {
    let rest = &header[header.find("'shape':")?..];
    let inside = rest.split_once('(')?.1.split_once(')')?.0;
    inside.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn an_array_is_read_if_its_elements_are_those_of_the_buffer() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";
        assert_eq!(elements(&file(header, &[1; 8]), Element::F32), Ok(vec![1; 8]));
        let message = elements(&file(header, &[1; 8]), Element::U32).unwrap_err();
        assert_eq!(message, "its elements are `<f4`; elements of type u32 are `<u4`");
        assert!(elements(&file(header, &[1; 7]), Element::F32).unwrap_err().contains("7 bytes"));
        let columns = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }\n";
        assert!(elements(&file(columns, &[1; 8]), Element::F32).unwrap_err().contains("columns"));
        let whole = file(header, &[1; 8]);
        (0..whole.len()).for_each(|end| assert!(elements(&whole[..end], Element::F32).is_err(), "{end}"));
    }
}

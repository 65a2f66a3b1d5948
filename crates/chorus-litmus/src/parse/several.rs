//! Files that hold several tests, one behind the other.

use super::{Parsed, parse};
use crate::error::{LitmusError, Position};

/// The largest size in bytes of a file with several tests.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Reads every test of a file. Each test begins with its header.
pub fn parse_all(text: &str) -> Result<Vec<Parsed>, LitmusError> {
    if text.len() > MAX_FILE_BYTES {
        let start = Position { line: 1, column: 1 };
        let (found, accepted) = (format!("{} bytes", text.len()), format!("at most {MAX_FILE_BYTES} bytes"));
        return Err(LitmusError::new(start, "the file is too large", found, accepted));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let headers = (1..lines.len()).filter(|&line| lines[line].trim_start().starts_with("PTX "));
    let mut tests = Vec::new();
    let mut first = 0;
    for header in headers.chain([lines.len()]) {
        let part = lines[first..header].concat();
        // Text before the first header belongs to no test. It is read with the first test so that its mistakes are
        // found.
        if header < lines.len() && part.trim().is_empty() {
            continue;
        }
        let shift = |mut error: LitmusError| {
            error.position.line += first;
            error
        };
        tests.push(parse(&part).map_err(shift)?);
        first = header;
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "PTX a\n{ x=0; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1)\n";

    #[test]
    fn tests_stand_one_behind_the_other() {
        let several = format!("\n{TEST}\n{}", TEST.replace("PTX a", "PTX b"));
        let names = parse_all(&several).unwrap().into_iter().map(|parsed| match parsed {
            Parsed::Test(test) => test.name,
            Parsed::Unsupported { name, .. } => name,
        });
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_mistake_is_found_at_its_line_of_the_file() {
        let several = format!("{TEST}\n{}", TEST.replace("st.weak", "st.strong"));
        assert_eq!(parse_all(&several).unwrap_err().position, Position { line: 10, column: 1 });
    }

    #[test]
    fn an_empty_file_is_a_mistake() {
        assert!(parse_all("").is_err() && parse_all("\n\n").is_err());
    }
}

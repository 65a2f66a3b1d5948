//! Times as Slurm writes them: `30` minutes, `30:00`, `2:00:00`, `1-12`, `1-12:00`, `1-12:00:00`.

use chorus_registry::wording::excerpt;

/// The seconds of a time in one of Slurm's forms.
pub fn seconds_of(text: &str) -> Result<u64, String> {
    let wrong = || {
        let given = excerpt(text);
        format!(
            "`{given}` is no time: expected minutes, as in `30`, or `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM` or `D-HH:MM:SS`"
        )
    };
    let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse::<u32>().map(u64::from).map_err(|_| wrong()),
        false => Err(wrong()),
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts = rest.split(':').map(number).collect::<Result<Vec<u64>, String>>()?;
    let seconds = match (days, parts.as_slice()) {
        (None, &[minutes]) => minutes * 60,
        (None, &[minutes, seconds]) => minutes * 60 + seconds,
        (Some(days), &[hours]) => (days * 24 + hours) * 3600,
        (Some(days), &[hours, minutes]) => (days * 24 + hours) * 3600 + minutes * 60,
        (None, &[hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
        (Some(days), &[hours, minutes, seconds]) => (days * 24 + hours) * 3600 + minutes * 60 + seconds,
        (_, _) => return Err(wrong()),
    };
    if seconds == 0 { Err(wrong()) } else { Ok(seconds) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::seconds_of;

    #[test]
    fn every_form_is_read() {
        let forms = ["30", "30:10", "2:00:01", "1-12", "1-12:30", "1-12:30:05"];
        let seconds = forms.map(|form| seconds_of(form).unwrap());
        assert_eq!(seconds, [1800, 1810, 7201, 129_600, 131_400, 131_405]);
    }

    #[test]
    fn everything_else_is_refused_with_what_is_accepted() {
        for text in ["", "0", "1h", "-5", "1:2:3:4", "1-", "1-2-3", "+3", "99999999999999999999", ":", "1-1:1:1:1"] {
            let error = seconds_of(text).unwrap_err();
            assert!(error.contains("expected minutes, as in `30`"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_time_that_is_written_is_read_and_nothing_panics(
            days in 0..400u64, hours in 0..24u64, minutes in 0..60u64, seconds in 1..60u64, noise in "[-0-9:]{0,12}",
        ) {
            let total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
            prop_assert_eq!(seconds_of(&format!("{days}-{hours:02}:{minutes:02}:{seconds:02}")), Ok(total));
            let _ = seconds_of(&noise);
        }
    }
}

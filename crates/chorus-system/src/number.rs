//! Whole numbers as people write them: `65536`, `1_000_000`, `0x8000`, `64KiB`, `1e6`, `2^20`.
//!
//! Numbers are read exactly. `1.5e3` is 1500, and `0.5KiB` is 512. Text whose value is not whole, or does not fit in 64
//! bits, is refused and never rounded.

use crate::place::excerpt;

/// Examples of the accepted forms, for messages that say what a key takes.
pub const WHOLE_EXAMPLES: &str = "65536, 64KiB, 2^16 or 1e6";

/// The binary units with their factors.
const UNITS: [(&str, u128); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// The prefixes of numbers that are not decimal, as in TOML.
const RADIXES: [(&str, u32); 3] = [("0x", 16), ("0o", 8), ("0b", 2)];

/// The reason why a text is not a whole number. The message repeats the text and says what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The text does not have the form of a number.
    #[error("`{given}` is not a whole number; accepted: {WHOLE_EXAMPLES}, with the units KiB, MiB, GiB and TiB")]
    Form {
        /// The text as given.
        given: String,
    },
    /// The text is a number with a fraction.
    #[error("`{given}` is not whole; accepted: a number without a fraction, such as {WHOLE_EXAMPLES}")]
    Fraction {
        /// The text as given.
        given: String,
    },
    /// The number does not fit in 64 bits.
    #[error("`{given}` is too large; accepted: a whole number up to {}, such as {WHOLE_EXAMPLES}", u64::MAX)]
    Range {
        /// The text as given.
        given: String,
    },
}

/// Reasons to refuse a text, without the text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    Form,
    Fraction,
    Range,
}

/// Reads a whole number from 0 to 2^64 - 1.
///
/// The accepted forms are digits (`65536`), digits in groups (`1_000_000`), hexadecimal, octal and binary digits
/// (`0x8000`, `0o17`, `0b101`), decimal fractions and exponents whose value is whole (`1e6`, `1.5e3`), powers (`2^20`),
/// and any decimal number with a unit (`64KiB`, `1.5 MiB`). A fraction may have at most 38 significant digits.
pub fn parse_whole(text: &str) -> Result<u64, NumberError> {
    read(text.trim()).map_err(|refusal| {
        let given = excerpt(text);
        match refusal {
            Refusal::Form => NumberError::Form { given },
            Refusal::Fraction => NumberError::Fraction { given },
            Refusal::Range => NumberError::Range { given },
        }
    })
}

fn read(text: &str) -> Result<u64, Refusal> {
    if let Some((base, exponent)) = text.split_once('^') {
        return read_power(base.trim_end(), exponent.trim_start());
    }
    for (prefix, radix) in RADIXES {
        if let Some(digits) = text.strip_prefix(prefix) {
            return read_digits(digits, radix).and_then(in_range);
        }
    }
    for (unit, factor) in UNITS {
        if let Some(number) = text.strip_suffix(unit) {
            return read_decimal(number.trim_end(), factor);
        }
    }
    read_decimal(text, 1)
}

/// A power of two whole numbers, such as `2^20`.
fn read_power(base: &str, exponent: &str) -> Result<u64, Refusal> {
    let (base, exponent) = (read_digits(base, 10)?, read_digits(exponent, 10)?);
    match base {
        0 | 1 => Ok(u64::from(base == 1 || exponent == 0)),
        _ => {
            let exponent = u32::try_from(exponent).map_err(|_| Refusal::Range)?;
            base.checked_pow(exponent).ok_or(Refusal::Range).and_then(in_range)
        }
    }
}

/// A decimal number with an optional fraction and exponent, times the factor of its unit.
fn read_decimal(text: &str, factor: u128) -> Result<u64, Refusal> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, read_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let (whole, fraction) = (plain_digits(whole, 10)?, plain_digits(fraction, 10)?);
    let exponent = exponent.saturating_sub(fraction.len() as i64);
    let digits = whole + &fraction;

    // Zeros at the end count as part of the exponent, so that `1000e-3` has no fraction to divide out.
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    let exponent = exponent.saturating_add((digits.len() - significant.len()) as i64);
    let too_long = if exponent < 0 { Refusal::Fraction } else { Refusal::Range };
    let mantissa = significant.parse().map_err(|_| too_long)?;
    scale(mantissa, factor, exponent).and_then(in_range)
}

/// The product of a mantissa, the factor of a unit and a power of ten.
fn scale(mut mantissa: u128, mut factor: u128, exponent: i64) -> Result<u128, Refusal> {
    if exponent >= 0 {
        let power = u32::try_from(exponent).ok().and_then(|exponent| 10u128.checked_pow(exponent));
        let scaled = power.and_then(|power| mantissa.checked_mul(power));
        return scaled.and_then(|scaled| scaled.checked_mul(factor)).ok_or(Refusal::Range);
    }
    // Only the mantissa has a factor of five. Both may have factors of two.
    for _ in exponent..0 {
        let halved = if factor.is_multiple_of(2) { &mut factor } else { &mut mantissa };
        if !halved.is_multiple_of(2) {
            return Err(Refusal::Fraction);
        }
        *halved /= 2;
        if !mantissa.is_multiple_of(5) {
            return Err(Refusal::Fraction);
        }
        mantissa /= 5;
    }
    mantissa.checked_mul(factor).ok_or(Refusal::Range)
}

/// An exponent with its sign. One that is too long for 64 bits becomes the largest of its sign.
fn read_exponent(text: &str) -> Result<i64, Refusal> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    Ok(sign * plain_digits(digits, 10)?.parse().unwrap_or(i64::MAX))
}

fn read_digits(text: &str, radix: u32) -> Result<u128, Refusal> {
    u128::from_str_radix(&plain_digits(text, radix)?, radix).map_err(|_| Refusal::Range)
}

/// Digits without the underscores between them.
fn plain_digits(text: &str, radix: u32) -> Result<String, Refusal> {
    let in_groups = text.split('_').all(|group| !group.is_empty() && group.chars().all(|digit| digit.is_digit(radix)));
    in_groups.then(|| text.replace('_', "")).ok_or(Refusal::Form)
}

fn in_range(value: u128) -> Result<u64, Refusal> {
    u64::try_from(value).map_err(|_| Refusal::Range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{NumberError, parse_whole};

    #[test]
    fn every_form_is_read() {
        for (text, value) in [
            ("0", 0),
            ("007", 7),
            ("+4", 4),
            ("65536", 65_536),
            ("1_000_000", 1_000_000),
            ("0x8000", 32_768),
            ("0xff_ff", 65_535),
            ("0o17", 15),
            ("0b101", 5),
            ("64KiB", 65_536),
            ("64 KiB", 65_536),
            ("4MiB", 4 << 20),
            ("1GiB", 1 << 30),
            ("2TiB", 2 << 40),
            ("0.5KiB", 512),
            ("0.0009765625KiB", 1),
            ("0.0000000000009094947017729282379150390625TiB", 1),
            ("1e6", 1_000_000),
            ("1E+6", 1_000_000),
            ("1.5e3", 1500),
            ("1.50e1", 15),
            ("1000e-3", 1),
            ("32768.0", 32_768),
            ("1e3KiB", 1_024_000),
            ("2^20", 1 << 20),
            ("2 ^ 20", 1 << 20),
            ("10^6", 1_000_000),
            ("0^0", 1),
            ("0^5", 0),
            ("1^99999999999999999999", 1),
            ("0e99999999999999999999", 0),
            ("2^63", 1 << 63),
            ("18446744073709551615", u64::MAX),
            (" 8 ", 8),
        ] {
            assert_eq!(parse_whole(text), Ok(value), "{text}");
        }
    }

    fn refused(texts: &[&str], reason: fn(String) -> NumberError) {
        for &text in texts {
            assert_eq!(parse_whole(text), Err(reason(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn text_without_the_form_of_a_number_is_refused() {
        let texts =
            ["", "big", "-4", "1__0", "_1", "1_", "1.", ".5", "e3", "1e", "0x", "0xg", "nan", "inf", "1 0", "٣"];
        let units = ["KiB", "64KB", "64K", "64kib", "2^10KiB"];
        let powers = ["2^", "^2", "2^-1", "2^2^2", "1.5^2"];
        refused(&[&texts[..], &units, &powers].concat(), |given| NumberError::Form { given });
    }

    #[test]
    fn numbers_with_a_fraction_are_refused() {
        let long = "0.3333333333333333333333333333333333333333";
        let texts = ["1e-3", "1.5", "0.1KiB", "1500e-3", "1e-99999999999999999999", long];
        refused(&texts, |given| NumberError::Fraction { given });
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let decimal = ["18446744073709551616", "1e20", "1e999999999999999999999"];
        let others = ["2^64", "2^999999999999", "16777216TiB", "0x10000000000000000"];
        refused(&[&decimal[..], &others].concat(), |given| NumberError::Range { given });
    }

    #[test]
    fn messages_repeat_what_was_given_and_say_what_is_accepted() {
        for (text, message) in [
            (
                "64KB",
                "`64KB` is not a whole number; accepted: 65536, 64KiB, 2^16 or 1e6, with the units KiB, MiB, GiB and TiB",
            ),
            ("1e-3", "`1e-3` is not whole; accepted: a number without a fraction, such as 65536, 64KiB, 2^16 or 1e6"),
            (
                "2^64",
                "`2^64` is too large; accepted: a whole number up to 18446744073709551615, such as 65536, 64KiB, 2^16 or 1e6",
            ),
        ] {
            assert_eq!(parse_whole(text).map_err(|error| error.to_string()), Err(message.to_owned()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn a_number_is_read_back_however_it_is_written(value in any::<u64>(), shift in 0u32..64, group in 1usize..5) {
            let value = value >> shift;
            let digits = value.to_string();
            let split = digits.len() - group.min(digits.len());
            let (head, tail) = digits.split_at(split);
            let head_or_zero = if head.is_empty() { "0" } else { head };
            let mut forms = vec![
                digits.clone(),
                format!("{value:#x}"),
                format!("{value:#o}"),
                format!("{value:#b}"),
                format!("{digits}.0"),
                format!("{digits}000e-3"),
                format!("{head_or_zero}.{tail}e{}", tail.len()),
            ];
            if !head.is_empty() {
                forms.push(format!("{head}_{tail}"));
            }
            for text in forms {
                prop_assert_eq!(parse_whole(&text), Ok(value), "{}", text);
            }
        }

        #[test]
        fn units_and_powers_agree_with_shifts(value in 0u64..1 << 24, exponent in 0u32..64) {
            prop_assert_eq!(parse_whole(&format!("{value}KiB")), Ok(value << 10));
            prop_assert_eq!(parse_whole(&format!("{value}MiB")), Ok(value << 20));
            prop_assert_eq!(parse_whole(&format!("{value}GiB")), Ok(value << 30));
            prop_assert_eq!(parse_whole(&format!("{value}TiB")), Ok(value << 40));
            prop_assert_eq!(parse_whole(&format!("2^{exponent}")), Ok(1 << exponent));
        }

        #[test]
        fn any_text_ends_in_a_number_or_a_message(text in any::<String>(), near in "[0-9_.e^KMGTiB+ x-]{0,12}") {
            for text in [text, near] {
                if let Err(error) = parse_whole(&text) {
                    prop_assert!(error.to_string().contains("accepted: "));
                }
            }
        }
    }
}

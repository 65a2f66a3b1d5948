//! What programs say: `printf`, and assertions that fail.

use chorus_kernel::{LANES, Mask};

use super::Wavefront;
use crate::code::{Instruction, Print};
use crate::registers::Bank;
use crate::running::Running;
use crate::space;
use crate::types::Space;

/// The most characters of one field.
const WIDTH_MAX: usize = 1024;

/// Formats the arguments of `vprintf`. `argument` gives the next one of a size; `string` the text at an address.
fn formatted(format: &[u8], mut argument: impl FnMut(u64) -> u64, string: impl Fn(u64) -> Option<Vec<u8>>) -> String {
    let mut text = String::new();
    let mut rest = format.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            text.push(char::from(byte));
            continue;
        }
        let mut field = Field::default();
        let mut longs = 0;
        let conversion = loop {
            let Some(byte) = rest.next() else { return text };
            match byte {
                b'-' => field.left = true,
                b'+' => field.plus = true,
                b'0' if field.width == 0 && field.precision.is_none() => field.zeros = true,
                b' ' | b'#' | b'h' => {}
                b'l' | b'j' | b'z' | b't' => longs += 1,
                b'*' => field.number(argument(4) as u32 as usize),
                b'0'..=b'9' => field.digit(byte - b'0'),
                b'.' => field.precision = Some(0),
                other => break other,
            }
        };
        let size = if longs > 0 { 8 } else { 4 };
        let signed = |value: u64| if longs > 0 { value as i64 } else { i64::from(value as u32 as i32) };
        let shown = match conversion {
            b'%' => "%".to_owned(),
            b'd' | b'i' => field.signed(signed(argument(size)) as i128),
            b'u' => argument(size).to_string(),
            b'x' => format!("{:x}", argument(size)),
            b'X' => format!("{:X}", argument(size)),
            b'o' => format!("{:o}", argument(size)),
            b'p' => format!("{:#x}", argument(8)),
            b'c' => char::from(argument(4) as u8).to_string(),
            b's' => {
                let text = string(argument(8)).unwrap_or_else(|| b"(null)".to_vec());
                let shown: String = text.iter().map(|&byte| char::from(byte)).collect();
                field.precision.map_or(shown.clone(), |length| shown.chars().take(length).collect())
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => field.float(f64::from_bits(argument(8)), conversion),
            other => format!("%{}", char::from(other)),
        };
        text.push_str(&field.padded(shown));
    }
    text
}

/// A field of a format.
#[derive(Default)]
struct Field {
    left: bool,
    plus: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

impl Field {
    fn digit(&mut self, digit: u8) {
        let number = self.precision.as_mut().unwrap_or(&mut self.width);
        *number = (*number * 10 + usize::from(digit)).min(WIDTH_MAX);
    }

    fn number(&mut self, value: usize) {
        *self.precision.as_mut().unwrap_or(&mut self.width) = value.min(WIDTH_MAX);
    }

    fn signed(&self, value: i128) -> String {
        if self.plus { format!("{value:+}") } else { value.to_string() }
    }

    fn float(&self, value: f64, conversion: u8) -> String {
        let precision = self.precision.unwrap_or(6);
        let sign = if self.plus && value.is_sign_positive() { "+" } else { "" };
        let shown = match conversion.to_ascii_lowercase() {
            b'f' => format!("{value:.precision$}"),
            b'e' => scientific(value, precision),
            _ => general(value, precision.max(1)),
        };
        format!("{sign}{shown}")
    }

    fn padded(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            return text + &" ".repeat(missing);
        }
        if !self.zeros {
            return " ".repeat(missing) + &text;
        }
        let sign = usize::from(text.starts_with(['-', '+']));
        format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..])
    }
}

/// A number with an exponent of at least two digits, as C writes it.
fn scientific(value: f64, precision: usize) -> String {
    let shown = format!("{value:.precision$e}");
    match shown.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ => shown,
    }
}

/// A number in the shorter of both ways, without zeros at its end.
fn general(value: f64, precision: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let exponent = value.abs().log10().floor() as i32;
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if exponent < -4 || exponent >= precision as i32 {
        let shown = scientific(value, precision - 1);
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "+00"));
        return format!("{}e{exponent}", trimmed(digits.to_owned()));
    }
    let places = (precision as i32 - 1 - exponent).max(0) as usize;
    trimmed(format!("{value:.places$}"))
}

/// Prints a line for each lane.
pub(super) fn print(wave: &mut Wavefront, print: &Print, mask: u32, instruction: &Instruction) {
    for lane in Mask(mask).iter() {
        let (format, arguments) = (wave.long(print.format, lane), wave.long(print.arguments, lane));
        let Some(text) = wave.running().text(format) else {
            wave.fail(instruction, lane, "the format of this `vprintf` is no constant string of the module");
        };
        let mut next = arguments;
        let line = formatted(
            &text,
            |bytes| {
                let address = next.next_multiple_of(bytes);
                next = address + bytes;
                wave.local_value(address, lane, bytes)
            },
            |address| wave.running().text(address),
        );
        wave.say(line);
    }
    if let Some(to) = print.to {
        wave.write_words(to, mask, &[0; LANES]);
    }
}

/// Ends the run with the message of an assertion.
pub(super) fn assertion(wave: &Wavefront, [message, file, line, function]: [u16; 4], mask: u32, at: &Instruction) -> ! {
    let lane = mask.trailing_zeros() as usize;
    let text = |number: u16| {
        let text = wave.running().text(wave.long(number, lane)).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let (message, file, function) = (text(message), text(file), text(function));
    let line = wave.word(line, lane);
    wave.fail(at, lane, format_args!("{file}:{line}: {function}: assertion `{message}` failed"))
}

impl Wavefront {
    fn running(&self) -> &Running {
        &self.running
    }

    fn long(&self, number: u16, lane: usize) -> u64 {
        self.registers.longs[usize::from(number)][lane]
    }

    fn word(&self, number: u16, lane: usize) -> u32 {
        self.registers.words[usize::from(number)][lane]
    }

    fn write_words(&mut self, number: u16, mask: u32, values: &[u32; LANES]) {
        u32::write(&mut self.registers, number, mask, values);
    }

    /// A value of 4 or 8 bytes of a lane's local memory. What lies outside is zero.
    fn local_value(&self, address: u64, lane: usize, bytes: u64) -> u64 {
        let first = address.wrapping_sub(space::window(Space::Local)) / 4;
        let word = |k: u64| {
            let row = usize::try_from(first.wrapping_add(k)).ok().and_then(|word| self.local.get(word));
            row.map_or(0, |row| u64::from(row[lane]))
        };
        if bytes == 8 { word(1) << 32 | word(0) } else { word(0) }
    }

    fn say(&mut self, line: String) {
        self.running.printed().push((self.id.work_group, self.id.wave, self.printed, line));
        self.printed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::formatted;

    #[test]
    fn formats_are_those_of_c() {
        let mut values = [5u64, -3i32 as u32 as u64, 255, 1.5f64.to_bits(), 7, 0, 1e-7f64.to_bits()].into_iter();
        let text =
            formatted(b"%d|%5d|%04x|%.2f|%-3u|%s|%g%%\n", |_| values.next().unwrap_or(0), |_| Some(b"name".to_vec()));
        assert_eq!(text, "5|   -3|00ff|1.50|7  |name|1e-07%\n");
        assert_eq!(formatted(b"%", |_| 0, |_| None), "");
        assert_eq!(formatted(b"%e %g %g", |_| 12.5f64.to_bits(), |_| None), "1.250000e+01 12.5 12.5");
    }
}

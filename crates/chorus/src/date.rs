//! Today's date, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;

/// Today's date as `YYYY-MM-DD`.
pub fn today() -> String {
    // A clock before 1970 is wrong anyway, and counts as 1970-01-01.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    date_of_day(seconds / SECONDS_PER_DAY)
}

/// The date that is `day` days after 1970-01-01, by the rules of the Gregorian calendar.
fn date_of_day(mut day: u64) -> String {
    let mut year = 1970;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::date_of_day;

    #[test]
    fn days_become_dates_across_leap_years_and_centuries() {
        let dates = [0, 58, 59, 789, 790, 11_016, 20_454].map(date_of_day);
        let expected =
            ["1970-01-01", "1970-02-28", "1970-03-01", "1972-02-29", "1972-03-01", "2000-02-29", "2026-01-01"];
        assert_eq!(dates, expected);
    }
}

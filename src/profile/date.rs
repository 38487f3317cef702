//! Dates without a time zone.

use std::fmt;

/// A date and a time of day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// Year, month (from 1), day (from 1).
    pub date: (i64, u32, u32),
    /// Hour, minute, second.
    pub time: (u32, u32, u32),
}

impl Utc {
    /// The date at `realtime_ns` nanoseconds since 1970, as `CLOCK_REALTIME` counts them.
    ///
    /// The calendar repeats every 400 years (146 097 days). Counted from a first of March, leap days
    /// are the last of their year, and the months before any month have `(153 * month + 2) / 5` days
    /// (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    pub fn at(realtime_ns: u64) -> Utc {
        let seconds = realtime_ns / 1_000_000_000;
        // Days since the first of March of the year 0: 719 468 lie between that and 1970.
        let days = (seconds / 86_400) as i64 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leaps) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let of_day = (seconds % 86_400) as u32;
        Utc {
            date: (year, month as u32, day as u32),
            time: (of_day / 3600, of_day / 60 % 60, of_day % 60),
        }
    }

    /// For file names: `20261130-232405`.
    pub fn compact(self) -> String {
        let (year, month, day) = self.date;
        let (hour, minute, second) = self.time;
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }
}

/// For people: `2026-11-30 23:24:05 UTC`.
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date;
        let (hour, minute, second) = self.time;
        write!(
            f,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"
        )
    }
}

//! Dates and times of day, in UTC.

/// A moment in the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// The year in full, as in 1970.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour, from 0 to 23.
    pub hour: u64,
    /// The minute, from 0 to 59.
    pub minute: u64,
    /// The second, from 0 to 59.
    pub second: u64,
}

impl Utc {
    /// The moment `seconds` after the beginning of 1970, leap seconds not counted.
    pub fn from_unix(seconds: u64) -> Utc {
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        // Eras of 400 years that begin on 1 March put a leap day at the end of its year.
        let days = days + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Utc {
            year: 400 * era + year_of_era + u64::from(month <= 2),
            month,
            day,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }

    /// Seconds from the beginning of 1970 to this moment, leap seconds not counted; `None` if the fields are
    /// no date since 1970.
    pub fn unix(&self) -> Option<u64> {
        let year = self.year.checked_sub(u64::from(self.month <= 2))?;
        let month = if self.month > 2 {
            self.month - 3
        } else {
            self.month + 9
        };
        let (era, of_era) = (year / 400, year % 400);
        let days =
            146_097 * era + 365 * of_era + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 + self.day;
        let of_day = 3600 * self.hour + 60 * self.minute + self.second;
        let seconds = (86_400 * days.checked_sub(719_469)?).checked_add(of_day)?;
        (Utc::from_unix(seconds) == *self).then_some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_days_and_ends_of_years() {
        let parts = |seconds| {
            let utc = Utc::from_unix(seconds);
            [utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second]
        };
        assert_eq!(parts(0), [1970, 1, 1, 0, 0, 0]);
        assert_eq!(parts(951_782_400), [2000, 2, 29, 0, 0, 0]);
        assert_eq!(parts(1_767_225_599), [2025, 12, 31, 23, 59, 59]);
        assert_eq!(parts(4_107_542_400), [2100, 3, 1, 0, 0, 0]);
    }

    #[test]
    fn there_and_back() {
        for seconds in (0..5_000_000_000).step_by(86_399 * 11) {
            assert_eq!(Utc::from_unix(seconds).unix(), Some(seconds));
        }
        let mut moment = Utc::from_unix(951_782_400);
        (moment.year, moment.day) = (2001, 29);
        assert_eq!(moment.unix(), None, "no leap year");
        moment.year = 1969;
        assert_eq!(moment.unix(), None);
    }
}

//! How Go prints durations, in its two JSON forms.

use std::fmt;

use serde::{Serialize, Serializer};

/// A duration printed as Go's `time.Duration` text, such as `1h30m0s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

impl GoDuration {
    /// A whole number of seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos < 1_000_000_000 {
            let (unit, scale) = match nanos {
                0..1_000 => ("ns", 1),
                1_000..1_000_000 => ("µs", 1_000),
                _ => ("ms", 1_000_000),
            };
            return write!(f, "{}{unit}", fraction(nanos, scale));
        }
        let minutes = nanos / 60_000_000_000;
        let rest = fraction(nanos % 60_000_000_000, 1_000_000_000);
        match (minutes / 60, minutes % 60) {
            (0, 0) => write!(f, "{rest}s"),
            (0, minutes) => write!(f, "{minutes}m{rest}s"),
            (hours, minutes) => write!(f, "{hours}h{minutes}m{rest}s"),
        }
    }
}

/// `value / scale` in decimal, without trailing zeros.
fn fraction(value: u64, scale: u64) -> String {
    let whole = value / scale;
    let rest = value % scale;
    if rest == 0 {
        return whole.to_string();
    }
    let width = scale.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A duration printed as an integer number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nanoseconds(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_in_go() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (5_000_000_000, "5s"),
            (90_500_000_000, "1m30.5s"),
            (5_400_000_000_000, "1h30m0s"),
            (-30_000_000_000, "-30s"),
        ] {
            assert_eq!(GoDuration(nanos).to_string(), text);
        }
    }
}

//! Why a resource updates: Tilt's bits, and how people read them.

use std::fmt;

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reason(pub u32);

impl Reason {
    /// Files changed.
    pub const FILES: Self = Self(1);
    /// The Tiltfile says something else.
    pub const CONFIG: Self = Self(2);
    /// It never ran.
    pub const INITIAL: Self = Self(8);
    /// Somebody clicked in the browser.
    pub const TRIGGER_WEB: Self = Self(16);
    /// Somebody typed `trigger`.
    pub const TRIGGER_CLI: Self = Self(32);
    /// Somebody pressed a key in the terminal.
    pub const TRIGGER_HUD: Self = Self(64);
    /// Somebody asked, it is not known how.
    pub const TRIGGER_UNKNOWN: Self = Self(128);
    /// The arguments of the Tiltfile changed.
    pub const ARGS: Self = Self(256);
    /// An image that this one is built on changed.
    pub const DEPS: Self = Self(512);
    /// Its cluster went away during the last update, and is back. Tilt has no such reason.
    pub const OUTAGE: Self = Self(1024);
    /// What stood in the way of the last update is gone. Tilt has no such reason.
    pub const RETRY: Self = Self(2048);

    const TRIGGERS: [Self; 4] =
        [Self::TRIGGER_WEB, Self::TRIGGER_CLI, Self::TRIGGER_HUD, Self::TRIGGER_UNKNOWN];

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has one of these.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is one and no more.
    pub fn is_single(self) -> bool {
        self.0.is_power_of_two()
    }

    /// These and those.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Only those that somebody asked for.
    #[must_use]
    pub fn triggers(self) -> Self {
        Self(self.0 & Self::TRIGGERS.iter().fold(0, |all, it| all | it.0))
    }

    fn words(self) -> &'static str {
        match self {
            Self::FILES => "Changed Files",
            Self::CONFIG => "Config Changed",
            Self::INITIAL => "Initial Build",
            Self::TRIGGER_WEB => "Web Trigger",
            Self::TRIGGER_CLI => "CLI Trigger",
            Self::TRIGGER_HUD => "HUD Trigger",
            Self::TRIGGER_UNKNOWN => "Unknown Trigger",
            Self::ARGS => "Tilt Args",
            Self::DEPS => "Dependency Updated",
            Self::OUTAGE => "Retry After Outage",
            Self::RETRY => "Retry",
            _ => "",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(trigger) = Self::TRIGGERS.into_iter().find(|it| self.has(*it)) {
            return f.write_str(trigger.words());
        }
        if self.has(Self::INITIAL) {
            return f.write_str(Self::INITIAL.words());
        }
        let mut separator = "";
        for reason in [Self::FILES, Self::CONFIG, Self::DEPS, Self::ARGS, Self::OUTAGE, Self::RETRY]
        {
            if self.has(reason) {
                write!(f, "{separator}{}", reason.words())?;
                separator = " | ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_hides_other_reasons_and_an_initial_build_hides_the_rest() {
        for (reason, words) in [
            (Reason::default(), ""),
            (Reason::FILES, "Changed Files"),
            (Reason::FILES.with(Reason::CONFIG), "Changed Files | Config Changed"),
            (Reason::CONFIG.with(Reason::DEPS), "Config Changed | Dependency Updated"),
            (Reason::INITIAL.with(Reason::FILES), "Initial Build"),
            (Reason::INITIAL.with(Reason::TRIGGER_CLI), "CLI Trigger"),
            (Reason::TRIGGER_WEB.with(Reason::TRIGGER_CLI), "Web Trigger"),
            (Reason::ARGS, "Tilt Args"),
            (Reason::CONFIG.with(Reason::OUTAGE), "Config Changed | Retry After Outage"),
            (Reason::FILES.with(Reason::RETRY), "Changed Files | Retry"),
        ] {
            assert_eq!(reason.to_string(), words);
        }
    }
}

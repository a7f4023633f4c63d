//! Decides how much of a document may come from aliases.
//!
//! A few nested aliases can stand for billions of nodes; go-yaml refuses documents in which too
//! large a share of the work comes from aliases, and so do we, at the same point.

use std::collections::HashSet;

use super::error::Error;
use super::node::NodeId;

const RATIO_RANGE_LOW: u32 = 400_000;
const RATIO_RANGE_HIGH: u32 = 4_000_000;

/// Counts decoded nodes and knows which aliases are being expanded.
pub(super) struct AliasGuard {
    decoded: u32,
    from_aliases: u32,
    active: HashSet<NodeId>,
}

impl AliasGuard {
    pub(super) fn new() -> Self {
        Self { decoded: 0, from_aliases: 0, active: HashSet::new() }
    }

    /// Counts one decoded node.
    pub(super) fn count(&mut self) -> Result<(), Error> {
        self.decoded = self.decoded.saturating_add(1);
        if !self.active.is_empty() {
            self.from_aliases = self.from_aliases.saturating_add(1);
            let (share, all) = (f64::from(self.from_aliases), f64::from(self.decoded));
            if self.from_aliases > 100
                && self.decoded > 1000
                && share / all > allowed_ratio(self.decoded)
            {
                return Err(Error::yaml("document contains excessive aliasing"));
            }
        }
        Ok(())
    }

    /// Starts to expand an alias, which must not be inside itself.
    pub(super) fn enter(&mut self, alias: NodeId, name: &str) -> Result<(), Error> {
        if self.active.insert(alias) {
            return Ok(());
        }
        Err(Error::yaml(format!("anchor '{name}' value contains itself")))
    }

    /// Ends the expansion of an alias.
    pub(super) fn leave(&mut self, alias: NodeId) {
        self.active.remove(&alias);
    }
}

/// Small documents may come almost entirely from aliases, large ones to a tenth.
fn allowed_ratio(decoded: u32) -> f64 {
    if decoded <= RATIO_RANGE_LOW {
        0.99
    } else if decoded >= RATIO_RANGE_HIGH {
        0.10
    } else {
        let range = f64::from(RATIO_RANGE_HIGH - RATIO_RANGE_LOW);
        0.99 - 0.89 * (f64::from(decoded - RATIO_RANGE_LOW) / range)
    }
}

//! Updates that a cluster refused or did not answer: when each is tried again, and when that makes sense.

use std::{sync::Arc, time::Duration};

use engine_model::pod::DeployedObject;

use crate::resource::UpdateId;

/// How long to wait before an obstacle is looked at again: less at first, then more.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(3);

/// What stands in the way of an update, and may go by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No answer came: nobody knows how far the update came.
    Silence,
    /// The cluster refuses an object.
    Refusal {
        /// The object.
        object: Arc<DeployedObject>,
        /// The code of the answer, if it had one.
        code: Option<u16>,
        /// The namespace that is missing, if that is what is wrong.
        missing_namespace: Option<String>,
    },
}

/// What a cluster answers when it is asked whether an obstacle is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It would take what it did not take before.
    Accepted,
    /// It refuses the object.
    Refused {
        /// The code of the answer.
        code: u16,
        /// Whether something in the way of the object only takes real requests.
        is_no_trial: bool,
    },
    /// It does not answer, or not to this.
    Failed,
}

/// An update that waits until an obstacle is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: UpdateId,
    pub(crate) obstacle: Obstacle,
    pub(crate) pause: Duration,
}

impl Waiting {
    /// The wait is longer if there was an obstacle often before.
    pub(crate) fn new(id: UpdateId, obstacle: Obstacle, n_times: u32) -> Self {
        Self { id, obstacle, pause: (FIRST_PAUSE * n_times).min(LAST_PAUSE) }
    }

    /// The obstacle is still there: waits longer.
    pub(crate) fn wait_longer(&mut self) {
        self.pause = (self.pause * 3 / 2).clamp(FIRST_PAUSE, LAST_PAUSE);
    }

    /// Whether an object is not refused any more, or otherwise than before.
    pub(crate) fn is_over(&self, trial: Trial) -> bool {
        match (&self.obstacle, trial) {
            (_, Trial::Accepted) => true,
            (Obstacle::Refusal { code: before, .. }, Trial::Refused { code, is_no_trial }) => {
                is_no_trial || Some(code) != *before
            }
            (Obstacle::Silence, Trial::Refused { .. }) | (_, Trial::Failed) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_is_gone_when_the_answer_is_another_one() {
        let (object, code) = (Arc::default(), Some(403));
        let refusal = Obstacle::Refusal { object, code, missing_namespace: None };
        let waiting = Waiting::new(UpdateId(1), refusal, 1);
        let refused = |code: u16, is_no_trial: bool| Trial::Refused { code, is_no_trial };
        assert!(waiting.is_over(Trial::Accepted));
        assert!(!waiting.is_over(refused(403, false)));
        assert!(waiting.is_over(refused(404, false)));
        assert!(waiting.is_over(refused(403, true)));
        assert!(!waiting.is_over(Trial::Failed));
    }

    #[test]
    fn waits_grow_with_each_obstacle_and_each_look() {
        let pauses = |n_times: u32| {
            let mut waiting = Waiting::new(UpdateId(1), Obstacle::Silence, n_times);
            let mut pauses = vec![waiting.pause.as_millis()];
            for _ in 0..3 {
                waiting.wait_longer();
                pauses.push(waiting.pause.as_millis());
            }
            pauses
        };
        assert_eq!(pauses(1), [1_000, 1_500, 2_250, 3_000]);
        assert_eq!(pauses(2), [2_000, 3_000, 3_000, 3_000]);
        assert_eq!(pauses(9), [3_000; 4]);
    }
}

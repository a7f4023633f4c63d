//! What another run of the main Tiltfile would change: evaluated on the side, applied to nothing.

use std::sync::Arc;

use builtins::{
    Evaluation,
    host::{Host, OsHost},
};
use engine_core::{plan, tiltfile::MAIN};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Message, Runtime};
use crate::exec::Guarded;

impl Runtime {
    /// Evaluates the main Tiltfile; the answer follows when that is done.
    pub(super) fn start_plan(&mut self, reply: oneshot::Sender<Value>) {
        let args = self.scheduler.tiltfile(MAIN).map(|it| it.args.clone()).unwrap_or_default();
        let request = self.request(MAIN, &self.settings.tiltfile, args);
        let host = OsHost::new(self.environment.get(), Box::new(|_, _| {}));
        let host = host.with_launcher(Box::new(Guarded));
        let messages = self.messages.clone();
        tokio::task::spawn_blocking(move || {
            let evaluation = builtins::evaluate(&request, Arc::new(host) as Arc<dyn Host>);
            // Nobody waits for it when the engine ends.
            let _ = messages.send(Message::Planned(Box::new(evaluation), reply));
        });
    }

    pub(super) fn plan(&self, evaluation: &Evaluation) -> Value {
        if let Some(failure) = &evaluation.failure {
            return self.scrubbed(json!({"error": failure.text}));
        }
        let plan = plan::reload(&self.scheduler, MAIN, &evaluation.load.manifests);
        json!({
            "start": plan.added,
            "update": plan.updated,
            "pending": plan.pending,
            "remove": plan.removed,
            "keep": plan.unchanged,
        })
    }
}

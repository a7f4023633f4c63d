//! Answers what servers ask.

use engine_core::{Event, reason::Reason};
use engine_model::TriggerMode;

use super::{Request, Runtime, TriggerRefused};

impl Runtime {
    pub(super) fn answer(&mut self, request: Request) {
        // Whoever asked may have gone; then nobody needs the answer.
        match request {
            Request::Trigger { resource, reason, with_deps, reply } => {
                let _ = reply.send(self.trigger(&resource, reason, with_deps));
            }
            Request::SetArgs { args } => self.set_args(&args),
            Request::OverrideTriggerMode { resources, mode, reply } => {
                let _ = reply.send(self.override_trigger_mode(&resources, mode));
            }
            Request::Dump { reply } => drop(reply.send(self.dump())),
            Request::Explain { resource, reply } => drop(reply.send(self.explain(&resource))),
            Request::Plan { reply } => self.start_plan(reply),
            Request::Graph { reply } => drop(reply.send(self.graph())),
        }
    }

    fn trigger(
        &mut self,
        name: &str,
        reason: u32,
        with_deps: bool,
    ) -> Result<Vec<String>, TriggerRefused> {
        match self.scheduler.resource(name) {
            Some(resource) if resource.is_disabled() => {
                return Err(TriggerRefused::Disabled(name.to_owned()));
            }
            Some(_) => {}
            None if self.scheduler.tiltfile(name).is_some() => {}
            None => return Err(TriggerRefused::Unknown(name.to_owned())),
        }
        let mut reason = Reason(reason).triggers();
        if reason.is_empty() {
            reason = Reason::TRIGGER_UNKNOWN;
        }
        let mut triggered = Vec::new();
        if with_deps {
            triggered.extend(self.scheduler.deps_to_trigger(name));
        }
        triggered.push(name.to_owned());
        self.step(Event::Triggered { resource: name.into(), reason, with_deps });
        Ok(triggered)
    }

    fn override_trigger_mode(&mut self, names: &[String], mode: u8) -> Result<(), TriggerRefused> {
        let unknown = names.iter().find(|it| self.scheduler.resource(it).is_none());
        if let Some(unknown) = unknown {
            return Err(TriggerRefused::Unknown(unknown.clone()));
        }
        let mode = match mode {
            1 => TriggerMode::ManualWithAutoInit,
            2 => TriggerMode::Manual,
            3 => TriggerMode::AutoWithManualInit,
            _ => TriggerMode::Auto,
        };
        for name in names {
            self.step(Event::TriggerModeSet { resource: name.as_str().into(), mode });
        }
        Ok(())
    }
}

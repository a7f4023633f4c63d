//! Starts what local resources and Cmd objects run, and reports how updates end.

use engine_core::{
    Event, World,
    objects::CmdRunId,
    reason::Reason,
    resource::{ResourceName, ServeId, UpdateId},
};
use engine_model::{
    CmdSpec, FilePath, LocalTarget, Probe, TargetId,
    path::{to_path, to_text},
    spec::Exec,
};

use super::{Drivers, Message};
use crate::{
    deploy::commands::Surroundings,
    drivers::commands::{CommandKey, CommandRequest},
    exec::{
        Lifetime,
        command::{self, Run},
    },
};

impl Drivers {
    pub(super) fn start_update(
        &mut self,
        world: &World,
        id: UpdateId,
        resource: &ResourceName,
        (reason, files): (Reason, &[FilePath]),
        is_full_rebuild: bool,
    ) {
        let log = self.logs.writer(resource, &id.span());
        log.build_event(&world.entry_line(reason, files));
        let Some(target) = world.resource(resource).and_then(|it| it.local.clone()) else {
            return self.start_deploy(world, id, resource, (reason, files), is_full_rebuild);
        };
        if let Some(watcher) = &self.watcher {
            watcher.updating(&TargetId::Local(resource.clone()), true);
        }
        let Some(spec) = &target.update_cmd_spec else {
            return self.end_update(id, resource, None);
        };
        let object = engine_view::local::update_cmd_name(resource);
        let log = self.logs.writer(resource, &format!("cmd:{object}"));
        let cause = format!("update of {resource}: {}", world.entry_line(reason, files));
        let run = run_of(spec, &self.surroundings_for(&cause), None, Lifetime::Task);
        let (key, resource) = (CommandKey::Update(id, resource.clone()), resource.clone());
        self.start_command(CommandRequest { key, resource, object, run, log });
    }

    /// Starts the server of a resource.
    pub(crate) fn start_server(
        &mut self,
        id: ServeId,
        resource: &ResourceName,
        target: &LocalTarget,
    ) {
        self.commands.clear(resource);
        let (spec, _) = engine_view::local::serve_cmd(target);
        let cause = format!("server of {resource}");
        let run = run_of(
            &spec,
            &self.surroundings_for(&cause),
            target.readiness_probe.clone(),
            Lifetime::Server,
        );
        let (log, object) = (self.logs.writer(resource, &id.span()), id.object(resource));
        let (key, resource) = (CommandKey::Serve(id), resource.clone());
        self.start_command(CommandRequest { key, resource, object, run, log });
    }

    pub(super) fn run_object(
        &mut self,
        object: String,
        run: CmdRunId,
        (resource, span): (ResourceName, &str),
        exec: Exec,
    ) {
        let Exec { mut cmd, readiness_probe } = exec;
        if cmd.dir.is_empty() {
            let here = std::env::current_dir().unwrap_or_default();
            cmd.dir = to_text(&here).into_owned();
        }
        let log = self.logs.writer(&resource, span);
        let key = CommandKey::Object(object.clone(), run);
        let cause = format!("Cmd object {object}");
        let run = run_of(&cmd, &self.surroundings_for(&cause), readiness_probe, Lifetime::Server);
        self.start_command(CommandRequest { key, resource, object, run, log });
    }

    fn start_command(&mut self, request: CommandRequest) {
        let messages = self.messages.clone();
        self.commands.start(request, move |key, event| {
            // Nobody listens when the engine ends.
            let _ = messages.send(Message::Command(key, event));
        });
    }

    /// What commands find around them that run for a reason.
    pub(super) fn surroundings_for(&self, cause: &str) -> Surroundings {
        self.environment.surroundings_for(&self.settings, self.kubernetes.context(), cause)
    }

    /// A command did something; the end of its update is reported after it.
    pub(super) fn on_command_event(&mut self, key: &CommandKey, event: command::Event) {
        for event in self.commands.on_event(key, event) {
            match (key, event) {
                (CommandKey::Update(_, resource), Event::UpdateEnded { id, error }) => {
                    self.end_update(id, resource, error);
                }
                (_, event) => self.emit(event),
            }
        }
    }

    pub(super) fn end_update(
        &mut self,
        id: UpdateId,
        resource: &ResourceName,
        error: Option<String>,
    ) {
        let error = error.map(|it| self.logs.scrubber().scrub(&it).into_owned());
        if let Some(watcher) = &self.watcher {
            watcher.updating(&TargetId::Local(resource.clone()), false);
        }
        self.emit(Event::UpdateEnded { id, error });
    }
}

fn run_of(spec: &CmdSpec, around: &Surroundings, probe: Option<Probe>, lifetime: Lifetime) -> Run {
    let run = around.run(spec.args.clone(), to_path(&spec.dir).into_owned(), &spec.env);
    Run { probe, lifetime, ..run }
}

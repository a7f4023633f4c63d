//! Runs Tiltfiles: each when something asks for it, never twice at once, each by itself.

use engine_model::FilePath;

use crate::{
    reason::Reason,
    resource::{LISTED, ResourceName},
    tiltfile::{LoadError, LoadId, Run, Tiltfile},
    time::Time,
    world::{Action, Loaded, StartLoad, World},
};

impl World {
    pub(crate) fn add_tiltfile(&mut self, name: ResourceName, args: Vec<String>) {
        if self.tiltfile(&name).is_none() {
            self.show_name(&name);
            self.tiltfiles.push(Tiltfile::new(name, args));
        }
    }

    pub(crate) fn remove_tiltfile(&mut self, name: &ResourceName) {
        let Some(at) = self.tiltfiles.iter().position(|it| it.name == *name) else { return };
        let tiltfile = self.tiltfiles.remove(at);
        if let Some(run) = tiltfile.current {
            self.effects.actions.push(Action::CancelLoad { id: run.id });
        }
        self.queue.retain(|it| it != name);
        self.remove_resources(|it| it.tiltfile == *name);
        self.declare_targets(name, Vec::new(), true);
        self.show_name(name);
    }

    pub(crate) fn set_args(&mut self, name: &ResourceName, args: Vec<String>) {
        if let Some(tiltfile) = self.tiltfiles.iter_mut().find(|it| it.name == *name) {
            tiltfile.args = args;
            self.show_name(name);
        }
    }

    pub(crate) fn config_files_changed(
        &mut self,
        now: Time,
        name: &ResourceName,
        files: Vec<FilePath>,
        seen: Time,
    ) {
        let Some(tiltfile) = self.tiltfiles.iter_mut().find(|it| it.name == *name) else { return };
        // A run that began later has read the files as they are now.
        let latest = tiltfile.current.as_ref().or(tiltfile.last.as_ref());
        if latest.is_some_and(|run| seen.is_before(run.started, now)) {
            return;
        }
        for file in files {
            if tiltfile.pending.insert(file) {
                tiltfile.pending_since.get_or_insert(seen);
            }
        }
        self.show_name(name);
    }

    pub(super) fn start_loads(&mut self, now: Time) {
        for at in 0..self.tiltfiles.len() {
            let tiltfile = &mut self.tiltfiles[at];
            let reason = tiltfile.next_reason();
            if tiltfile.current.is_some() || reason.is_empty() {
                continue;
            }
            self.n_loads += 1;
            let id = LoadId(self.n_loads);
            let files: Vec<_> = std::mem::take(&mut tiltfile.pending).into_iter().collect();
            let last_args = tiltfile.last.as_ref().map_or(&[][..], |it| &it.args);
            let resets_switches = last_args != tiltfile.args;
            tiltfile.pending_since = None;
            tiltfile.triggered = Reason::default();
            tiltfile.current = Some(Run {
                id,
                reason,
                started: now,
                files: files.clone(),
                n_unlisted: 0,
                args: tiltfile.args.clone(),
                ended: None,
                error: None,
                report: None,
            });
            let (name, args) = (tiltfile.name.clone(), tiltfile.args.clone());
            self.queue.retain(|it| *it != name);
            self.show_name(&name);
            self.effects.actions.push(Action::StartLoad(StartLoad {
                id,
                tiltfile: name,
                reason,
                files,
                args,
                resets_switches,
            }));
        }
    }

    pub(super) fn load_ended(&mut self, now: Time, id: LoadId, result: Result<Loaded, LoadError>) {
        let is_it = |it: &&mut Tiltfile| it.current.as_ref().is_some_and(|run| run.id == id);
        let Some(tiltfile) = self.tiltfiles.iter_mut().find(is_it) else { return };
        let Some(mut run) = tiltfile.current.take() else { return };
        run.ended = Some(now);
        run.error = result.as_ref().err().map(ToString::to_string);
        if let Err(LoadError::Tiltfile(report)) = &result {
            run.report = Some(report.clone());
        }
        let files = run.files.clone();
        run.n_unlisted = files.len().saturating_sub(LISTED);
        run.files.truncate(LISTED);
        let name = tiltfile.name.clone();
        tiltfile.last = Some(run);
        self.show_name(&name);
        if let Ok(loaded) = result {
            self.take_in_load(now, &name, &files, &loaded);
        }
    }
}

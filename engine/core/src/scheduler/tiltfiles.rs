//! Runs Tiltfiles: each when something asks for it, never twice at once, each by itself.

use std::sync::Arc;

use crate::{
    reason::Reason,
    resource::ResourceName,
    scheduler::{Action, Loaded, Scheduler},
    tiltfile::{LoadId, Run, Tiltfile},
    time::Time,
};

impl Scheduler {
    pub(super) fn add_tiltfile(&mut self, name: ResourceName, args: Vec<String>) {
        if self.tiltfile(&name).is_none() {
            self.show_name(&name);
            self.tiltfiles.push(Tiltfile::new(name, args));
        }
    }

    pub(super) fn remove_tiltfile(&mut self, name: &ResourceName) {
        let Some(at) = self.tiltfiles.iter().position(|it| it.name == *name) else { return };
        let tiltfile = self.tiltfiles.remove(at);
        if let Some(run) = tiltfile.current {
            self.actions.push(Action::CancelLoad { id: run.id });
        }
        self.queue.retain(|it| it != name);
        self.remove_resources(|it| it.tiltfile == *name);
        self.show_name(name);
    }

    pub(super) fn config_files_changed(
        &mut self,
        now: Time,
        name: &ResourceName,
        files: Vec<Arc<str>>,
        seen: Time,
    ) {
        let Some(tiltfile) = self.tiltfiles.iter_mut().find(|it| it.name == *name) else { return };
        // A run that began later has read the files as they are now.
        let latest = tiltfile.current.as_ref().or(tiltfile.last.as_ref());
        if latest.is_some_and(|run| seen.is_before(run.started, now)) {
            return;
        }
        for file in files {
            if !tiltfile.pending.contains(&file) {
                tiltfile.pending.push(file);
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
            let mut files = std::mem::take(&mut tiltfile.pending);
            files.sort_unstable();
            let last_args = tiltfile.last.as_ref().map_or(&[][..], |it| &it.args);
            let resets_switches = last_args != tiltfile.args;
            tiltfile.pending_since = None;
            tiltfile.triggered = Reason::default();
            tiltfile.current = Some(Run {
                id,
                reason,
                started: now,
                files: files.clone(),
                args: tiltfile.args.clone(),
                ended: None,
                error: None,
            });
            let (name, args) = (Arc::clone(&tiltfile.name), tiltfile.args.clone());
            self.queue.retain(|it| *it != name);
            self.show_name(&name);
            self.actions.push(Action::StartLoad {
                id,
                tiltfile: name,
                reason,
                files,
                args,
                resets_switches,
            });
        }
    }

    pub(super) fn load_ended(&mut self, now: Time, id: LoadId, result: Result<Loaded, String>) {
        let is_it = |it: &&mut Tiltfile| it.current.as_ref().is_some_and(|run| run.id == id);
        let Some(tiltfile) = self.tiltfiles.iter_mut().find(is_it) else { return };
        let Some(mut run) = tiltfile.current.take() else { return };
        run.ended = Some(now);
        run.error = result.as_ref().err().cloned();
        let (name, files) = (Arc::clone(&tiltfile.name), run.files.clone());
        tiltfile.last = Some(run);
        self.show_name(&name);
        if let Ok(loaded) = result {
            self.take_in_load(now, &name, &files, &loaded);
        }
    }
}

//! Buttons: what a click does.

use engine_model::{Spec, SpecChange, Time};

use crate::{World, reason::Reason};

impl World {
    /// Whether somebody has clicked a button since its last change.
    pub(super) fn new_click(&self, change: &SpecChange) -> bool {
        let Some(Spec::UiButton(button)) = &change.spec else { return false };
        let Some(click) = button.click.as_ref().filter(|it| it.at != Time::default()) else {
            return false;
        };
        let name = &change.id.name;
        let old = self.objects.buttons.get(name).and_then(|it| it.click.as_ref());
        self.objects.buttons.is_news(name, change.version) && old.is_none_or(|it| it.at != click.at)
    }

    /// Somebody has clicked: updates stop, toggles turn, Tiltfiles and commands run or stop.
    pub(super) fn clicked(&mut self, now: Time, name: &str) {
        let Some(click) = self.objects.buttons.get(name).and_then(|it| it.click.clone()) else {
            return;
        };
        let resource = name.strip_suffix("-stopbuild");
        if let Some(resource) = resource.filter(|it| self.resource(it).is_some()) {
            self.stop_requested(now, &resource.into(), click.at);
        } else if let Some(toggle) = Self::toggle_of(name) {
            self.toggle_clicked(toggle, name, &click);
        }
        let is_it = |buttons: &[String]| buttons.iter().any(|it| it == name);
        for tiltfile in self.tiltfiles_where(|it| is_it(&it.restart_on.ui_buttons)) {
            self.triggered(&tiltfile, Reason::TRIGGER_UNKNOWN, false);
        }
        for tiltfile in self.tiltfiles_where(|it| is_it(&it.stop_on.ui_buttons)) {
            self.stop_requested(now, &tiltfile, click.at);
        }
        self.reconcile_cmds_where(|it| {
            is_it(&it.start_on.ui_buttons) || is_it(&it.restart_on.ui_buttons)
        });
    }
}

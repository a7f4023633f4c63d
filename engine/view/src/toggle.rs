//! Toggle buttons: their status, and the button that each of them has.

use engine_core::World;
use engine_model::{Kind, ObjectId};
use serde_json::{Value, json};

use engine_model::annotation::BUTTON_TYPE;

use crate::draft::ObjectDraft;

/// The status of a `ToggleButton`; nothing if there is none.
pub fn status(world: &World, name: &str) -> Option<Value> {
    let (_, error) = world.toggle_state(name)?;
    Some(json!({"error": error}))
}

/// Which button a toggle has.
pub fn button_id(toggle: &str) -> ObjectId {
    ObjectId::new(Kind::UiButton, format!("toggle-{toggle}"))
}

/// The `UIButton` that a toggle has, in the state that its config map says.
pub fn button(world: &World, name: &str) -> Option<ObjectDraft> {
    let (is_on, _) = world.toggle_state(name)?;
    let spec = world.toggle(name)?;
    let (face, action) = if is_on { (&spec.on, "off") } else { (&spec.off, "on") };
    let mut button = json!({"location": spec.location});
    for key in ["text", "iconName", "iconSVG", "requiresConfirmation"] {
        if let Some(value) = face.get(key) {
            button[key] = value.clone();
        }
    }
    button["inputs"] = json!([{"name": "action", "label": "", "hidden": {"value": action}}]);
    let draft = ObjectDraft::new(Kind::UiButton, button_id(name).name, button);
    let owner = Some(ObjectId::new(Kind::ToggleButton, name));
    Some(ObjectDraft { owner, ..draft }.annotated(&[(BUTTON_TYPE, &spec.button_type)]))
}

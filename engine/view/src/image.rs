//! Images: how their builds do, and the names under which they are used.

use engine_core::{
    World,
    image::{BuildStage, ImageBuild},
};
use engine_model::ObjectId;
use serde_json::{Value, json};

use crate::time;

/// The status of a `DockerImage` or a `CmdImage`, if it was ever built.
pub fn build_status(world: &World, id: &ObjectId) -> Option<Value> {
    world.image_build(id).map(render)
}

/// The status of an `ImageMap`, if its image was built.
pub fn map_status(world: &World, name: &str) -> Option<Value> {
    let names = world.image(name)?;
    Some(json!({
        "image": names.deployed,
        "imageFromCluster": names.deployed,
        "imageFromLocal": names.local,
        "buildStartTime": time::micro(names.started),
    }))
}

fn render(build: &ImageBuild) -> Value {
    let started = time::micro(build.started);
    let Some(end) = &build.end else { return json!({"building": {"startedAt": started}}) };
    let mut completed = json!({"startedAt": started, "finishedAt": time::micro(end.at)});
    let mut status = json!({});
    match &end.result {
        Ok(tagged) => status["ref"] = json!(tagged),
        Err(error) => completed["error"] = json!(error.0),
    }
    status["completed"] = completed;
    if !end.stages.is_empty() {
        status["stageStatuses"] = end.stages.iter().map(stage).collect();
    }
    status
}

fn stage(stage: &BuildStage) -> Value {
    let mut shown = json!({"name": stage.name});
    if stage.is_cached {
        shown["cached"] = json!(true);
    }
    if let Some(started) = stage.started {
        shown["startedAt"] = json!(time::micro(started));
    }
    if let Some(finished) = stage.finished {
        shown["finishedAt"] = json!(time::micro(finished));
    }
    if let Some(error) = &stage.error {
        shown["error"] = json!(error);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_core::{
        Time,
        image::{BuildError, ImageBuildEnd},
    };

    #[test]
    fn a_build_is_shown_while_it_goes_on_and_after_it_ended() {
        let build = |end| render(&ImageBuild { started: Time(0), end }).to_string();
        assert_eq!(build(None), r#"{"building":{"startedAt":"1970-01-01T00:00:00.000000Z"}}"#);
        let end = |result, stages| Some(ImageBuildEnd { at: Time(1), result, stages });
        let times = r#""startedAt":"1970-01-01T00:00:00.000000Z","finishedAt":"1970-01-01T00:00:00.000001Z""#;
        let stages = vec![BuildStage {
            name: "[1/1] FROM a".into(),
            is_cached: true,
            ..BuildStage::default()
        }];
        assert_eq!(
            build(end(Ok("a:1".into()), stages)),
            format!(
                r#"{{"ref":"a:1","completed":{{{times}}},"stageStatuses":[{{"name":"[1/1] FROM a","cached":true}}]}}"#
            )
        );
        assert_eq!(
            build(end(Err(BuildError("no".into())), Vec::new())),
            format!(r#"{{"completed":{{{times},"error":"no"}}}}"#)
        );
    }
}

//! Everything that the world asks for because of API objects.

use std::{collections::BTreeMap, sync::Arc};

use engine_model::{ImageName, WatchTarget, spec::Exec};

use super::CmdRunId;
use crate::resource::ResourceName;

/// Something to do for API objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectAction {
    /// Watch these files, and no others.
    WatchFiles {
        /// Everything that somebody wants to know about.
        targets: Vec<Arc<WatchTarget>>,
    },
    /// Files of an image have changed.
    ImageInputsChanged {
        /// The image.
        image: ImageName,
    },
    /// Run the command of a Cmd object.
    RunCommand {
        /// The object.
        object: String,
        /// Which run.
        run: CmdRunId,
        /// Whose log it writes to; empty for none.
        resource: ResourceName,
        /// The span within that log.
        span: String,
        /// The command; without a directory it runs where the engine does.
        exec: Box<Exec>,
    },
    /// Stop the command of a Cmd object; it still ends.
    StopCommand {
        /// The object.
        object: String,
        /// Which run.
        run: CmdRunId,
    },
    /// Write a value to a config map that is there, and leave the rest of it.
    SetConfigMapKey {
        /// The config map.
        name: String,
        /// The key.
        key: String,
        /// The value, if there is one.
        value: Option<String>,
    },
    /// A Tiltfile is about to run for the first time, or says something else about itself.
    DeclareTiltfile {
        /// Its name.
        name: ResourceName,
        /// Where it is.
        path: String,
        /// Labels of everything it declares.
        labels: BTreeMap<String, String>,
    },
    /// A Tiltfile is gone, with all it declared.
    ForgetTiltfile {
        /// Its name.
        name: ResourceName,
    },
    /// Write the Tiltfile object of an extension.
    PutExtensionTiltfile {
        /// The name of the extension, and of the object.
        name: String,
        /// Where the Tiltfile is.
        path: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Remove the Tiltfile object of an extension.
    RemoveExtensionTiltfile {
        /// The name of the extension, and of the object.
        name: String,
    },
    /// Look whether a folder with extensions is there.
    FindFolder {
        /// The repository.
        repo: String,
        /// The folder.
        path: String,
    },
    /// Fetch a git repository with extensions.
    FetchRepo {
        /// The repository.
        repo: String,
        /// Where from.
        url: String,
        /// The commit, branch or tag.
        reference: String,
    },
    /// Look whether the Tiltfile of an extension is there.
    FindExtension {
        /// The extension.
        name: String,
        /// The file.
        path: String,
    },
}

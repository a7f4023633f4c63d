//! The types of the UI: buttons, resources and the page.

use super::{
    Ty::{Bool, Int32, Int64, List, MicroTime, Ptr, Str, StrPtr, Strings, Struct, Time},
    schema,
    shared::DISABLE_SOURCE,
};

schema! {
    UI_COMPONENT_LOCATION: "UIComponentLocation", "The part of the page that a button belongs to." {
        Required "componentID": Str, "Name of the resource, or nav for the page itself.";
        Required "componentType": Str, "Resource or Global.";
    }

    UI_BUTTON_SPEC: "UIButtonSpec", "How a button looks, and where it is." {
        Required "location": Struct(&UI_COMPONENT_LOCATION), "Where the button is.";
        Required "text": Str, "The label of the button.";
        Optional "iconName": Str, "Name of an icon of the Material set.";
        Optional "iconSVG": Str, "An icon as SVG.";
        Optional "disabled": Bool, "Whether it cannot be clicked.";
        Optional "requiresConfirmation": Bool, "Whether a second click is needed.";
        Optional "inputs": List(&UI_INPUT_SPEC), "Values that are asked for.";
    }

    UI_BUTTON_STATUS: "UIButtonStatus", "When the button was clicked, and with which inputs." {
        Optional "lastClickedAt": MicroTime, "When it was clicked last.";
        Optional "inputs": List(&UI_INPUT_STATUS), "Values that were given.";
    }

    UI_INPUT_SPEC: "UIInputSpec", "A value that is asked for; exactly one type is set." {
        Required "name": Str, "Name of the value, and of the environment variable.";
        Shown "label": Str, "The label that is shown.";
        Optional "text": Ptr(&UI_TEXT_INPUT_SPEC), "A text.";
        Optional "bool": Ptr(&UI_BOOL_INPUT_SPEC), "A yes or no.";
        Optional "hidden": Ptr(&UI_HIDDEN_INPUT_SPEC), "A fixed value.";
        Optional "choice": Ptr(&UI_CHOICE_INPUT_SPEC), "One of several texts.";
    }

    UI_INPUT_STATUS: "UIInputStatus", "A value that was given." {
        Required "name": Str, "Name of the value.";
        Optional "text": Ptr(&UI_TEXT_INPUT_STATUS), "A text.";
        Optional "bool": Ptr(&UI_BOOL_INPUT_STATUS), "A yes or no.";
        Optional "hidden": Ptr(&UI_HIDDEN_INPUT_STATUS), "A fixed value.";
        Optional "choice": Ptr(&UI_CHOICE_INPUT_STATUS), "One of several texts.";
    }

    UI_TEXT_INPUT_SPEC: "UITextInputSpec", "A text." {
        Optional "defaultValue": Str, "The text at first.";
        Optional "placeholder": Str, "What is shown while there is no text.";
    }

    UI_BOOL_INPUT_SPEC: "UIBoolInputSpec", "A yes or no." {
        Optional "defaultValue": Bool, "What it is at first.";
        Optional "trueString": StrPtr, "What yes means.";
        Optional "falseString": StrPtr, "What no means.";
    }

    UI_HIDDEN_INPUT_SPEC: "UIHiddenInputSpec", "A fixed value that is not shown." {
        Required "value": Str, "The value.";
    }

    UI_CHOICE_INPUT_SPEC: "UIChoiceInputSpec", "One of several texts." {
        Shown "choices": Strings, "The texts; the first is chosen at first.";
    }

    UI_TEXT_INPUT_STATUS: "UITextInputStatus", "A text that was given." {
        Required "value": Str, "The value.";
    }

    UI_BOOL_INPUT_STATUS: "UIBoolInputStatus", "A yes or no that was given." {
        Required "value": Bool, "The value.";
    }

    UI_HIDDEN_INPUT_STATUS: "UIHiddenInputStatus", "The fixed value." {
        Required "value": Str, "The value.";
    }

    UI_CHOICE_INPUT_STATUS: "UIChoiceInputStatus", "The text that was chosen." {
        Required "value": Str, "The value.";
    }

    TOGGLE_BUTTON_SPEC: "ToggleButtonSpec", "A button that switches between two states." {
        Required "location": Struct(&UI_COMPONENT_LOCATION), "Where the button is.";
        Required "on": Struct(&TOGGLE_BUTTON_STATE_SPEC), "How it looks while it is on.";
        Required "off": Struct(&TOGGLE_BUTTON_STATE_SPEC), "How it looks while it is off.";
        Required "defaultOn": Bool, "Whether it is on while nothing is known.";
        Required "stateSource": Struct(&STATE_SOURCE), "Where the state is kept.";
    }

    TOGGLE_BUTTON_STATE_SPEC: "ToggleButtonStateSpec", "How the button looks in one state." {
        Required "text": Str, "The text that is shown.";
        Optional "iconName": Str, "Name of an icon of the Material set.";
        Optional "iconSVG": Str, "An icon as SVG.";
        Optional "requiresConfirmation": Bool, "Whether a second click is needed.";
    }

    STATE_SOURCE: "StateSource", "Where the state is kept." {
        Optional "configMap": Ptr(&CONFIG_MAP_STATE_SOURCE), "An entry of a config map.";
    }

    CONFIG_MAP_STATE_SOURCE: "ConfigMapStateSource", "An entry of a config map that holds the state." {
        Required "name": Str, "Name of the config map.";
        Required "key": Str, "The key of the entry.";
        Optional "onValue": Str, "The value that means on; true unless told.";
        Optional "offValue": Str, "The value that means off; false unless told.";
    }

    TOGGLE_BUTTON_STATUS: "ToggleButtonStatus", "Whether the button works." {
        Shown "error": Str, "What went wrong; empty if nothing did.";
    }

    UI_RESOURCE_SPEC: "UIResourceSpec", "Nothing: resources are declared in Tiltfiles." {
    }

    UI_RESOURCE_STATUS: "UIResourceStatus", "How a resource is doing." {
        Optional "lastDeployTime": MicroTime, "When an update succeeded last.";
        Optional "triggerMode": Int32, "When it is updated: 0 by itself, 1 only on request, 2 on request and not at the start, 3 by itself but not at the start.";
        Optional "buildHistory": List(&UI_BUILD_TERMINATED), "Updates that have ended, newest first.";
        Optional "currentBuild": Ptr(&UI_BUILD_RUNNING), "The update under way.";
        Optional "pendingBuildSince": MicroTime, "Since when changes wait.";
        Optional "hasPendingChanges": Bool, "Whether changes wait.";
        Optional "endpointLinks": List(&UI_RESOURCE_LINK), "Addresses of the resource.";
        Optional "k8sResourceInfo": Ptr(&UI_RESOURCE_KUBERNETES), "What is known of its pod.";
        Optional "composeResourceInfo": Ptr(&UI_RESOURCE_COMPOSE), "What is known of its container.";
        Optional "localResourceInfo": Ptr(&UI_RESOURCE_LOCAL), "What is known of its process.";
        Optional "runtimeStatus": Str, "How its server is doing.";
        Optional "updateStatus": Str, "How its updates are doing.";
        Optional "specs": List(&UI_RESOURCE_TARGET_SPEC), "The parts it consists of.";
        Optional "queued": Bool, "Whether somebody asked for an update.";
        Optional "order": Int32, "Its place in the Tiltfile.";
        Optional "disableStatus": Struct(&DISABLE_RESOURCE_STATUS), "Whether this is disabled, and why.";
        Optional "waiting": Ptr(&UI_RESOURCE_STATE_WAITING), "Why it is not updated yet.";
        Optional "conditions": List(&UI_RESOURCE_CONDITION), "Whether it is up to date and ready.";
    }

    DISABLE_RESOURCE_STATUS: "DisableResourceStatus", "Whether a resource is disabled." {
        Required "enabledCount": Int32, "How many parts are enabled.";
        Required "disabledCount": Int32, "How many parts are disabled.";
        Required "state": Str, "Enabled, Disabled or Error; empty while unknown.";
        Required "sources": List(&DISABLE_SOURCE), "Where it can be enabled and disabled.";
    }

    UI_RESOURCE_LINK: "UIResourceLink", "An address of the resource." {
        Optional "url": Str, "The address.";
        Optional "name": Str, "What the link is called.";
    }

    UI_RESOURCE_TARGET_SPEC: "UIResourceTargetSpec", "A part that the resource consists of." {
        Optional "id": Str, "Its identity.";
        Optional "type": Str, "image, k8s, docker-compose or local.";
        Optional "hasLiveUpdate": Bool, "Whether files are copied into running containers.";
    }

    UI_BUILD_RUNNING: "UIBuildRunning", "An update under way." {
        Optional "startTime": MicroTime, "When it started.";
        Optional "spanID": Str, "Where the log of it is found.";
    }

    UI_BUILD_TERMINATED: "UIBuildTerminated", "An update that has ended." {
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "warnings": Strings, "What was warned about.";
        Optional "startTime": MicroTime, "When it started.";
        Optional "finishTime": MicroTime, "When it ended.";
        Optional "spanID": Str, "Where the log of it is found.";
        Optional "isCrashRebuild": Bool, "Whether a crash was the reason.";
    }

    UI_RESOURCE_KUBERNETES: "UIResourceKubernetes", "The newest pod of the resource." {
        Optional "podName": Str, "Name of the pod.";
        Optional "podCreationTime": Time, "When the pod was made.";
        Optional "podUpdateStartTime": Time, "When the update of the pod began.";
        Optional "podStatus": Str, "State of the pod, in a word.";
        Optional "podStatusMessage": Str, "What is wrong with the pod.";
        Optional "allContainersReady": Bool, "Whether all containers are ready.";
        Optional "podRestarts": Int32, "How often containers were restarted.";
        Optional "spanID": Str, "Where the log of it is found.";
        Optional "displayNames": Strings, "Objects of the resource.";
    }

    UI_RESOURCE_COMPOSE: "UIResourceCompose", "The container of the resource." {
        Optional "healthStatus": Str, "Result of the health check.";
    }

    UI_RESOURCE_LOCAL: "UIResourceLocal", "The local process of the resource." {
        Optional "pid": Int64, "Number of the process.";
        Optional "isTest": Bool, "Whether it is a test.";
    }

    UI_RESOURCE_STATE_WAITING: "UIResourceStateWaiting", "Why the resource is not updated yet." {
        Required "reason": Str, "Why, in one word.";
        Optional "on": List(&UI_RESOURCE_STATE_WAITING_ON_REF), "What is waited for.";
    }

    UI_RESOURCE_STATE_WAITING_ON_REF: "UIResourceStateWaitingOnRef", "An object that is waited for." {
        Required "group": Str, "Its group of the API.";
        Required "apiVersion": Str, "Its version of the API.";
        Required "kind": Str, "Its kind.";
        Required "name": Str, "Its name.";
    }

    UI_RESOURCE_CONDITION: "UIResourceCondition", "One aspect of the state of a resource." {
        Required "type": Str, "UpToDate or Ready.";
        Required "status": Str, "True, False or Unknown.";
        Optional "lastTransitionTime": MicroTime, "When it changed last.";
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "message": Str, "An explanation for people.";
    }

    UI_SESSION_SPEC: "UISessionSpec", "Nothing." {
    }

    UI_SESSION_STATUS: "UISessionStatus", "What the page shows besides resources." {
        Optional "featureFlags": List(&UI_FEATURE_FLAG), "What is turned on.";
        Optional "needsAnalyticsNudge": Bool, "Not used.";
        Optional "runningTiltBuild": Struct(&TILT_BUILD), "The version that is running.";
        Optional "suggestedTiltVersion": Str, "A newer version.";
        Optional "versionSettings": Struct(&VERSION_SETTINGS), "What is done about new versions.";
        Optional "tiltCloudUsername": Str, "Not used.";
        Optional "tiltCloudTeamName": Str, "Not used.";
        Optional "tiltCloudSchemeHost": Str, "Not used.";
        Optional "tiltCloudTeamID": Str, "Not used.";
        Optional "fatalError": Str, "Why the engine ends.";
        Optional "tiltStartTime": Time, "When the engine started.";
        Optional "tiltfileKey": Str, "The main Tiltfile.";
    }

    UI_FEATURE_FLAG: "UIFeatureFlag", "Something that can be turned on or off." {
        Optional "name": Str, "Its name.";
        Optional "value": Bool, "Whether it is on.";
    }

    TILT_BUILD: "TiltBuild", "A version of the engine." {
        Optional "version": Str, "The version.";
        Optional "commitSHA": Str, "The commit.";
        Optional "date": Str, "When it was built.";
        Optional "dev": Bool, "Whether it is no release.";
    }

    VERSION_SETTINGS: "VersionSettings", "What is done about new versions." {
        Optional "checkUpdates": Bool, "Whether newer versions are looked for.";
    }
}

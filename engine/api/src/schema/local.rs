//! The types of processes, watched files, Tiltfiles, extensions and sessions.

use super::{
    Ty::{Bool, DurationPtr, Int32, Int64, List, Map, MicroTime, Ptr, Str, Strings, Struct, Time},
    schema,
    shared::{
        DISABLE_SOURCE, DISABLE_STATUS, IGNORE_DEF, PROBE, RESTART_ON_SPEC, START_ON_SPEC,
        STOP_ON_SPEC,
    },
};

schema! {
    CMD_SPEC: "CmdSpec", "How a process is run." {
        Optional "args": Strings, "The program and its arguments.";
        Optional "dir": Str, "The directory in which the command is run.";
        Optional "env": Strings, "Environment, as KEY=VALUE.";
        Optional "readinessProbe": Ptr(&PROBE), "How it is found out that the process is ready.";
        Optional "restartOn": Ptr(&RESTART_ON_SPEC), "What makes it run again.";
        Optional "startOn": Ptr(&START_ON_SPEC), "Nothing is run before this happens.";
        Optional "disableSource": Ptr(&DISABLE_SOURCE), "Where to look whether this is disabled.";
    }

    CMD_STATUS: "CmdStatus", "How the process is doing." {
        Optional "waiting": Ptr(&CMD_STATE_WAITING), "Set while it has not started.";
        Optional "running": Ptr(&CMD_STATE_RUNNING), "Set while it is running.";
        Optional "terminated": Ptr(&CMD_STATE_TERMINATED), "Set when it has ended.";
        Optional "ready": Bool, "Whether the readiness probe succeeded; true without a probe.";
        Optional "disableStatus": Ptr(&DISABLE_STATUS), "Whether this is disabled, and why.";
    }

    CMD_STATE_WAITING: "CmdStateWaiting", "The process has not been started yet." {
        Optional "reason": Str, "Why, in one word or sentence.";
    }

    CMD_STATE_RUNNING: "CmdStateRunning", "The process is running." {
        Required "pid": Int32, "Number of the process.";
        Optional "startedAt": MicroTime, "When it started.";
    }

    CMD_STATE_TERMINATED: "CmdStateTerminated", "The process has ended." {
        Required "pid": Int32, "Number of the process.";
        Required "exitCode": Int32, "The exit code.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "finishedAt": MicroTime, "When it ended.";
        Optional "reason": Str, "Why it ended, if not by itself.";
    }

    FILE_WATCH_SPEC: "FileWatchSpec", "Which files are watched." {
        Required "watchedPaths": Strings, "Files and directories, with everything below them.";
        Optional "ignores": List(&IGNORE_DEF), "Files that do not count.";
        Optional "disableSource": Ptr(&DISABLE_SOURCE), "Where to look whether this is disabled.";
    }

    FILE_WATCH_STATUS: "FileWatchStatus", "Which files have changed." {
        Optional "monitorStartTime": MicroTime, "When watching began.";
        Optional "lastEventTime": MicroTime, "When a file changed last.";
        Optional "fileEvents": List(&FILE_EVENT), "The last changes, oldest first.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "disableStatus": Ptr(&DISABLE_STATUS), "Whether this is disabled, and why.";
    }

    FILE_EVENT: "FileEvent", "Some files changed at the same time." {
        Required "time": MicroTime, "When the change was noticed.";
        Required "seenFiles": Strings, "The files.";
    }

    TILTFILE_SPEC: "TiltfileSpec", "Which Tiltfile is loaded, and when." {
        Required "path": Str, "The file.";
        Optional "labels": Map, "Labels that are added to what the Tiltfile declares.";
        Optional "restartOn": Ptr(&RESTART_ON_SPEC), "What makes it run again.";
        Optional "args": Strings, "Arguments for the Tiltfile.";
        Optional "stopOn": Ptr(&STOP_ON_SPEC), "What ends loading.";
    }

    TILTFILE_STATUS: "TiltfileStatus", "How loading the Tiltfile is going." {
        Optional "waiting": Ptr(&TILTFILE_STATE_WAITING), "Set while it has not started.";
        Optional "running": Ptr(&TILTFILE_STATE_RUNNING), "Set while it is running.";
        Optional "terminated": Ptr(&TILTFILE_STATE_TERMINATED), "Set when it has ended.";
    }

    TILTFILE_STATE_WAITING: "TiltfileStateWaiting", "The Tiltfile is about to be loaded." {
        Optional "reason": Str, "Why, in one word or sentence.";
    }

    TILTFILE_STATE_RUNNING: "TiltfileStateRunning", "The Tiltfile is being loaded." {
        Optional "reasons": Strings, "Why it is loaded.";
        Optional "startedAt": MicroTime, "When it started.";
    }

    TILTFILE_STATE_TERMINATED: "TiltfileStateTerminated", "The Tiltfile has been loaded." {
        Optional "reasons": Strings, "Why it was loaded.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "finishedAt": MicroTime, "When it ended.";
        Optional "warningCount": Int32, "How many warnings there were.";
    }

    EXTENSION_SPEC: "ExtensionSpec", "Which extension is loaded." {
        Required "repoName": Str, "Name of the repository.";
        Required "repoPath": Str, "Directory of the extension in the repository.";
        Optional "args": Strings, "Arguments for the Tiltfile.";
    }

    EXTENSION_STATUS: "ExtensionStatus", "Where the extension was found." {
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "path": Str, "The Tiltfile that is loaded.";
    }

    EXTENSION_REPO_SPEC: "ExtensionRepoSpec", "Where extensions come from." {
        Required "url": Str, "Starts with https://, http:// or file://.";
        Optional "ref": Str, "Branch, tag or commit; the newest unless told.";
        Optional "loadHost": Str, "First part of the name in load statements.";
        Optional "gitSubpath": Str, "Directory of the repository that has the extensions.";
    }

    EXTENSION_REPO_STATUS: "ExtensionRepoStatus", "What was fetched from the repository." {
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "lastFetchedAt": Time, "When it was fetched last.";
        Optional "path": Str, "Where the copy is.";
        Optional "checkoutRef": Str, "The commit of the copy.";
        Optional "staleReason": Str, "Why the copy may be old.";
    }

    SESSION_SPEC: "SessionSpec", "What this run is for." {
        Required "tiltfilePath": Str, "The Tiltfile of this run.";
        Required "exitCondition": Str, "When the run ends: manual or ci.";
        Optional "ci": Ptr(&SESSION_CI_SPEC), "Limits of a run that ends by itself.";
    }

    SESSION_CI_SPEC: "SessionCISpec", "Limits of a run that ends by itself." {
        Optional "k8sGracePeriod": DurationPtr, "How long a failing pod is tolerated.";
        Optional "timeout": DurationPtr, "How long the run may take.";
        Optional "readinessTimeout": DurationPtr, "How long everything may take to be ready.";
    }

    SESSION_STATUS: "SessionStatus", "How this run is doing." {
        Required "pid": Int64, "Number of the process.";
        Required "startTime": MicroTime, "When it started.";
        Required "targets": List(&TARGET), "All targets, by name.";
        Required "done": Bool, "Whether the run is over.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }

    TARGET: "Target", "A job or a server of a resource." {
        Required "name": Str, "Its name.";
        Required "type": Str, "job or server.";
        Required "resources": Strings, "Resources that the target belongs to.";
        Required "state": Struct(&TARGET_STATE), "Its state.";
    }

    TARGET_STATE: "TargetState", "State of a target; nothing is set if it was never asked for." {
        Optional "waiting": Ptr(&TARGET_STATE_WAITING), "Set while it has not started.";
        Optional "active": Ptr(&TARGET_STATE_ACTIVE), "Set while it is running.";
        Optional "terminated": Ptr(&TARGET_STATE_TERMINATED), "Set when it has ended.";
        Optional "disabled": Ptr(&TARGET_STATE_DISABLED), "Set while it is disabled.";
    }

    TARGET_STATE_WAITING: "TargetStateWaiting", "The target has not started yet." {
        Required "waitReason": Str, "Why it has not started.";
    }

    TARGET_STATE_ACTIVE: "TargetStateActive", "The target is running." {
        Required "startTime": MicroTime, "When it started.";
        Required "ready": Bool, "Whether it is ready.";
        Required "lastReadyTime": MicroTime, "When it was found ready.";
    }

    TARGET_STATE_TERMINATED: "TargetStateTerminated", "The target has ended." {
        Required "startTime": MicroTime, "When it started.";
        Required "finishTime": MicroTime, "When it ended.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "graceStatus": Str, "Whether the failure is tolerated.";
    }

    TARGET_STATE_DISABLED: "TargetStateDisabled", "The target is disabled." {
    }
}

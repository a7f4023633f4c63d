//! The types of images, Compose services and live updates.

use super::{
    Ty::{Bool, Int32, List, MicroTime, MicroTimePtr, Ptr, Str, Strings, Struct, TimePtr},
    schema,
    shared::{DISABLE_SOURCE, DISABLE_STATUS, IGNORE_DEF},
};

schema! {
    LIVE_UPDATE_SPEC: "LiveUpdateSpec", "How changed files get into running containers." {
        Required "basePath": Str, "The directory that local paths are relative to.";
        Required "selector": Struct(&LIVE_UPDATE_SELECTOR), "Which containers.";
        Optional "sources": List(&LIVE_UPDATE_SOURCE), "Where changed files come from.";
        Optional "stopPaths": Strings, "A change of these needs a full update.";
        Optional "syncs": List(&LIVE_UPDATE_SYNC), "Files that are copied.";
        Optional "execs": List(&LIVE_UPDATE_EXEC), "Commands that are run after copying.";
        Optional "restart": Str, "none, or always to restart the container.";
        Optional "initialSync": Ptr(&LIVE_UPDATE_INITIAL_SYNC), "Set to copy files into new containers.";
    }

    LIVE_UPDATE_STATUS: "LiveUpdateStatus", "Which containers are up to date." {
        Optional "containers": List(&LIVE_UPDATE_CONTAINER_STATUS), "State of each container.";
        Optional "failed": Ptr(&LIVE_UPDATE_STATE_FAILED), "Set if no further live update is done.";
    }

    LIVE_UPDATE_SOURCE: "LiveUpdateSource", "Where changed files come from." {
        Optional "fileWatch": Str, "Name of a file watch.";
        Optional "imageMap": Str, "Name of the image map; files older than the image do not count.";
    }

    LIVE_UPDATE_SELECTOR: "LiveUpdateSelector", "Which containers are updated; one field is set." {
        Optional "kubernetes": Ptr(&LIVE_UPDATE_KUBERNETES_SELECTOR), "Containers of pods.";
        Optional "dockerCompose": Ptr(&LIVE_UPDATE_DOCKER_COMPOSE_SELECTOR), "Containers of a Compose service.";
    }

    LIVE_UPDATE_KUBERNETES_SELECTOR: "LiveUpdateKubernetesSelector", "Containers of pods." {
        Required "discoveryName": Str, "Name of the discovery that finds the pods.";
        Optional "applyName": Str, "Name of what is applied.";
        Optional "image": Str, "Name of the image.";
        Optional "containerName": Str, "Name of the container.";
        Optional "imageMapName": Str, "Containers of the image of this map.";
    }

    LIVE_UPDATE_DOCKER_COMPOSE_SELECTOR: "LiveUpdateDockerComposeSelector", "Containers of a Compose service." {
        Required "service": Str, "Name of the service.";
    }

    LIVE_UPDATE_SYNC: "LiveUpdateSync", "Files that are copied." {
        Required "localPath": Str, "The files here.";
        Required "containerPath": Str, "Where they go.";
    }

    LIVE_UPDATE_EXEC: "LiveUpdateExec", "A command that is run in the container." {
        Required "args": Strings, "The program and its arguments.";
        Shown "triggerPaths": Strings, "Only a change of these runs the command; none for all.";
        Required "echoOff": Bool, "Whether the command is not shown.";
    }

    LIVE_UPDATE_INITIAL_SYNC: "LiveUpdateInitialSync", "That files are copied into new containers." {
    }

    LIVE_UPDATE_CONTAINER_STATUS: "LiveUpdateContainerStatus", "State of one container." {
        Required "containerName": Str, "Name of the container.";
        Optional "containerID": Str, "Identity of the container.";
        Required "podName": Str, "Name of the pod.";
        Required "namespace": Str, "The namespace.";
        Optional "lastFileTimeSynced": MicroTime, "When the newest copied file was changed.";
        Optional "lastExecError": Str, "How the last command failed.";
        Optional "waiting": Ptr(&LIVE_UPDATE_CONTAINER_STATE_WAITING), "Set while it cannot be updated.";
    }

    LIVE_UPDATE_STATE_FAILED: "LiveUpdateStateFailed", "Why no further live update is done." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "message": Str, "An explanation for people.";
        Optional "lastTransitionTime": MicroTime, "When it changed last.";
    }

    LIVE_UPDATE_CONTAINER_STATE_WAITING: "LiveUpdateContainerStateWaiting", "Why the container is not updated yet." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "message": Str, "An explanation for people.";
    }

    IMAGE_MAP_SPEC: "ImageMapSpec", "Which image is replaced." {
        Required "selector": Str, "Name of the image to replace.";
        Optional "matchExact": Bool, "Whether the tag has to match, too.";
        Optional "matchInEnvVars": Bool, "Whether environment variables are looked at, too.";
        Optional "overrideCommand": Ptr(&IMAGE_MAP_OVERRIDE_COMMAND), "Another command.";
        Optional "overrideArgs": Ptr(&IMAGE_MAP_OVERRIDE_ARGS), "Other arguments.";
    }

    IMAGE_MAP_OVERRIDE_COMMAND: "ImageMapOverrideCommand", "Another command for the containers of the image." {
        Required "command": Strings, "The command.";
    }

    IMAGE_MAP_OVERRIDE_ARGS: "ImageMapOverrideArgs", "Other arguments for the containers of the image." {
        Required "args": Strings, "The arguments.";
    }

    IMAGE_MAP_STATUS: "ImageMapStatus", "By what the image is replaced." {
        Optional "image": Str, "The name that objects of the cluster get.";
        Optional "imageFromLocal": Str, "The name as seen from here.";
        Optional "imageFromCluster": Str, "The name as seen from the cluster.";
        Optional "buildStartTime": MicroTimePtr, "When its build began; older changes are part of it.";
    }

    DOCKER_IMAGE_SPEC: "DockerImageSpec", "How an image is built from a Dockerfile." {
        Required "ref": Str, "Name of the image.";
        Optional "dockerfileContents": Str, "The Dockerfile.";
        Optional "context": Str, "The directory of the build.";
        Optional "contextIgnores": List(&IGNORE_DEF), "Files that are not part of the build.";
        Optional "args": Strings, "Build arguments, as KEY=VALUE.";
        Optional "target": Str, "The stage to build.";
        Optional "sshAgentConfigs": Strings, "SSH agents of the build.";
        Optional "secrets": Strings, "Secrets of the build.";
        Optional "network": Str, "The network of the build.";
        Optional "pull": Bool, "Whether newer base images are looked for.";
        Optional "cacheFrom": Strings, "Images to take layers from.";
        Optional "platform": Str, "The platform to build for.";
        Optional "extraTags": Strings, "Further names for the image.";
        Optional "imageMaps": Strings, "Names of image maps that are used.";
        Optional "cluster": Str, "Name of the cluster.";
        Optional "clusterNeeds": Str, "What the cluster needs the image for: push or base-image.";
        Optional "extraHosts": Strings, "Further entries of the hosts file, as HOST:ADDRESS.";
    }

    DOCKER_IMAGE_STATUS: "DockerImageStatus", "How the build is going." {
        Optional "ref": Str, "Name of the image.";
        Optional "waiting": Ptr(&DOCKER_IMAGE_STATE_WAITING), "Set while it has not started.";
        Optional "building": Ptr(&DOCKER_IMAGE_STATE_BUILDING), "Set while it is being built.";
        Optional "completed": Ptr(&DOCKER_IMAGE_STATE_COMPLETED), "Set when the build has ended.";
        Optional "stageStatuses": List(&DOCKER_IMAGE_STAGE_STATUS), "State of each step.";
    }

    DOCKER_IMAGE_STATE_WAITING: "DockerImageStateWaiting", "The build has not started yet." {
        Optional "reason": Str, "Why, in one word or sentence.";
    }

    DOCKER_IMAGE_STATE_BUILDING: "DockerImageStateBuilding", "The build is running." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "startedAt": MicroTime, "When it started.";
    }

    DOCKER_IMAGE_STATE_COMPLETED: "DockerImageStateCompleted", "The build has ended." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "finishedAt": MicroTime, "When it ended.";
    }

    DOCKER_IMAGE_STAGE_STATUS: "DockerImageStageStatus", "State of one step of the build." {
        Required "name": Str, "Its name.";
        Optional "cached": Bool, "Whether it was not needed.";
        Optional "startedAt": MicroTimePtr, "When it started.";
        Optional "finishedAt": MicroTimePtr, "When it ended.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }

    CMD_IMAGE_SPEC: "CmdImageSpec", "How an image is built by a command." {
        Required "ref": Str, "Name of the image.";
        Optional "args": Strings, "The program and its arguments.";
        Optional "dir": Str, "The directory in which the command is run.";
        Optional "env": Strings, "Environment, as KEY=VALUE.";
        Optional "imageMaps": Strings, "Names of image maps that are used.";
        Optional "outputMode": Str, "Where the command puts the image: local-docker, local-docker-and-remote or remote.";
        Optional "outputTag": Str, "The tag that the command uses.";
        Optional "outputsImageRefTo": Str, "The file that the command writes the name to.";
        Optional "cluster": Str, "Name of the cluster.";
        Optional "clusterNeeds": Str, "What the cluster needs the image for: push or base-image.";
    }

    CMD_IMAGE_STATUS: "CmdImageStatus", "How the build is going." {
        Optional "ref": Str, "Name of the image.";
        Optional "waiting": Ptr(&CMD_IMAGE_STATE_WAITING), "Set while it has not started.";
        Optional "building": Ptr(&CMD_IMAGE_STATE_BUILDING), "Set while it is being built.";
        Optional "completed": Ptr(&CMD_IMAGE_STATE_COMPLETED), "Set when the build has ended.";
    }

    CMD_IMAGE_STATE_WAITING: "CmdImageStateWaiting", "The build has not started yet." {
        Optional "reason": Str, "Why, in one word or sentence.";
    }

    CMD_IMAGE_STATE_BUILDING: "CmdImageStateBuilding", "The build is running." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "startedAt": MicroTime, "When it started.";
    }

    CMD_IMAGE_STATE_COMPLETED: "CmdImageStateCompleted", "The build has ended." {
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "finishedAt": MicroTime, "When it ended.";
    }

    DOCKER_COMPOSE_SERVICE_SPEC: "DockerComposeServiceSpec", "Which service is run." {
        Required "service": Str, "Name of the service.";
        Required "project": Struct(&DOCKER_COMPOSE_PROJECT), "The project of the service.";
        Optional "imageMaps": Strings, "Names of image maps that are used.";
        Optional "disableSource": Ptr(&DISABLE_SOURCE), "Where to look whether this is disabled.";
    }

    DOCKER_COMPOSE_SERVICE_STATUS: "DockerComposeServiceStatus", "How the service is doing." {
        Optional "disableStatus": Ptr(&DISABLE_STATUS), "Whether this is disabled, and why.";
        Optional "portBindings": List(&DOCKER_PORT_BINDING), "Its published ports.";
        Optional "containerState": Ptr(&DOCKER_CONTAINER_STATE), "State of its container.";
        Optional "containerID": Str, "Identity of the container.";
        Optional "containerName": Str, "Name of the container.";
        Optional "applyError": Str, "Why it could not be started.";
        Optional "lastApplyStartTime": MicroTime, "When starting it began.";
        Optional "lastApplyFinishTime": MicroTime, "When starting it ended.";
    }

    DOCKER_COMPOSE_PROJECT: "DockerComposeProject", "A Compose project." {
        Optional "configPaths": Strings, "Its Compose files.";
        Optional "projectPath": Str, "Its directory.";
        Optional "yaml": Str, "Its Compose file, merged.";
        Optional "name": Str, "Its name.";
        Optional "envFile": Str, "A file with its environment.";
        Optional "profiles": Strings, "The profiles to run.";
        Optional "wait": Bool, "Whether to wait until services are healthy.";
    }

    DOCKER_CONTAINER_STATE: "DockerContainerState", "State of a container." {
        Optional "status": Str, "created, running, paused, restarting, removing, exited or dead.";
        Optional "running": Bool, "Whether it is running.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "exitCode": Int32, "The exit code.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "finishedAt": MicroTime, "When it ended.";
        Optional "healthStatus": Str, "Result of the health check.";
    }

    DOCKER_PORT_BINDING: "DockerPortBinding", "A published port." {
        Optional "containerPort": Int32, "The port in the container.";
        Optional "hostPort": Int32, "The port here.";
        Optional "hostIP": Str, "The address here.";
    }

    DOCKER_COMPOSE_LOG_STREAM_SPEC: "DockerComposeLogStreamSpec", "Which log is shown." {
        Required "service": Str, "Name of the service.";
        Required "project": Struct(&DOCKER_COMPOSE_PROJECT), "The project of the service.";
        Optional "sinceTime": TimePtr, "Older lines are left out.";
    }

    DOCKER_COMPOSE_LOG_STREAM_STATUS: "DockerComposeLogStreamStatus", "Whether the log is being read." {
        Optional "startedAt": MicroTime, "When it started.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }
}

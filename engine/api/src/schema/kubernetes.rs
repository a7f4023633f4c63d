//! The types of clusters and what runs in them.

use super::{
    Ty::{
        Bool, Duration, Int32, Ints, List, MicroTime, MicroTimePtr, Ptr, Str, Strings, Struct,
        Time, TimePtr,
    },
    schema,
    shared::{
        CONDITION, DISABLE_SOURCE, DISABLE_STATUS, LABEL_SELECTOR, OBJECT_SELECTOR,
        REGISTRY_HOSTING, RESTART_ON_SPEC,
    },
};

schema! {
    KUBERNETES_APPLY_SPEC: "KubernetesApplySpec", "What is applied to a cluster, and how." {
        Optional "yaml": Str, "The objects to apply.";
        Optional "imageMaps": Strings, "Names of image maps that are used.";
        Optional "imageLocators": List(&KUBERNETES_IMAGE_LOCATOR), "Where else images are named.";
        Optional "timeout": Duration, "How long applying may take.";
        Optional "kubernetesDiscoveryTemplateSpec": Ptr(&KUBERNETES_DISCOVERY_TEMPLATE_SPEC), "How the pods are found.";
        Optional "portForwardTemplateSpec": Ptr(&PORT_FORWARD_TEMPLATE_SPEC), "Forwards that are made for the pods.";
        Optional "podLogStreamTemplateSpec": Ptr(&POD_LOG_STREAM_TEMPLATE_SPEC), "Which logs of the pods are shown.";
        Optional "discoveryStrategy": Str, "default, or selectors-only to ignore owners.";
        Optional "disableSource": Ptr(&DISABLE_SOURCE), "Where to look whether this is disabled.";
        Optional "applyCmd": Ptr(&KUBERNETES_APPLY_CMD), "A command that applies instead, and prints what it applied.";
        Optional "restartOn": Ptr(&RESTART_ON_SPEC), "What makes it run again.";
        Optional "deleteCmd": Ptr(&KUBERNETES_APPLY_CMD), "A command that deletes.";
        Shown "cluster": Str, "Name of the cluster.";
        Optional "serverSideApply": Bool, "Whether the cluster merges the fields.";
    }

    KUBERNETES_APPLY_STATUS: "KubernetesApplyStatus", "What came of applying it." {
        Optional "resultYAML": Str, "The objects as the cluster has them.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "lastApplyTime": MicroTime, "When applying ended.";
        Optional "lastApplyStartTime": MicroTime, "When applying began.";
        Optional "appliedInputHash": Str, "Changes with what was applied.";
        Optional "disableStatus": Ptr(&DISABLE_STATUS), "Whether this is disabled, and why.";
        Optional "conditions": List(&CONDITION), "Whether jobs are complete.";
    }

    KUBERNETES_IMAGE_LOCATOR: "KubernetesImageLocator", "Where objects of some type name an image." {
        Required "objectSelector": Struct(&OBJECT_SELECTOR), "Which objects.";
        Required "path": Str, "Where the image is, as JSON path.";
        Optional "object": Ptr(&KUBERNETES_IMAGE_OBJECT_DESCRIPTOR), "Which fields the image consists of.";
    }

    KUBERNETES_IMAGE_OBJECT_DESCRIPTOR: "KubernetesImageObjectDescriptor", "An image that is named by an object of several fields." {
        Required "repoField": Str, "The field of the repository.";
        Required "tagField": Str, "The field of the tag.";
    }

    KUBERNETES_DISCOVERY_TEMPLATE_SPEC: "KubernetesDiscoveryTemplateSpec", "How the pods of what was applied are found." {
        Optional "extraSelectors": List(&LABEL_SELECTOR), "Labels of further pods that belong to it.";
    }

    KUBERNETES_APPLY_CMD: "KubernetesApplyCmd", "A command that applies or deletes." {
        Required "args": Strings, "The program and its arguments.";
        Shown "dir": Str, "The directory in which the command is run.";
        Shown "env": Strings, "Environment, as KEY=VALUE.";
    }

    KUBERNETES_DISCOVERY_SPEC: "KubernetesDiscoverySpec", "Which pods are looked for." {
        Required "watches": List(&KUBERNETES_WATCH_REF), "Objects whose pods are looked for.";
        Optional "extraSelectors": List(&LABEL_SELECTOR), "Labels of further pods that belong to it.";
        Optional "portForwardTemplateSpec": Ptr(&PORT_FORWARD_TEMPLATE_SPEC), "Forwards that are made for the pods.";
        Optional "podLogStreamTemplateSpec": Ptr(&POD_LOG_STREAM_TEMPLATE_SPEC), "Which logs of the pods are shown.";
        Shown "cluster": Str, "Name of the cluster.";
    }

    KUBERNETES_WATCH_REF: "KubernetesWatchRef", "An object that owns pods." {
        Optional "uid": Str, "Its identity.";
        Required "namespace": Str, "The namespace.";
        Optional "name": Str, "Its name.";
    }

    PORT_FORWARD_TEMPLATE_SPEC: "PortForwardTemplateSpec", "Forwards that are made for a pod." {
        Required "forwards": List(&FORWARD), "The forwards.";
    }

    POD_LOG_STREAM_TEMPLATE_SPEC: "PodLogStreamTemplateSpec", "Which logs of a pod are shown." {
        Optional "sinceTime": TimePtr, "Older lines are left out.";
        Optional "onlyContainers": Strings, "Only these containers.";
        Optional "ignoreContainers": Strings, "All but these containers.";
    }

    KUBERNETES_DISCOVERY_STATUS: "KubernetesDiscoveryStatus", "Which pods were found." {
        Optional "monitorStartTime": MicroTime, "When watching began.";
        Required "pods": List(&POD), "The pods.";
        Optional "waiting": Ptr(&KUBERNETES_DISCOVERY_STATE_WAITING), "Set while it has not started.";
        Optional "running": Ptr(&KUBERNETES_DISCOVERY_STATE_RUNNING), "Set while it is running.";
    }

    KUBERNETES_DISCOVERY_STATE_WAITING: "KubernetesDiscoveryStateWaiting", "The search has not started yet." {
        Required "reason": Str, "Why, in one word or sentence.";
    }

    KUBERNETES_DISCOVERY_STATE_RUNNING: "KubernetesDiscoveryStateRunning", "The search is going on." {
        Required "startTime": MicroTime, "When it started.";
    }

    POD: "Pod", "A pod." {
        Required "uid": Str, "Its identity.";
        Required "name": Str, "Its name.";
        Required "namespace": Str, "The namespace.";
        Required "createdAt": Time, "When it was made.";
        Required "phase": Str, "Its phase, as the cluster tells.";
        Required "deleting": Bool, "Whether it is being deleted.";
        Optional "conditions": List(&POD_CONDITION), "Its conditions.";
        Optional "initContainers": List(&CONTAINER), "Containers that run first.";
        Required "containers": List(&CONTAINER), "Its containers.";
        Optional "ancestorUID": Str, "Identity of the object that was looked for.";
        Optional "podTemplateSpecHash": Str, "Changes with its template.";
        Required "status": Str, "Its state, in a word.";
        Required "errors": Strings, "What is wrong with it.";
        Optional "owner": Ptr(&POD_OWNER), "The object that made it.";
    }

    POD_OWNER: "PodOwner", "The object that made a pod." {
        Required "name": Str, "Its name.";
        Required "apiVersion": Str, "Its version of the API.";
        Required "kind": Str, "Its kind.";
        Optional "creationTimestamp": Time, "When it was made.";
    }

    POD_CONDITION: "PodCondition", "One aspect of the state of a pod." {
        Required "type": Str, "Which aspect.";
        Required "status": Str, "True, False or Unknown.";
        Optional "lastTransitionTime": Time, "When it changed last.";
        Optional "reason": Str, "Why, in one word or sentence.";
        Optional "message": Str, "An explanation for people.";
    }

    CONTAINER: "Container", "A container of a pod." {
        Required "name": Str, "Its name.";
        Required "id": Str, "Its identity.";
        Required "ready": Bool, "Whether it is ready.";
        Required "image": Str, "Name of the image.";
        Required "restarts": Int32, "How often it was restarted.";
        Required "state": Struct(&CONTAINER_STATE), "Its state.";
        Required "ports": Ints, "Its ports.";
    }

    CONTAINER_STATE: "ContainerState", "State of a container; at most one field is set." {
        Required "waiting": Ptr(&CONTAINER_STATE_WAITING), "Set while it has not started.";
        Required "running": Ptr(&CONTAINER_STATE_RUNNING), "Set while it is running.";
        Required "terminated": Ptr(&CONTAINER_STATE_TERMINATED), "Set when it has ended.";
    }

    CONTAINER_STATE_WAITING: "ContainerStateWaiting", "The container is about to start." {
        Required "reason": Str, "Why, in one word or sentence.";
    }

    CONTAINER_STATE_RUNNING: "ContainerStateRunning", "The container is running." {
        Required "startedAt": Time, "When it started.";
    }

    CONTAINER_STATE_TERMINATED: "ContainerStateTerminated", "The container has ended." {
        Required "startedAt": Time, "When it started.";
        Required "finishedAt": Time, "When it ended.";
        Optional "reason": Str, "Why, in one word or sentence.";
        Required "exitCode": Int32, "The exit code.";
    }

    PORT_FORWARD_SPEC: "PortForwardSpec", "Which ports of which pod are forwarded." {
        Required "podName": Str, "Name of the pod.";
        Optional "namespace": Str, "The namespace.";
        Required "forwards": List(&FORWARD), "The ports.";
        Shown "cluster": Str, "Name of the cluster.";
    }

    FORWARD: "Forward", "One forwarded port." {
        Optional "localPort": Int32, "The port here; 0 for a free one.";
        Required "containerPort": Int32, "The port in the container.";
        Shown "host": Str, "The address to listen on.";
        Optional "name": Str, "What the link is called.";
        Optional "path": Str, "The path of the link.";
    }

    PORT_FORWARD_STATUS: "PortForwardStatus", "Which forwards work." {
        Optional "forwardStatuses": List(&FORWARD_STATUS), "State of each forward.";
    }

    FORWARD_STATUS: "ForwardStatus", "State of one forward." {
        Required "localPort": Int32, "The port here; 0 for a free one.";
        Required "containerPort": Int32, "The port in the container.";
        Required "addresses": Strings, "The addresses that are listened on.";
        Optional "startedAt": MicroTime, "When it started.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }

    POD_LOG_STREAM_SPEC: "PodLogStreamSpec", "Which log is shown." {
        Optional "pod": Str, "Name of the pod.";
        Optional "namespace": Str, "The namespace.";
        Optional "sinceTime": TimePtr, "Older lines are left out.";
        Optional "onlyContainers": Strings, "Only these containers.";
        Optional "ignoreContainers": Strings, "All but these containers.";
        Shown "cluster": Str, "Name of the cluster.";
    }

    POD_LOG_STREAM_STATUS: "PodLogStreamStatus", "Which logs are being read." {
        Optional "containerStatuses": List(&CONTAINER_LOG_STREAM_STATUS), "State of the log of each container.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }

    CONTAINER_LOG_STREAM_STATUS: "ContainerLogStreamStatus", "State of the log of one container." {
        Optional "name": Str, "Its name.";
        Optional "active": Bool, "Whether it is being read.";
        Optional "terminated": Bool, "Whether the container has ended.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
    }

    CLUSTER_SPEC: "ClusterSpec", "Which cluster is used." {
        Optional "connection": Ptr(&CLUSTER_CONNECTION), "How it is reached.";
        Optional "defaultRegistry": Ptr(&REGISTRY_HOSTING), "Where images are pushed to, unless the cluster knows better.";
    }

    CLUSTER_CONNECTION: "ClusterConnection", "How the cluster is reached; one field is set." {
        Optional "kubernetes": Ptr(&KUBERNETES_CLUSTER_CONNECTION), "A Kubernetes cluster.";
        Optional "docker": Ptr(&DOCKER_CLUSTER_CONNECTION), "A Docker daemon.";
    }

    KUBERNETES_CLUSTER_CONNECTION: "KubernetesClusterConnection", "A Kubernetes cluster." {
        Optional "context": Str, "The context of the kubeconfig.";
        Optional "namespace": Str, "The namespace.";
    }

    DOCKER_CLUSTER_CONNECTION: "DockerClusterConnection", "A Docker daemon." {
        Optional "host": Str, "The address of the daemon.";
    }

    CLUSTER_STATUS: "ClusterStatus", "What is known about the cluster." {
        Optional "arch": Str, "The architecture of its machines.";
        Optional "error": Str, "What went wrong; empty if nothing did.";
        Optional "connectedAt": MicroTimePtr, "When it was reached.";
        Optional "registry": Ptr(&REGISTRY_HOSTING), "Where images are pushed to.";
        Optional "connection": Ptr(&CLUSTER_CONNECTION_STATUS), "How it is reached.";
        Optional "version": Str, "The version.";
    }

    CLUSTER_CONNECTION_STATUS: "ClusterConnectionStatus", "How the cluster was reached." {
        Optional "kubernetes": Ptr(&KUBERNETES_CLUSTER_CONNECTION_STATUS), "How the Kubernetes cluster was reached.";
    }

    KUBERNETES_CLUSTER_CONNECTION_STATUS: "KubernetesClusterConnectionStatus", "How the Kubernetes cluster was reached." {
        Required "context": Str, "The context of the kubeconfig.";
        Required "namespace": Str, "The namespace.";
        Required "cluster": Str, "Name of the cluster.";
        Optional "product": Str, "What kind of cluster it is.";
        Optional "configPath": Str, "A kubeconfig for this cluster only.";
    }
}

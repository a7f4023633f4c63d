//! Types that several kinds use.

use super::{
    Ty::{Bool, Int32, Int64, List, Map, Ptr, Str, Strings, Time},
    schema,
};

schema! {
    CONFIG_MAP_DISABLE_SOURCE: "ConfigMapDisableSource", "An entry of a config map that holds a truth value." {
        Required "name": Str, "Name of the config map.";
        Required "key": Str, "Key of the entry.";
    }

    DISABLE_SOURCE: "DisableSource", "Where to look whether something is disabled." {
        Optional "configMap": Ptr(&CONFIG_MAP_DISABLE_SOURCE), "An entry of a config map.";
        Optional "everyConfigMap": List(&CONFIG_MAP_DISABLE_SOURCE), "Several entries; disabled only if all of them say so.";
    }

    DISABLE_STATUS: "DisableStatus", "Whether the object is disabled, and why." {
        Required "disabled": Bool, "Whether it is disabled; see state.";
        Required "lastUpdateTime": Time, "When this was found out.";
        Required "reason": Str, "Why, in one word or sentence.";
        Required "state": Str, "Enabled, Disabled or Error; empty while unknown.";
    }

    RESTART_ON_SPEC: "RestartOnSpec", "What makes something run again." {
        Optional "fileWatches": Strings, "Names of file watches; a change of their files restarts.";
        Optional "uiButtons": Strings, "Names of buttons; a click restarts.";
    }

    START_ON_SPEC: "StartOnSpec", "What makes something run for the first time." {
        Optional "startAfter": Time, "Earlier clicks do not count.";
        Required "uiButtons": Strings, "Names of buttons; the first click starts.";
    }

    STOP_ON_SPEC: "StopOnSpec", "What makes something stop." {
        Required "uiButtons": Strings, "Names of buttons; a click stops.";
    }

    IGNORE_DEF: "IgnoreDef", "Files that do not count." {
        Required "basePath": Str, "The directory that the patterns are relative to.";
        Optional "patterns": Strings, "Patterns as in .dockerignore; without any, everything below is ignored.";
    }

    EXEC_ACTION: "ExecAction", "A check by a command: exit code 0 is good." {
        Optional "command": Strings, "The program and its arguments.";
    }

    HTTP_HEADER: "HTTPHeader", "A header of a request." {
        Required "name": Str, "Its name.";
        Required "value": Str, "The value.";
    }

    HTTP_GET_ACTION: "HTTPGetAction", "A check by an HTTP request: status 200 to 399 is good." {
        Optional "path": Str, "The path of the request.";
        Required "port": Int32, "Number of the port.";
        Optional "host": Str, "Name or address of a host.";
        Optional "scheme": Str, "HTTP or HTTPS.";
        Optional "httpHeaders": List(&HTTP_HEADER), "Headers of the request.";
    }

    TCP_SOCKET_ACTION: "TCPSocketAction", "A check by a connection: being accepted is good." {
        Required "port": Int32, "Number of the port.";
        Optional "host": Str, "Name or address of a host.";
    }

    PROBE: "Probe", "A regular check whether a process is ready." {
        Optional "exec": Ptr(&EXEC_ACTION), "Check by a command.";
        Optional "httpGet": Ptr(&HTTP_GET_ACTION), "Check by an HTTP request.";
        Optional "tcpSocket": Ptr(&TCP_SOCKET_ACTION), "Check by a connection.";
        Optional "initialDelaySeconds": Int32, "Seconds before the first check.";
        Optional "timeoutSeconds": Int32, "Seconds after which a check has failed; 1 unless told.";
        Optional "periodSeconds": Int32, "Seconds between checks; 10 unless told.";
        Optional "successThreshold": Int32, "Good checks in a row that make it ready; 1 unless told.";
        Optional "failureThreshold": Int32, "Bad checks in a row that make it not ready; 3 unless told.";
    }

    OBJECT_SELECTOR: "ObjectSelector", "Regular expressions that all have to match an object." {
        Optional "apiVersionRegexp": Str, "Matches the version of the API.";
        Optional "kindRegexp": Str, "Matches the kind.";
        Optional "nameRegexp": Str, "Matches the name.";
        Optional "namespaceRegexp": Str, "Matches the namespace.";
    }

    REGISTRY_HOSTING: "RegistryHosting", "A registry for images, as seen from different places." {
        Required "host": Str, "The registry as images are pushed to it.";
        Optional "hostFromClusterNetwork": Str, "The registry as pods reach it.";
        Optional "hostFromContainerRuntime": Str, "The registry as the cluster pulls from it.";
        Optional "help": Str, "Where to read about the registry.";
        Optional "singleName": Str, "One repository for all images.";
    }

    LABEL_SELECTOR_REQUIREMENT: "LabelSelectorRequirement", "A condition on one label." {
        Required "key": Str, "The label.";
        Required "operator": Str, "In, NotIn, Exists or DoesNotExist.";
        Optional "values": Strings, "The values to compare with.";
    }

    LABEL_SELECTOR: "LabelSelector", "Conditions on labels, which all have to hold." {
        Optional "matchLabels": Map, "Labels with their values.";
        Optional "matchExpressions": List(&LABEL_SELECTOR_REQUIREMENT), "Other conditions.";
    }

    CONDITION: "Condition", "One aspect of the state of an object." {
        Required "type": Str, "Which aspect.";
        Required "status": Str, "True, False or Unknown.";
        Optional "observedGeneration": Int64, "Which generation of the object this is about.";
        Required "lastTransitionTime": Time, "When it changed last.";
        Required "reason": Str, "Why, in one word or sentence.";
        Required "message": Str, "An explanation for people.";
    }
}

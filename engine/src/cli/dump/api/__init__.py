"""The functions that every Tiltfile can call."""

from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import config, os, shlex, sys, v1alpha1


class Blob:
    """A text that is content and no path."""


class FileSyncStep:
    """A step of a live update."""


class FallBackOn(FileSyncStep):
    """A step that names files whose changes need a new image."""


class Sync(FileSyncStep):
    """A step that copies files."""


class Run(FileSyncStep):
    """A step that runs a command in the container."""


class Link:
    """A link that the page shows."""


class PortForward:
    """A port of a pod that can be reached on this machine."""


class Probe:
    """How to find out whether a server is ready."""


class TriggerMode:
    """When a resource is updated."""


class PodReadiness:
    """Whether a resource waits for its pods."""


class K8sObjectID:
    """What identifies an object of Kubernetes."""


class Repo:
    """A folder with a Git repository."""

    def paths(self, path: str) -> str:
        """Gives the absolute path of a file in it."""


StrOrBlob = Union[str, Blob]
Command = Union[str, List[str]]
Paths = Union[str, List[str]]

TRIGGER_MODE_AUTO = TriggerMode()
TRIGGER_MODE_MANUAL = TriggerMode()

load: Callable
"""Takes names from another Tiltfile or extension."""


def allow_k8s_contexts(contexts: Paths) -> None:
    """Allows deployments to these contexts, besides those that are known to be local."""


def analytics_settings(enable: bool) -> None:
    """Accepted; nothing is collected."""


def blob(input: str) -> Blob:
    """Makes content of a text, where a plain text would be a path."""


def ci_settings(k8s_grace_period: Optional[str] = None, timeout: Optional[str] = None, readiness_timeout: Optional[str] = None) -> None:
    """Says how long `tilt ci` waits."""


def custom_build(
    ref: str,
    command: Command,
    deps: List[str],
    tag: str = "",
    disable_push: bool = False,
    skips_local_docker: bool = False,
    live_update: List[FileSyncStep] = [],
    match_in_env_vars: bool = False,
    ignore: Paths = [],
    entrypoint: Command = [],
    container_args: List[str] = [],
    command_bat_val: Command = "",
    outputs_image_ref_to: str = "",
    command_bat: Command = "",
    image_deps: List[str] = [],
    env: Dict[str, str] = {},
    dir: str = "",
) -> None:
    """Builds an image with a command of your own; it has to be named `$EXPECTED_REF` afterwards."""


def dc_resource(
    name: str,
    image: Optional[str] = None,
    trigger_mode: Optional[TriggerMode] = None,
    resource_deps: List[str] = [],
    infer_links: bool = True,
    links: Union[str, Link, List[Union[str, Link]]] = [],
    labels: Paths = [],
    auto_init: bool = True,
    project_name: str = "",
    new_name: str = "",
) -> None:
    """Changes how a service of Docker Compose is handled."""


def decode_json(json: StrOrBlob) -> Any:
    """Reads JSON from a text."""


def decode_yaml(yaml: StrOrBlob) -> Any:
    """Reads one YAML document from a text."""


def decode_yaml_stream(yaml: StrOrBlob) -> List[Any]:
    """Reads all YAML documents from a text."""


def default_registry(host: str, host_from_cluster: Optional[str] = None, single_name: str = "") -> None:
    """Says where images are pushed to."""


def disable_snapshots() -> None:
    """Hides what makes snapshots in the page."""


def docker_build(
    ref: str,
    context: str,
    build_args: Dict[str, str] = {},
    dockerfile: str = "Dockerfile",
    dockerfile_contents: Optional[StrOrBlob] = None,
    cache: Paths = [],
    live_update: List[FileSyncStep] = [],
    match_in_env_vars: bool = False,
    ignore: Paths = [],
    only: Paths = [],
    entrypoint: Command = [],
    container_args: List[str] = [],
    target: str = "",
    ssh: Paths = "",
    secret: Paths = "",
    network: str = "",
    extra_tag: Paths = "",
    cache_from: Paths = [],
    pull: bool = False,
    platform: str = "",
    extra_hosts: Paths = [],
) -> None:
    """Builds an image from a Dockerfile."""


def docker_compose(
    configPaths: Union[StrOrBlob, Dict, List[Union[StrOrBlob, Dict]]],
    env_file: Optional[str] = None,
    project_name: str = "",
    profiles: Paths = [],
    wait: bool = False,
) -> None:
    """Runs the services of Docker Compose files."""


def docker_prune_settings(disable: bool = False, max_age_mins: int = 360, num_builds: int = 0, interval_hrs: int = 1, keep_recent: int = 2) -> None:
    """Says which old images are removed, and when."""


def encode_json(obj: Any) -> Blob:
    """Writes a value as JSON."""


def encode_yaml(obj: Any) -> Blob:
    """Writes a value as YAML."""


def encode_yaml_stream(objs: List[Any]) -> Blob:
    """Writes values as YAML documents."""


def exec_action(command: List[str]) -> Any:
    """A probe that runs a command."""


def exit(code: Any = None) -> None:
    """Ends the Tiltfile; what it said so far counts."""


def fail(*args: Any) -> None:
    """Ends the Tiltfile with an error."""


def fall_back_on(files: Paths) -> FallBackOn:
    """Builds a new image when one of these files changes."""


def filter_yaml(
    yaml: Union[StrOrBlob, List[StrOrBlob]],
    labels: Dict[str, str] = {},
    name: str = "",
    namespace: str = "",
    kind: str = "",
    api_version: str = "",
) -> Tuple[Blob, Blob]:
    """Parts objects of Kubernetes into those that match and the rest."""


def helm(
    paths: str,
    name: str = "",
    namespace: str = "",
    values: Paths = [],
    set: Paths = [],
    kube_version: str = "",
    skip_crds: bool = False,
) -> Blob:
    """Gives the objects of a Helm chart."""


def http_get_action(port: int, host: str = "localhost", scheme: str = "http", path: str = "/") -> Any:
    """A probe that asks a web server."""


def include(path: str) -> None:
    """Runs another Tiltfile here."""


def initial_sync() -> FileSyncStep:
    """Copies files into a new container before anything changes."""


def k8s_context() -> str:
    """The Kubernetes context in use."""


def k8s_custom_deploy(
    name: str,
    apply_cmd: Command,
    delete_cmd: Command,
    deps: Paths,
    image_selector: str = "",
    live_update: List[FileSyncStep] = [],
    apply_dir: str = "",
    apply_env: Dict[str, str] = {},
    apply_cmd_bat: Command = "",
    delete_dir: str = "",
    delete_env: Dict[str, str] = {},
    delete_cmd_bat: Command = "",
    container_selector: str = "",
    image_deps: List[str] = [],
) -> None:
    """Deploys with a command of your own, which prints the objects."""


def k8s_image_json_path(paths: Paths, api_version: str = "", kind: str = "", name: str = "", namespace: str = "") -> None:
    """Says where objects name images."""


def k8s_kind(
    kind: str,
    api_version: str = "",
    image_json_path: Paths = [],
    image_object: Optional[Dict[str, str]] = None,
    pod_readiness: str = "",
) -> None:
    """Says that objects of a kind are workloads."""


def k8s_namespace() -> str:
    """The default namespace of the Kubernetes context in use."""


def k8s_resource(
    workload: str = "",
    new_name: str = "",
    port_forwards: Any = [],
    extra_pod_selectors: Union[Dict[str, str], List[Dict[str, str]]] = [],
    trigger_mode: Optional[TriggerMode] = None,
    resource_deps: List[str] = [],
    objects: List[str] = [],
    auto_init: bool = True,
    pod_readiness: str = "",
    links: Union[str, Link, List[Union[str, Link]]] = [],
    labels: Paths = [],
    discovery_strategy: str = "",
) -> None:
    """Changes how a workload is handled, or makes a resource of other objects."""


def k8s_yaml(yaml: Union[StrOrBlob, List[StrOrBlob]], allow_duplicates: bool = False) -> None:
    """Deploys objects to Kubernetes."""


def kustomize(paths: str, kustomize_bin: str = "", flags: List[str] = []) -> Blob:
    """Gives the objects of a kustomization."""


def link(url: str, name: Optional[str] = None) -> Link:
    """Makes a link with a name of its own."""


def listdir(dir: str, recursive: bool = False) -> List[str]:
    """Lists the files of a folder."""


def load_dynamic(path: str) -> Dict[str, Any]:
    """Runs another Tiltfile, and gives all its names."""


def local(
    command: Command,
    quiet: bool = False,
    command_bat: Command = "",
    echo_off: bool = False,
    env: Dict[str, str] = {},
    dir: str = "",
    stdin: Optional[StrOrBlob] = None,
) -> Blob:
    """Runs a command while the Tiltfile runs, and gives what it prints."""


def local_git_repo(path: str) -> Repo:
    """Names a folder with a Git repository."""


def local_resource(
    name: str,
    cmd: Command = "",
    deps: Paths = [],
    trigger_mode: Optional[TriggerMode] = None,
    resource_deps: List[str] = [],
    ignore: Paths = [],
    auto_init: bool = True,
    serve_cmd: Command = "",
    cmd_bat: Command = "",
    serve_cmd_bat: Command = "",
    allow_parallel: bool = False,
    links: Union[str, Link, List[Union[str, Link]]] = [],
    labels: Paths = [],
    env: Dict[str, str] = {},
    serve_env: Dict[str, str] = {},
    readiness_probe: Optional[Probe] = None,
    dir: str = "",
    serve_dir: str = "",
) -> None:
    """Runs commands on this machine: one that ends when files change, and one that keeps running."""


def port_forward(
    local_port: int,
    container_port: Optional[int] = None,
    name: Optional[str] = None,
    link_path: Optional[str] = None,
    host: Optional[str] = None,
) -> PortForward:
    """Makes a port of a pod reachable on this machine."""


def probe(
    initial_delay_secs: int = 0,
    timeout_secs: int = 1,
    period_secs: int = 10,
    success_threshold: int = 1,
    failure_threshold: int = 3,
    exec: Optional[Any] = None,
    http_get: Optional[Any] = None,
    tcp_socket: Optional[Any] = None,
) -> Probe:
    """Says how to find out whether a server is ready."""


def read_file(file_path: str, default: Optional[str] = None) -> Blob:
    """Reads a file, and runs the Tiltfile again when it changes."""


def read_json(path: str, default: Any = None) -> Any:
    """Reads a JSON file, and runs the Tiltfile again when it changes."""


def read_yaml(path: str, default: Any = None) -> Any:
    """Reads a YAML file, and runs the Tiltfile again when it changes."""


def read_yaml_stream(path: str, default: Any = None) -> List[Any]:
    """Reads all documents of a YAML file, and runs the Tiltfile again when it changes."""


def run(cmd: Command, trigger: Paths = [], echo_off: bool = False) -> Run:
    """Runs a command in the container, at every update or when some files change."""


def secret_settings(disable_scrub: bool = False) -> None:
    """Says whether values of secrets are hidden in logs."""


def set_team(team_id: str) -> None:
    """Accepted; has no effect."""


def sync(local_path: str, remote_path: str) -> Sync:
    """Copies changed files into the container."""


def tcp_socket_action(port: int, host: str = "localhost") -> Any:
    """A probe that opens a connection."""


def test(name: str, cmd: Command = "", **kwargs: Any) -> None:
    """The older name of a local resource that may run beside others."""


def trigger_mode(trigger_mode: TriggerMode) -> None:
    """Says when resources are updated that do not say it themselves."""


def update_settings(
    max_parallel_updates: int = 3,
    k8s_upsert_timeout_secs: int = 30,
    suppress_unused_image_warnings: Paths = [],
    k8s_server_side_apply: str = "auto",
) -> None:
    """Changes how resources are updated."""


def version_settings(check_updates: bool = True, constraint: str = "") -> None:
    """Says which versions can run this Tiltfile."""


def warn(msg: str) -> None:
    """Prints a warning."""


def watch_file(file_path: str) -> None:
    """Runs the Tiltfile again when a file changes."""


def watch_settings(ignore: Paths = []) -> None:
    """Says which changes of files do not matter to anything."""


def workload_to_resource_function(func: Callable[[K8sObjectID], str]) -> None:
    """Gives resources other names than their workloads have."""

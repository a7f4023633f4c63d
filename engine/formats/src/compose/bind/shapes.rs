//! Every attribute of a Compose project: its name, what it holds, and its place when written.

use super::{Field, Kind, Shape};

/// Fields as `name: Kind`; `always name: Kind` is written even when it says nothing.
macro_rules! fields {
    ($($(@$always:ident)? $name:literal: $kind:expr,)*) => {
        &[$(Field { name: $name, kind: $kind, always: fields!(@is $($always)?) }),*]
    };
    (@is) => { false };
    (@is always) => { true };
}

const fn shape(fields: &'static [Field]) -> Shape {
    Shape { fields, extensible: true }
}

const fn plain(fields: &'static [Field]) -> Shape {
    Shape { fields, extensible: false }
}

/// The whole project.
pub(super) static PROJECT: Shape = shape(fields![
    "services": Kind::Named(&Kind::Struct(&SERVICE)),
    "networks": Kind::Named(&Kind::Struct(&NETWORK)),
    "volumes": Kind::Named(&Kind::Struct(&VOLUME)),
    "secrets": Kind::Named(&Kind::Struct(&FILE_OBJECT)),
    "configs": Kind::Named(&Kind::Struct(&FILE_OBJECT)),
    "models": Kind::Named(&Kind::Struct(&MODEL)),
]);

pub(super) static SERVICE: Shape = shape(fields![
    "profiles": Kind::Texts,
    "annotations": Kind::Mapping,
    "attach": Kind::OptionalFlag,
    "build": Kind::Pointer(&BUILD),
    "develop": Kind::Pointer(&DEVELOP),
    "blkio_config": Kind::Pointer(&BLKIO),
    "cap_add": Kind::Texts,
    "cap_drop": Kind::Texts,
    "cgroup_parent": Kind::Text,
    "cgroup": Kind::Text,
    "cpu_count": Kind::Int,
    "cpu_percent": Kind::Float32,
    "cpu_period": Kind::Int,
    "cpu_quota": Kind::Int,
    "cpu_rt_period": Kind::Int,
    "cpu_rt_runtime": Kind::Int,
    "cpus": Kind::Float32,
    "cpuset": Kind::Text,
    "cpu_shares": Kind::Int,
    "command": Kind::Command,
    "configs": Kind::List(&Kind::Struct(&FILE_REFERENCE)),
    "container_name": Kind::Text,
    "credential_spec": Kind::Pointer(&CREDENTIAL_SPEC),
    "depends_on": Kind::Named(&Kind::Struct(&DEPENDENCY)),
    "deploy": Kind::Pointer(&DEPLOY),
    "device_cgroup_rules": Kind::Texts,
    "devices": Kind::List(&Kind::Struct(&DEVICE_MAPPING)),
    "dns": Kind::TextOrTexts,
    "dns_opt": Kind::Texts,
    "dns_search": Kind::TextOrTexts,
    "dockerfile": Kind::Text,
    "domainname": Kind::Text,
    "entrypoint": Kind::Command,
    "provider": Kind::Pointer(&PROVIDER),
    "environment": Kind::Variables,
    "env_file": Kind::List(&Kind::Struct(&ENV_FILE)),
    "expose": Kind::TextsOrNumbers,
    "extends": Kind::Pointer(&EXTENDS),
    "external_links": Kind::Texts,
    "extra_hosts": Kind::Hosts,
    "group_add": Kind::Texts,
    "gpus": Kind::List(&Kind::Struct(&DEVICE_REQUEST)),
    "hostname": Kind::Text,
    "healthcheck": Kind::Pointer(&HEALTHCHECK),
    "image": Kind::Text,
    "init": Kind::OptionalFlag,
    "ipc": Kind::Text,
    "isolation": Kind::Text,
    "labels": Kind::Labels,
    "label_file": Kind::Texts,
    "links": Kind::Texts,
    "logging": Kind::Pointer(&LOGGING),
    "log_driver": Kind::Text,
    "log_opt": Kind::TextMap,
    "mem_limit": Kind::Bytes,
    "mem_reservation": Kind::Bytes,
    "memswap_limit": Kind::Bytes,
    "mem_swappiness": Kind::Bytes,
    "mac_address": Kind::Text,
    "models": Kind::Named(&Kind::Pointer(&SERVICE_MODEL)),
    "net": Kind::Text,
    "network_mode": Kind::Text,
    "networks": Kind::Named(&Kind::Pointer(&SERVICE_NETWORK)),
    "oom_kill_disable": Kind::Flag,
    "oom_score_adj": Kind::Int,
    "pid": Kind::Text,
    "pids_limit": Kind::Int,
    "platform": Kind::Text,
    "ports": Kind::List(&Kind::Struct(&PORT)),
    "privileged": Kind::Flag,
    "pull_policy": Kind::Text,
    "read_only": Kind::Flag,
    "restart": Kind::Text,
    "runtime": Kind::Text,
    "scale": Kind::OptionalInt,
    "secrets": Kind::List(&Kind::Struct(&FILE_REFERENCE)),
    "security_opt": Kind::Texts,
    "shm_size": Kind::Bytes,
    "stdin_open": Kind::Flag,
    "stop_grace_period": Kind::OptionalDuration,
    "stop_signal": Kind::Text,
    "storage_opt": Kind::TextMap,
    "sysctls": Kind::Mapping,
    "tmpfs": Kind::TextOrTexts,
    "tty": Kind::Flag,
    "ulimits": Kind::Named(&Kind::Ulimit),
    "use_api_socket": Kind::Flag,
    "user": Kind::Text,
    "userns_mode": Kind::Text,
    "uts": Kind::Text,
    "volume_driver": Kind::Text,
    "volumes": Kind::List(&Kind::Struct(&MOUNTED_VOLUME)),
    "volumes_from": Kind::Texts,
    "working_dir": Kind::Text,
    "post_start": Kind::List(&Kind::Struct(&HOOK)),
    "pre_stop": Kind::List(&Kind::Struct(&HOOK)),
]);

static BUILD: Shape = shape(fields![
    "context": Kind::Text,
    "dockerfile": Kind::Text,
    "dockerfile_inline": Kind::Text,
    "entitlements": Kind::Texts,
    "args": Kind::Variables,
    "provenance": Kind::Text,
    "sbom": Kind::Text,
    "ssh": Kind::Ssh,
    "labels": Kind::Labels,
    "cache_from": Kind::TextOrTexts,
    "cache_to": Kind::TextOrTexts,
    "no_cache": Kind::Flag,
    "no_cache_filter": Kind::TextOrTexts,
    "additional_contexts": Kind::Mapping,
    "pull": Kind::Flag,
    "extra_hosts": Kind::Hosts,
    "isolation": Kind::Text,
    "network": Kind::Text,
    "target": Kind::Text,
    "secrets": Kind::List(&Kind::Struct(&FILE_REFERENCE)),
    "shm_size": Kind::Bytes,
    "tags": Kind::TextOrTexts,
    "ulimits": Kind::Named(&Kind::Ulimit),
    "platforms": Kind::TextOrTexts,
    "privileged": Kind::Flag,
]);

static DEVELOP: Shape = shape(fields!["watch": Kind::List(&Kind::Struct(&WATCH)),]);

static WATCH: Shape = shape(fields![
    @always "path": Kind::Text,
    @always "action": Kind::Text,
    "target": Kind::Text,
    "exec": Kind::Struct(&HOOK),
    "include": Kind::Texts,
    "ignore": Kind::Texts,
    "initial_sync": Kind::Flag,
]);

static HOOK: Shape = shape(fields![
    "command": Kind::Command,
    "user": Kind::Text,
    "privileged": Kind::Flag,
    "working_dir": Kind::Text,
    "environment": Kind::Variables,
]);

static BLKIO: Shape = shape(fields![
    "weight": Kind::Unsigned("uint16"),
    "weight_device": Kind::List(&Kind::Struct(&WEIGHT_DEVICE)),
    "device_read_bps": Kind::List(&Kind::Struct(&THROTTLE_DEVICE)),
    "device_read_iops": Kind::List(&Kind::Struct(&THROTTLE_DEVICE)),
    "device_write_bps": Kind::List(&Kind::Struct(&THROTTLE_DEVICE)),
    "device_write_iops": Kind::List(&Kind::Struct(&THROTTLE_DEVICE)),
]);

static WEIGHT_DEVICE: Shape = shape(fields![
    @always "path": Kind::Text,
    @always "weight": Kind::Unsigned("uint16"),
]);

static THROTTLE_DEVICE: Shape = shape(fields![
    @always "path": Kind::Text,
    @always "rate": Kind::Bytes,
]);

static FILE_REFERENCE: Shape = shape(fields![
    "source": Kind::Text,
    "target": Kind::Text,
    "uid": Kind::Text,
    "gid": Kind::Text,
    "mode": Kind::FileMode,
]);

static CREDENTIAL_SPEC: Shape = shape(fields![
    "config": Kind::Text,
    "file": Kind::Text,
    "registry": Kind::Text,
]);

static DEPENDENCY: Shape = shape(fields![
    "condition": Kind::Text,
    "restart": Kind::Flag,
    @always "required": Kind::Flag,
]);

pub(super) static DEPLOY: Shape = shape(fields![
    "mode": Kind::Text,
    "replicas": Kind::OptionalInt,
    "labels": Kind::Labels,
    "update_config": Kind::Pointer(&ROLLOUT),
    "rollback_config": Kind::Pointer(&ROLLOUT),
    "resources": Kind::Struct(&RESOURCES),
    "restart_policy": Kind::Pointer(&RESTART_POLICY),
    "placement": Kind::Struct(&PLACEMENT),
    "endpoint_mode": Kind::Text,
]);

static ROLLOUT: Shape = shape(fields![
    "parallelism": Kind::OptionalUnsigned,
    "delay": Kind::Duration,
    "failure_action": Kind::Text,
    "monitor": Kind::Duration,
    "max_failure_ratio": Kind::Float32,
    "order": Kind::Text,
]);

static RESOURCES: Shape = shape(fields![
    "limits": Kind::Pointer(&RESOURCE),
    "reservations": Kind::Pointer(&RESOURCE),
]);

static RESOURCE: Shape = shape(fields![
    "cpus": Kind::Cpus,
    "memory": Kind::Bytes,
    "pids": Kind::Int,
    "devices": Kind::List(&Kind::Struct(&DEVICE_REQUEST)),
    "generic_resources": Kind::List(&Kind::Struct(&GENERIC_RESOURCE)),
]);

static GENERIC_RESOURCE: Shape =
    shape(fields!["discrete_resource_spec": Kind::Pointer(&DISCRETE_RESOURCE),]);

static DISCRETE_RESOURCE: Shape = shape(fields![
    @always "kind": Kind::Text,
    @always "value": Kind::Int,
]);

static RESTART_POLICY: Shape = shape(fields![
    "condition": Kind::Text,
    "delay": Kind::OptionalDuration,
    "max_attempts": Kind::OptionalUnsigned,
    "window": Kind::OptionalDuration,
]);

static PLACEMENT: Shape = shape(fields![
    "constraints": Kind::Texts,
    "preferences": Kind::List(&Kind::Struct(&PREFERENCE)),
    "max_replicas_per_node": Kind::Unsigned("uint64"),
]);

static PREFERENCE: Shape = shape(fields!["spread": Kind::Text,]);

static DEVICE_MAPPING: Shape = shape(fields![
    "source": Kind::Text,
    "target": Kind::Text,
    "permissions": Kind::Text,
]);

static DEVICE_REQUEST: Shape = plain(fields![
    "capabilities": Kind::Texts,
    "driver": Kind::Text,
    "count": Kind::DeviceCount,
    "device_ids": Kind::Texts,
    "options": Kind::Mapping,
]);

static PROVIDER: Shape = shape(fields![
    "type": Kind::Text,
    "options": Kind::MultiOptions,
]);

static ENV_FILE: Shape = plain(fields![
    "path": Kind::Text,
    "required": Kind::OptOut,
    "format": Kind::Text,
]);

static EXTENDS: Shape = plain(fields!["file": Kind::Text, "service": Kind::Text,]);

static HEALTHCHECK: Shape = shape(fields![
    "test": Kind::HealthTest,
    "timeout": Kind::OptionalDuration,
    "interval": Kind::OptionalDuration,
    "retries": Kind::OptionalUnsigned,
    "start_period": Kind::OptionalDuration,
    "start_interval": Kind::OptionalDuration,
    "disable": Kind::Flag,
]);

static LOGGING: Shape = shape(fields!["driver": Kind::Text, "options": Kind::Options,]);

static SERVICE_MODEL: Shape = shape(fields![
    "endpoint_var": Kind::Text,
    "model_var": Kind::Text,
]);

static SERVICE_NETWORK: Shape = shape(fields![
    "aliases": Kind::Texts,
    "driver_opts": Kind::Options,
    "gw_priority": Kind::Int,
    "interface_name": Kind::Text,
    "ipv4_address": Kind::Text,
    "ipv6_address": Kind::Text,
    "link_local_ips": Kind::Texts,
    "mac_address": Kind::Text,
    "priority": Kind::Int,
]);

static PORT: Shape = shape(fields![
    "name": Kind::Text,
    "mode": Kind::Text,
    "host_ip": Kind::Text,
    "target": Kind::Unsigned("uint32"),
    "published": Kind::Text,
    "protocol": Kind::Text,
    "app_protocol": Kind::Text,
]);

static MOUNTED_VOLUME: Shape = shape(fields![
    "type": Kind::Text,
    "source": Kind::Text,
    "target": Kind::Text,
    "read_only": Kind::Flag,
    "consistency": Kind::Text,
    "bind": Kind::Pointer(&BIND),
    "volume": Kind::Pointer(&VOLUME_OPTIONS),
    "tmpfs": Kind::Pointer(&TMPFS),
    "image": Kind::Pointer(&IMAGE_OPTIONS),
]);

static BIND: Shape = shape(fields![
    "selinux": Kind::Text,
    "propagation": Kind::Text,
    "create_host_path": Kind::OptOut,
    "recursive": Kind::Text,
]);

static VOLUME_OPTIONS: Shape = shape(fields![
    "labels": Kind::Mapping,
    "nocopy": Kind::Flag,
    "subpath": Kind::Text,
]);

static TMPFS: Shape = shape(fields![
    "size": Kind::Bytes,
    "mode": Kind::Unsigned("uint32"),
]);

static IMAGE_OPTIONS: Shape = shape(fields!["subpath": Kind::Text,]);

static NETWORK: Shape = shape(fields![
    "name": Kind::Text,
    "driver": Kind::Text,
    "driver_opts": Kind::Options,
    "ipam": Kind::Struct(&IPAM),
    "external": Kind::Flag,
    "internal": Kind::Flag,
    "attachable": Kind::Flag,
    "labels": Kind::Labels,
    "enable_ipv4": Kind::OptionalFlag,
    "enable_ipv6": Kind::OptionalFlag,
]);

static IPAM: Shape = shape(fields![
    "driver": Kind::Text,
    "config": Kind::List(&Kind::Pointer(&IPAM_POOL)),
]);

static IPAM_POOL: Shape = shape(fields![
    "subnet": Kind::Text,
    "gateway": Kind::Text,
    "ip_range": Kind::Text,
    "aux_addresses": Kind::Mapping,
]);

static VOLUME: Shape = shape(fields![
    "name": Kind::Text,
    "driver": Kind::Text,
    "driver_opts": Kind::Options,
    "external": Kind::Flag,
    "labels": Kind::Labels,
]);

static FILE_OBJECT: Shape = shape(fields![
    "name": Kind::Text,
    "file": Kind::Text,
    "environment": Kind::Text,
    "content": Kind::Text,
    "external": Kind::Flag,
    "labels": Kind::Labels,
    "driver": Kind::Text,
    "driver_opts": Kind::TextMap,
    "template_driver": Kind::Text,
]);

static MODEL: Shape = shape(fields![
    "name": Kind::Text,
    "model": Kind::Text,
    "context_size": Kind::Int,
    "runtime_flags": Kind::Texts,
]);

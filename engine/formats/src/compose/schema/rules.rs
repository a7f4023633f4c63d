//! The shape of a Compose file, as a table: for every mapping, which keys take which values.

use super::{Dict, Keys, Kind, Rule};

const OBJECT: &[Kind] = &[Kind::Object];
const NAMES: Keys = Keys::Name;

/// A mapping that accepts any key.
const OPEN: Dict = Dict { kinds: OBJECT, fields: &[], keys: &[], required: &[], open: true };
/// A mapping that accepts the keys it names.
const CLOSED: Dict = Dict { open: false, ..OPEN };
/// A mapping that accepts the keys it names, and `x-…`.
const EXTENSIBLE: Dict = Dict { keys: &[(Keys::Extension, &Rule::Any)], ..CLOSED };

// Numbers and flags may always come from a variable, hence from a text.
static TEXT: Rule = Rule::Kinds(&[Kind::String]);
static FLAG: Rule = Rule::Kinds(&[Kind::Boolean, Kind::String]);
static BARE_FLAG: Rule = Rule::Kinds(&[Kind::Boolean]);
static INTEGER: Rule = Rule::Kinds(&[Kind::Integer, Kind::String]);
static BARE_INTEGER: Rule = Rule::Kinds(&[Kind::Integer]);
static NUMBER: Rule = Rule::Kinds(&[Kind::Number, Kind::String]);
static BARE_NUMBER: Rule = Rule::Kinds(&[Kind::Number]);
static NULL: Rule = Rule::Kinds(&[Kind::Null]);
static SCALAR: Rule = Rule::Kinds(&[Kind::Boolean, Kind::Number, Kind::String]);
static SCALAR_OR_NULL: Rule = Rule::Kinds(&[Kind::Boolean, Kind::Null, Kind::Number, Kind::String]);
static NUMBER_OR_NULL: Rule = Rule::Kinds(&[Kind::Null, Kind::Number, Kind::String]);
static TEXT_OR_NULL: Rule = Rule::Kinds(&[Kind::Null, Kind::String]);

static TEXTS: Rule = Rule::List(&TEXT);
static DISTINCT_TEXTS: Rule = Rule::Set(&TEXT);
static TEXT_OR_TEXTS: Rule = Rule::OneOf(&[&TEXT, &TEXTS]);
static TEXT_OR_DISTINCT_TEXTS: Rule = Rule::OneOf(&[&TEXT, &DISTINCT_TEXTS]);
static COMMAND: Rule = Rule::OneOf(&[&NULL, &TEXT, &TEXTS]);

/// `{KEY: value}` or `[KEY=value]`.
static PAIRS: Rule = Rule::OneOf(&[
    &Rule::Dict(Dict { keys: &[(Keys::NotEmpty, &SCALAR_OR_NULL)], ..CLOSED }),
    &DISTINCT_TEXTS,
]);
static HOSTS: Rule = Rule::OneOf(&[
    &Rule::Dict(Dict { keys: &[(Keys::NotEmpty, &TEXT_OR_TEXTS)], ..CLOSED }),
    &DISTINCT_TEXTS,
]);
static DRIVER_OPTIONS: Rule = Rule::Dict(Dict { keys: &[(Keys::NotEmpty, &NUMBER)], ..OPEN });
static ALL_TEXT: Rule = Rule::Dict(Dict { keys: &[(Keys::NotEmpty, &TEXT)], ..CLOSED });

/// The whole file.
pub(super) static ROOT: Dict = Dict {
    fields: &[
        (&TEXT, &["name", "version"]),
        (&Rule::List(&INCLUDE), &["include"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &SERVICE)], ..CLOSED }), &["services"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &VOLUME)], ..CLOSED }), &["volumes"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &SECRET)], ..CLOSED }), &["secrets"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &CONFIG)], ..CLOSED }), &["configs"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &NETWORK)], ..OPEN }), &["networks"]),
        (&Rule::Dict(Dict { keys: &[(NAMES, &MODEL)], ..OPEN }), &["models"]),
    ],
    ..EXTENSIBLE
};

static INCLUDE: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[
            (&TEXT, &["project_directory"]),
            (&TEXT_OR_DISTINCT_TEXTS, &["env_file", "path"]),
        ],
        ..CLOSED
    }),
]);

static SERVICE: Rule = Rule::Dict(Dict {
    fields: &[
        (
            &TEXT,
            &[
                "cgroup_parent",
                "cpuset",
                "domainname",
                "hostname",
                "image",
                "ipc",
                "isolation",
                "mac_address",
                "network_mode",
                "platform",
                "pull_refresh_after",
                "restart",
                "runtime",
                "stop_grace_period",
                "stop_signal",
                "user",
                "userns_mode",
                "uts",
                "working_dir",
            ],
        ),
        (&TEXT_OR_NULL, &["pid"]),
        (&Rule::Enum(&["host", "private"]), &["cgroup"]),
        (&Rule::Pattern("[a-zA-Z0-9][a-zA-Z0-9_.-]+"), &["container_name"]),
        (&Rule::Pattern(PULL_POLICIES), &["pull_policy"]),
        (
            &FLAG,
            &["attach", "init", "oom_kill_disable", "privileged", "read_only", "stdin_open", "tty"],
        ),
        (&BARE_FLAG, &["use_api_socket"]),
        (&INTEGER, &["mem_reservation", "mem_swappiness", "scale"]),
        (
            &NUMBER,
            &[
                "cpu_period",
                "cpu_quota",
                "cpu_rt_period",
                "cpu_rt_runtime",
                "cpu_shares",
                "cpus",
                "mem_limit",
                "memswap_limit",
                "pids_limit",
                "shm_size",
            ],
        ),
        (&Rule::OneOf(&[&TEXT, &Rule::Range(0, i64::MAX)]), &["cpu_count"]),
        (&Rule::OneOf(&[&TEXT, &Rule::Range(0, 100)]), &["cpu_percent"]),
        (&Rule::OneOf(&[&TEXT, &Rule::Range(-1000, 1000)]), &["oom_score_adj"]),
        (
            &DISTINCT_TEXTS,
            &[
                "cap_add",
                "cap_drop",
                "device_cgroup_rules",
                "dns_opt",
                "external_links",
                "links",
                "profiles",
                "security_opt",
                "volumes_from",
            ],
        ),
        (&Rule::Set(&NUMBER), &["expose", "group_add"]),
        (&TEXT_OR_DISTINCT_TEXTS, &["dns", "dns_search", "tmpfs"]),
        (&TEXT_OR_TEXTS, &["label_file"]),
        (&COMMAND, &["command", "entrypoint"]),
        (&PAIRS, &["annotations", "environment", "labels", "sysctls"]),
        (&HOSTS, &["extra_hosts"]),
        (&MOUNTS, &["configs", "secrets"]),
        (&Rule::List(&HOOK), &["post_start", "pre_stop"]),
        (&Rule::Dict(OPEN), &["storage_opt"]),
        (&BLKIO, &["blkio_config"]),
        (&BUILD, &["build"]),
        (&CREDENTIAL_SPEC, &["credential_spec"]),
        (&DEPENDS_ON, &["depends_on"]),
        (&DEPLOY, &["deploy"]),
        (&DEVELOP, &["develop"]),
        (&Rule::List(&DEVICE), &["devices"]),
        (&ENV_FILE, &["env_file"]),
        (&EXTENDS, &["extends"]),
        (&GPUS, &["gpus"]),
        (&HEALTHCHECK, &["healthcheck"]),
        (&LOGGING, &["logging"]),
        (&SERVICE_MODELS, &["models"]),
        (&SERVICE_NETWORKS, &["networks"]),
        (&Rule::Set(&PORT), &["ports"]),
        (&PROVIDER, &["provider"]),
        (&ULIMITS, &["ulimits"]),
        (&Rule::Set(&MOUNTED_VOLUME), &["volumes"]),
    ],
    ..EXTENSIBLE
});

const PULL_POLICIES: &str =
    "always|never|build|if_not_present|missing|refresh|daily|weekly|every_([0-9]+[wdhms])+";

static BUILD: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[
            (
                &TEXT,
                &["context", "dockerfile", "dockerfile_inline", "isolation", "network", "target"],
            ),
            (&FLAG, &["no_cache", "privileged", "provenance", "pull", "sbom"]),
            (&INTEGER, &["shm_size"]),
            (&TEXTS, &["cache_from", "cache_to", "entitlements", "platforms", "tags"]),
            (&TEXT_OR_DISTINCT_TEXTS, &["no_cache_filter"]),
            (&PAIRS, &["additional_contexts", "args", "labels", "ssh"]),
            (&HOSTS, &["extra_hosts"]),
            (&MOUNTS, &["secrets"]),
            (&ULIMITS, &["ulimits"]),
        ],
        ..EXTENSIBLE
    }),
]);

static BLKIO: Rule = Rule::Dict(Dict {
    fields: &[
        (&INTEGER, &["weight"]),
        (
            &Rule::List(&Rule::Dict(Dict {
                fields: &[(&TEXT, &["path"]), (&INTEGER, &["weight"])],
                ..CLOSED
            })),
            &["weight_device"],
        ),
        (
            &Rule::List(&Rule::Dict(Dict {
                fields: &[(&TEXT, &["path"]), (&INTEGER, &["rate"])],
                ..CLOSED
            })),
            &["device_read_bps", "device_read_iops", "device_write_bps", "device_write_iops"],
        ),
    ],
    ..CLOSED
});

static CREDENTIAL_SPEC: Rule =
    Rule::Dict(Dict { fields: &[(&TEXT, &["config", "file", "registry"])], ..EXTENSIBLE });

static DEPENDS_ON: Rule = Rule::OneOf(&[
    &DISTINCT_TEXTS,
    &Rule::Dict(Dict {
        keys: &[(
            NAMES,
            &Rule::Dict(Dict {
                fields: &[
                    (&FLAG, &["restart"]),
                    (&BARE_FLAG, &["required"]),
                    (
                        &Rule::Enum(&[
                            "service_started",
                            "service_healthy",
                            "service_completed_successfully",
                        ]),
                        &["condition"],
                    ),
                ],
                required: &["condition"],
                ..EXTENSIBLE
            }),
        )],
        ..CLOSED
    }),
]);

static DEVICE: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[(&TEXT, &["permissions", "source", "target"])],
        required: &["source"],
        ..EXTENSIBLE
    }),
]);

static ENV_FILE: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::List(&Rule::OneOf(&[
        &TEXT,
        &Rule::Dict(Dict {
            fields: &[(&TEXT, &["format", "path"]), (&FLAG, &["required"])],
            required: &["path"],
            ..CLOSED
        }),
    ])),
]);

static EXTENDS: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[(&TEXT, &["file", "service"])],
        required: &["service"],
        ..CLOSED
    }),
]);

static HEALTHCHECK: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["interval", "start_interval", "start_period", "timeout"]),
        (&FLAG, &["disable"]),
        (&NUMBER, &["retries"]),
        (&TEXT_OR_TEXTS, &["test"]),
    ],
    ..EXTENSIBLE
});

static HOOK: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["user", "working_dir"]),
        (&FLAG, &["privileged"]),
        (&COMMAND, &["command"]),
        (&PAIRS, &["environment"]),
    ],
    required: &["command"],
    ..EXTENSIBLE
});

static LOGGING: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["driver"]),
        (&Rule::Dict(Dict { keys: &[(Keys::NotEmpty, &NUMBER_OR_NULL)], ..OPEN }), &["options"]),
    ],
    ..EXTENSIBLE
});

static SERVICE_MODELS: Rule = Rule::OneOf(&[
    &DISTINCT_TEXTS,
    &Rule::Dict(Dict {
        keys: &[(
            NAMES,
            &Rule::OneOf(&[
                &Rule::Dict(Dict {
                    fields: &[(&TEXT, &["endpoint_var", "model_var"])],
                    ..EXTENSIBLE
                }),
                &NULL,
            ]),
        )],
        ..OPEN
    }),
]);

static SERVICE_NETWORKS: Rule = Rule::OneOf(&[
    &DISTINCT_TEXTS,
    &Rule::Dict(Dict {
        keys: &[(
            NAMES,
            &Rule::OneOf(&[
                &Rule::Dict(Dict {
                    fields: &[
                        (&TEXT, &["interface_name", "ipv4_address", "ipv6_address", "mac_address"]),
                        (&BARE_NUMBER, &["gw_priority", "priority"]),
                        (&DISTINCT_TEXTS, &["aliases", "link_local_ips"]),
                        (&DRIVER_OPTIONS, &["driver_opts"]),
                    ],
                    ..EXTENSIBLE
                }),
                &NULL,
            ]),
        )],
        ..CLOSED
    }),
]);

static MOUNTS: Rule = Rule::List(&Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[(&TEXT, &["gid", "source", "target", "uid"]), (&NUMBER, &["mode"])],
        ..EXTENSIBLE
    }),
]));

static PORT: Rule = Rule::OneOf(&[
    &BARE_NUMBER,
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[
            (&TEXT, &["app_protocol", "host_ip", "mode", "name", "protocol"]),
            (&INTEGER, &["published", "target"]),
        ],
        ..EXTENSIBLE
    }),
]);

static PROVIDER: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["type"]),
        (
            &Rule::Dict(Dict {
                keys: &[(Keys::NotEmpty, &Rule::OneOf(&[&SCALAR, &Rule::List(&SCALAR)]))],
                ..OPEN
            }),
            &["options"],
        ),
    ],
    required: &["type"],
    ..EXTENSIBLE
});

static ULIMITS: Rule = Rule::Dict(Dict {
    keys: &[(
        Keys::Lower,
        &Rule::OneOf(&[
            &INTEGER,
            &Rule::Dict(Dict {
                fields: &[(&INTEGER, &["hard", "soft"])],
                required: &["soft", "hard"],
                ..EXTENSIBLE
            }),
        ]),
    )],
    ..OPEN
});

static MOUNTED_VOLUME: Rule = Rule::OneOf(&[
    &TEXT,
    &Rule::Dict(Dict {
        fields: &[
            (&Rule::Enum(&["bind", "volume", "tmpfs", "cluster", "npipe", "image"]), &["type"]),
            (&TEXT, &["consistency", "source", "target"]),
            (&FLAG, &["read_only"]),
            (
                &Rule::Dict(Dict {
                    fields: &[
                        (&TEXT, &["propagation"]),
                        (&FLAG, &["create_host_path"]),
                        (
                            &Rule::Enum(&["enabled", "disabled", "writable", "readonly"]),
                            &["recursive"],
                        ),
                        (&Rule::Enum(&["z", "Z"]), &["selinux"]),
                    ],
                    ..EXTENSIBLE
                }),
                &["bind"],
            ),
            (
                &Rule::Dict(Dict {
                    fields: &[(&PAIRS, &["labels"]), (&FLAG, &["nocopy"]), (&TEXT, &["subpath"])],
                    ..EXTENSIBLE
                }),
                &["volume"],
            ),
            (
                &Rule::Dict(Dict {
                    fields: &[
                        (&Rule::OneOf(&[&Rule::Range(0, i64::MAX), &TEXT]), &["size"]),
                        (&NUMBER, &["mode"]),
                    ],
                    ..EXTENSIBLE
                }),
                &["tmpfs"],
            ),
            (&Rule::Dict(Dict { fields: &[(&TEXT, &["subpath"])], ..EXTENSIBLE }), &["image"]),
        ],
        required: &["type"],
        ..EXTENSIBLE
    }),
]);

static DEVELOP: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Object, Kind::Null],
    fields: &[(
        &Rule::List(&Rule::Dict(Dict {
            fields: &[
                (&TEXT, &["path", "target"]),
                (
                    &Rule::Enum(&["rebuild", "sync", "restart", "sync+restart", "sync+exec"]),
                    &["action"],
                ),
                (&TEXT_OR_DISTINCT_TEXTS, &["ignore", "include"]),
                (&HOOK, &["exec"]),
                (&BARE_FLAG, &["initial_sync"]),
            ],
            required: &["path", "action"],
            ..EXTENSIBLE
        })),
        &["watch"],
    )],
    ..EXTENSIBLE
});

static DEPLOY: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Object, Kind::Null],
    fields: &[
        (&TEXT, &["endpoint_mode", "mode"]),
        (&INTEGER, &["replicas"]),
        (&PAIRS, &["labels"]),
        (&ROLLOUT, &["rollback_config", "update_config"]),
        (&RESOURCES, &["resources"]),
        (
            &Rule::Dict(Dict {
                fields: &[
                    (&TEXT, &["condition", "delay", "window"]),
                    (&INTEGER, &["max_attempts"]),
                ],
                ..EXTENSIBLE
            }),
            &["restart_policy"],
        ),
        (
            &Rule::Dict(Dict {
                fields: &[
                    (&TEXTS, &["constraints"]),
                    (&INTEGER, &["max_replicas_per_node"]),
                    (
                        &Rule::List(&Rule::Dict(Dict {
                            fields: &[(&TEXT, &["spread"])],
                            ..EXTENSIBLE
                        })),
                        &["preferences"],
                    ),
                ],
                ..EXTENSIBLE
            }),
            &["placement"],
        ),
    ],
    ..EXTENSIBLE
});

static ROLLOUT: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["delay", "failure_action", "monitor"]),
        (&INTEGER, &["parallelism"]),
        (&NUMBER, &["max_failure_ratio"]),
        (&Rule::Enum(&["start-first", "stop-first"]), &["order"]),
    ],
    ..EXTENSIBLE
});

static RESOURCES: Rule = Rule::Dict(Dict {
    fields: &[
        (
            &Rule::Dict(Dict {
                fields: &[(&NUMBER, &["cpus"]), (&TEXT, &["memory"]), (&INTEGER, &["pids"])],
                ..EXTENSIBLE
            }),
            &["limits"],
        ),
        (
            &Rule::Dict(Dict {
                fields: &[
                    (&NUMBER, &["cpus"]),
                    (&TEXT, &["memory"]),
                    (&Rule::List(&GENERIC_RESOURCE), &["generic_resources"]),
                    (
                        &Rule::List(&Rule::Dict(Dict {
                            fields: DEVICE_REQUEST,
                            required: &["capabilities"],
                            ..EXTENSIBLE
                        })),
                        &["devices"],
                    ),
                ],
                ..EXTENSIBLE
            }),
            &["reservations"],
        ),
    ],
    ..EXTENSIBLE
});

static GENERIC_RESOURCE: Rule = Rule::Dict(Dict {
    fields: &[(
        &Rule::Dict(Dict { fields: &[(&TEXT, &["kind"]), (&NUMBER, &["value"])], ..EXTENSIBLE }),
        &["discrete_resource_spec"],
    )],
    ..EXTENSIBLE
});

static DEVICE_REQUEST: &[(&Rule, &[&str])] = &[
    (&TEXT, &["driver"]),
    (&INTEGER, &["count"]),
    (&DISTINCT_TEXTS, &["capabilities", "device_ids"]),
    (&PAIRS, &["options"]),
];

static GPUS: Rule = Rule::OneOf(&[
    &Rule::Enum(&["all"]),
    &Rule::List(&Rule::Dict(Dict { fields: DEVICE_REQUEST, ..OPEN })),
]);

/// `external` with the rules its old mapping form follows.
static EXTERNAL: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Boolean, Kind::String, Kind::Object],
    fields: &[(&TEXT, &["name"])],
    ..EXTENSIBLE
});
static LOOSE_EXTERNAL: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Boolean, Kind::String, Kind::Object],
    fields: &[(&TEXT, &["name"])],
    ..OPEN
});

static NETWORK: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Object, Kind::Null],
    fields: &[
        (&TEXT, &["driver", "name"]),
        (&FLAG, &["attachable", "enable_ipv4", "enable_ipv6", "internal"]),
        (&PAIRS, &["labels"]),
        (&DRIVER_OPTIONS, &["driver_opts"]),
        (&EXTERNAL, &["external"]),
        (&IPAM, &["ipam"]),
    ],
    ..EXTENSIBLE
});

static IPAM: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["driver"]),
        (&ALL_TEXT, &["options"]),
        (
            &Rule::List(&Rule::Dict(Dict {
                fields: &[
                    (&TEXT, &["gateway", "ip_range", "subnet"]),
                    (&ALL_TEXT, &["aux_addresses"]),
                ],
                ..EXTENSIBLE
            })),
            &["config"],
        ),
    ],
    ..EXTENSIBLE
});

static VOLUME: Rule = Rule::Dict(Dict {
    kinds: &[Kind::Object, Kind::Null],
    fields: &[
        (&TEXT, &["driver", "name"]),
        (&PAIRS, &["labels"]),
        (&DRIVER_OPTIONS, &["driver_opts"]),
        (&EXTERNAL, &["external"]),
    ],
    ..EXTENSIBLE
});

static SECRET: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["driver", "environment", "file", "name", "template_driver"]),
        (&PAIRS, &["labels"]),
        (&DRIVER_OPTIONS, &["driver_opts"]),
        (&LOOSE_EXTERNAL, &["external"]),
    ],
    ..EXTENSIBLE
});

static CONFIG: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["content", "environment", "file", "name", "template_driver"]),
        (&PAIRS, &["labels"]),
        (&LOOSE_EXTERNAL, &["external"]),
    ],
    ..EXTENSIBLE
});

static MODEL: Rule = Rule::Dict(Dict {
    fields: &[
        (&TEXT, &["model", "name"]),
        (&BARE_INTEGER, &["context_size"]),
        (&TEXTS, &["runtime_flags"]),
    ],
    required: &["model"],
    ..EXTENSIBLE
});

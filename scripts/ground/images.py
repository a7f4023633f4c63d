#!/usr/bin/env python3
"""Makes the base images of the test ground out of one static busybox, and writes them as `docker load` reads them.

Nothing is pulled, and all times are fixed: the same busybox always gives the same image ids.
"""

import hashlib
import io
import json
import platform
import subprocess
import sys
import tarfile

EPOCH = "1970-01-01T00:00:00Z"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

FOLDERS = ("bin", "dev", "etc", "home", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "usr/bin", "usr/local",
           "usr/local/bin", "usr/sbin", "var", "var/log", "var/tmp")
PASSWD = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"
GROUP = b"root:x:0:\nnobody:x:65534:\n"
OS_RELEASE = b'ID=busybox\nPRETTY_NAME="busybox, for tests"\n'
INDEX = b"<h1>Welcome to nginx!</h1>\n"


def entry(name, kind=tarfile.REGTYPE, mode=0o644, link=""):
    """A member of an archive that belongs to root and was last changed in 1970."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname = kind, mode, link
    return info


def archive(members):
    """The archive with these `(entry, content)` members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def folder(name):
    return entry(name, tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755), b""


def root_layer(path):
    """A small system: busybox, and a link to it for each command it knows."""
    with open(path, "rb") as file:
        program = file.read()
    commands = subprocess.run([path, "--list-full"], check=True, capture_output=True, text=True).stdout.split()
    # Some builds also name commands outside of these folders, as `linuxrc`: no container calls them.
    known = {command for command in commands if command.rpartition("/")[0] in FOLDERS} - {"bin/busybox"}
    return archive([
        *(folder(name) for name in FOLDERS),
        (entry("etc/passwd"), PASSWD),
        (entry("etc/group"), GROUP),
        (entry("etc/os-release"), OS_RELEASE),
        (entry("bin/busybox", mode=0o755), program),
        *((entry(command, tarfile.SYMTYPE, 0o777, "/bin/busybox"), b"") for command in sorted(known)),
    ])


def web_layer():
    """What the stand-in for nginx serves, where nginx has it."""
    parents = ("usr/share", "usr/share/nginx", "usr/share/nginx/html")
    return archive([*(folder(name) for name in parents), (entry("usr/share/nginx/html/index.html"), INDEX)])


def bare_layer(path):
    """One program, and neither a shell nor any other command: busybox does only what its file's name says."""
    with open(path, "rb") as file:
        return archive([(entry("sleep", mode=0o755), file.read())])


def images(path):
    """Each image: its tags, its layers and how it runs."""
    root = root_layer(path)
    shell = {"Env": [PATH], "Cmd": ["sh"]}
    serve = ["httpd", "-f", "-v", "-p", "80", "-h", "/usr/share/nginx/html"]
    return [
        (["busybox:latest", "alpine:latest"], [root], shell),
        (["nginx:latest"], [root, web_layer()],
         {"Env": [PATH], "Cmd": serve, "ExposedPorts": {"80/tcp": {}}, "StopSignal": "SIGKILL"}),
        (["bare:latest"], [bare_layer(path)], {"User": "1000", "Entrypoint": ["/sleep", "2147483647"]}),
    ]


def main():
    path = sys.argv[1]
    files, manifest = {}, []
    for tags, layers, config in images(path):
        digests = [hashlib.sha256(layer).hexdigest() for layer in layers]
        files.update((f"{digest}.tar", layer) for digest, layer in zip(digests, layers))
        described = json.dumps({
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "created": EPOCH,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            "history": [{"created": EPOCH, "created_by": "scripts/ground/images.py"} for _ in layers],
        }, sort_keys=True).encode()
        name = f"{hashlib.sha256(described).hexdigest()}.json"
        files[name] = described
        manifest.append({"Config": name, "RepoTags": tags, "Layers": [f"{digest}.tar" for digest in digests]})
    files["manifest.json"] = json.dumps(manifest).encode()
    sys.stdout.buffer.write(archive((entry(name), content) for name, content in files.items()))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the base images of the test ground out of one static busybox, and writes them as `docker load` reads them.

Nothing is pulled, and all times are fixed: the same busybox always gives the same image ids.
With a tag after the program's path, it writes the one image of that name that holds only this program.
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

# Stand-ins for programs that others' Dockerfiles and examples call: enough to see that they were called.
APK = b"#!/bin/sh\n# All that there is, is installed.\nexit 0\n"
CURL = b"#!/bin/sh\nfor last; do :; done\nexec wget -q -O - \"$last\"\n"
PYTHON = b"#!/bin/sh\necho \"python $*\"\ncat \"$1\"\nexec sleep 2147483647\n"


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


def scripts_layer(**scripts):
    """Scripts by their names, where all shells look for them."""
    return archive((entry(f"usr/local/bin/{name}", mode=0o755), content) for name, content in scripts.items())


def bare_layer(path):
    """One program, and neither a shell nor any other command: busybox does only what its file's name says."""
    with open(path, "rb") as file:
        return archive([(entry("sleep", mode=0o755), file.read())])


def distroless_layer():
    """What programs expect where there is nothing: users, and a folder for temporary files."""
    return archive([
        folder("etc"), folder("tmp"),
        (entry("etc/passwd"), PASSWD + b"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"),
        (entry("etc/group"), GROUP + b"nonroot:x:65532:\n"),
    ])


def images(path):
    """Each image: its tags, its layers and how it runs."""
    root = root_layer(path)
    shell = {"Env": [PATH], "Cmd": ["sh"]}
    serve = ["httpd", "-f", "-v", "-p", "80", "-h", "/usr/share/nginx/html"]
    static = "gcr.io/distroless/static"
    return [
        (["busybox:latest"], [root], shell),
        (["alpine:latest"], [root, scripts_layer(apk=APK, curl=CURL)], shell),
        (["nginx:latest"], [root, web_layer()],
         {"Env": [PATH], "Cmd": serve, "ExposedPorts": {"80/tcp": {}}, "StopSignal": "SIGKILL"}),
        (["python:3.12-slim"], [root, scripts_layer(python=PYTHON)], {"Env": [PATH], "Cmd": ["python"]}),
        (["postgres:16", "mailhog/mailhog:latest"], [root], {"Env": [PATH], "Cmd": ["sleep", "2147483647"]}),
        (["bare:latest"], [bare_layer(path)], {"User": "1000", "Entrypoint": ["/sleep", "2147483647"]}),
        ([f"{static}:latest"], [distroless_layer()], {"Env": [PATH]}),
        ([f"{static}:nonroot"], [distroless_layer()], {"Env": [PATH], "User": "65532", "WorkingDir": "/home/nonroot"}),
    ]


def saved(described):
    """The archive that `docker load` and `ctr images import` read, of images as `images` gives them."""
    files, manifest = {}, []
    for tags, layers, config in described:
        digests = [hashlib.sha256(layer).hexdigest() for layer in layers]
        files.update((f"{digest}.tar", layer) for digest, layer in zip(digests, layers))
        image = json.dumps({
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "created": EPOCH,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            "history": [{"created": EPOCH, "created_by": "scripts/ground/images.py"} for _ in layers],
        }, sort_keys=True).encode()
        name = f"{hashlib.sha256(image).hexdigest()}.json"
        files[name] = image
        manifest.append({"Config": name, "RepoTags": tags, "Layers": [f"{digest}.tar" for digest in digests]})
    files["manifest.json"] = json.dumps(manifest).encode()
    return archive((entry(name), content) for name, content in files.items())


def program(path, tag):
    """The image that is one program."""
    with open(path, "rb") as file:
        layer = archive([(entry("program", mode=0o755), file.read())])
    return [([tag], [layer], {"Entrypoint": ["/program"]})]


def main():
    path, *tag = sys.argv[1:]
    sys.stdout.buffer.write(saved(program(path, *tag) if tag else images(path)))


if __name__ == "__main__":
    main()

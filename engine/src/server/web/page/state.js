// What is known about resources, and why each is in its state. The words are those of `status` and `why`.

export const MAIN = "(Tiltfile)";
// A chain of resources that wait is followed so far; they may form a circle.
const MAX_DEPTH = 16;

export class State {
  constructor() {
    this.clear();
  }

  clear() {
    this.resources = new Map();
    this.buttons = new Map();
    this.clusters = new Map();
    this.reasons = new Map();
    this.session = null;
    this.order = null;
  }

  // Takes in a view; says whether anything but logs has changed.
  add(view) {
    if (view.uiSession) this.session = view.uiSession;
    const lists = [
      [this.resources, view.uiResources],
      [this.buttons, view.uiButtons],
      [this.clusters, view.clusters],
    ];
    for (const [known, list] of lists) {
      for (const object of list ?? []) {
        const name = object?.metadata?.name;
        if (!name) continue;
        if (object.metadata.deletionTimestamp) known.delete(name);
        else known.set(name, object);
      }
    }
    for (const reason of view.reasons ?? []) {
      if (reason.state) this.reasons.set(reason.resource, reason);
      else this.reasons.delete(reason.resource);
    }
    if (view.uiResources || view.isComplete) this.order = null;
    return Boolean(view.isComplete || view.uiSession || view.reasons || lists.some(([, list]) => list));
  }

  // The path of the main Tiltfile, which tells projects apart.
  get project() {
    return this.session?.status?.tiltfileKey ?? "";
  }

  // All resources in the order of their definition, disabled ones last.
  sorted() {
    const rank = (it) => (it.metadata.name === MAIN ? -1 : it.status?.order || Number.MAX_SAFE_INTEGER);
    const byName = (a, b) => (a.metadata.name < b.metadata.name ? -1 : 1);
    this.order ??= [...this.resources.values()].sort(
      (a, b) => isDisabled(a) - isDisabled(b) || rank(a) - rank(b) || byName(a, b),
    );
    return this.order;
  }

  // The buttons of a place: those of the engine by their type, and those of the user.
  buttonsOf(type, id) {
    const found = { own: [] };
    for (const button of this.buttons.values()) {
      const place = button.spec?.location;
      if (place?.componentType !== type || place.componentID !== id) continue;
      const builtIn = button.metadata.annotations?.["tilt.dev/uibutton-type"];
      if (builtIn) found[builtIn] = button;
      else if (!button.spec.disabled) found.own.push(button);
    }
    return found;
  }

  // Why a resource is in its state, without what it waits for in the end. Tilt's snapshots have statuses only.
  direct(name) {
    const resource = this.resources.get(name);
    return this.reasons.get(name) ?? (resource && ofStatus(resource));
  }

  // What a resource waits for: whatever has failed keeps it waiting, else the first one does.
  blocker(reason) {
    const found = reason.waitsFor.map((it) => this.direct(it)).filter(Boolean);
    return found.find((it) => it.state === "failed") ?? found[0];
  }

  // Why a resource is in its state. What it waits for in the end is found out here, as `resolve` of the engine does,
  // so that one change is sent once, however many wait for it.
  reason(name) {
    const found = this.direct(name);
    const direct = found && !found.cause && this.blocker(found);
    if (!direct) return found;
    let root = direct;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const next = this.blocker(root);
      if (!next || next.resource === name) break;
      root = next;
    }
    const via = root === direct ? "" : `, which waits for ${root.resource}`;
    const isNamesOnly = found.headline === `waiting for ${found.waitsFor.join(", ")}`;
    let { headline } = found;
    if (isNamesOnly && root.state !== "ok") headline = `waiting for ${direct.resource}${via}: ${root.headline}`;
    else if (root.state === "failed") headline += `: ${root.headline}`;
    return { ...found, headline, cause: root, wayOut: found.wayOut ?? root.wayOut };
  }

  // The class for the look of a resource.
  kind(resource) {
    const { state } = this.direct(resource.metadata.name);
    return state === "ok" && warnings(resource) ? "warn" : (KIND_OF[state] ?? "none");
  }

  // How a resource is, in one line.
  text(resource) {
    const { headline, state } = this.reason(resource.metadata.name);
    const count = state === "ok" ? warnings(resource) : 0;
    return count ? `${headline}, ${count} ${count === 1 ? "warning" : "warnings"}` : headline;
  }

  // How many resources are of each kind.
  counts(resources) {
    const found = {};
    for (const kind in KINDS) found[kind] = 0;
    for (const it of resources) found[this.kind(it)]++;
    return found;
  }

  // Whether every word of a filter is part of the name, a label or the text; `is:failed` asks for one kind.
  matches(resource, words) {
    if (!words.length) return true;
    const all = `${resource.metadata.name} ${labels(resource).join(" ")} ${this.text(resource)}`.toLowerCase();
    const kind = filterFor(this.kind(resource));
    return words.every((it) => (it.startsWith("is:") ? it === kind : all.includes(it)));
  }

  // What keeps the whole project from working, if anything does.
  problem() {
    const fatal = this.session?.status?.fatalError;
    if (fatal) return { text: fatal, resource: null };
    const main = this.reason(MAIN);
    if (main?.state === "failed") return { text: `The Tiltfile failed: ${main.headline}`, resource: MAIN };
    for (const cluster of this.clusters.values()) {
      const why = cluster.status?.error;
      if (why) return { text: `${cluster.metadata.name === "docker" ? "Docker" : "Kubernetes"}: ${why}`, resource: null };
    }
    return null;
  }
}

export function isDisabled(resource) {
  return resource.status?.disableStatus?.state === "Disabled";
}

// Whether a resource is updated only when somebody asks.
export function isManual(resource) {
  const mode = resource.status?.triggerMode;
  return mode === 1 || mode === 2;
}

const KIND_OF = {
  failed: "error",
  waiting: "pending",
  updating: "busy",
  not_ready: "pending",
  ok: "ok",
  idle: "none",
  disabled: "disabled",
};

// The words for the kinds, worst first.
export const KINDS = {
  error: "failed",
  warn: "with warnings",
  busy: "updating",
  pending: "pending",
  ok: "ok",
  none: "not started",
  disabled: "disabled",
};

function warnings(resource) {
  return resource.status?.buildHistory?.[0]?.warnings?.length ?? 0;
}

// What a snapshot of Tilt lets say about a resource.
function ofStatus(resource) {
  const { updateStatus, runtimeStatus, waiting, buildHistory, k8sResourceInfo: pod } = resource.status ?? {};
  const waitsFor = (waiting?.on ?? []).map((it) => it.name);
  const says = (state, headline = KINDS[KIND_OF[state]]) => ({
    resource: resource.metadata.name, state, headline, waitsFor, detail: [],
  });
  const podText = pod?.podStatus && `pod ${pod.podName}: ${pod.podStatus}`;
  if (isDisabled(resource)) return says("disabled");
  if (updateStatus === "in_progress") return says("updating");
  if (updateStatus === "error") return says("failed", buildHistory?.[0]?.error);
  if (runtimeStatus === "error") return says("failed", podText);
  if (updateStatus === "pending") return says("waiting", waitsFor.length ? `waiting for ${waitsFor.join(", ")}` : undefined);
  if (runtimeStatus === "pending") return says("not_ready", podText);
  return says(updateStatus === "ok" || runtimeStatus === "ok" ? "ok" : "idle");
}

// How long a build took.
export function took(build) {
  const seconds = (Date.parse(build.finishTime) - Date.parse(build.startTime)) / 1000;
  if (!(seconds >= 0)) return "?";
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

// The labels that make groups.
export function labels(resource) {
  return Object.keys(resource.metadata.labels ?? {}).filter((it) => !it.includes("/"));
}

// The word of a filter that asks for a kind.
export function filterFor(kind) {
  return `is:${KINDS[kind].replaceAll(" ", "-")}`;
}

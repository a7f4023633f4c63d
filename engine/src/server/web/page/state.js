// What is known about resources, and in which words it is said.

export const MAIN = "(Tiltfile)";

export class State {
  constructor() {
    this.clear();
  }

  clear() {
    this.resources = new Map();
    this.buttons = new Map();
    this.clusters = new Map();
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
    if (view.uiResources || view.isComplete) this.order = null;
    return Boolean(view.isComplete || view.uiSession || lists.some(([, list]) => list));
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

  // What keeps the whole project from working, if anything does.
  problem() {
    const fatal = this.session?.status?.fatalError;
    if (fatal) return { text: fatal, resource: null };
    const main = this.resources.get(MAIN)?.status;
    const error = !main?.currentBuild && main?.buildHistory?.[0]?.error;
    if (error) return { text: `The Tiltfile failed: ${error}`, resource: MAIN };
    for (const cluster of this.clusters.values()) {
      const why = cluster.status?.error;
      if (why) return { text: `Cluster ${cluster.metadata.name}: ${why}`, resource: null };
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

const known = new WeakMap();

// How a resource is: a class for its look, and words.
export function summary(resource) {
  let found = known.get(resource);
  if (!found) known.set(resource, (found = summarize(resource)));
  return found;
}

function summarize(resource) {
  if (isDisabled(resource)) return { kind: "disabled", text: "disabled" };
  const status = resource.status ?? {};
  switch (status.updateStatus) {
    case "in_progress":
      return { kind: "busy", text: "updating" };
    case "pending":
      return { kind: "pending", text: waiting(resource) ?? (status.queued ? "queued" : "pending") };
    case "error":
      return { kind: "error", text: "update failed" };
  }
  const pod = status.k8sResourceInfo?.podStatus;
  const isUnhealthy = status.composeResourceInfo?.healthStatus === "unhealthy";
  if (status.runtimeStatus === "error" || isUnhealthy) {
    return { kind: "error", text: isUnhealthy ? "unhealthy" : pod ? `pod failed: ${pod}` : "server failed" };
  }
  if (status.runtimeStatus === "pending") return { kind: "pending", text: pod ? `pod: ${pod}` : "server not ready" };
  const last = status.buildHistory?.[0];
  const count = last?.warnings?.length ?? 0;
  const kind = count ? "warn" : "ok";
  const suffix = count ? `, ${count} ${count === 1 ? "warning" : "warnings"}` : "";
  if (status.runtimeStatus === "ok") return { kind, text: `running${suffix}` };
  if (status.updateStatus === "ok") {
    return { kind, text: `${last?.finishTime ? `done in ${took(last)}` : "done"}${suffix}` };
  }
  return { kind: "none", text: "not started" };
}

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

// How many resources are of each kind.
export function counts(resources) {
  const found = {};
  for (const kind in KINDS) found[kind] = 0;
  for (const it of resources) found[summary(it).kind]++;
  return found;
}

const REASONS = {
  "tiltfile-reload": "waits for the Tiltfile",
  "waiting-for-local": "waits for local resources",
  "is-unparallelizable-local": "waits for other updates to end",
  "waiting-for-cluster": "waits for the cluster",
  "rebuild-loop": "paused: its updates change its own files",
};
const OTHERS = { ImageMap: "image ", Cluster: "cluster " };

// What a resource waits for, by name.
export function waitsOn(resource) {
  return (resource.status?.waiting?.on ?? []).map((it) => ({
    name: it.name,
    isResource: !(it.kind in OTHERS),
    text: `${OTHERS[it.kind] ?? ""}${it.name}`,
  }));
}

// What a resource waits for, in a few words.
export function waiting(resource) {
  const hold = resource.status?.waiting;
  if (!hold) return null;
  const names = waitsOn(resource).map((it) => it.text);
  if (names.length > 3) return `waits for ${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
  if (names.length) return `waits for ${names.join(", ")}`;
  return REASONS[hold.reason] ?? (hold.reason ? hold.reason.replaceAll("-", " ") : null);
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

// Whether every word of a filter is part of the name, a label or the status; `is:failed` asks for one status.
export function matches(resource, words) {
  if (!words.length) return true;
  const { kind, text } = summary(resource);
  const all = `${resource.metadata.name} ${labels(resource).join(" ")} ${text}`.toLowerCase();
  return words.every((it) => (it.startsWith("is:") ? it === filterFor(kind) : all.includes(it)));
}

// The word of a filter that asks for a kind.
export function filterFor(kind) {
  return `is:${KINDS[kind].replaceAll(" ", "-")}`;
}

// What is known about resources, and in which words it is said.

export const MAIN = "(Tiltfile)";

export class State {
  constructor() {
    this.clear();
  }

  clear() {
    this.resources = new Map();
    this.buttons = new Map();
    this.session = null;
    this.order = null;
  }

  // Takes in a view; says whether anything but logs has changed.
  add(view) {
    if (view.uiSession) this.session = view.uiSession;
    for (const [known, list] of [[this.resources, view.uiResources], [this.buttons, view.uiButtons]]) {
      for (const object of list ?? []) {
        const name = object.metadata?.name;
        if (!name) continue;
        if (object.metadata.deletionTimestamp) known.delete(name);
        else known.set(name, object);
      }
    }
    const isChanged = Boolean(view.uiSession || view.uiResources || view.uiButtons || view.isComplete);
    if (view.uiResources || view.isComplete) this.order = null;
    return isChanged;
  }

  // All resources in the order of their definition.
  sorted() {
    const rank = (it) => (it.metadata.name === MAIN ? -1 : it.status?.order || Infinity);
    const byName = (a, b) => (a.metadata.name < b.metadata.name ? -1 : 1);
    this.order ??= [...this.resources.values()].sort((a, b) => rank(a) - rank(b) || byName(a, b));
    return this.order;
  }

  // The buttons of a resource: those of the engine by their type, and those of the user.
  buttonsOf(name) {
    const found = { own: [] };
    for (const button of this.buttons.values()) {
      const place = button.spec?.location;
      if (place?.componentType !== "Resource" || place.componentID !== name) continue;
      const type = button.metadata.annotations?.["tilt.dev/uibutton-type"];
      if (type) found[type] = button;
      else if (!button.spec.disabled) found.own.push(button);
    }
    return found;
  }
}

export function isDisabled(resource) {
  return resource.status?.disableStatus?.state === "Disabled";
}

// How a resource is: a class for its color, and words.
export function summary(resource) {
  const status = resource.status ?? {};
  const last = status.buildHistory?.[0];
  if (isDisabled(resource)) return { kind: "disabled", text: "disabled" };
  switch (status.updateStatus) {
    case "in_progress":
      return { kind: "busy", text: "updating" };
    case "pending":
      return { kind: "pending", text: waiting(resource) ?? (status.queued ? "queued" : "pending") };
    case "error":
      return { kind: "error", text: "update failed" };
  }
  switch (status.runtimeStatus) {
    case "error":
      return { kind: "error", text: "server failed" };
    case "pending":
      return { kind: "pending", text: "server starts" };
    case "ok":
      return { kind: "ok", text: "running" };
  }
  if (status.updateStatus === "ok") {
    return { kind: "ok", text: last?.finishTime ? `done in ${took(last)}` : "done" };
  }
  return { kind: "none", text: "not started" };
}

const REASONS = {
  "tiltfile-reload": "waits for the Tiltfile",
  "waiting-for-local": "waits for local resources",
  "is-unparallelizable-local": "waits for other updates to end",
  "waiting-for-cluster": "waits for the cluster",
  "rebuild-loop": "paused: its updates change its own files",
};

// What a resource waits for, in words.
export function waiting(resource) {
  const hold = resource.status?.waiting;
  if (!hold) return null;
  const names = (hold.on ?? []).map((it) => it.name);
  if (names.length > 3) return `waits for ${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
  if (names.length) return `waits for ${names.join(", ")}`;
  return REASONS[hold.reason] ?? (hold.reason ? hold.reason.replaceAll("-", " ") : null);
}

// How long a build took.
export function took(build) {
  const seconds = (Date.parse(build.finishTime) - Date.parse(build.startTime)) / 1000;
  if (!(seconds >= 0)) return "?";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

// Whether every word of a filter is part of the name, a label or the status.
export function matches(resource, words) {
  if (!words.length) return true;
  const labels = Object.keys(resource.metadata.labels ?? {}).join(" ");
  const { kind, text } = summary(resource);
  const all = `${resource.metadata.name} ${labels} ${kind} ${text}`.toLowerCase();
  return words.every((it) => all.includes(it));
}

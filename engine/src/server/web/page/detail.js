// One resource, or what there is to say about all of them.

import { click, press, setManual, trigger } from "./actions.js";
import { $, button, element, link, setChildren, setText } from "./dom.js";
import { KINDS, MAIN, filterFor, isDisabled, isManual, took } from "./state.js";

// The states that have to be explained.
const BOXED = ["failed", "waiting", "not_ready"];
// The states in which the process of a server is alive.
const RUNNING = ["ok", "not_ready", "updating"];
const MAX_FAILURES = 10;

// Shows a resource by name, or all for null. `select` is called for names that are clicked, `filter` for more of them.
export function showDetail(state, name, isReadOnly, select, filter) {
  const resource = state.resources.get(name);
  const reason = resource && state.reason(name);
  const kind = resource ? state.kind(resource) : "";
  const isOpen = BOXED.includes(reason?.state);
  setText($("name"), name ?? "All resources");
  $("status").className = `pill ${kind}`;
  setText($("status"), isOpen ? KINDS[kind] : resource ? state.text(resource) : "");
  showReason(state, isOpen ? reason : null, kind, isReadOnly, select);
  showFailures(name === null ? state.sorted().filter((it) => state.kind(it) === "error") : [], state, select, filter);
  const isUnknown = name !== null && !resource && state.session;
  setText($("facts"), resource ? facts(resource, reason) : isUnknown ? "There is no such resource." : "");
  showLinks(isDisabled(resource ?? {}) ? [] : (resource?.status?.endpointLinks ?? []));
  showActions(state, isReadOnly ? undefined : resource);
}

// Says why a resource is not well, since when, who is to blame and what can be done.
function showReason(state, reason, kind, isReadOnly, select) {
  const box = $("reason");
  box.hidden = !reason;
  if (!reason) return;
  box.className = kind;
  setText(box.querySelector("strong"), reason.headline);
  setText(box.querySelector("pre"), reason.detail.join("\n"));
  $("since").dataset.time = reason.since ?? "";
  // What a snapshot shows was long ago.
  $("since").dataset.isOld = isReadOnly ? "yes" : "";
  showSince();
  const cause = reason.cause?.resource ?? "";
  const isKnown = state.resources.has(cause);
  setChildren($("cause"), `${cause}\n${isKnown}`, () => {
    return cause ? ["Cause: ", isKnown ? button(cause, () => select(cause)) : cause] : [];
  });
  setText($("way-out"), reason.wayOut ? `To do: ${reason.wayOut}` : "");
}

// Says since when: local, and how long ago that is by now.
export function showSince() {
  const { time, isOld } = $("since").dataset;
  const at = new Date(time ?? "");
  if (Number.isNaN(at.getTime())) return setText($("since"), "");
  // The format of this language is that of the engine.
  const [local, today] = [at.toLocaleString("sv"), new Date().toLocaleDateString("sv")];
  const seconds = Math.max(0, Math.floor(Date.now() / 1000) - Math.floor(at.getTime() / 1000));
  const ago = isOld ? "" : ` (${seconds ? `${span(seconds)} ago` : "just now"})`;
  setText($("since"), `Since ${local.startsWith(today) ? local.slice(today.length + 1) : local}${ago}`);
}

function span(seconds) {
  const [size, unit] = [[86_400, "d"], [3_600, "h"], [60, "min"]].find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

// Which resources need somebody, and why.
function showFailures(failed, state, select, filter) {
  const shown = failed.slice(0, MAX_FAILURES).map((it) => [it.metadata.name, state.text(it)]);
  const rest = failed.length - shown.length;
  $("failures").hidden = !shown.length;
  setChildren($("failures"), JSON.stringify([shown, rest]), () => {
    const rows = shown.map(([name, text]) => {
      const row = element("div");
      row.append(button(name, () => select(name)), element("span", "", text));
      return row;
    });
    return rest ? [...rows, button(`and ${rest} more`, () => filter(filterFor("error")))] : rows;
  });
}

function facts(resource, reason) {
  const { name } = resource.metadata;
  const status = resource.status ?? {};
  const last = status.buildHistory?.[0];
  const pod = status.k8sResourceInfo;
  const parts = [];
  if (last?.finishTime) parts.push(`last update at ${new Date(last.finishTime).toLocaleTimeString()}, took ${took(last)}`);
  if (status.hasPendingChanges) parts.push("files have changed since");
  if (name !== MAIN && isManual(resource)) parts.push("updated only on request");
  if (RUNNING.includes(reason.state) && status.localResourceInfo?.pid) parts.push(`process ${status.localResourceInfo.pid}`);
  if (pod?.podName) parts.push(`pod ${pod.podName}`);
  if (pod?.podRestarts) parts.push(`${pod.podRestarts} ${pod.podRestarts === 1 ? "restart" : "restarts"}`);
  if (pod?.displayNames?.length) parts.push(pod.displayNames.join(", "));
  return parts.join(" · ");
}

function showLinks(all) {
  const links = all.filter((it) => /^https?:/i.test(it.url));
  $("links").hidden = !links.length;
  setChildren($("links"), JSON.stringify(links), () =>
    links.map((it) => link(it.url.replace("//0.0.0.0", `//${location.hostname}`), it.name || it.url)),
  );
}

function showActions(state, resource) {
  const actions = resource ? actionsOf(state, resource) : [];
  fill($("actions"), actions);
}

function actionsOf(state, resource) {
  const { name } = resource.metadata;
  const { StopBuild, DisableToggle, own } = state.buttonsOf("Resource", name);
  if (isDisabled(resource)) {
    return DisableToggle ? [{ text: "Enable", key: "d", run: () => click(DisableToggle) }] : [];
  }
  const actions = own.map((it) => buttonAction(state, it));
  if (resource.status?.currentBuild && StopBuild) actions.push({ text: "Stop", key: "s", run: () => click(StopBuild) });
  else actions.push({ text: "Update", key: "r", isMain: true, run: () => trigger(name) });
  if (name !== MAIN) {
    const isOff = isManual(resource);
    actions.push({ text: isOff ? "Mode: manual" : "Mode: auto", key: "m", run: () => setManual(name, !isOff) });
  }
  if (DisableToggle) actions.push({ text: "Disable", key: "d", run: () => click(DisableToggle) });
  return actions;
}

function buttonAction(state, it) {
  return {
    text: it.spec.text || it.metadata.name,
    icon: it.spec.iconSVG,
    run: () => press(it, state.project),
  };
}

// The buttons that belong to the whole project.
export function showNavigation(state, isReadOnly) {
  const { own } = isReadOnly ? { own: [] } : state.buttonsOf("Global", "nav");
  fill($("nav-actions"), own.map((it) => buttonAction(state, it)));
}

// What looks the same stays, so that nobody loses the focus; only what it does is renewed.
function fill(parent, actions) {
  const key = JSON.stringify(actions.map(({ text, key, icon }) => [text, key, icon]));
  setChildren(parent, key, () => actions.map(actionButton));
  actions.forEach((it, index) => (parent.children[index].onclick = it.run));
}

function actionButton({ text, key, icon, isMain }) {
  const it = button(text);
  if (isMain) it.className = "main";
  if (key) {
    it.dataset.key = key;
    it.title = `${text} (${key})`;
    it.setAttribute("aria-keyshortcuts", key);
  }
  if (icon) {
    // An image runs no scripts and loads nothing.
    const image = element("img");
    image.src = `data:image/svg+xml,${encodeURIComponent(icon)}`;
    image.alt = "";
    it.prepend(image, " ");
  }
  return it;
}

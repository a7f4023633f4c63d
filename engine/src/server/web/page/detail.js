// One resource, or what there is to say about all of them.

import { click, press, setManual, trigger } from "./actions.js";
import { $, button, element, link, setChildren, setText } from "./dom.js";
import { MAIN, isDisabled, isManual, summary, took, waiting, waitsOn } from "./state.js";

// Shows a resource by name, or all for null. `select` is called for names that are clicked.
export function showDetail(state, name, isReadOnly, select) {
  const resource = state.resources.get(name);
  const status = resource?.status ?? {};
  const found = resource ? summary(resource) : { kind: "", text: "" };
  setText($("name"), name ?? "All resources");
  $("status").className = `pill ${found.kind}`;
  // What it waits for has a line of its own.
  const isWaiting = found.kind === "pending" && waiting(resource);
  setText($("status"), isWaiting ? "pending" : found.text);
  const isUnknown = name !== null && !resource && state.session;
  setText($("facts"), resource ? facts(resource) : isUnknown ? "There is no such resource." : "");
  showWaiting(state, resource, name, select);
  const error = (!status.currentBuild && status.buildHistory?.[0]?.error) || "";
  $("error").hidden = !error;
  setText($("error"), error);
  showLinks(isDisabled(resource ?? {}) ? [] : (status.endpointLinks ?? []));
  showActions(state, isReadOnly ? undefined : resource);
}

function facts(resource) {
  const { name } = resource.metadata;
  const status = resource.status ?? {};
  const last = status.buildHistory?.[0];
  const pod = status.k8sResourceInfo;
  const parts = [];
  if (last?.finishTime) parts.push(`last update at ${new Date(last.finishTime).toLocaleTimeString()}, took ${took(last)}`);
  if (status.hasPendingChanges) parts.push("files have changed since");
  if (name !== MAIN && isManual(resource)) parts.push("updated only on request");
  if (status.localResourceInfo?.pid) parts.push(`process ${status.localResourceInfo.pid}`);
  if (pod?.podName) parts.push(`pod ${pod.podName}`);
  if (pod?.podRestarts) parts.push(`${pod.podRestarts} ${pod.podRestarts === 1 ? "restart" : "restarts"}`);
  if (pod?.podStatusMessage) parts.push(pod.podStatusMessage);
  if (pod?.displayNames?.length) parts.push(pod.displayNames.join(", "));
  return parts.join(" · ");
}

// Says what is waited for and how that is doing; for all resources, which of them need somebody.
function showWaiting(state, resource, name, select) {
  const names = resource ? waitsOn(resource) : name === null ? failed(state) : [];
  const items = names.map((it) => {
    const other = it.isResource && state.resources.get(it.name);
    return { ...it, other: Boolean(other), how: resource && other ? ` (${summary(other).text})` : "" };
  });
  const plain = (resource && waiting(resource)) || "";
  const intro = resource ? "Waits for " : "Failed: ";
  const key = items.length ? JSON.stringify([intro, items]) : plain;
  $("waiting").hidden = !key;
  setChildren($("waiting"), key, () => {
    if (!items.length) return [plain.charAt(0).toUpperCase() + plain.slice(1)];
    const nodes = items.flatMap(({ name: other, other: isKnown, text, how }) => [
      ", ",
      isKnown ? button(text, () => select(other)) : text,
      how,
    ]);
    return [intro, ...nodes.slice(1)];
  });
}

function failed(state) {
  const isFailed = (it) => summary(it).kind === "error";
  return state
    .sorted()
    .filter(isFailed)
    .slice(0, 20)
    .map((it) => ({ name: it.metadata.name, text: it.metadata.name, isResource: true }));
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

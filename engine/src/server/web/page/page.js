// The page: shows what comes over the websocket, or one snapshot, and sends what people ask for.

import { Log, colored, link, plain } from "./log.js";
import { Rows } from "./rows.js";
import { State, isDisabled, matches, summary, took, waiting } from "./state.js";

const $ = (id) => document.getElementById(id);
const snapshotId = location.pathname.match(/^\/snapshot\/([^/]+)/)?.[1];
const TRIGGERED_BY_PAGE = 16;
const ALL = null;

const state = new State();
const log = new Log();
let shown = [];
let selected = fromPath();
let startTime = null;

const list = new Rows($("list"), 28, renderResource);
const lines = new Rows($("log"), 18, renderLine);
lines.isAtEnd = true;

// ---- The list of resources. The first row stands for all of them.

function renderResource(row, index) {
  const resource = shown[index];
  const name = resource?.metadata.name ?? ALL;
  const { kind, text } = resource ? summary(resource) : { kind: "none", text: `${state.resources.size}` };
  row.classList.add(kind);
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", String(name === selected));
  row.id = `row-${index}`;
  row.dataset.name = name ?? "";
  row.title = resource ? `${name}: ${text}` : "";
  if (!row.firstChild) row.append(element("span", "dot"), element("span", "name"), element("span", "text"));
  const [, title, status] = row.children;
  title.textContent = name ?? "All resources";
  status.textContent = text;
}

function updateList() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  shown = state.sorted().filter((it) => matches(it, words));
  $("none").hidden = shown.length > 0 || !words.length;
  if (!words.length) shown = [undefined, ...shown];
  list.update(shown.length);
  const at = shown.findIndex((it) => (it?.metadata.name ?? ALL) === selected);
  if (at >= 0) $("list").setAttribute("aria-activedescendant", `row-${at}`);
  else $("list").removeAttribute("aria-activedescendant");
}

function updateCounts() {
  const counts = { error: 0, busy: 0, pending: 0, ok: 0, disabled: 0 };
  for (const it of state.resources.values()) {
    const { kind } = summary(it);
    if (kind in counts) counts[kind]++;
  }
  const words = { error: "failed", busy: "updating", pending: "pending", ok: "ok", disabled: "disabled" };
  $("counts").replaceChildren(
    ...Object.entries(counts).filter(([, count]) => count).map(([kind, count]) => {
      const item = element("li", kind);
      item.append(element("span", "dot"), ` ${count} ${words[kind]}`);
      return item;
    }),
  );
  const total = state.resources.size - counts.disabled;
  const mark = counts.error ? `✖ ${counts.error}` : counts.ok === total ? `✔ ${total}` : `… ${counts.ok}/${total}`;
  document.title = `${snapshotId ? "Snapshot: " : ""}${mark} ┊ Tilt`;
  const color = counts.error ? "c0362c" : counts.ok === total ? "1a7f4b" : "9a9fa6";
  const icon = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='%23${color}'/></svg>`;
  const href = `data:image/svg+xml,${icon}`;
  if ($("icon").getAttribute("href") !== href) $("icon").href = href;
}

// ---- One resource.

function updateDetail() {
  const resource = state.resources.get(selected);
  const status = resource?.status ?? {};
  const last = status.buildHistory?.[0];
  const error = !status.currentBuild && last?.error;
  $("name").textContent = selected ?? "All resources";
  $("status").textContent = resource ? statusText(resource) : selected === ALL || !state.session ? "" : "There is no such resource.";
  setText($("waiting"), resource && waiting(resource));
  setText($("error"), error);
  const links = (status.endpointLinks ?? []).filter((it) => /^https?:/.test(it.url));
  $("links").hidden = !links.length;
  $("links").replaceChildren(...links.map((it) => link(it.url, it.name || it.url)));
  updateActions(resource);
}

function statusText(resource) {
  const status = resource.status ?? {};
  const last = status.buildHistory?.[0];
  const parts = [summary(resource).text];
  if (last?.finishTime) parts.push(`last update ${new Date(last.finishTime).toLocaleTimeString()}, ${took(last)}`);
  if (last?.warnings?.length) parts.push(`${last.warnings.length} warnings`);
  if (status.hasPendingChanges) parts.push("has changes");
  if (status.localResourceInfo?.pid) parts.push(`process ${status.localResourceInfo.pid}`);
  if (status.k8sResourceInfo?.podName) parts.push(`pod ${status.k8sResourceInfo.podName}`);
  return parts.join(" · ");
}

function updateActions(resource) {
  const buttons = [];
  if (resource && !snapshotId) {
    const name = resource.metadata.name;
    const { StopBuild, DisableToggle, own } = state.buttonsOf(name);
    const isOff = isDisabled(resource);
    if (!isOff && resource.status?.currentBuild && StopBuild) buttons.push(action("Stop", "s", () => click(StopBuild)));
    else if (!isOff) buttons.push(action("Update", "r", () => trigger(name)));
    if (DisableToggle) buttons.push(action(isOff ? "Enable" : "Disable", "d", () => click(DisableToggle)));
    for (const it of own) buttons.push(action(it.spec.text || it.metadata.name, "", () => press(it)));
  }
  const old = $("actions");
  const key = (it) => `${it.textContent}\n${it.dataset.key}`;
  // What is the same stays, so that nobody loses the focus; only what it does is renewed.
  const isSame = old.children.length === buttons.length && buttons.every((it, i) => key(it) === key(old.children[i]));
  if (isSame) buttons.forEach((it, i) => (old.children[i].onclick = it.onclick));
  else old.replaceChildren(...buttons);
}

function action(text, key, run) {
  const button = element("button");
  button.type = "button";
  button.textContent = text;
  button.dataset.key = key;
  if (key) button.title = `${text} (${key})`;
  button.onclick = run;
  return button;
}

// ---- The log.

function renderLine(row, index) {
  const line = log.view[index];
  if (line.level === "WARN") row.classList.add("warn");
  if (line.level === "ERROR") row.classList.add("error");
  if (line.isEvent) row.classList.add("event");
  const nodes = colored(line.text);
  if (selected === ALL) {
    const from = element("span", "from");
    from.textContent = line.resource;
    from.title = line.resource;
    nodes.unshift(from);
  }
  if ($("times").checked && line.time) {
    const time = element("time");
    time.textContent = new Date(line.time).toLocaleTimeString();
    time.dateTime = line.time;
    nodes.unshift(time);
  }
  row.replaceChildren(...nodes);
}

function selectLines() {
  log.resource = selected;
  log.search = $("search").value.toLowerCase();
  log.level = $("level").value;
  log.select();
  follow(true);
  lines.update(log.view.length);
}

function follow(isOn) {
  lines.isAtEnd = isOn;
  $("follow").setAttribute("aria-pressed", String(isOn));
  if (isOn) lines.update(log.view.length);
}

// ---- What people do.

function select(name) {
  selected = name;
  if (!snapshotId) history.replaceState(null, "", name === ALL ? "/" : `/r/${encodeURIComponent(name)}/overview`);
  updateList();
  updateDetail();
  selectLines();
}

function move(by) {
  const at = shown.findIndex((it) => (it?.metadata.name ?? ALL) === selected);
  const next = Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by));
  if (!shown.length) return;
  select(shown[next]?.metadata.name ?? ALL);
  list.reveal(next);
}

async function send(path, options) {
  try {
    const response = await fetch(path, options);
    const text = await response.text();
    if (!response.ok && response.status !== 409) notify(text || `${response.status}`, true);
    return { status: response.status, text };
  } catch (error) {
    notify(`Not sent: ${error.message}`, true);
    return { status: 0, text: "" };
  }
}

async function trigger(name) {
  const body = JSON.stringify({ manifest_names: [name], build_reason: TRIGGERED_BY_PAGE });
  const { status, text } = await send("/api/trigger", { method: "POST", body });
  // Whatever the answer says is the reason why nothing was done.
  if (status === 200) notify(text || `Update of ${name} requested`, Boolean(text));
}

// Presses a button of the user, which may have to be confirmed or to be given values.
async function press(button) {
  const inputs = (button.spec.inputs ?? []).filter((it) => !it.hidden);
  if (!inputs.length && !button.spec.requiresConfirmation) return click(button);
  const dialog = $("ask");
  dialog.querySelector("h2").textContent = button.spec.text || button.metadata.name;
  dialog.querySelector(".fields").replaceChildren(...inputs.map(field));
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  if (dialog.returnValue === "ok") await click(button);
}

function field(input) {
  const label = element("label");
  const control = element(input.choice ? "select" : "input");
  control.name = input.name;
  if (input.choice) control.append(...input.choice.choices.map((it) => new Option(it, it)));
  if (input.bool) {
    control.type = "checkbox";
    control.checked = Boolean(input.bool.defaultValue);
  }
  if (input.text) {
    control.value = input.text.defaultValue ?? "";
    control.placeholder = input.text.placeholder ?? "";
  }
  label.append(input.label || input.name, control);
  return label;
}

function valueOf(input) {
  const { name, hidden, bool, choice } = input;
  if (hidden) return { name, hidden: { value: hidden.value } };
  const control = $("ask").querySelector(`.fields [name="${CSS.escape(name)}"]`);
  if (bool) return { name, bool: { value: control?.checked ?? false } };
  if (choice) return { name, choice: { value: control?.value ?? "" } };
  return { name, text: { value: control?.value ?? "" } };
}

// A click is a write to the button's status. Who writes to an old version reads the new one and tries again.
async function click(button) {
  const path = `/proxy/apis/tilt.dev/v1alpha1/uibuttons/${encodeURIComponent(button.metadata.name)}`;
  const inputs = (button.spec.inputs ?? []).map(valueOf);
  for (let attempt = 0; attempt < 3; attempt++) {
    const status = { ...button.status, lastClickedAt: new Date().toISOString().replace("Z", "000Z"), inputs };
    const body = JSON.stringify({ apiVersion: "tilt.dev/v1alpha1", kind: "UIButton", ...button, status });
    const headers = { "Content-Type": "application/json" };
    const answer = await send(`${path}/status`, { method: "PUT", headers, body });
    if (answer.status !== 409) return;
    const fresh = await send(path, {});
    if (fresh.status !== 200) return;
    button = JSON.parse(fresh.text);
  }
  notify("The button changes too often.", true);
}

let noticeTimer;

function notify(text, isBad) {
  $("notice").textContent = text.trim();
  $("notice").classList.toggle("bad", Boolean(isBad));
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => ($("notice").textContent = ""), isBad ? 10_000 : 4_000);
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  a: () => select(ALL),
  "/": () => $("filter").focus(),
  f: () => $("search").focus(),
  o: () => $("links").querySelector("a")?.click(),
  G: () => follow(true),
  "?": () => $("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.closest("dialog")) return;
  if (target.matches("input[type=search]")) {
    if (event.key === "Escape") {
      if (target.value) {
        target.value = "";
        target.dispatchEvent(new Event("input"));
      }
      target.blur();
    } else if (event.key === "Enter" && target === $("filter")) {
      target.blur();
      const found = shown.find(Boolean);
      if (found) select(found.metadata.name);
      $("list").focus();
    }
    return;
  }
  if (target.matches("input, select")) return;
  // In the log, arrows scroll.
  if (target === $("log") && event.key.startsWith("Arrow")) return;
  const button = document.querySelector(`#actions [data-key="${CSS.escape(event.key)}"]`);
  const run = button && event.key ? () => button.click() : KEYS[event.key];
  if (!run) return;
  event.preventDefault();
  run();
});

$("list").addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (row) select(row.dataset.name || ALL);
});
$("filter").addEventListener("input", () => {
  $("list").scrollTop = 0;
  updateList();
});
$("search").addEventListener("input", selectLines);
$("level").addEventListener("change", selectLines);
$("times").addEventListener("change", () => lines.update(log.view.length));
$("follow").addEventListener("click", () => follow(!lines.isAtEnd));
$("help-open").addEventListener("click", () => $("help").showModal());
$("copy").addEventListener("click", async () => {
  const text = log.view.map((it) => plain(it.text)).join("\n");
  await navigator.clipboard.writeText(text).then(
    () => notify(`Copied ${log.view.length} lines`),
    () => notify("The browser does not allow to copy.", true),
  );
});
for (const kind of ["wheel", "touchmove", "keydown"]) {
  // Who scrolls up wants to read; who comes back to the end wants to follow again.
  $("log").addEventListener(kind, () => requestAnimationFrame(() => follow(lines.seesEnd)), { passive: true });
}
$("log").addEventListener("wheel", (event) => event.deltaY < 0 && follow(false), { passive: true });

// ---- What comes from the engine.

function take(view) {
  if (view.tiltStartTime && startTime && view.tiltStartTime !== startTime) return location.reload();
  startTime = view.tiltStartTime ?? startTime;
  if (view.isComplete) {
    state.clear();
    log.clear();
  }
  if (state.add(view)) {
    $("brand").title = state.session?.status?.tiltfileKey ?? "";
    updateList();
    updateCounts();
    updateDetail();
  }
  if (log.add(view.logList) || view.isComplete) lines.update(log.view.length);
}

async function connect(attempt = 0) {
  const again = (next) => setTimeout(() => connect(next), next ? Math.min(250 * 2 ** next, 3_000) : 0);
  let token;
  try {
    const response = await fetch("/api/websocket_token");
    // Whoever reloads the page gets the token.
    if (!response.ok) return notify(`${await response.text()}: please reload the page`, true);
    token = await response.text();
  } catch {
    disconnected();
    return again(attempt + 1);
  }
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws/view?csrf=${encodeURIComponent(token)}`);
  let isLive = false;
  socket.addEventListener("message", (event) => {
    if (!isLive) $("notice").textContent = "";
    isLive = true;
    take(JSON.parse(event.data));
  });
  socket.addEventListener("close", () => {
    disconnected();
    again(isLive ? 0 : attempt + 1);
  });
}

function disconnected() {
  clearTimeout(noticeTimer);
  $("notice").textContent = "Disconnected, trying again …";
  $("notice").classList.add("bad");
  document.title = "Disconnected ┊ Tilt";
}

async function open() {
  const response = await fetch(`/api/snapshot/${snapshotId}`);
  if (!response.ok) throw new Error(await response.text());
  const snapshot = await response.json();
  take({ ...snapshot.view, isComplete: true });
  const created = snapshot.createdAt ? new Date(snapshot.createdAt).toLocaleString() : "an unknown time";
  $("notice").textContent = `Snapshot of ${created}`;
}

function fromPath() {
  const word = location.pathname.match(/^\/r\/([^/]+)/)?.[1] ?? "";
  try {
    const name = decodeURIComponent(word);
    return name && name !== "(all)" ? name : ALL;
  } catch {
    return ALL;
  }
}

function element(tag, className = "") {
  const it = document.createElement(tag);
  it.className = className;
  return it;
}

function setText(it, text) {
  it.hidden = !text;
  it.textContent = text || "";
}

log.resource = selected;
updateDetail();
if (snapshotId) open().catch((error) => notify(`The snapshot cannot be shown: ${error.message}`, true));
else connect();

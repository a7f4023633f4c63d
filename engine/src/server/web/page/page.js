// The page: puts its parts together, and says what happens on keys and clicks.

import { click, notify, trigger } from "./actions.js";
import { colored, plain } from "./ansi.js";
import { follow as followEngine, open as openSnapshot } from "./connection.js";
import { showDetail, showNavigation, showSince } from "./detail.js";
import { $, element, setAttribute, setChildren, setText } from "./dom.js";
import { List } from "./list.js";
import { Log, pattern } from "./log.js";
import { Rows } from "./rows.js";
import { KINDS, State, filterFor } from "./state.js";

const LINE_HEIGHT = 19;
const SECOND = 1_000;
const ALL = "(all)";
const base = location.pathname.match(/^\/snapshot\/[^/]+/)?.[0] ?? "";
const isReadOnly = Boolean(base);

const state = new State();
const log = new Log();
let selected = null;
let startTime = null;

const list = new List(state, isReadOnly, { select, act });
const lines = new Rows($("log"), LINE_HEIGHT, lineKey, renderLine);

// ---- What there is.

function take(view) {
  // Another engine answers, maybe with another page.
  if (view.tiltStartTime && startTime && view.tiltStartTime !== startTime) return location.reload();
  startTime = view.tiltStartTime ?? startTime;
  if (view.isComplete) {
    state.clear();
    log.clear();
  }
  if (state.add(view)) showState();
  if (view.isComplete) list.reveal();
  const gone = log.add(view.logList);
  if (gone && !lines.isAtEnd) $("log").scrollTop -= gone * LINE_HEIGHT;
  showLog();
}

function showState() {
  list.update();
  showCounts();
  showNavigation(state, isReadOnly);
  showDetail(state, selected, isReadOnly, select, filterBy);
  const problem = state.problem();
  $("problem").hidden = !problem;
  if (problem) setText($("problem").firstChild, problem.text);
  $("brand").title = state.project;
  $("save").hidden = isReadOnly;
}

function showCounts() {
  const found = state.counts(state.resources.values());
  const kinds = Object.keys(KINDS).filter((kind) => found[kind] && kind !== "none");
  const filter = $("filter").value.trim();
  setChildren($("counts"), JSON.stringify(kinds.map((kind) => [kind, found[kind]])), () => kinds.map((kind) => {
    const chip = element("button", kind);
    chip.type = "button";
    chip.dataset.filter = filterFor(kind);
    chip.append(element("span", "dot"), `${found[kind]} ${KINDS[kind]}`);
    return chip;
  }));
  for (const chip of $("counts").children) setAttribute(chip, "aria-pressed", String(chip.dataset.filter === filter));
  const total = state.resources.size - found.disabled - found.none;
  const healthy = found.ok + found.warn;
  const mark = found.error ? `✖ ${found.error}` : `${healthy === total ? "✔" : "…"} ${healthy}/${total}`;
  // Nothing is known yet.
  if (!state.resources.size) return;
  document.title = `${isReadOnly ? "Snapshot: " : ""}${mark} ┊ ${$("brand").textContent}`;
  const color = found.error ? "c02b2b" : healthy === total ? "13794a" : "8a929e";
  const icon = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='%23${color}'/></svg>`;
  setAttribute($("icon"), "href", `data:image/svg+xml,${icon}`);
}

// ---- The log.

function lineKey(index) {
  const line = log.view[index];
  return `${line.id} ${line.version} ${selected === null} ${showsTimes()}`;
}

function showsTimes() {
  return $("times").getAttribute("aria-pressed") === "true";
}

function renderLine(row, index) {
  const line = log.view[index];
  const level = line.level === "WARN" ? " warn" : line.level === "ERROR" ? " error" : "";
  row.className = `row${level}${line.isEvent ? " event" : ""}`;
  const nodes = colored(line.text);
  if (selected === null) {
    const from = element("span", "from", line.resource);
    from.title = line.resource;
    nodes.unshift(from);
  }
  if (showsTimes() && line.time) {
    const time = element("time", "", new Date(line.time).toLocaleTimeString());
    time.dateTime = line.time;
    nodes.unshift(time);
  }
  row.replaceChildren(...nodes);
}

function showLog() {
  lines.update(log.view.length);
  const isFiltered = log.level || log.source || log.pattern;
  $("quiet").hidden = log.view.length > 0 || !state.session;
  setText($("quiet"), isFiltered ? "No line matches." : "Nothing was logged yet.");
}

function selectLines() {
  log.resource = selected;
  log.level = $("level").value;
  log.source = $("source").value;
  try {
    log.pattern = pattern($("search").value);
    $("search").setCustomValidity("");
  } catch (error) {
    $("search").setCustomValidity(error.message);
    notify(error.message, true);
  }
  log.select();
  follow(true);
  showLog();
}

function follow(isOn) {
  const wasOn = lines.isAtEnd;
  lines.isAtEnd = isOn;
  setAttribute($("follow"), "aria-pressed", String(isOn));
  if (isOn && !wasOn) lines.update(lines.count);
}

// ---- Where we are.

// The path names the resource, and the query what is shown of its log.
function fromLocation() {
  const word = location.pathname.slice(base.length).match(/^\/r\/([^/]+)/)?.[1] ?? "";
  const query = new URLSearchParams(location.search);
  try {
    const name = decodeURIComponent(word);
    selected = name && name !== ALL ? name : null;
  } catch {
    selected = null;
  }
  list.selected = selected;
  for (const [id, key] of [["level", "level"], ["source", "source"], ["search", "term"]]) $(id).value = query.get(key) ?? "";
  // What is not offered is not selected.
  for (const id of ["level", "source"]) if ($(id).selectedIndex < 0) $(id).value = "";
  showState();
  selectLines();
}

// A key works once, so it is nothing to keep or to pass on.
function forgetKey() {
  const query = new URLSearchParams(location.search);
  if (!query.has("key")) return;
  query.delete("key");
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}

function address() {
  const query = new URLSearchParams();
  for (const [key, id] of [["level", "level"], ["source", "source"], ["term", "search"]]) {
    if ($(id).value) query.set(key, $(id).value);
  }
  const rest = query.size ? `?${query}` : "";
  return `${base}/r/${encodeURIComponent(selected ?? ALL)}/overview${rest}`;
}

function select(name) {
  if (name === selected) return;
  selected = list.selected = name;
  history.pushState(null, "", address());
  showState();
  selectLines();
}

function refine() {
  history.replaceState(null, "", address());
  selectLines();
}

// ---- What people do.

// What the button in a row does.
function act(resource) {
  const { name } = resource.metadata;
  const { StopBuild } = state.buttonsOf("Resource", name);
  if (resource.status?.currentBuild && StopBuild) click(StopBuild);
  else trigger(name);
}

const KEYS = {
  j: () => list.move(1),
  k: () => list.move(-1),
  ArrowDown: () => list.move(1),
  ArrowUp: () => list.move(-1),
  ArrowLeft: () => list.foldSelected(true),
  ArrowRight: () => list.foldSelected(false),
  a: () => select(null),
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
  if (target.matches("input[type=search]")) return keyInSearch(event, target);
  if (target.matches("input, select")) return;
  // In what can be scrolled, arrows scroll.
  if (target.closest("#log, #reason") && event.key.startsWith("Arrow")) return;
  const button = document.querySelector(`#actions [data-key="${CSS.escape(event.key)}"]`);
  const run = button ? () => button.click() : KEYS[event.key];
  if (!run) return;
  event.preventDefault();
  run();
});

function keyInSearch(event, target) {
  if (event.key === "Escape") {
    if (target.value) {
      target.value = "";
      target.dispatchEvent(new Event("input"));
    }
    target.blur();
  } else if (event.key === "Enter" && target === $("filter")) {
    list.chooseFirst();
    $("list").focus();
  }
}

function filterBy(text) {
  $("filter").value = text;
  $("list").scrollTop = 0;
  list.update();
  showCounts();
}

async function copy() {
  const text = log.view.map((it) => plain(it.text)).join("\n");
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied ${log.view.length} lines`);
  } catch {
    notify("The browser does not allow to copy.", true);
  }
}

$("filter").addEventListener("input", () => filterBy($("filter").value));
$("counts").addEventListener("click", (event) => {
  const chip = event.target.closest("button");
  if (chip) filterBy(chip.getAttribute("aria-pressed") === "true" ? "" : chip.dataset.filter);
});
$("search").addEventListener("input", refine);
$("level").addEventListener("change", refine);
$("source").addEventListener("change", refine);
$("times").addEventListener("click", () => {
  setAttribute($("times"), "aria-pressed", String(!showsTimes()));
  showLog();
});
$("follow").addEventListener("click", () => follow(!lines.isAtEnd));
// Who scrolls up wants to read; who comes back to the end wants to follow again.
$("log").addEventListener("scroll", () => follow(lines.seesEnd), { passive: true });
$("copy").addEventListener("click", copy);
$("problem").lastChild.addEventListener("click", () => select(state.problem()?.resource ?? null));
$("help-open").addEventListener("click", () => $("help").showModal());
$("save").addEventListener("click", () => {
  const now = new Date().toISOString().slice(0, 19).replace("T", "_").replaceAll(":", "");
  $("save").download = `${$("brand").textContent.toLowerCase()}-snapshot_${now}.json`;
});
window.addEventListener("popstate", fromLocation);

setInterval(showSince, SECOND);
forgetKey();
fromLocation();
if (isReadOnly) openSnapshot(base.split("/")[2], take);
else followEngine(take);

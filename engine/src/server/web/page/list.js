// The list of resources: all, then one group for each label. One tree for people who listen, one column for those who see.

import { $, element, remember, remembered, setAttribute, setText } from "./dom.js";
import { Rows } from "./rows.js";
import { KINDS, MAIN, isDisabled, labels } from "./state.js";

const HEIGHT = 30;
const UNLABELED = "unlabeled";

export class List {
  // `on.select(name)` and `on.act(resource)` are called when somebody wants that.
  constructor(state, isReadOnly, on) {
    this.state = state;
    this.isReadOnly = isReadOnly;
    this.on = on;
    this.selected = null;
    // Where the selected resource was chosen; it may be in several groups.
    this.group = null;
    this.items = [];
    this.rows = new Rows($("list"), HEIGHT, (index) => this.key(index), (row, index) => this.render(row, index));
    $("list").addEventListener("click", (event) => this.click(event));
  }

  update() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.state.sorted().filter((it) => this.state.matches(it, words));
    this.items = words.length ? found.map((resource) => ({ resource, level: 1 })) : this.grouped(found);
    $("none").hidden = found.length > 0 || !words.length;
    this.rows.update(this.items.length);
    const at = this.position();
    if (at >= 0) setAttribute($("list"), "aria-activedescendant", `row-${at}`);
    else $("list").removeAttribute("aria-activedescendant");
  }

  // Without labels there are no groups.
  grouped(resources) {
    const groups = new Map();
    for (const it of resources) {
      const names = it.metadata.name === MAIN ? [] : labels(it);
      for (const label of names.length ? names : [UNLABELED]) {
        if (!groups.has(label)) groups.set(label, []);
        groups.get(label).push(it);
      }
    }
    const items = [{ level: 1 }];
    const isFlat = groups.size === 0 || (groups.size === 1 && groups.has(UNLABELED));
    if (isFlat) return items.concat(resources.map((resource) => ({ resource, level: 1 })));
    const main = resources.find((it) => it.metadata.name === MAIN);
    if (main) items.push({ resource: main, level: 1 });
    const folded = remembered(this.state.project, "resource-groups") ?? {};
    const isLast = (label) => label === UNLABELED;
    for (const label of [...groups.keys()].sort((a, b) => isLast(a) - isLast(b) || (a < b ? -1 : 1))) {
      const members = groups.get(label).filter((it) => it !== main);
      if (!members.length) continue;
      const isOpen = folded[label]?.expanded !== false;
      items.push({ group: label, level: 1, isOpen, text: inWords(this.state.counts(members)) });
      if (isOpen) items.push(...members.map((resource) => ({ resource, level: 2, inside: label })));
    }
    return items;
  }

  key(index) {
    const { resource, group, level, isOpen, text } = this.items[index];
    if (group !== undefined) return `group\n${index}\n${group}\n${isOpen}\n${text}`;
    if (!resource) return `all\n${index}\n${this.state.resources.size}\n${this.selected === null}`;
    const { name } = resource.metadata;
    return `one\n${index}\n${level}\n${name}\n${this.state.kind(resource)}\n${this.state.text(resource)}\n${name === this.selected}\n${actionOf(resource)}`;
  }

  render(row, index) {
    const item = this.items[index];
    if (!row.firstChild) {
      const go = element("button", "go");
      go.type = "button";
      go.tabIndex = -1;
      row.append(element("span", "dot"), element("span", "name"), element("span", "text"), go);
    }
    const [dot, name, text, go] = row.children;
    row.id = `row-${index}`;
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", item.level);
    row.setAttribute("aria-posinset", index + 1);
    row.setAttribute("aria-setsize", this.items.length);
    dot.hidden = item.group !== undefined;
    if (item.group === undefined) this.renderResource(row, item, name, text, go);
    else renderGroup(row, item, name, text, go);
  }

  renderResource(row, { resource }, name, text, go) {
    const title = resource?.metadata.name ?? "All resources";
    const words = resource ? this.state.text(resource) : `${this.state.resources.size}`;
    row.className = `row ${resource ? this.state.kind(resource) : "all"}`;
    row.removeAttribute("aria-expanded");
    row.setAttribute("aria-selected", String((resource?.metadata.name ?? null) === this.selected));
    row.title = resource ? `${title}: ${words}` : "";
    setText(name, title);
    setText(text, words);
    const action = resource && !this.isReadOnly ? actionOf(resource) : "";
    go.disabled = !action;
    setText(go, action === "stop" ? "■" : "↻");
    go.title = action === "stop" ? `Stop the update of ${title}` : `Update ${title}`;
    go.setAttribute("aria-label", go.title);
  }

  // The index of the selected row, or -1.
  position() {
    const isSelected = (it) => it.group === undefined && (it.resource?.metadata.name ?? null) === this.selected;
    const exact = this.items.findIndex((it) => isSelected(it) && it.inside === this.group);
    return exact >= 0 ? exact : this.items.findIndex(isSelected);
  }

  click(event) {
    const item = this.items[Number(event.target.closest(".row")?.id.slice("row-".length) || -1)];
    if (!item) return;
    if (item.group !== undefined) return this.fold(item.group, item.isOpen);
    if (event.target.closest(".go")) return this.on.act(item.resource);
    this.choose(item);
  }

  choose(item) {
    this.group = item.inside;
    this.on.select(item.resource?.metadata.name ?? null);
  }

  // Makes the selected row visible.
  reveal() {
    const at = this.position();
    if (at >= 0) this.rows.reveal(at);
  }

  // Selects the next resource in some direction; groups are passed over.
  move(by) {
    const at = this.position();
    let next = at < 0 ? 0 : at + by;
    while (this.items[next]?.group !== undefined) next += by;
    if (!this.items[next]) return;
    this.choose(this.items[next]);
    this.rows.reveal(next);
  }

  // Selects the first resource that the filter leaves.
  chooseFirst() {
    const first = this.items.find((it) => it.resource);
    if (first) this.choose(first);
  }

  fold(group, isClosing) {
    const folded = remembered(this.state.project, "resource-groups") ?? {};
    remember(this.state.project, "resource-groups", { ...folded, [group]: { expanded: !isClosing } });
    this.update();
  }

  // Opens or closes the group of the selected resource.
  foldSelected(isClosing) {
    const group = this.items[this.position()]?.inside ?? this.group;
    if (group) this.fold(group, isClosing);
  }
}

function renderGroup(row, item, name, text, go) {
  row.className = "row group";
  row.removeAttribute("aria-selected");
  row.setAttribute("aria-expanded", String(item.isOpen));
  row.title = "";
  setText(name, item.group);
  setText(text, item.text);
  go.disabled = true;
}

// What the button of a row does.
function actionOf(resource) {
  if (isDisabled(resource)) return "";
  return resource.status?.currentBuild ? "stop" : "update";
}

export function inWords(found) {
  return Object.entries(found)
    .filter(([, count]) => count)
    .map(([kind, count]) => `${count} ${KINDS[kind]}`)
    .join(" · ");
}

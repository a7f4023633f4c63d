// Small things that every part of the page needs.

export const $ = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
  const it = document.createElement(tag);
  if (className) it.className = className;
  if (text) it.textContent = text;
  return it;
}

export function button(text, run) {
  const it = element("button", "", text);
  it.type = "button";
  it.onclick = run;
  return it;
}

// A link that is opened beside the page.
export function link(url, text) {
  const anchor = element("a", "", text);
  anchor.href = url;
  anchor.target = "_blank";
  anchor.rel = "noreferrer";
  return anchor;
}

// Writes only what differs, so that nothing is laid out again for nothing.
export function setText(it, text) {
  if (it.textContent !== text) it.textContent = text;
}

export function setAttribute(it, name, value) {
  if (it.getAttribute(name) !== value) it.setAttribute(name, value);
}

// Replaces the children, unless they would look the same. Who has the focus keeps it then.
export function setChildren(it, key, make) {
  if (it.dataset.shown === key) return;
  it.dataset.shown = key;
  it.replaceChildren(...make());
}

// What the browser remembers for this project. Tilt's names are used, so that what it remembered stays.
export function remembered(project, key) {
  try {
    return JSON.parse(localStorage.getItem(storageKey(project, key)) ?? "null");
  } catch {
    return null;
  }
}

export function remember(project, key, value) {
  try {
    localStorage.setItem(storageKey(project, key), JSON.stringify(value));
  } catch {
    // Without storage the page works, too.
  }
}

function storageKey(tiltfileKey, key) {
  return `tilt-${JSON.stringify({ tiltfileKey, key })}`;
}

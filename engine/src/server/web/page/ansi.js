// Text as terminals show it: colors and styles become nodes, links can be followed, and nothing is read as HTML.

import { element, link } from "./dom.js";

// Sequences that terminals act upon, and other bytes that are not to be seen.
const CONTROL =
  /\x1b\[([0-9;:?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g;
const LINK = /\bhttps?:\/\/[^\s"'<>`]*[^\s"'<>`.,;:!?)\]}]/g;
const STYLES = { 1: "b", 2: "f", 3: "i", 4: "u", 9: "s" };
const UNSTYLES = { 22: ["b", "f"], 23: ["i"], 24: ["u"], 29: ["s"] };

// What is left of a line when each carriage return starts it anew.
function visible(text) {
  const end = text.endsWith("\r") ? text.length - 1 : text.length;
  return text.slice(text.lastIndexOf("\r", end - 1) + 1, end);
}

// The text without colors.
export function plain(text) {
  return visible(text).replace(CONTROL, "");
}

// Nodes for a text with colors and links. A link may change its color on the way.
export function colored(raw) {
  const text = visible(raw);
  const line = new Line(text.replace(CONTROL, ""));
  const style = new Style();
  let start = 0;
  for (const match of text.matchAll(CONTROL)) {
    line.append(text.slice(start, match.index), style);
    start = match.index + match[0].length;
    if (match[2] === "m") style.apply(match[1]);
  }
  line.append(text.slice(start), style);
  return line.nodes;
}

// A text that is written piece by piece, but whose links are known from the start.
class Line {
  constructor(plain) {
    this.nodes = [];
    this.at = 0;
    this.ends = [];
    for (const { 0: url, index } of plain.matchAll(LINK)) {
      this.ends.push({ end: index }, { end: index + url.length, anchor: link(url, "") });
    }
    this.ends.push({ end: plain.length });
  }

  append(text, style) {
    while (text) {
      const { end, anchor } = this.ends[0];
      const piece = text.slice(0, end - this.at);
      this.add(piece, style, anchor);
      this.at += piece.length;
      text = text.slice(piece.length);
      if (this.at === end) this.ends.shift();
    }
  }

  add(piece, style, anchor) {
    if (!piece) return;
    const node = style.dress(document.createTextNode(piece));
    if (!anchor) return this.nodes.push(node);
    if (!anchor.firstChild) this.nodes.push(anchor);
    anchor.append(node);
  }
}

// A color is a number of the sixteen that have names, or a text for all others.
class Style {
  constructor() {
    this.clear();
  }

  clear() {
    this.classes = new Set();
    this.color = null;
    this.ground = null;
    this.isInverse = false;
  }

  apply(codes) {
    const numbers = codes.split(/[;:]/).map(Number);
    for (let i = 0; i < numbers.length; i++) {
      const code = numbers[i];
      if (code === 0) this.clear();
      else if (code === 7 || code === 27) this.isInverse = code === 7;
      else if (STYLES[code]) this.classes.add(STYLES[code]);
      else if (UNSTYLES[code]) UNSTYLES[code].forEach((it) => this.classes.delete(it));
      else if (code === 38 || code === 48) {
        const [color, used] = extended(numbers.slice(i + 1));
        if (code === 38) this.color = color;
        else this.ground = color;
        i += used;
      } else if (code === 39) this.color = null;
      else if (code === 49) this.ground = null;
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) this.color = code % 10;
      else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) this.ground = code % 10;
    }
  }

  // A node that looks so, or the text itself if nothing is special.
  dress(node) {
    const [color, ground] = this.isInverse ? [this.ground ?? 0, this.color ?? 7] : [this.color, this.ground];
    if (!this.classes.size && color === null && ground === null) return node;
    const it = element("span");
    it.append(node);
    it.classList.add(...this.classes);
    if (typeof color === "number") it.classList.add(`c${color}`);
    else if (color) it.style.color = color;
    if (typeof ground === "number") it.classList.add(`g${ground}`);
    else if (ground) it.style.backgroundColor = ground;
    return it;
  }
}

// A color by number or by its parts, and how many numbers that took.
function extended([kind, ...rest]) {
  if (kind === 2) return [`rgb(${rest.slice(0, 3).map((it) => it & 255).join(" ")})`, 4];
  if (kind !== 5) return [null, 1];
  const index = rest[0] & 255;
  if (index < 16) return [index % 8, 2];
  if (index >= 232) return [`rgb(${Array(3).fill(8 + (index - 232) * 10).join(" ")})`, 2];
  const level = (it) => (it ? 55 + it * 40 : 0);
  const at = index - 16;
  return [`rgb(${[at / 36, (at / 6) % 6, at % 6].map((it) => level(Math.floor(it))).join(" ")})`, 2];
}

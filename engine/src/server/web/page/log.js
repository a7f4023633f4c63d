// The lines of the log: put together from segments, bounded, and selected for what is shown.

const MAX_LINES = 50_000;
const KEPT_LINES = 40_000;
const MAX_TEXT = 5_000;

export class Log {
  constructor() {
    this.clear();
    // Which lines are shown.
    this.resource = null;
    this.search = "";
    this.level = "";
  }

  clear() {
    this.lines = [];
    this.view = [];
    this.spans = {};
    this.open = new Map();
    this.next = 0;
    this.dropped = 0;
  }

  // Takes in a list of segments; says whether lines that are shown may have changed.
  add(list) {
    const segments = list?.segments ?? [];
    Object.assign(this.spans, list?.spans);
    // What was already received is left out.
    const overlap = Math.max(0, this.next - (list?.fromCheckpoint ?? 0));
    for (const segment of segments.slice(overlap)) this.addSegment(segment);
    if (list?.toCheckpoint > this.next) this.next = list.toCheckpoint;
    if (this.lines.length > MAX_LINES) {
      this.dropped += this.lines.length - KEPT_LINES;
      this.lines = this.lines.slice(-KEPT_LINES);
      this.open = new Map();
      this.select();
    }
    return segments.length > overlap;
  }

  addSegment(segment) {
    const span = segment.spanId ?? "";
    const level = segment.level ?? "INFO";
    const progress = segment.fields?.progressID;
    const text = segment.text ?? "";
    const isWhole = text.endsWith("\n");
    const body = isWhole ? text.slice(0, -1) : text;
    const known = this.open.get(progress ? `${span}\n${progress}` : span);
    if (known && progress && known.progress === progress) {
      known.text = body.slice(0, MAX_TEXT);
      return;
    }
    if (known && !known.isWhole && known.level === level && !progress) {
      known.text = (known.text + body).slice(0, MAX_TEXT);
      known.isWhole = isWhole;
      return;
    }
    const line = {
      resource: this.spans[span]?.manifestName ?? "",
      level,
      time: segment.time,
      text: body.slice(0, MAX_TEXT),
      isWhole,
      progress,
      isEvent: Boolean(segment.fields?.buildEvent),
    };
    this.lines.push(line);
    this.open.set(progress ? `${span}\n${progress}` : span, line);
    if (this.isShown(line)) this.view.push(line);
  }

  isShown(line) {
    return (
      (this.resource === null || line.resource === this.resource) &&
      (!this.level || line.level === this.level) &&
      (!this.search || plain(line.text).toLowerCase().includes(this.search))
    );
  }

  // Chooses anew which lines are shown.
  select() {
    this.view = this.lines.filter((line) => this.isShown(line));
  }
}

// Sequences that terminals act upon, and other bytes that are not to be seen.
const CONTROL = /\x1b\[([0-9;]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x08\x0b-\x1a\x7f]/g;
const LINK = /\bhttps?:\/\/[^\s"'<>`]+[^\s"'<>`.,;:!?)\]}]/g;

// The text without colors.
export function plain(text) {
  return text.replace(CONTROL, "");
}

// Nodes for a text with colors and links; nothing in it is read as HTML.
export function colored(text) {
  const nodes = [];
  let style = new Set();
  let start = 0;
  for (const match of text.matchAll(CONTROL)) {
    append(nodes, text.slice(start, match.index), style);
    start = match.index + match[0].length;
    if (match[2] === "m") style = restyled(style, match[1]);
  }
  append(nodes, text.slice(start), style);
  return nodes;
}

const STYLES = { 1: "b", 2: "f", 3: "i", 4: "u" };

function restyled(style, codes) {
  const next = new Set(style);
  const numbers = codes.split(";").map(Number);
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i];
    const color = code >= 30 && code <= 37 ? code - 30 : code >= 90 && code <= 97 ? code - 90 : -1;
    if (code === 0) next.clear();
    else if (code === 22) ["b", "f"].forEach((it) => next.delete(it));
    else if (code === 23) next.delete("i");
    else if (code === 24) next.delete("u");
    else if (STYLES[code]) next.add(STYLES[code]);
    // Colors by number or by parts are left out, with what belongs to them.
    else if (code === 38 || code === 48) i += numbers[i + 1] === 5 ? 2 : 4;
    else if (code === 39 || color >= 0) {
      for (let it = 0; it < 8; it++) next.delete(`c${it}`);
      if (color >= 0) next.add(`c${color}`);
    }
  }
  return next;
}

function append(nodes, text, style) {
  if (!text) return;
  const className = [...style].join(" ");
  const add = (node) => {
    if (className && node.nodeType === Node.TEXT_NODE) {
      const span = document.createElement("span");
      span.append(node);
      node = span;
    }
    if (className) node.className = className;
    nodes.push(node);
  };
  let start = 0;
  for (const match of text.matchAll(LINK)) {
    if (match.index > start) add(document.createTextNode(text.slice(start, match.index)));
    add(link(match[0], match[0]));
    start = match.index + match[0].length;
  }
  if (start < text.length) add(document.createTextNode(text.slice(start)));
}

// A link that is opened beside the page.
export function link(url, text) {
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.textContent = text;
  anchor.target = "_blank";
  anchor.rel = "noreferrer";
  return anchor;
}

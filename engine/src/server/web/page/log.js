// The lines of the log: put together from segments, bounded, and selected for what is shown.

import { plain } from "./ansi.js";

const MAX_LINES = 50_000;
const KEPT_LINES = 40_000;
const MAX_TEXT = 5_000;

export class Log {
  constructor() {
    // Which lines are shown.
    this.resource = null;
    this.level = "";
    this.source = "";
    this.pattern = null;
    this.clear();
  }

  clear() {
    this.lines = [];
    this.view = [];
    this.spans = {};
    this.open = new Map();
    this.next = 0;
    this.lastId = 0;
  }

  // Takes in a list of segments; says how many of the first lines that were shown are gone.
  add(list) {
    Object.assign(this.spans, list?.spans);
    // What was already received is left out.
    const overlap = Math.max(0, this.next - (list?.fromCheckpoint ?? 0));
    for (const segment of (list?.segments ?? []).slice(overlap)) this.addSegment(segment);
    if (list?.toCheckpoint > this.next) this.next = list.toCheckpoint;
    return this.lines.length > MAX_LINES ? this.trim() : 0;
  }

  addSegment(segment) {
    const span = segment.spanId ?? "";
    const level = segment.level ?? "INFO";
    const progress = segment.fields?.progressID;
    const text = segment.text ?? "";
    const isWhole = text.endsWith("\n");
    const body = isWhole ? text.slice(0, -1) : text;
    const place = progress ? `${span}\n${progress}` : span;
    const before = this.open.get(place);
    if (before && progress) return change(before, body, isWhole);
    if (before && !before.isWhole && before.level === level) return change(before, before.text + body, isWhole);
    const line = {
      id: ++this.lastId,
      version: 0,
      resource: this.spans[span]?.manifestName ?? "",
      level,
      isBuild: /^(build|tiltfile|cmd):/.test(span),
      isEvent: Boolean(segment.fields?.buildEvent),
      time: segment.time,
      text: body.slice(0, MAX_TEXT),
      isWhole,
    };
    this.lines.push(line);
    this.open.set(place, line);
    if (this.isShown(line)) this.view.push(line);
  }

  isShown(line) {
    return (
      (this.resource === null || line.resource === this.resource) &&
      (!this.level || line.level.toLowerCase() === this.level) &&
      (!this.source || line.isBuild === (this.source === "build")) &&
      (!this.pattern || this.pattern(plain(line.text)))
    );
  }

  // Chooses anew which lines are shown.
  select() {
    this.view = this.lines.filter((line) => this.isShown(line));
  }

  // Forgets the oldest lines of those resources that have the most, so that a loud one does not silence the others.
  trim() {
    const counts = new Map();
    for (const { resource } of this.lines) counts.set(resource, (counts.get(resource) ?? 0) + 1);
    const cap = capOf([...counts.values()], KEPT_LINES);
    const kept = new Set();
    this.lines = this.lines.filter((line) => {
      const left = counts.get(line.resource) - 1;
      counts.set(line.resource, left);
      if (left >= cap) return false;
      kept.add(line);
      return true;
    });
    for (const [place, line] of this.open) if (!kept.has(line)) this.open.delete(place);
    const before = this.view.length;
    this.view = this.view.filter((line) => kept.has(line));
    return before - this.view.length;
  }
}

function change(line, text, isWhole) {
  line.text = text.slice(0, MAX_TEXT);
  line.isWhole = isWhole;
  line.version++;
}

// How many each may keep so that all together keep no more than a total.
function capOf(counts, total) {
  let left = total;
  let cap = total;
  for (const [index, count] of counts.sort((a, b) => a - b).entries()) {
    cap = Math.floor(left / (counts.length - index));
    if (count > cap) return cap;
    left -= count;
  }
  return cap;
}

// What a person typed, as a question about a text: words, or a regular expression between slashes.
export function pattern(typed) {
  const expression = typed.match(/^\/(.+)\/$/);
  if (expression) {
    const regex = new RegExp(expression[1], "i");
    return (text) => regex.test(text);
  }
  const word = typed.toLowerCase();
  return word ? (text) => text.toLowerCase().includes(word) : null;
}

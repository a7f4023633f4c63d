// A list of rows of one height, of which only those exist that can be seen, and of which only those are
// written that have changed. So its cost depends neither on how many rows there are nor on how many stay the same.

const MARGIN = 8;
const MAX_SPARE = 100;

export class Rows {
  // `key(index)` tells how a row looks; `render(element, index)` fills it when that has changed.
  constructor(element, height, key, render) {
    this.element = element;
    this.height = height;
    this.key = key;
    this.render = render;
    this.count = 0;
    this.shown = new Map();
    this.spare = [];
    this.isDue = false;
    // Whether the last row stays in sight when rows are added.
    this.isAtEnd = false;
    // A row that is to be seen with the next frame.
    this.wanted = null;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", "presentation");
    element.append(this.space);
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(element);
  }

  // Says how many rows there are; what changed is shown with the next frame.
  update(count) {
    this.count = count;
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  paint() {
    const { element, height, space } = this;
    const total = `${this.count * height}px`;
    if (space.style.height !== total) space.style.height = total;
    if (this.isAtEnd) element.scrollTop = element.scrollHeight;
    if (this.wanted !== null) this.scrollTo(this.wanted);
    this.wanted = null;
    this.draw();
  }

  // Brings what can be seen up to date.
  draw() {
    const { element, height } = this;
    const top = Math.min(Math.floor(element.scrollTop / height), this.count);
    const first = Math.max(0, top - MARGIN);
    const last = Math.min(this.count, top + Math.ceil(element.clientHeight / height) + MARGIN);
    this.drop(first, last);
    for (let index = first; index < last; index++) this.show(index);
  }

  // Takes away the rows that cannot be seen any more.
  drop(first, last) {
    for (const [index, row] of this.shown) {
      if (index >= first && index < last) continue;
      row.element.remove();
      this.shown.delete(index);
      if (this.spare.length < MAX_SPARE) this.spare.push(row);
    }
  }

  show(index) {
    const key = this.key(index);
    let row = this.shown.get(index);
    if (row?.key === key) return;
    if (!row) {
      row = this.spare.pop() ?? { element: document.createElement("div") };
      row.element.style.top = `${index * this.height}px`;
      this.shown.set(index, row);
      this.space.append(row.element);
    }
    if (row.key === key) return;
    row.key = key;
    this.render(row.element, index);
  }

  // Makes a row visible.
  reveal(index) {
    this.wanted = index;
    this.update(this.count);
  }

  scrollTo(index) {
    const { element, height } = this;
    const top = index * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + height - element.clientHeight;
    }
  }

  // Whether the last row can be seen.
  get seesEnd() {
    const { element, height } = this;
    return element.scrollTop + element.clientHeight >= element.scrollHeight - height;
  }
}

// A list of rows of one height, of which only those exist that can be seen. So its cost does not
// depend on how many rows there are.

const MARGIN = 8;

export class Rows {
  // `render(element, index)` fills the element of a row.
  constructor(element, height, render) {
    this.element = element;
    this.height = height;
    this.render = render;
    this.count = 0;
    this.shown = new Map();
    this.spare = [];
    this.isDue = false;
    this.space = document.createElement("div");
    this.space.className = "space";
    element.append(this.space);
    element.addEventListener("scroll", () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(element);
  }

  // Says how many rows there are; all that can be seen are filled again.
  update(count) {
    this.count = count;
    this.isStale = true;
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  paint() {
    const { element, height, space } = this;
    if (this.isStale) space.style.height = `${this.count * height}px`;
    if (this.isAtEnd) element.scrollTop = element.scrollHeight;
    const top = Math.floor(element.scrollTop / height);
    const first = Math.max(0, Math.min(top, this.count) - MARGIN);
    const last = Math.min(this.count, top + Math.ceil(element.clientHeight / height) + MARGIN);
    for (const [index, row] of this.shown) {
      if (index >= first && index < last) continue;
      row.remove();
      this.shown.delete(index);
      if (this.spare.length < 100) this.spare.push(row);
    }
    for (let index = first; index < last; index++) {
      let row = this.shown.get(index);
      if (row && !this.isStale) continue;
      if (!row) {
        row = this.spare.pop() ?? document.createElement("div");
        row.style.top = `${index * height}px`;
        this.shown.set(index, row);
        space.append(row);
      }
      row.className = "row";
      this.render(row, index);
    }
    this.isStale = false;
  }

  // Makes a row visible.
  reveal(index) {
    const { element, height } = this;
    const top = index * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + height - element.clientHeight;
    }
  }

  // Whether the last row can be seen.
  get seesEnd() {
    const { element } = this;
    return element.scrollTop + element.clientHeight >= element.scrollHeight - this.height;
  }
}

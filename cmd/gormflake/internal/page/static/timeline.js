// The timeline of many IDs, with their number over time and a lane for each worker. It is
// drawn on a canvas, because thousands of elements would be slow. For the keyboard and for
// screen readers it is a slider.

import { byID } from './dom.js';
import { workerName, workerTitle } from './lanes.js';
import { timeOf } from './parts.js';
import { Painter } from './strip.js';
import { count, t } from './text.js';
import { duration, isoTime } from './time.js';

export class Timeline {
  #layout;
  #data;
  #view;
  #index = 0;
  #range; // the offsets that the reader has selected
  #anchor; // where a selection by keys began
  #dragged; // where a selection by the pointer began
  #selected;
  #ranged;
  #painter = new Painter(() => this.draw());

  // selected is called with the item that the reader picks. ranged is called with the range
  // of offsets that the reader selects, or with undefined when the range is cleared.
  constructor(selected, ranged) {
    this.#selected = selected;
    this.#ranged = ranged;
    byID('strip').addEventListener('keydown', (event) => this.#key(event));
    const canvas = byID('strip-canvas');
    canvas.addEventListener('pointerdown', (event) => this.#press(event));
    canvas.addEventListener('pointermove', (event) => this.#drag(event));
    canvas.addEventListener('pointerup', (event) => this.#release(event));
    canvas.addEventListener('pointercancel', () => { this.#dragged = undefined; });
    byID('zoom-in').addEventListener('click', () => this.#zoom(1 / 2));
    byID('zoom-out').addEventListener('click', () => this.#zoom(2));
    byID('zoom-all').addEventListener('click', () => this.#all());
  }

  hide() {
    byID('timeline').hidden = true;
    this.#data = undefined;
  }

  // show draws data, which is the result of arrange, and selects the first ID.
  show(layout, data, note) {
    this.#layout = layout;
    this.#data = data;
    this.#range = this.#anchor = this.#dragged = undefined;
    byID('timeline').hidden = false;
    byID('timeline-summary').textContent = [this.#summary(), note].filter(Boolean).join(t`; `);
    byID('strip-lanes').textContent = t`Lanes: ${workerTitle(layout).toLowerCase()}.`;
    this.#view = this.#whole();
    this.#select(0);
  }

  // pick selects an item of the shown data.
  pick(item) {
    this.#select(this.#data.ids.indexOf(item));
  }

  // clear ends the selection of a range.
  clear() {
    this.#anchor = undefined;
    this.#setRange(undefined);
  }

  // recolour draws again after the colours have changed.
  recolour() {
    this.#painter.recolour();
    this.draw();
  }

  draw() {
    if (!this.#data) return;
    this.#painter.paint({ layout: this.#layout, data: this.#data, view: this.#view, range: this.#range, item: this.#data.ids[this.#index] });
  }

  #summary() {
    const { ids, lanes, span } = this.#data;
    const again = ids.filter(({ times }) => times > 1).length;
    return t`${count(ids.length)} IDs of ${count(lanes.length)} ${lanes.length === 1 ? t`worker` : t`workers`} over ${duration(BigInt(Math.round(span)))}${again > 0 ? t`; ${count(again)} of them found more than once` : ''}`;
  }

  #whole() {
    const { span } = this.#data;
    const margin = Math.max(span * 0.01, Number(this.#layout.tick) / 2);
    return { from: -margin, to: span + margin };
  }

  #all() {
    this.#view = this.#whole();
    this.draw();
  }

  #zoom(factor) {
    const { from, to } = this.#view;
    const whole = this.#whole();
    // Far from the start, numbers of 53 bits cannot represent smaller differences.
    const width = Math.max((to - from) * factor, 0.01, whole.to * 2 ** -40);
    if (width >= whole.to - whole.from) return this.#all();
    const middle = Math.min(Math.max(this.#data.ids[this.#index].offset, from), to);
    const left = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
    this.#view = { from: left, to: left + width };
    return this.draw();
  }

  #key(event) {
    const last = this.#data.ids.length - 1;
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10, Home: -last, End: last };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (Object.hasOwn(moves, event.key)) this.#move(Math.min(Math.max(this.#index + moves[event.key], 0), last), event.shiftKey);
    else if (event.key === '+') this.#zoom(1 / 2);
    else if (event.key === '-') this.#zoom(2);
    else if (event.key === 'Escape') this.clear();
    else return;
    event.preventDefault();
  }

  // move selects the ID. With extend, which Shift sets, it also selects the range from the ID
  // at which Shift was first pressed.
  #move(index, extend) {
    if (extend) this.#anchor ??= this.#data.ids[this.#index].offset;
    this.#select(index);
    if (extend) this.#setRange([this.#anchor, this.#data.ids[index].offset]);
    else this.#anchor = undefined;
  }

  #setRange(ends) {
    this.#range = ends && { from: Math.min(...ends), to: Math.max(...ends) };
    this.draw();
    this.#ranged(this.#range);
  }

  #select(index) {
    this.#index = index;
    const item = this.#data.ids[index];
    const strip = byID('strip');
    strip.setAttribute('aria-valuemax', this.#data.ids.length);
    strip.setAttribute('aria-valuenow', index + 1);
    strip.setAttribute('aria-valuetext', t`ID ${count(index + 1)} of ${count(this.#data.ids.length)}, worker ${workerName(item.lane, this.#layout)}, ${isoTime(timeOf(this.#layout, item.id))}`);
    this.#follow(item.offset);
    this.draw();
    this.#selected(item, index, this.#data.ids.length);
  }

  // follow moves the view so that the offset is in it.
  #follow(offset) {
    const { from, to } = this.#view;
    if (offset >= from && offset <= to) return;
    const width = to - from;
    this.#view = { from: offset - width / 2, to: offset + width / 2 };
  }

  #press(event) {
    if (event.button !== 0) return;
    this.#dragged = event.clientX;
    event.currentTarget.setPointerCapture(event.pointerId);
  }

  // drag selects a range once the pointer has moved further than a click does.
  #drag(event) {
    if (this.#dragged === undefined || Math.abs(event.clientX - this.#dragged) < 5) return;
    const { left } = event.currentTarget.getBoundingClientRect();
    const plot = this.#plot();
    this.#setRange([plot.offsetAt(this.#dragged - left), plot.offsetAt(event.clientX - left)]);
  }

  #release(event) {
    const moved = this.#dragged === undefined || Math.abs(event.clientX - this.#dragged) >= 5;
    this.#dragged = undefined;
    if (!moved) this.#select(this.#nearest(event));
  }

  #plot() {
    return this.#painter.plot(this.#data, this.#view);
  }

  // nearest returns the index of the ID nearest to a click. It prefers the lane at the click by
  // 8 pixels.
  #nearest(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const plot = this.#plot();
    const offset = plot.offsetAt(event.clientX - box.left);
    const row = plot.rowAt(event.clientY - box.top);
    const near = row < 0 ? 0 : 8 * plot.perPixel;
    let best = 0;
    let distance = Infinity;
    this.#data.ids.forEach((each, i) => {
      const away = Math.abs(each.offset - offset) + (plot.rowOf(each.lane) === row ? 0 : near);
      if (away < distance) [best, distance] = [i, away];
    });
    return best;
  }
}

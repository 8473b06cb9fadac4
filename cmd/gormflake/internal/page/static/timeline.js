// The strip of many IDs on a time line. It is drawn on a canvas, so that
// thousands stay smooth, and is a slider to the keyboard and to screen readers.

import { marks } from './axis.js';
import { byID, el } from './dom.js';
import { arrange, workerName } from './lanes.js';
import { timeOf } from './parts.js';
import { duration, isoTime } from './time.js';

const gutter = 46;
const axisHeight = 24;
const tallest = 420;
const colours = 8;
const mostRows = 64; // of the table of workers

export class Timeline {
  #layout;
  #data;
  #view;
  #index = 0;
  #selected;

  // selected is called with an item of show when the reader picks its ID.
  constructor(selected) {
    this.#selected = selected;
    const strip = byID('strip');
    strip.addEventListener('keydown', (event) => this.#key(event));
    byID('strip-canvas').addEventListener('click', (event) => this.#pick(event));
    byID('zoom-in').addEventListener('click', () => this.#zoom(1 / 2));
    byID('zoom-out').addEventListener('click', () => this.#zoom(2));
    byID('zoom-all').addEventListener('click', () => this.#all());
    new ResizeObserver(() => this.draw()).observe(strip);
  }

  hide() {
    byID('timeline').hidden = true;
    this.#data = undefined;
  }

  // show draws the items and selects the first.
  show(layout, items, note) {
    this.#layout = layout;
    this.#data = arrange(layout, items);
    byID('timeline').hidden = false;
    byID('timeline-summary').textContent = [this.#summary(), note].filter(Boolean).join('; ');
    this.#fillTables();
    this.#view = this.#whole();
    this.#select(0);
  }

  #summary() {
    const { ids, lanes, span } = this.#data;
    return `${ids.length} IDs of ${lanes.length} ${lanes.length === 1 ? 'worker' : 'workers'} over ${lengthText(span)}`;
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
    // Numbers of 53 bits tell no less apart, so far from the start.
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
    if (Object.hasOwn(moves, event.key)) this.#select(Math.min(Math.max(this.#index + moves[event.key], 0), last));
    else if (event.key === '+') this.#zoom(1 / 2);
    else if (event.key === '-') this.#zoom(2);
    else return;
    event.preventDefault();
  }

  #select(index) {
    this.#index = index;
    const item = this.#data.ids[index];
    const strip = byID('strip');
    strip.setAttribute('aria-valuemax', this.#data.ids.length);
    strip.setAttribute('aria-valuenow', index + 1);
    strip.setAttribute('aria-valuetext', `ID ${index + 1} of ${this.#data.ids.length}, worker ${workerName(item.lane, this.#layout)}, ${isoTime(timeOf(this.#layout, item.id))}`);
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

  // pick selects the ID nearest to the click, of the lane under it if one is near.
  #pick(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const plot = this.#plot(box.width);
    const offset = plot.offsetAt(event.clientX - box.left);
    const row = Math.floor((event.clientY - box.top) / plot.rowHeight);
    const near = 8 * plot.perPixel;
    let best = 0;
    let distance = Infinity;
    this.#data.ids.forEach((each, i) => {
      const away = Math.abs(each.offset - offset) + (plot.rowOf(each.lane) === row ? 0 : near);
      if (away < distance) [best, distance] = [i, away];
    });
    this.#select(best);
  }

  // plot maps offsets to pixels and back.
  #plot(width) {
    const { from, to } = this.#view;
    const inner = Math.max(width - gutter - 8, 10);
    const lanes = this.#data.lanes.length;
    const rows = Math.min(lanes, tallest); // more lanes than pixels share rows
    const rowHeight = Math.min(Math.max(72 / rows, 26), tallest / rows);
    return {
      width, inner, rows, rowHeight,
      height: Math.ceil(rowHeight * rows) + axisHeight,
      rowOf: (lane) => Math.floor(lane.index * rows / lanes),
      perPixel: (to - from) / inner,
      x: (offset) => gutter + (offset - from) / (to - from) * inner,
      offsetAt: (x) => from + (x - gutter) / inner * (to - from),
    };
  }

  draw() {
    if (!this.#data || byID('timeline').hidden) return;
    const canvas = byID('strip-canvas');
    const plot = this.#plot(byID('strip').clientWidth);
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(plot.width * scale);
    canvas.height = Math.round(plot.height * scale);
    canvas.style.height = `${plot.height}px`;
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const paint = { context, plot, font: style.getPropertyValue('--mono'), colour: (name) => resolve(canvas, name) };
    this.#drawAxis(paint);
    this.#drawGaps(paint);
    this.#drawLanes(paint);
    this.#drawCursor(paint);
  }

  #drawAxis({ context, plot, font, colour }) {
    const { from, to } = this.#view;
    const bottom = plot.height - axisHeight;
    context.font = `11px ${font}`;
    context.textAlign = 'center';
    for (const { at, label } of marks(this.#data.start, from, to, Math.max(2, plot.inner / 95))) {
      const x = Math.round(plot.x(at)) + 0.5;
      context.fillStyle = colour('--line');
      context.fillRect(x, 0, 1, bottom + 4);
      context.fillStyle = colour('--quiet');
      const half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(Math.max(x, gutter + half - 8), plot.width - half), bottom + 17);
    }
  }

  #drawGaps({ context, plot, font, colour }) {
    const bottom = plot.height - axisHeight;
    context.font = `11px ${font}`;
    context.textAlign = 'center';
    for (const { from, to, length } of this.#data.gaps) {
      const left = Math.max(plot.x(from.offset) + 2, gutter);
      const right = Math.min(plot.x(to.offset) - 2, plot.width - 8);
      if (right - left < 3) continue;
      context.fillStyle = colour('--gap');
      context.fillRect(left, 0, right - left, bottom);
      if (right - left < 76) continue;
      context.fillStyle = colour('--text');
      context.fillText(lengthText(length), (left + right) / 2, bottom / 2 + 4);
    }
  }

  #drawLanes({ context, plot, font, colour }) {
    const { lanes } = this.#data;
    const counts = this.#counts(plot);
    const most = counts.reduce((a, row) => row.reduce((b, count) => Math.max(b, count), a), 1);
    const palette = Array.from({ length: colours }, (_, i) => colour(`--worker-${i}`));
    context.textAlign = 'right';
    context.font = `600 11px ${font}`;
    counts.forEach((row, index) => {
      const top = index * plot.rowHeight;
      context.fillStyle = palette[index % colours];
      row.forEach((count, column) => {
        if (count > 0) drawColumn(context, gutter + column, top, plot.rowHeight, 0.5 + Math.log1p(count - 1) / Math.log1p(most) / 2);
      });
      if (plot.rowHeight < 13) return;
      context.fillText(workerName(lanes[index], this.#layout), gutter - 8, top + plot.rowHeight / 2 + 4);
    });
  }

  // counts is how many IDs fall into each column of pixels, by row.
  #counts(plot) {
    const counts = Array.from({ length: plot.rows }, () => new Uint32Array(Math.ceil(plot.inner) + 1));
    const { from, to } = this.#view;
    for (const { offset, lane } of this.#data.ids) {
      if (offset >= from && offset <= to) counts[plot.rowOf(lane)][Math.round(plot.x(offset) - gutter)]++;
    }
    return counts;
  }

  #drawCursor({ context, plot, colour }) {
    const item = this.#data.ids[this.#index];
    const x = plot.x(item.offset);
    const bottom = plot.height - axisHeight;
    context.fillStyle = colour('--text');
    context.fillRect(x - 0.25, 0, 1.5, bottom);
    context.beginPath();
    context.moveTo(x + 0.5, bottom - 1);
    context.lineTo(x - 4.5, bottom + 6);
    context.lineTo(x + 5.5, bottom + 6);
    context.fill();
  }

  #fillTables() {
    const { lanes, gaps } = this.#data;
    byID('timeline-workers').caption.textContent = lanes.length > mostRows ? `Workers, the first ${mostRows} of ${lanes.length}` : 'Workers';
    byID('timeline-workers').tBodies[0].replaceChildren(...lanes.slice(0, mostRows).map((lane) => el('tr', {},
      el('th', { scope: 'row' }, el('span', { class: `swatch worker-${lane.index % colours}`, 'aria-hidden': 'true' }), workerName(lane, this.#layout)),
      el('td', { class: 'number' }, `${lane.count}`),
      el('td', {}, isoTime(timeOf(this.#layout, lane.first))),
      el('td', {}, isoTime(timeOf(this.#layout, lane.last))))));
    byID('timeline-gaps').hidden = gaps.length === 0;
    byID('timeline-gaps').tBodies[0].replaceChildren(...gaps.map(({ from, length }) => el('tr', {},
      el('td', {}, isoTime(timeOf(this.#layout, from.id))),
      el('td', {}, lengthText(length)))));
  }
}

// drawColumn is one column of pixels of a lane, the higher the more IDs.
function drawColumn(context, x, top, laneHeight, share) {
  const room = laneHeight > 6 ? laneHeight - 4 : laneHeight;
  const height = Math.max(room * share, 1);
  context.fillRect(x, top + (laneHeight - height) / 2, 1.5, height);
}

// resolve turns a custom property into the colour of the scheme in use.
function resolve(canvas, name) {
  canvas.style.color = `var(${name})`;
  return getComputedStyle(canvas).color;
}

function lengthText(offset) {
  return duration(BigInt(Math.round(offset)));
}

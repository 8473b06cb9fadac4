// The painter of the timeline. It paints a histogram of all IDs, a lane for each worker,
// which is darker where its IDs are denser, the gaps, and the marks of the time.

import { marks } from './axis.js';
import { byID } from './dom.js';
import { workerName } from './lanes.js';
import { count as written } from './text.js';
import { duration } from './time.js';

const gutter = 46;
const axisHeight = 24;
const histogramHeight = 56;
const tallest = 300; // of all lanes
const barWidth = 4;
const colours = 8;

export class Painter {
  #canvas = byID('strip-canvas');
  #width = 0;
  #palette;
  #scene;
  #asked = false;

  // resized is called when the width of the strip has changed.
  constructor(resized) {
    new ResizeObserver(([{ contentRect }]) => {
      this.#width = contentRect.width;
      resized();
    }).observe(byID('strip'));
  }

  recolour() {
    this.#palette = undefined;
  }

  // paint draws the scene in the next frame. If it is called again before, only the last
  // scene is drawn. It sets the height at once, so that nothing on the page moves later.
  paint(scene) {
    this.#scene = scene;
    this.#canvas.style.height = `${this.plot(scene.data, scene.view).bottom + axisHeight}px`;
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      if (this.#width > 0) this.#paint(this.#scene);
    });
  }

  // plot returns functions that map offsets to pixels and lanes to rows, and back.
  plot(data, { from, to }) {
    const inner = Math.max(this.#width - gutter - 8, 10);
    const lanes = data.lanes.length;
    const rows = Math.min(lanes, tallest / 3); // more lanes than that share rows
    const rowHeight = Math.min(Math.max(60 / rows, 22), tallest / rows);
    const top = histogramHeight + 6;
    return {
      width: this.#width, inner, rows, rowHeight, top,
      bottom: top + Math.ceil(rowHeight * rows),
      rowOf: (lane) => Math.floor(lane.index * rows / lanes),
      rowAt: (y) => Math.floor((y - top) / rowHeight),
      perPixel: (to - from) / inner,
      x: (offset) => gutter + (offset - from) / (to - from) * inner,
      offsetAt: (x) => from + (x - gutter) / inner * (to - from),
    };
  }

  #paint(scene) {
    const plot = this.plot(scene.data, scene.view);
    const context = this.#start(plot);
    const paint = { ...scene, context, plot, palette: this.#palette ??= readPalette(this.#canvas), bins: binsOf(scene, plot) };
    drawAxis(paint);
    drawGaps(paint);
    drawHistogram(paint);
    drawLanes(paint);
    drawRange(paint);
    drawCursor(paint);
  }

  #start(plot) {
    const canvas = this.#canvas;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(plot.width * scale);
    canvas.height = Math.round((plot.bottom + axisHeight) * scale);
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    return context;
  }
}

// binsOf counts the IDs of each bar of the histogram, in all and in each row of lanes.
function binsOf({ data, view }, plot) {
  const size = Math.ceil(plot.inner / barWidth) + 1;
  const rows = Array.from({ length: plot.rows }, () => new Uint32Array(size));
  const all = new Uint32Array(size);
  for (const { offset, lane } of data.ids) {
    if (offset < view.from || offset > view.to) continue;
    const bin = Math.floor((plot.x(offset) - gutter) / barWidth);
    all[bin]++;
    rows[plot.rowOf(lane)][bin]++;
  }
  return { all, rows, most: largest(all), mostOfRow: rows.reduce((most, row) => Math.max(most, largest(row)), 1) };
}

function largest(counts) {
  return counts.reduce((a, b) => Math.max(a, b), 1);
}

function drawAxis({ context, plot, view, data, palette }) {
  context.font = `11px ${palette.font}`;
  context.textAlign = 'center';
  for (const { at, label } of marks(data.start, view.from, view.to, Math.max(2, plot.inner / 95))) {
    const x = Math.round(plot.x(at)) + 0.5;
    context.fillStyle = palette.line;
    context.fillRect(x, 0, 1, plot.bottom + 4);
    context.fillStyle = palette.quiet;
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(x, gutter + half - 8), plot.width - half), plot.bottom + 17);
  }
}

function drawGaps({ context, plot, data, palette }) {
  context.font = `11px ${palette.font}`;
  context.textAlign = 'center';
  for (const { from, to, length } of data.gaps) {
    const left = Math.max(plot.x(from.offset) + barWidth, gutter);
    const right = Math.min(plot.x(to.offset) - barWidth, plot.width - 8);
    if (right - left < 3) continue;
    context.fillStyle = palette.gap;
    context.fillRect(left, 0, right - left, plot.bottom);
    if (right - left < 76) continue;
    context.fillStyle = palette.text;
    context.fillText(duration(BigInt(Math.round(length))), (left + right) / 2, histogramHeight / 2 + 4);
  }
}

// drawHistogram draws the number of IDs of all workers over time.
function drawHistogram({ context, plot, bins, palette }) {
  context.fillStyle = palette.quiet;
  context.textAlign = 'right';
  context.font = `11px ${palette.font}`;
  context.fillText(written(bins.most), gutter - 8, 10);
  context.fillText('0', gutter - 8, histogramHeight);
  context.fillRect(gutter, histogramHeight, plot.inner, 1);
  context.fillStyle = palette.bar;
  bins.all.forEach((count, bin) => {
    const height = count === 0 ? 0 : Math.max(count / bins.most * (histogramHeight - 2), 1);
    context.fillRect(gutter + bin * barWidth, histogramHeight - height, barWidth - 1, height);
  });
}

// drawLanes draws the IDs of each worker. More IDs are darker.
function drawLanes({ context, plot, bins, layout, data, palette }) {
  context.textAlign = 'right';
  context.font = `600 11px ${palette.font}`;
  const gap = plot.rowHeight > 8 ? 4 : plot.rowHeight > 4 ? 1 : 0;
  bins.rows.forEach((row, index) => {
    const top = plot.top + index * plot.rowHeight;
    context.fillStyle = palette.workers[index % colours];
    row.forEach((count, bin) => {
      if (count === 0) return;
      context.globalAlpha = 0.3 + 0.7 * count / bins.mostOfRow;
      context.fillRect(gutter + bin * barWidth, top + gap / 2, barWidth - (bins.mostOfRow > 1 ? 0 : 1), plot.rowHeight - gap);
    });
    context.globalAlpha = 1;
    if (plot.rowHeight >= 13) context.fillText(workerName(data.lanes[index], layout), gutter - 8, top + plot.rowHeight / 2 + 4);
  });
}

// drawRange dims the timeline outside the selected range.
function drawRange({ context, plot, range, palette }) {
  if (!range) return;
  const clamp = (offset) => Math.min(Math.max(plot.x(offset), gutter), plot.width);
  const [left, right] = [clamp(range.from), clamp(range.to)];
  context.globalAlpha = 0.75;
  context.fillStyle = palette.card;
  context.fillRect(gutter, 0, left - gutter, plot.bottom);
  context.fillRect(right, 0, plot.width - right, plot.bottom);
  context.globalAlpha = 1;
  context.fillStyle = palette.accent;
  context.fillRect(left - 1, 0, 1.5, plot.bottom);
  context.fillRect(right - 0.5, 0, 1.5, plot.bottom);
}

function drawCursor({ context, plot, item, palette }) {
  const x = plot.x(item.offset);
  context.fillStyle = palette.text;
  context.fillRect(x - 0.25, 0, 1.5, plot.bottom);
  context.beginPath();
  context.moveTo(x + 0.5, plot.bottom - 1);
  context.lineTo(x - 4.5, plot.bottom + 6);
  context.lineTo(x + 5.5, plot.bottom + 6);
  context.fill();
}

// readPalette returns the colours of the present colour scheme. It takes longer than the
// drawing, so it is called only once for each scheme.
function readPalette(canvas) {
  const style = getComputedStyle(canvas);
  const colour = (name) => {
    canvas.style.color = `var(${name})`;
    return style.color;
  };
  const named = ['line', 'quiet', 'gap', 'text', 'card', 'accent'].map((name) => [name, colour(`--${name}`)]);
  return {
    ...Object.fromEntries(named),
    bar: colour('--edge'),
    workers: Array.from({ length: colours }, (_, i) => colour(`--worker-${i}`)),
    font: style.getPropertyValue('--mono'),
  };
}

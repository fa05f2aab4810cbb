'use strict';
// Numbers as words, places in ordered lists, smoothing and the ticks of axes.

const SMOOTH_FROM = 50; // values of a series: a curve of fewer is as calm as it gets

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function shortened(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Inf' : '-Inf';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(value.toPrecision(4)));
}

function counted(step) {
  return Math.abs(step - Math.round(step)) < 1e-9 ? Math.round(step).toLocaleString('en-US') : shortened(step);
}

function firstAt(xs, x) { // the place of the first of `xs` that is not below x
  let low = 0, high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
}

function nearest(xs, x) {
  const place = firstAt(xs, x);
  if (place === 0) return 0;
  if (place === xs.length) return xs.length - 1;
  return xs[place] - x < x - xs[place - 1] ? place : place - 1;
}

function smooth(values, weight) { // exponential mean that starts unbiased and skips gaps
  if (!weight || values.reduce((count, value) => count + (value !== null), 0) < SMOOTH_FROM) return values; // a sparse series is shown as it is
  let mean = 0, sum = 0;
  return values.map(value => {
    if (value === null) return null;
    mean = mean * weight + value * (1 - weight);
    sum = sum * weight + (1 - weight);
    return mean / sum;
  });
}

function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw) || power;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9 && found.length < 50; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

function logTicks(low, high) { // of values; the arguments are logarithms
  const decades = high - low, found = [];
  if (decades < 0.35) return ticks(10 ** low, 10 ** high, 3).filter(tick => tick > 0);
  const every = Math.max(1, Math.ceil(decades / 6));
  for (let power = Math.floor(low); power <= high; power++) {
    for (const n of decades < 2 ? [1, 2, 5] : [1]) {
      const at = Math.log10(n) + power;
      if (at >= low - 1e-9 && at <= high + 1e-9 && power % every === 0) found.push(n * 10 ** power);
    }
  }
  return found;
}

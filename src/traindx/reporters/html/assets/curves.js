// Curves on canvas. Every panel of a run shares one View: the same stretch of steps, cursor and smoothing.

const MARGIN = {left: 66, right: 12, top: 8, bottom: 22};
const LEAST_STRETCH = 1e-4; // of the run: closer than this there is nothing more to see
const DOTS_BELOW = 60; // points in sight from which single dots only clutter

class View {
  constructor(root, data) {
    Object.assign(this, {root, data, weight: 0, cursor: null, panels: []});
    this.whole();
    this.tip = document.createElement('div');
    this.tip.className = 'tip';
    this.tip.hidden = true;
    root.append(this.tip);
    this.speaker = root.querySelector('[data-speaker]');
    for (const figure of root.querySelectorAll('figure.panel[data-panel]')) this.panels.push(new Panel(this, figure, data.panels[Number(figure.dataset.panel)]));
    this.lane();
    this.tools();
    new ResizeObserver(() => this.draw()).observe(root);
  }

  whole() {
    const {first, last} = this.data;
    const room = (last - first || 1) * 0.01;
    this.low = first - room;
    this.high = last + room;
  }

  show(low, high) {
    const {first, last} = this.data, reach = last - first || 1, room = reach * 0.01;
    const width = Math.min(Math.max(high - low, reach * LEAST_STRETCH), reach + 2 * room);
    low = Math.min(Math.max(low, first - room), last + room - width);
    this.low = low;
    this.high = low + width;
    this.tip.hidden = true; // what lay under the cursor has moved
    this.draw();
    this.root.dispatchEvent(new CustomEvent('stretch', {detail: {low: this.low, high: this.high, zoomed: this.zoomed}}));
  }

  get zoomed() { return this.high - this.low < (this.data.last - this.data.first) * 0.999; }

  zoom(factor, around = (this.low + this.high) / 2) { this.show(around - (around - this.low) * factor, around + (this.high - around) * factor); }

  pan(share) { const by = (this.high - this.low) * share; this.show(this.low + by, this.high + by); }

  reset() { this.whole(); this.show(this.low, this.high); }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      for (const panel of this.panels) panel.draw();
      this.place();
    });
  }

  update(data) { // newer numbers of the same run: stay where the reader looks, follow the end if they saw the end
    const seeing = !this.zoomed;
    this.data = data;
    this.panels.forEach((panel, i) => { if (data.panels[i]) panel.take(data.panels[i]); });
    if (seeing) this.whole();
    this.draw();
  }

  lane() {
    this.bars = [...this.root.querySelectorAll('.lane button')];
    for (const bar of this.bars) {
      bar.addEventListener('click', () => {
        const [first, last] = [Number(bar.dataset.first), Number(bar.dataset.last)];
        const room = Math.max((last - first) * 0.3, (this.data.last - this.data.first) * 0.03);
        this.show(first - room, last + room);
      });
    }
    this.place();
  }

  place() {
    const share = x => Math.min(1, Math.max(0, (x - this.low) / (this.high - this.low))) * 100;
    for (const bar of this.bars || []) {
      const [from, to] = [share(Number(bar.dataset.first)), share(Number(bar.dataset.last))];
      const stripe = bar.querySelector('i');
      stripe.style.left = `${Math.min(from, 99.4)}%`;
      stripe.style.width = `${Math.max(0, to - from)}%`;
      stripe.hidden = Number(bar.dataset.last) < this.low || Number(bar.dataset.first) > this.high;
    }
  }

  tools() {
    const slider = this.root.querySelector('[data-smooth]');
    if (slider) {
      const take = () => {
        this.weight = Number(slider.value) / 100;
        const output = this.root.querySelector('[data-smooth-value]');
        if (output) output.textContent = this.weight.toFixed(2);
        for (const panel of this.panels) panel.smoothed();
        this.draw();
      };
      slider.addEventListener('input', take);
      take();
    }
    const does = {in: () => this.zoom(0.5), out: () => this.zoom(2), reset: () => this.reset(), left: () => this.pan(-0.25), right: () => this.pan(0.25)};
    for (const button of this.root.querySelectorAll('[data-do]')) button.addEventListener('click', does[button.dataset.do]);
  }

  point(x, at, panel) { // the cursor of all panels; `at` is where on the screen, or null for none
    this.cursor = x;
    this.draw();
    if (x === null || !at) { this.tip.hidden = true; return; }
    this.tip.replaceChildren(...panel.readings(x));
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, at.x + 16 + box.width > innerWidth ? at.x - box.width - 12 : at.x + 16)}px`;
    this.tip.style.top = `${Math.max(4, Math.min(at.y + 14, innerHeight - box.height - 4))}px`;
  }
}

class Panel {
  constructor(view, figure, panel) {
    Object.assign(this, {view, figure, hidden: new Set(), log: panel.log});
    this.box = figure.querySelector('.plot');
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `${figure.dataset.summary} Keys: arrows move the cursor, shift and arrows pan, plus and minus zoom, 0 shows all, L changes the scale.`);
    this.box.replaceChildren(this.canvas);
    this.take(panel);
    this.keys = [...figure.querySelectorAll('.key')];
    this.keys.forEach((key, i) => key.addEventListener('click', () => {
      if (!this.hidden.delete(i)) this.hidden.add(i);
      key.setAttribute('aria-pressed', String(!this.hidden.has(i)));
      view.draw();
    }));
    this.scale = figure.querySelector('[data-log]');
    if (this.scale) this.scale.addEventListener('click', () => this.turn());
    listen(this);
  }

  take(panel) {
    this.panel = panel;
    this.smoothed();
  }

  turn() {
    this.log = !this.log;
    this.scale.setAttribute('aria-pressed', String(this.log));
    this.view.draw();
  }

  smoothed() { this.lines = this.panel.series.map(series => this.panel.title === 'learning rate' ? series.y : smooth(series.y, this.view.weight)); }

  across(x) { return this.left + (x - this.view.low) / (this.view.high - this.view.low) * this.width; }

  back(px) { return this.view.low + (px - this.left) / this.width * (this.view.high - this.view.low); }

  up(y) { return this.log ? (y > 0 ? Math.log10(y) : NaN) : y; }

  range() {
    let low = Infinity, high = -Infinity;
    this.panel.series.forEach((series, i) => {
      if (this.hidden.has(i)) return;
      const from = Math.max(0, firstAt(series.x, this.view.low) - 1), to = Math.min(series.x.length, firstAt(series.x, this.view.high) + 1);
      for (const values of series.lo ? [series.lo, series.hi] : [series.y]) {
        for (let place = from; place < to; place++) {
          const value = values[place] === null ? NaN : this.up(values[place]);
          if (value < low) low = value;
          if (value > high) high = value;
        }
      }
    });
    if (low > high) [low, high] = [0, 1];
    if (low === high) { const room = Math.abs(low) * 0.1 || 0.5; low -= room; high += room; }
    const room = (high - low) * 0.06;
    return [low - room, high + room];
  }

  draw() {
    const {clientWidth: wide, clientHeight: tall} = this.box;
    if (!wide || !tall) return;
    const ratio = devicePixelRatio || 1;
    this.left = wide < 520 ? 46 : MARGIN.left;
    if (this.canvas.width !== Math.round(wide * ratio) || this.canvas.height !== Math.round(tall * ratio)) {
      this.canvas.width = Math.round(wide * ratio);
      this.canvas.height = Math.round(tall * ratio);
    }
    this.width = wide - this.left - MARGIN.right;
    this.height = tall - MARGIN.top - MARGIN.bottom;
    const pen = this.pen = this.canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    const [low, high] = this.range();
    this.toY = value => MARGIN.top + (high - value) / (high - low) * this.height;
    this.axes(low, high);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, MARGIN.top - 4, this.width, this.height + 8);
    pen.clip();
    this.marks();
    this.panel.series.forEach((series, i) => { if (!this.hidden.has(i)) this.line(series, this.lines[i]); });
    this.dot();
    if (this.drag) {
      pen.fillStyle = color('--accent');
      pen.globalAlpha = 0.16;
      pen.fillRect(Math.min(this.drag.from, this.drag.to), MARGIN.top, Math.abs(this.drag.to - this.drag.from), this.height);
    }
    pen.restore();
  }

  axes(low, high) {
    const pen = this.pen;
    pen.font = '11px system-ui, sans-serif';
    pen.lineWidth = 1;
    pen.strokeStyle = color('--line');
    pen.fillStyle = color('--soft');
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    for (const tick of this.log ? logTicks(low, high) : ticks(low, high, Math.max(2, this.height / 45))) {
      const y = Math.round(this.toY(this.up(tick))) + 0.5;
      pen.beginPath();
      pen.moveTo(this.left, y);
      pen.lineTo(this.left + this.width, y);
      pen.stroke();
      pen.fillText(shortened(tick), this.left - 7, y);
    }
    pen.textAlign = 'center';
    pen.textBaseline = 'top';
    for (const tick of ticks(Math.max(this.view.low, this.view.data.first), Math.min(this.view.high, this.view.data.last), Math.max(2, this.width / 110))) {
      pen.fillText(counted(tick), this.across(tick), MARGIN.top + this.height + 7);
    }
  }

  marks() { // the main symptom shades its stretch, the others show where they begin
    const pen = this.pen, {symptoms} = this.view.data;
    for (const symptom of symptoms) {
      if (symptom.whole) continue;
      const from = this.across(symptom.first), to = this.across(symptom.last);
      pen.strokeStyle = pen.fillStyle = color(symptom.problem ? '--bad' : '--soft');
      if (symptom.main) { pen.globalAlpha = 0.07; pen.fillRect(from, MARGIN.top, Math.max(to - from, 2), this.height); }
      pen.globalAlpha = 0.6;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(from, MARGIN.top);
      pen.lineTo(from, MARGIN.top + this.height);
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }
  }

  line(series, calm) {
    const pen = this.pen, {x} = series;
    const from = Math.max(0, firstAt(x, this.view.low) - 1), to = Math.min(x.length, firstAt(x, this.view.high) + 1);
    const ink = color(`--s${series.color}`);
    pen.strokeStyle = pen.fillStyle = ink;
    const trace = (values, width, alpha) => {
      pen.globalAlpha = alpha;
      pen.lineWidth = width;
      pen.lineJoin = 'round';
      pen.beginPath();
      let down = false;
      for (let i = from; i < to; i++) {
        const y = values[i] === null ? NaN : this.toY(this.up(values[i]));
        if (Number.isNaN(y)) { down = false; continue; }
        if (down) pen.lineTo(this.across(x[i]), y); else pen.moveTo(this.across(x[i]), y);
        down = true;
      }
      pen.stroke();
      pen.globalAlpha = 1;
    };
    if (series.lo) { // what every stretch spans, so that no spike is lost
      pen.globalAlpha = 0.28;
      for (let i = from; i < to; i++) {
        if (series.lo[i] === null) continue;
        const top = this.toY(this.up(series.hi[i]));
        let end = this.toY(this.up(series.lo[i]));
        if (Number.isNaN(end)) end = MARGIN.top + this.height;
        if (!Number.isNaN(top)) pen.fillRect(this.across(x[i]) - 0.6, top, Math.max(1.2, i + 1 < to ? (this.across(x[i + 1]) - this.across(x[i])) * 0.9 : 1.2), Math.max(1, end - top));
      }
      pen.globalAlpha = 1;
    }
    const smoothed = calm !== series.y;
    if (!series.lo || !smoothed) trace(series.y, smoothed ? 1 : 1.5, smoothed ? 0.3 : 1);
    if (smoothed) trace(calm, 1.9, 1);
    if (to - from <= DOTS_BELOW) {
      for (let i = from; i < to; i++) {
        if (series.y[i] === null) continue;
        pen.globalAlpha = smoothed ? 0.35 : 1;
        pen.beginPath();
        pen.arc(this.across(x[i]), this.toY(this.up(series.y[i])), 2.4, 0, 7);
        pen.fill();
      }
      pen.globalAlpha = 1;
    }
    if (series.bad.length) {
      pen.strokeStyle = color('--bad');
      pen.lineWidth = 1.6;
      const y = MARGIN.top + this.height - 7;
      for (const place of series.bad) {
        const at = this.across(place);
        pen.beginPath();
        pen.moveTo(at - 3.5, y - 3.5); pen.lineTo(at + 3.5, y + 3.5);
        pen.moveTo(at + 3.5, y - 3.5); pen.lineTo(at - 3.5, y + 3.5);
        pen.stroke();
      }
    }
  }

  dot() {
    const {cursor} = this.view;
    if (cursor === null) return;
    const pen = this.pen, at = this.across(cursor);
    pen.strokeStyle = color('--soft');
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(at, MARGIN.top);
    pen.lineTo(at, MARGIN.top + this.height);
    pen.stroke();
    this.panel.series.forEach((series, i) => {
      if (this.hidden.has(i) || !series.x.length) return;
      const place = nearest(series.x, cursor), value = this.lines[i][place];
      if (value === null) return;
      pen.fillStyle = color(`--s${series.color}`);
      pen.beginPath();
      pen.arc(this.across(series.x[place]), this.toY(this.up(value)), 3.6, 0, 7);
      pen.fill();
    });
  }

  readings(x) { // what the cursor sees, as elements: names are text, never markup
    const {data} = this.view, rows = [];
    const row = (text, className) => {
      const div = document.createElement('div');
      if (className) div.className = className;
      div.append(text);
      return div;
    };
    rows.push(row(`${data.axis} ${counted(Math.round(x * 100) / 100)}`, 'soft'));
    this.panel.series.forEach((series, i) => {
      if (this.hidden.has(i) || !series.x.length) return;
      const place = nearest(series.x, x), div = row('');
      const swatch = document.createElement('i');
      swatch.className = `c${series.color}`;
      const spans = series.lo && series.lo[place] !== null && series.hi[place] > series.lo[place];
      const range = spans ? ` (${shortened(series.lo[place])} … ${shortened(series.hi[place])})` : '';
      const calm = this.lines[i] !== series.y && series.y[place] !== null ? `, smoothed ${shortened(this.lines[i][place])}` : '';
      div.append(swatch, `${series.name}: ${shortened(series.y[place])}${range}${calm} at ${counted(series.x[place])}`);
      rows.push(div);
    });
    const here = data.symptoms.filter(symptom => !symptom.whole && symptom.first <= x && x <= symptom.last).map(symptom => symptom.id);
    if (here.length) rows.push(row(here.join(', '), 'hit'));
    return rows;
  }
}

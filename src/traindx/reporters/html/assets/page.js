// Pointers and keys on the curves, and the rest of the page: heat maps, copying, the colour scheme.

const SELECT_FROM = 6; // pixels a pointer moves before it means a stretch and not a click
const fingers = new Map();

function listen(panel) {
  const {canvas, view} = panel;
  const place = event => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    panel.pinch = fingers.size === 2 ? {apart: spread(), low: view.low, high: view.high, around: panel.back(middle())} : null;
    const touch = event.pointerType === 'touch';
    panel.grab = event.shiftKey || (touch && view.zoomed) ? {x: place(event), low: view.low, high: view.high} : null;
    panel.drag = panel.grab || touch ? null : {from: place(event), to: place(event)};
  });
  canvas.addEventListener('pointermove', event => {
    const x = place(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, x);
    if (panel.pinch && fingers.size === 2) {
      const {apart, low, high, around} = panel.pinch, factor = apart / Math.max(spread(), 1);
      view.show(around - (around - low) * factor, around + (high - around) * factor);
    } else if (panel.grab) {
      const by = (panel.grab.x - x) / panel.width * (panel.grab.high - panel.grab.low);
      view.show(panel.grab.low + by, panel.grab.high + by);
    } else {
      if (panel.drag) panel.drag.to = x;
      view.point(panel.back(x), {x: event.clientX, y: event.clientY}, panel);
    }
  });
  const end = event => {
    fingers.delete(event.pointerId);
    const {drag} = panel;
    panel.drag = panel.grab = panel.pinch = null;
    if (event.type === 'pointerup' && drag && Math.abs(drag.to - drag.from) > SELECT_FROM) view.show(panel.back(Math.min(drag.from, drag.to)), panel.back(Math.max(drag.from, drag.to)));
    else view.draw();
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  canvas.addEventListener('pointerleave', () => view.point(null));
  canvas.addEventListener('dblclick', () => view.reset());
  canvas.addEventListener('wheel', event => {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); view.zoom(Math.exp(event.deltaY * 0.002), panel.back(place(event))); }
    else if (view.zoomed && Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); view.pan(event.deltaX / 600); }
  }, {passive: false});
  canvas.addEventListener('keydown', event => {
    const cursor = view.cursor ?? (view.low + view.high) / 2, by = (view.high - view.low) / 100;
    const move = x => {
      view.point(Math.min(view.high, Math.max(view.low, x)), null, panel);
      if (view.speaker) view.speaker.textContent = panel.readings(view.cursor).map(row => row.textContent).join('; ');
    };
    const keys = {
      ArrowLeft: () => event.shiftKey ? view.pan(-0.25) : move(cursor - by), ArrowRight: () => event.shiftKey ? view.pan(0.25) : move(cursor + by),
      '+': () => view.zoom(0.5, cursor), '=': () => view.zoom(0.5, cursor), '-': () => view.zoom(2, cursor), '0': () => view.reset(), Home: () => view.reset(),
      Escape: () => view.point(null), l: () => panel.scale && panel.turn(), L: () => panel.scale && panel.turn(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function spread() { const [one, other] = [...fingers.values()]; return Math.abs(one - other); }
function middle() { const [one, other] = [...fingers.values()]; return (one + other) / 2; }

class Heat {
  constructor(map, data, view) {
    Object.assign(this, {data, view, image: map.querySelector('img'), at: null});
    const bytes = Uint8Array.from(atob(data.cells), letter => letter.charCodeAt(0));
    this.cells = new Uint16Array(bytes.buffer);
    this.image.addEventListener('pointermove', event => {
      const box = this.image.getBoundingClientRect();
      const limit = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value)));
      this.show(limit((event.clientY - box.top) / box.height * data.layers.length, data.layers.length), limit((event.clientX - box.left) / box.width * data.steps.length, data.steps.length), {x: event.clientX, y: event.clientY});
    });
    this.image.addEventListener('pointerleave', () => { view.tip.hidden = true; });
    this.image.addEventListener('keydown', event => {
      const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (!by) return;
      event.preventDefault();
      const [row, column] = this.at || [0, -1];
      const next = [Math.min(data.layers.length - 1, Math.max(0, row + by[0])), Math.min(data.steps.length - 1, Math.max(0, column + by[1]))];
      const box = this.image.getBoundingClientRect();
      this.show(...next, {x: box.left + (next[1] + 0.5) / data.steps.length * box.width, y: box.top + (next[0] + 0.5) / data.layers.length * box.height});
      if (view.speaker) view.speaker.textContent = view.tip.textContent;
    });
    this.image.addEventListener('blur', () => { view.tip.hidden = true; });
  }

  value(row, column) {
    const code = this.cells[row * this.data.steps.length + column];
    if (code === 0) return 'not measured';
    if (code === 1) return 'NaN or Inf';
    if (code === 2) return '0';
    const share = (code - 3) / 65532, {low, high, log} = this.data;
    return shortened(log ? 10 ** (low + share * (high - low)) : low + share * (high - low));
  }

  show(row, column, at) {
    this.at = [row, column];
    const line = text => { const div = document.createElement('div'); div.append(text); return div; };
    const {tip} = this.view;
    tip.replaceChildren(line(this.data.layers[row]), line(`${this.data.axis} ${counted(this.data.steps[column])}: ${this.value(row, column)}`));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(at.x + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(at.y + 14, innerHeight - box.height - 4))}px`;
  }
}

function tabs(root) { // one heat map at a time; without script all of them are there
  const maps = [...root.querySelectorAll('.map[data-title]')], list = root.querySelector('[data-tabs]');
  if (!list || maps.length < 2) return;
  const choose = chosen => maps.forEach((map, i) => {
    map.hidden = i !== chosen;
    list.children[i].setAttribute('aria-pressed', String(i === chosen));
  });
  list.replaceChildren(...maps.map((map, i) => {
    const button = document.createElement('button');
    button.className = 'button';
    button.type = 'button';
    button.textContent = map.dataset.title;
    button.addEventListener('click', () => choose(i));
    return button;
  }));
  choose(0);
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy), text = source.value ?? source.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no permission, or no secure context: the old way
    const area = Object.assign(document.createElement('textarea'), {value: text});
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  const before = button.textContent;
  button.textContent = 'copied';
  setTimeout(() => { button.textContent = before; }, 1500);
}

function themed() {
  const root = document.documentElement, button = document.querySelector('[data-theme-switch]');
  const keep = theme => { try { localStorage.setItem('traindx-theme', theme); } catch { /* a file may have no storage */ } };
  try { const kept = localStorage.getItem('traindx-theme'); if (kept === 'dark' || kept === 'light') root.dataset.theme = kept; } catch { /* same */ }
  const redraw = () => { for (const view of views) view.draw(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  if (button) button.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    keep(root.dataset.theme);
    redraw();
  });
}

const views = [];

function start() {
  themed();
  for (const root of document.querySelectorAll('.run[data-plots]')) {
    const data = JSON.parse(document.getElementById(root.dataset.plots).textContent);
    const view = new View(root, data);
    views.push(view);
    root.querySelectorAll('.map[data-title]').forEach((map, i) => new Heat(map, data.heats[i], view));
    tabs(root);
    more(root, view);
  }
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', () => copy(button));
  }
}

function more(root, view) { // any other series in a panel of its own
  const pick = root.querySelector('select[data-more]');
  if (!pick) return;
  const figure = root.querySelector('figure[data-picked]');
  let panel = null;
  pick.addEventListener('change', () => {
    const series = view.data.others[Number(pick.value)];
    figure.hidden = !series;
    if (!series) return;
    figure.dataset.summary = `${series.name} over the run.`;
    figure.querySelector('[data-name]').textContent = series.name;
    const content = {title: series.name, log: series.log, series: [series]};
    if (!panel) view.panels.push(panel = new Panel(view, figure, content));
    else panel.take(content);
    panel.log = series.log;
    panel.scale.setAttribute('aria-pressed', String(series.log));
    view.draw();
  });
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start); else start();

// The dashboard: a table that sorts, filters and keeps itself up to date; and a run's page that follows its training.

const EVERY = 2500; // milliseconds between two questions to the server
const PAGE = 100; // rows laid out at a time
const MARGIN_OF_WINDOW = 0.5; // what is fetched beside the stretch in sight, by its length

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

async function ask(address) {
  const answer = await fetch(address, {credentials: 'same-origin'});
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

function ago(seconds) {
  if (seconds < 5) return 'now';
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['min', 60]]) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return `${Math.floor(seconds)} s ago`;
}

function lasted(seconds) {
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.round(minutes / 1440)} d`;
}

class Table {
  constructor(block) {
    Object.assign(this, JSON.parse(block.textContent), {shown: PAGE, chosen: new Set()}, Table.state());
    this.body = document.querySelector('[data-rows]');
    this.more = document.querySelector('[data-more-rows]');
    this.button = document.querySelector('[data-compare]');
    const field = document.querySelector('[data-filter]');
    field.value = this.words;
    field.addEventListener('input', () => { this.words = field.value; this.keep(); });
    for (const button of document.querySelectorAll('[data-verdict]')) button.addEventListener('click', () => this.pick(button));
    for (const button of document.querySelectorAll('[data-sort]')) button.addEventListener('click', () => this.sort(button));
    this.more.addEventListener('click', () => { this.shown += 5 * PAGE; this.lay(); });
    this.button.addEventListener('click', () => { location.href = `/compare?${[...this.chosen].map(id => `run=${encodeURIComponent(id)}`).join('&')}`; });
    this.press();
    this.lay();
    setInterval(() => this.refresh(), EVERY);
  }

  static state() { // what the address says: it survives a reload and the way back from a run
    const asked = new URLSearchParams(location.search), sort = asked.get('sort') || 'order';
    return {words: asked.get('filter') || '', only: asked.get('only'), key: sort.replace(/^-/, ''), up: !sort.startsWith('-')};
  }

  keep() {
    const state = new URLSearchParams();
    if (this.words) state.set('filter', this.words);
    if (this.only) state.set('only', this.only);
    if (this.key !== 'order' || !this.up) state.set('sort', `${this.up ? '' : '-'}${this.key}`);
    const said = state.toString();
    history.replaceState(null, '', said ? `?${said}` : location.pathname);
    this.lay();
  }

  press() {
    for (const one of document.querySelectorAll('[data-verdict]')) one.setAttribute('aria-pressed', String(one.dataset.verdict === this.only));
    for (const one of document.querySelectorAll('[data-sort]')) one.setAttribute('aria-pressed', String(one.dataset.sort === this.key));
  }

  pick(button) {
    this.only = this.only === button.dataset.verdict ? null : button.dataset.verdict;
    this.press();
    this.keep();
  }

  sort(button) {
    this.up = this.key === button.dataset.sort ? !this.up : button.dataset.sort !== 'changed';
    this.key = button.dataset.sort;
    this.press();
    this.keep();
  }

  async refresh() {
    if (document.hidden) return;
    try {
      const news = await ask(`/runs?version=${this.version}`);
      if (!news.rows) return;
      Object.assign(this, news);
      this.lay();
    } catch { /* the server is gone or busy: what is shown stays, and the next question comes */ }
  }

  lay() {
    const {key, up} = this, words = this.words.toLowerCase();
    let rows = this.rows.filter(row => (!this.only || row.verdict === this.only || (this.only === 'live' && row.live))
      && (!words || `${row.name} ${row.cause || ''} ${row.symptom || ''}`.toLowerCase().includes(words)));
    if (key !== 'order' || !up) {
      const numeric = ['loss', 'lr', 'seconds'].includes(key); // what has no number comes last, whichever way
      const value = row => numeric ? row[key]?.value ?? (up ? Infinity : -Infinity) : key === 'length' ? parseFloat(String(row[key] ?? '').replace(/,/g, '')) || 0 : row[key] ?? '';
      rows = [...rows].sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    }
    const focus = document.activeElement?.closest?.('tr')?.dataset.id, inside = document.activeElement?.tagName;
    this.body.replaceChildren(...rows.slice(0, this.shown).map(row => this.row(row)));
    if (focus) this.body.querySelector(`tr[data-id="${focus}"] ${inside === 'INPUT' ? 'input' : 'a'}`)?.focus();
    this.more.hidden = rows.length <= this.shown;
    this.more.textContent = `show more (${rows.length - this.shown})`;
    this.button.disabled = this.chosen.size < 2;
    this.button.textContent = this.chosen.size > 1 ? `compare ${this.chosen.size} runs` : 'compare chosen';
    const tally = word => this.rows.filter(row => word === 'live' ? row.live : row.verdict === word).length;
    const parts = [['unhealthy', 'unhealthy'], ['inconclusive', 'inconclusive'], ['healthy', 'healthy'], ['live', 'in progress'], ['waiting', 'still to be read']].map(([word, said]) => [tally(word), said]).filter(([n]) => n);
    const text = `${this.rows.length} run${this.rows.length === 1 ? '' : 's'}: ${parts.map(([n, said]) => `${n} ${said}`).join(', ') || 'none found here yet'}`;
    const place = document.querySelector('[data-tally]');
    if (place.textContent !== text) place.textContent = text;
    document.querySelector('[data-empty]').hidden = this.rows.length > 0;
    for (const one of document.querySelectorAll('[data-full]')) one.hidden = !this.rows.length;
  }

  row(row) {
    const line = element('tr', row.verdict);
    if (!row.id) {
      line.append(element('td'), element('td', '', element('span', 'pill waiting', 'reading')), element('td', 'wrap soft', row.name), ...Array.from({length: 7}, () => element('td')));
      return line;
    }
    line.dataset.id = row.id;
    const box = element('input');
    box.type = 'checkbox';
    box.checked = this.chosen.has(row.id);
    box.setAttribute('aria-label', `compare ${row.name}`);
    box.addEventListener('change', () => { if (box.checked) this.chosen.add(row.id); else this.chosen.delete(row.id); this.lay(); });
    const link = element('a', '', row.name);
    link.href = `/run/${encodeURIComponent(row.id)}`;
    const name = element('td', 'wrap', link);
    if (row.live) name.append(' ', element('span', 'live', '● in progress'));
    if (row.said) name.title = row.said;
    line.append(element('td', '', box), element('td', '', element('span', `pill ${row.verdict}`, row.verdict)), name, element('td', '', spark(row.spark)),
      element('td', 'figure', row.spark.length ? row.loss.text : ''), element('td', 'figure', row.lr.value === null ? '' : row.lr.text),
      element('td', 'wrap', row.cause ? `${row.cause} ${row.percent}` : row.verdict === 'unhealthy' ? `unclear (${row.symptom})` : ''), element('td', 'figure', row.length),
      element('td', 'figure', row.seconds.value === null ? '' : lasted(row.seconds.value)), element('td', 'figure', ago(Date.now() / 1000 - row.changed)));
    return line;
  }
}

function spark(heights) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('viewBox', '0 0 100 24');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  const at = i => (i / (heights.length - 1) * 100).toFixed(1);
  const path = (kind, drawn) => { const made = document.createElementNS('http://www.w3.org/2000/svg', 'path'); made.setAttribute('class', kind); made.setAttribute('d', drawn); svg.append(made); };
  if (heights.length > 1) {
    path('line', heights.map((height, i) => height === null ? '' : `${i && heights[i - 1] !== null ? 'L' : 'M'}${at(i)} ${(22 - height * 20).toFixed(1)}${heights[i + 1] === null ? 'h.1' : ''}`).join(''));
    path('lost', heights.map((height, i) => height === null ? `M${at(i)} 12h1.2` : '').join('')); // NaN or Inf
  }
  return svg;
}

function follow(place) { // one run: finer curves where the reader looks, and news while it trains
  const [view] = views, address = place.dataset.live, root = document.querySelector('.run');
  let timer = 0, overview = view.data;
  const fine = async () => {
    if (!view.zoomed) { view.data.panels.forEach((panel, i) => view.panels[i]?.take(overview.panels[i])); view.draw(); return; }
    const {low, high} = view, room = (high - low) * MARGIN_OF_WINDOW, columns = Math.round(root.clientWidth * (1 + 2 * MARGIN_OF_WINDOW));
    try {
      const {panels} = await ask(`${address}/window?first=${low - room}&last=${high + room}&columns=${columns}`);
      if (view.low !== low || view.high !== high) return; // the reader is elsewhere by now
      panels.forEach((panel, i) => view.panels[i]?.take(panel));
      view.draw();
    } catch { /* the overview stays */ }
  };
  root.addEventListener('stretch', () => { clearTimeout(timer); timer = setTimeout(fine, 120); });
  const news = async () => {
    if (document.hidden) return;
    try {
      const part = await ask(`${address}/part?mark=${place.dataset.mark}`);
      if (!part.html) return;
      place.dataset.mark = part.mark;
      place.replaceChildren(...(part.live ? [element('span', 'live', '● in progress')] : []));
      const page = new DOMParser().parseFromString(part.html, 'text/html');
      const data = JSON.parse(page.getElementById('run-data').textContent);
      const same = data.panels.length === overview.panels.length && data.panels.every((panel, i) => panel.series.map(one => one.name).join() === overview.panels[i].series.map(one => one.name).join())
        && data.symptoms.map(one => one.id).join() === overview.symptoms.map(one => one.id).join();
      if (!same) { again(view); return; }
      overview = data;
      refresh(root, page.querySelector('.run'));
      view.update(data);
      if (view.zoomed) fine();
    } catch { /* the server is gone or busy: what is shown stays */ }
  };
  setInterval(news, EVERY);
  returned(view);
}

// A page whose parts changed is laid out anew, and the reader finds the place they looked at.
function again(view) {
  try { sessionStorage.setItem('traindx-place', JSON.stringify({page: location.pathname, low: view.low, high: view.high, zoomed: view.zoomed})); } catch { /* no storage: the whole run is shown */ }
  location.reload();
}

function returned(view) {
  try {
    const kept = JSON.parse(sessionStorage.getItem('traindx-place'));
    sessionStorage.removeItem('traindx-place');
    if (kept && kept.page === location.pathname && kept.zoomed) view.show(kept.low, kept.high);
  } catch { /* same */ }
}

function refresh(root, fresh) { // the words; curves and maps keep their place and the reader theirs
  for (const selector of ['.hero', '.two', '#run-evidence', '#run-setup', '#run-issue']) {
    const [now, then] = [fresh.querySelector(selector), root.querySelector(selector)];
    if (!now || !then || now.outerHTML === then.outerHTML || then.contains(document.activeElement)) continue;
    const open = [...then.querySelectorAll('details')].map(one => one.open);
    then.replaceWith(document.importNode(now, true));
    const placed = root.querySelector(selector);
    [...placed.querySelectorAll('details')].forEach((one, i) => { one.open = open[i] ?? one.open; });
    for (const button of placed.querySelectorAll('[data-copy]')) { button.hidden = false; button.addEventListener('click', () => copy(button)); }
  }
  const [bars, news] = [root.querySelectorAll('.lane button'), fresh.querySelectorAll('.lane button')];
  bars.forEach((bar, i) => { if (news[i]) { bar.dataset.first = news[i].dataset.first; bar.dataset.last = news[i].dataset.last; bar.querySelector('.label').replaceChildren(...document.importNode(news[i].querySelector('.label'), true).childNodes); } });
}

function dashboard() {
  const block = document.getElementById('runs'), live = document.querySelector('[data-live]');
  if (block) new Table(block);
  if (live && views.length) follow(live);
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', dashboard); else dashboard();

// The page: opening by address, keys, colours.

const dialog = byId("trajectory");
let opened = null;
let pause = 0; // before a search begins, while somebody types

/** The row that the address names, or null. */
function rowOf(hash) {
  const wanted = new URLSearchParams(hash.slice(1));
  const task = INDEX.tasks.indexOf(wanted.get("task"));
  const run = wanted.has("run") ? INDEX.runs.indexOf(wanted.get("run")) : -1;
  return INDEX.rows.find((row) => row.task === task && (run < 0 || row.run === run)) || null;
}

async function follow() {
  const row = rowOf(location.hash);
  opened = row;
  if (!row) {
    if (dialog.open) dialog.close();
    return;
  }
  const bar = titleBar(row);
  dialog.replaceChildren(bar, el("p", {}, "Reading…"));
  if (!dialog.open) dialog.showModal();
  byId("trajectory-heading").focus();
  const { texts, runs } = await parcel(row.task);
  if (opened !== row) return;
  const run = runs[row.run];
  const kind = INDEX.kinds[row.run];
  const notice = kind.notice ? el("p", { className: "notice" }, kind.notice) : "";
  const nodes = trajectoryNodes({ texts, run }, bestOf(run.candidates, kind.recorded), kind);
  dialog.replaceChildren(bar, notice, contents(run.candidates, kind.recorded), ...nodes);
  dialog.scrollTop = 0;
  byId("trajectory-heading").focus();
  const candidate = new URLSearchParams(location.hash.slice(1)).get("candidate");
  if (candidate !== null) show(candidate);
}

/** The first correct candidate with the best figure, else the last one. */
function bestOf(candidates, recorded) {
  const said = (one) => (recorded ? one.recorded : one.verdict) || {};
  const correct = candidates.filter((one) => said(one).correct || said(one).status === "correct");
  const worth = (one) => (said(one).speedup != null ? -said(one).speedup : said(one).traffic ?? Infinity);
  const best = correct.length ? correct.reduce((a, b) => (worth(b) < worth(a) ? b : a)) : candidates.at(-1);
  return best?.index;
}

function titleBar(row) {
  const at = visible.indexOf(row);
  const go = (name, other, key) => el("a", { className: "button", ...(other ? { href: address(other) } : { "aria-disabled": "true" }), "aria-keyshortcuts": key }, name);
  const others = INDEX.rows.filter((other) => other.task === row.task);
  const choice = el("select", { "aria-label": "The same task in run" }, others.map((other) =>
    el("option", { value: address(other), selected: other === row }, `${INDEX.runs[other.run]}: ${other.state}`)));
  choice.addEventListener("change", () => (location.hash = choice.value));
  const close = el("button", { type: "button" }, "Close");
  close.addEventListener("click", () => dialog.close());
  return el("div", { className: "bar" },
    el("h2", { id: "trajectory-heading", tabIndex: -1 }, INDEX.tasks[row.task]),
    others.length > 1 ? choice : el("span", {}, `${INDEX.runs[row.run]}: ${row.state}`),
    el("span", { className: "moves" }, go("Previous", visible[at - 1], "k"), go("Next", at < 0 ? undefined : visible[at + 1], "j"), close));
}

/** Links to the candidates, where there are several. */
function contents(candidates, recorded) {
  if (candidates.length < 2) return "";
  return el("nav", { className: "contents", "aria-label": "Candidates" }, candidates.map((one) => {
    const [words, mood] = candidateTitle(one, recorded);
    const link = el("a", { href: `${location.hash.replace(/&candidate=\d+/, "")}&candidate=${one.index}` }, `#${one.index} round ${one.round} `,
      el("span", { className: `verdict ${mood}` }, words));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", link.href);
      show(one.index);
    });
    return link;
  }));
}

function show(index) {
  const article = byId(`candidate-${index}`);
  article?.scrollIntoView();
  article?.focus();
}

dialog.addEventListener("close", () => {
  const row = opened;
  opened = null;
  if (!row) return;
  history.replaceState(null, "", "#trajectories");
  const link = links().find((one) => one.hash === address(row));
  (link || byId("search")).focus();
});

function move(step) {
  const all = links();
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
  next?.focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === byId("search")) {
    event.preventDefault(); // it would be emptied once more, later
    clearTimeout(pause);
    event.target.value = "";
    update();
  } else if (typing) {
    return;
  } else if (event.key === "/" && !dialog.open) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "j" || event.key === "k") {
    const step = event.key === "j" ? 1 : -1;
    if (!dialog.open) return move(step);
    const at = visible.indexOf(opened);
    const next = at < 0 ? undefined : visible[at + step];
    if (next) location.hash = address(next);
  }
});

const THEMES = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
const KEY = "kernelmend-colours";

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Colours: ${THEMES.find(([name]) => name === theme)[1]}`;
}

/** The choice that was kept; some browsers keep nothing for a file. */
function kept(theme) {
  try {
    if (theme === undefined) return localStorage.getItem(KEY) || "";
    localStorage.setItem(KEY, theme);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
  return "";
}

byId("theme").addEventListener("click", () => {
  const at = THEMES.findIndex(([name]) => name === document.documentElement.dataset.theme);
  const [theme] = THEMES[(at + 1) % THEMES.length];
  paint(theme);
  kept(theme);
});

byId("search").addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(update, 150);
});
byId("filters").addEventListener("change", (event) => {
  if (event.target.id === "any-attempt") fillSelects();
  if (event.target.id !== "search") update();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("reset", () => setTimeout(() => {
  fillSelects();
  update();
}));
addEventListener("hashchange", follow);

if (!("DecompressionStream" in window)) {
  byId("trajectories").prepend(el("p", { className: "notice" }, "This browser is too old to open a trajectory or to search."));
}
const theme = kept();
paint(THEMES.some(([name]) => name === theme) ? theme : "");
fillSelects();
update();
follow();

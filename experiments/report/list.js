// The list of trajectories: filters, search, rows.

const INDEX = JSON.parse(document.getElementById("index").textContent);
const byId = (id) => document.getElementById(id);
const category = (row) => INDEX.tasks[row.task].replace(/\/[^/]*$/, "");
const address = (row) => `#${new URLSearchParams({ task: INDEX.tasks[row.task], run: INDEX.runs[row.run] })}`;
const AT_ONCE = 500;
const STATE_WORDS = { C: "correct", R: "rescued", P: "persistent", x: "regressed", ".": "failing" };
const REGRESSED = "regressed in a round";
const NO_VERDICT = "no verdict";

let visible = INDEX.rows;
let shownRows = AT_ONCE;

function outcomesOf(row) {
  if (byId("any-attempt").checked) return row.outcomes.length ? row.outcomes.map((one) => one.split(" ")) : [[NO_VERDICT]];
  return [[row.status || NO_VERDICT, row.reason || undefined]];
}

const FILTERS = [
  ["by-category", (row) => [category(row)]],
  ["by-run", (row) => [INDEX.runs[row.run]]],
  ["by-state", (row) => (row.trail.includes("x") ? [row.state, REGRESSED] : [row.state])],
  ["by-status", (row) => outcomesOf(row).map((one) => one[0])],
  ["by-reason", (row) => outcomesOf(row).map((one) => one[1]).filter(Boolean)],
];

/** Each select offers what occurs, with how often. */
function fillSelects() {
  for (const [id, values] of FILTERS) {
    const counts = new Map();
    INDEX.rows.forEach((row) => new Set(values(row)).forEach((value) => counts.set(value, (counts.get(value) || 0) + 1)));
    const names = id === "by-run" ? INDEX.runs : [...counts.keys()].sort();
    const select = byId(id);
    const chosen = select.value;
    select.replaceChildren(el("option", { value: "" }, "all"),
      ...names.map((name) => el("option", { value: name }, `${name} (${counts.get(name) || 0})`)));
    select.value = names.includes(chosen) ? chosen : "";
  }
}

function passes(row) {
  const status = byId("by-status").value, reason = byId("by-reason").value;
  // a status and a reason must be those of one verdict
  if (status && reason && !outcomesOf(row).some((one) => one[0] === status && one[1] === reason)) return false;
  return FILTERS.every(([id, values]) => !byId(id).value || values(row).includes(byId(id).value));
}

let haystacks = null;

/** Opens every parcel once, for the search: by row, [what it is, text in lower case, text]. */
async function openAll(tell) {
  if (haystacks) return haystacks;
  const found = new Map();
  for (let task = 0; task < INDEX.tasks.length; task++) {
    const { texts, runs } = await parcel(task);
    for (const [run, { candidates }] of Object.entries(runs)) {
      found.set(`${task} ${run}`, candidates.flatMap((one) => [
        [`diagnosis of #${one.index}`, ((one.verdict || one.load)?.diagnosis || "") + (one.recorded?.error ? `\n${one.recorded.error}` : "")],
        [`source of #${one.index}`, texts[one.source]],
      ]).map(([where, text]) => [where, text.toLowerCase(), text]));
    }
    if (task % 16 === 15) tell(`Reading sources: ${task + 1} of ${INDEX.tasks.length} tasks`);
  }
  haystacks = found;
  return found;
}

/** Where a row holds the words, or null. A task's name comes first. */
function hit(row, wanted, texts) {
  if (INDEX.tasks[row.task].toLowerCase().includes(wanted)) return { where: "", line: "" };
  for (const [where, lower, text] of texts.get(`${row.task} ${row.run}`) || []) {
    const at = lower.indexOf(wanted);
    if (at >= 0) {
      const start = lower.lastIndexOf("\n", at) + 1;
      const end = lower.indexOf("\n", at);
      return { where, line: text.slice(start, end < 0 ? undefined : end).trim().slice(0, 160) };
    }
  }
  return null;
}

let asked = 0;

/** Shows the rows that pass the filters and hold what is searched for. */
async function update() {
  const turn = ++asked;
  const wanted = byId("search").value.trim().toLowerCase();
  let rows = INDEX.rows.filter(passes);
  const hits = new Map();
  if (wanted) {
    const texts = await openAll((words) => turn === asked && (byId("count").textContent = words));
    if (turn !== asked) return;
    rows = rows.filter((row) => {
      const found = hit(row, wanted, texts);
      if (found) hits.set(row, found);
      return found;
    });
  }
  visible = rows;
  shownRows = AT_ONCE;
  render(hits);
  byId("count").textContent = `${rows.length} of ${INDEX.rows.length} trajectories`;
}

function render(hits) {
  const focused = links().find((link) => link === document.activeElement);
  byId("list").tBodies[0].replaceChildren(...visible.slice(0, shownRows).map((row) => rowNode(row, hits.get(row))));
  // the rows are new ones: who stood on one stays there
  if (focused) links().find((link) => link.hash === focused.hash)?.focus();
  const left = visible.length - shownRows;
  const more = byId("more");
  more.hidden = left <= 0;
  more.textContent = `Show ${left} more`;
  more.onclick = () => {
    const first = shownRows;
    shownRows = visible.length;
    render(hits);
    links()[first].focus();
  };
}

function rowNode(row, found) {
  const times = (value) => (value === null ? "-" : `${value.toFixed(2)}x`);
  const told = [...row.trail].map((letter, at) => `round ${at + 1} ${STATE_WORDS[letter]}`).join(", ");
  const trail = el("span", { className: "trail", role: "img", "aria-label": told || "no round" },
    [...row.trail].map((letter) => el("span", { className: `s-${STATE_WORDS[letter]}` }, letter)));
  const several = INDEX.runs.length > 1;
  const label = several ? { "aria-label": `${INDEX.tasks[row.task]}, ${INDEX.runs[row.run]}` } : {};
  const name = el("th", { scope: "row" }, el("a", { href: address(row), ...label }, INDEX.tasks[row.task]),
    found?.where ? el("div", { className: "hit" }, `${found.where}: `, el("code", {}, found.line)) : null);
  const verdict = row.status ? outcome(row) : NO_VERDICT;
  const node = el("tr", {}, name, several ? el("td", {}, INDEX.runs[row.run]) : null,
    el("td", { className: `s-${row.state}` }, row.state), el("td", {}, trail), el("td", {}, verdict),
    [shown(row.since), times(row.speedup), times(row.traffic), String(row.submissions)].map((text) => el("td", { className: "figure" }, text)));
  node.addEventListener("click", (event) => {
    if (!event.target.closest("a") && !String(getSelection())) location.hash = address(row);
  });
  return node;
}

const links = () => [...byId("list").tBodies[0].querySelectorAll("th > a")];

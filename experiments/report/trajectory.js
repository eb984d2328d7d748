// One trajectory: the rounds and candidates of a task in a run, in the dialog.

const PARCELS = new Map();

/** A task's texts and runs: base64, gzip, JSON. Opened once. */
function parcel(task) {
  if (!PARCELS.has(task)) PARCELS.set(task, openParcel(task));
  return PARCELS.get(task);
}

async function openParcel(task) {
  const bytes = Uint8Array.from(atob(document.getElementById(`parcel-${task}`).textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const shown = (value) => (value === null || value === undefined || value === "" ? "-" : String(value));
const known = (value, digits) => (value === null || value === undefined ? "-" : Number(value).toFixed(digits));
const yesNo = (value) => (value === null || value === undefined ? "-" : value ? "yes" : "no");
const outcome = (verdict) => (verdict.reason ? `${verdict.status}: ${verdict.reason}` : verdict.status);

/** A table of texts; columns are [name, function of the row]. The first heads the row, figures stand right. */
function tableOf(caption, columns, rows) {
  const cell = ([, value, figure], row, at) =>
    el(at ? "td" : "th", { className: figure ? "figure" : "", ...(at ? {} : { scope: "row" }) }, value(row));
  return el("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, columns.map(([name, , figure]) => el("th", { scope: "col", className: figure ? "figure" : "" }, name)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((column, at) => cell(column, row, at)))))));
}

const column = (name, key) => [name, (row) => shown(row[key]), false];
const figure = (name, key, digits = 0) => [name, (row) => known(row[key], digits), true];
const ratio = (name, key) => [name, (row) => {
  const one = row[key];
  return one ? `${known(one.median, 3)} [${known(one.low, 3)}, ${known(one.high, 3)}]` : "-";
}, true];

const CASES = [
  column("case", "label"), column("kind", "kind"), ["right", (row) => yesNo(row.right), false], column("reason", "reason"),
  figure("launches", "launches"), figure("bytes moved", "bytes_moved"), figure("least bytes", "bytes_min"), figure("s", "run_s", 4),
];
const BUILDS = [
  column("kernel", "kernel"), column("target", "target"), figure("shared bytes", "shared_bytes"), figure("registers", "registers"),
  figure("spilled bytes", "spill_bytes"), figure("warps", "num_warps"), figure("stages", "num_stages"), figure("compile s", "compile_s", 3),
  ["products", (row) => (row.dots ? row.dots.join(" ") || "none" : "-"), false], ["tensor cores", (row) => yesNo(row.tensor_cores), false],
];
const TIMES = [
  column("size", "label"), figure("ms", "ms", 4), figure("eager ms", "eager_ms", 4), figure("compiled ms", "compiled_ms", 4),
  figure("oracle ms", "oracle_ms", 4), ratio("speedup [95 %]", "speedup"), ratio("over compiled", "over_compiled"),
  ratio("over oracle", "over_oracle"), figure("bound ms", "bound_ms", 4), figure("share of bound", "share", 3), figure("GB/s", "gbs", 1),
  figure("TFLOP/s", "tflops", 2), ["does not count", (row) => shown([row.invalid, row.message].filter(Boolean).join(": ")), false],
  ["notes", (row) => shown((row.notes || []).join("; ")), false],
];

/** A part that is made when it is opened first. */
function part(title, make, open = false) {
  const summary = el("summary", {}, title);
  const details = el("details", {}, summary);
  const fill = () => details.childElementCount > 1 || details.append(...[make()].flat());
  details.addEventListener("toggle", () => details.open && fill());
  if (open) {
    fill();
    details.open = true;
  }
  return details;
}

const textBlock = (text, label) => el("pre", { className: "text", tabIndex: 0, role: "region", "aria-label": label }, text);
const linesIn = (diagnosis) => new Set([...diagnosis.matchAll(/\bline (\d+)/g)].map((found) => Number(found[1])));

function verdictParts(verdict) {
  const parts = [];
  if (verdict.cases?.length) parts.push(part(`Cases (${verdict.cases.length})`, () => tableOf("Cases", CASES, verdict.cases)));
  if (verdict.builds?.length) parts.push(part(`Builds (${verdict.builds.length})`, () => tableOf("Builds", BUILDS, verdict.builds)));
  if (verdict.timing) {
    const { sizes, expected, device } = verdict.timing;
    const caption = `Times of ${sizes.length} of ${expected} sizes on ${shown(device)}`;
    parts.push(part(caption, () => tableOf(caption, TIMES, sizes)));
  }
  return [...parts, part("More of the verdict", () => facts(verdict))];
}

function facts(verdict) {
  const pairs = (object) => Object.entries(object || {}).map(([name, value]) => `${name} ${value}`).join(", ");
  const rows = [
    ["stage", shown(verdict.stage)], ["device", shown(verdict.device)], ["compiled", yesNo(verdict.compiled)], ["called", yesNo(verdict.called)],
    ["numerically right", yesNo(verdict.numerically_right)], ["traffic over least", known(verdict.traffic, 3)],
    ["speedup over eager", known(verdict.speedup, 3)], ["targets", shown(pairs(verdict.targets))], ["torch operations", shown(pairs(verdict.torch_ops))],
    ["patterns", shown((verdict.patterns || []).join("; "))], ["warnings", shown((verdict.warnings || []).join("; "))],
    ["fences", shown((verdict.assurance || []).join(", "))], ["compile s", known(verdict.compile_s, 3)], ["run s", known(verdict.run_s, 3)],
    ["total s", known(verdict.total_s, 3)],
  ];
  return el("dl", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function askParts(ask, texts) {
  const cost = ask.usage || {};
  const count = (value) => (value == null ? "?" : value.toLocaleString("en"));
  const used = `tokens ${count(cost.input_tokens)} in, ${count(cost.output_tokens)} out, cost ${cost.usd == null ? "?" : `$${cost.usd.toFixed(4)}`}`;
  const prompt = part(`Prompt (${ask.messages.length === 1 ? "one message" : `${ask.messages.length} messages`})`, () =>
    ask.messages.map(([role, text]) => [el("p", { className: "role" }, role), textBlock(texts[text], `prompt, ${role}`)]).flat());
  if (ask.reply === null) return [prompt, el("p", {}, "No reply is recorded.")];
  const reply = part(`Reply (${used}; ended by ${shown(ask.finish)})`, () => textBlock(texts[ask.reply], "reply"));
  return [prompt, reply];
}

function recordedText(said) {
  if (!said) return "The origin recorded no verdict.";
  const words = [["compiled", yesNo(said.compiled)], ["called", yesNo(said.called)], ["correct", yesNo(said.correct)],
    ["speedup over its own baseline", known(said.speedup, 3)], ["ms", known(said.runtime_ms, 4)]];
  return `The origin recorded: ${words.map(([name, value]) => `${name} ${value}`).join(", ")}.`;
}

/** What counts of a candidate, in words, and whether it is good; `recorded` lets the origin judge. */
function candidateTitle(one, recorded) {
  if (recorded) return recordedTitle(one.recorded);
  if (one.verdict) return [outcome(one.verdict), one.verdict.status === "correct" ? "good" : one.verdict.status === "infra_error" ? "" : "bad"];
  if ("load" in one) return one.load ? [`${outcome(one.load)} (not judged: load stage only)`, "bad"] : ["loads (not judged: load stage only)", ""];
  return ["not judged here", ""];
}

function recordedTitle(said) {
  if (!said) return ["no verdict of the origin", ""];
  if (said.correct) return ["correct, says the origin", "good"];
  return [said.called ? "returns, not correct, says the origin" : "fails, says the origin", "bad"];
}

/** A candidate with all that is known of it. `kind` tells of its run: is it `imported`, does the origin judge (`recorded`)? */
function candidateArticle(one, all, asks, texts, kind, open) {
  const [words, mood] = candidateTitle(one, kind.recorded);
  const verdict = one.verdict || one.load;
  const source = texts[one.source];
  const id = `candidate-${one.index}`;
  const from = one.parents.length ? `, from ${one.parents.map((parent) => `#${parent}`).join(", ")}` : "";
  const parents = one.parents.map((index) => all.find((other) => other.index === index)).filter(Boolean);
  return el("article", { id, tabIndex: -1, "aria-labelledby": `${id}-heading` },
    el("h4", { id: `${id}-heading` }, `#${one.index} lane ${one.lane}${from} `, el("span", { className: `verdict ${mood}` }, words),
      kind.recorded ? null : el("span", { className: "figures" }, [verdict?.speedup != null && verdict.status === "correct" ? ` ${known(verdict.speedup, 3)}x over eager` : "",
        verdict?.traffic != null && verdict.status === "correct" ? ` traffic ${known(verdict.traffic, 3)}x the least` : ""])),
    kind.imported ? el("p", {}, recordedText(one.recorded)) : null,
    kind.recorded ? el("p", {}, `Here: ${candidateTitle(one, false)[0]}.`) : null,
    one.recorded?.error ? part("What the origin's log says", () => textBlock(one.recorded.error, "origin's log")) : null,
    verdict?.diagnosis ? textBlock(verdict.diagnosis, `diagnosis of #${one.index}`) : null,
    source.trim() ? part(`Source (${linesOf(source).length} lines)`, () => sourceBlock(source, linesIn(verdict?.diagnosis || ""), `source of #${one.index}`), open)
      : el("p", {}, "The reply held no code."),
    parents.map((parent) => part(`Difference to #${parent.index}`, () => diffBlock(texts[parent.source], source, `difference of #${one.index} to #${parent.index}`))),
    asks.filter((ask) => ask.candidate === one.index).map((ask) => askParts(ask, texts)).flat(),
    verdict ? verdictParts(verdict) : null);
}

/** A round's candidates, and its questions that no candidate came of, in the order in which the questions were asked. */
function inOrder(number, candidates, asks) {
  const asked = (one) => asks.findIndex((ask) => ask.candidate === one.index);
  const items = candidates.filter((one) => one.round === number).map((one) => ({ at: asked(one) < 0 ? asks.length : asked(one), one }));
  asks.forEach((ask, at) => { if (ask.round === number && ask.candidate === null) items.push({ at, ask }); });
  return items.sort((a, b) => a.at - b.at);
}

/** The rounds of a task in a run, as nodes. */
function trajectoryNodes(data, best, kind) {
  const { texts } = data;
  const { candidates, asks, notes, state, why, traceback } = data.run;
  const numbers = [...new Set([...candidates, ...asks, ...notes].map((one) => one.round))].sort((a, b) => a - b);
  const nodes = numbers.map((number) => el("section", { "aria-labelledby": `round-${number}` },
    el("h3", { id: `round-${number}` }, `Round ${number}`),
    inOrder(number, candidates, asks).map(({ one, ask }) => (one ? candidateArticle(one, candidates, asks, texts, kind, one.index === best)
      : el("article", {}, el("h4", {}, `Question ${ask.attempt} of lane ${ask.lane}, of no candidate`), askParts(ask, texts)))),
    notes.filter((note) => note.round === number).map((note) => el("p", { className: "note" }, `Note of the method: ${JSON.stringify(note.data)}`))));
  if (!nodes.length) nodes.push(el("p", {}, "Nothing is recorded of this task."));
  if (state !== "done" && !kind.imported) nodes.push(el("p", { className: "notice" }, `This task: ${state}${why ? `, ${why}` : ""}`));
  if (traceback) nodes.push(textBlock(traceback, "traceback"));
  return nodes;
}
